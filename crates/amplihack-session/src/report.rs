//! A whole run as one object.

use amplihack_agent::event::{End, Envelope, Totals};
use serde::Serialize;

/// A run that is over, with all that it did: what `--output json` prints.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report<'a> {
    /// The session's name.
    pub session: &'a str,
    /// How it ended.
    #[serde(flatten)]
    pub end: &'a End,
    /// What it used.
    pub usage: Totals,
    /// What it did, in order.
    pub events: &'a [Envelope],
}
