//! JSON Schemas of what runs write.

use amplihack_agent::event::{Envelope, schema};
use amplihack_session::{Report, RunRecord};

/// The schema `name`.
pub(crate) fn schema(name: &str) -> Option<String> {
    Some(match name {
        "event" => schema::of::<Envelope>(),
        "report" => schema::of::<Report<'_>>(),
        "run" => schema::of::<RunRecord>(),
        _ => return None,
    })
}
