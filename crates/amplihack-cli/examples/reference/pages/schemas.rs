//! JSON Schemas of what runs write.

use amplihack_agent::event::{Envelope, schema};
use amplihack_session::{Report, RunRecord};

pub(crate) fn event() -> String {
    schema::of::<Envelope>()
}

pub(crate) fn report() -> String {
    schema::of::<Report<'_>>()
}

pub(crate) fn run() -> String {
    schema::of::<RunRecord>()
}
