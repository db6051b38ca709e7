//! What a client answers beside the results of the six commands.

use std::collections::BTreeMap;

use amplihack_session::RunOutcome;
use serde::Serialize;

use crate::backend::Backend;
use crate::error::RemoteError;
use crate::session::{Condition, Session};

/// What came of starting several sessions: a row a prompt, in their order.
#[derive(Debug)]
pub struct Started {
    /// The rows.
    pub rows: Vec<StartRow>,
}

/// What came of one prompt.
#[derive(Debug)]
pub struct StartRow {
    /// The prompt.
    pub prompt: String,
    /// Its session, or why there is none that runs.
    pub outcome: Result<Session, RemoteError>,
}

/// What this side knows.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The sessions, oldest first.
    pub rows: Vec<ListRow>,
    /// What a changing command, or a refresh, would bring up to date, a sentence each.
    pub unsettled: Vec<String>,
}

/// A session, and what stands in the way of knowing more.
#[derive(Debug, Clone, Serialize)]
pub struct ListRow {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// The outcome of its run, once it has one.
    pub end: Option<RunOutcome>,
    /// Why its status may not be the last word.
    pub condition: Option<Condition>,
    /// What runs it.
    pub backend: Option<Backend>,
}

/// What came of waiting.
#[derive(Debug, Clone)]
pub struct Waited {
    /// The sessions that were waited for, as they stand now.
    pub sessions: Vec<Session>,
    /// The time was over before they had ended.
    pub timed_out: bool,
}

/// What came of looking for idle machines.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Swept {
    /// Machines that were given back.
    pub released: Vec<String>,
    /// Machines that are idle and stay, and why.
    pub kept: BTreeMap<String, String>,
    /// Machines that could not be given back, and why.
    pub failed: BTreeMap<String, String>,
}

/// What a machine has.
#[derive(Debug, Clone, Serialize)]
pub struct HostReport {
    /// Its name.
    pub host: String,
    /// What it is and has, for people.
    pub facts: Vec<String>,
    /// What sessions miss there, with what to do about it.
    pub problems: Vec<String>,
}

impl HostReport {
    /// Whether sessions can run there.
    pub fn ready(&self) -> bool {
        self.problems.is_empty()
    }
}
