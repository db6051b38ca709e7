//! What was found out about the outside.

use std::collections::BTreeMap;

use super::Found;
use crate::protocol::Observed;

/// What machines and providers answered. What was not asked is not in it, and nothing is concluded from that.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    /// Machines that were asked for their sessions.
    pub hosts: BTreeMap<String, HostSeen>,
    /// Machines that were looked up at their provider.
    pub looked_up: BTreeMap<String, LookedUp>,
}

/// What a machine answered.
#[derive(Debug, Clone)]
pub enum HostSeen {
    /// Nothing.
    Unreachable,
    /// How these sessions stand.
    Answered(BTreeMap<String, SeenSession>),
}

/// What a machine answered about one session.
#[derive(Debug, Clone)]
pub struct SeenSession {
    /// How it stands.
    pub observed: Observed,
    /// How its scheduler's job stands; `None` where there is no scheduler.
    pub job: Option<Job>,
}

/// How a scheduler's job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// It waits or runs.
    Known,
    /// There is none for that session.
    Absent,
}

/// What a provider answered.
#[derive(Debug, Clone)]
pub enum LookedUp {
    /// The machine is there.
    There(Found),
    /// There is no such machine.
    Gone,
    /// It could not be found out, for this reason.
    Unknown(String),
}
