//! A whole run as one object.

use amplihack_agent::event::Envelope;
use serde::Serialize;

use crate::RunEnd;

/// A run that has ended, with everything that it did: the object that `--output json` prints. Each key is there once.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunReport<'a> {
    /// The session's id, which is ours.
    pub session: &'a str,
    /// The end. The agent's own id of the session is its `agent_session`.
    #[serde(flatten)]
    pub end: &'a RunEnd,
    /// The events, in order.
    pub events: &'a [Envelope],
}
