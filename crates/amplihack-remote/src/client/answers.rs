//! Result types of the client beside those of the six commands.

use std::collections::BTreeMap;

use amplihack_session::RunOutcome;
use serde::Serialize;

use crate::backend::Backend;
use crate::error::RemoteError;
use crate::session::{Session, SessionCondition};

/// The result of starting several sessions: a row a prompt, in their order.
#[derive(Debug)]
pub struct StartReport {
    /// The rows.
    pub rows: Vec<StartRow>,
}

/// The result of starting a session for one prompt.
#[derive(Debug)]
pub struct StartRow {
    /// The prompt.
    pub prompt: String,
    /// The session, or the error that kept it from running.
    pub outcome: Result<Session, RemoteError>,
}

/// The sessions that the state file knows.
#[derive(Debug, Clone, Default)]
pub struct SessionListing {
    /// The sessions, oldest first.
    pub rows: Vec<ListRow>,
    /// Statements that a changing command, or a refresh, would bring up to date, a sentence each.
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
    /// The reason why the session's status may be out of date; `None` if nothing is known against it.
    pub condition: Option<SessionCondition>,
    /// The backend that runs the session; `None` if it is not known.
    pub backend: Option<Backend>,
}

/// The result of waiting for sessions.
#[derive(Debug, Clone)]
pub struct WaitReport {
    /// The sessions that were waited for, as they stand now.
    pub sessions: Vec<Session>,
    /// The time was over before they had ended.
    pub timed_out: bool,
}

/// The result of a search for idle machines.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SweepReport {
    /// Machines that were given back.
    pub released: Vec<String>,
    /// Machines that are idle and stay, and why.
    pub kept: BTreeMap<String, String>,
    /// Machines that could not be given back, and why.
    pub failed: BTreeMap<String, String>,
}

/// The report of `doctor` on one machine.
#[derive(Debug, Clone, Serialize)]
pub struct HostReport {
    /// The name of the machine.
    pub host: String,
    /// Facts about the machine, its hardware and its programs, for people.
    pub facts: Vec<String>,
    /// Requirements of sessions that the machine does not meet, with what to do about each.
    pub problems: Vec<String>,
}

impl HostReport {
    /// Reports whether sessions can run there.
    pub fn is_ready(&self) -> bool {
        self.problems.is_empty()
    }
}
