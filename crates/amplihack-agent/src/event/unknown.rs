//! Events that this version does not know: kept as they are, so that an older reader passes on what a newer writer wrote.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An event that this version has no type for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnknownEvent {
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's other fields.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}
