//! Observations of the world outside of the state.

use std::collections::BTreeMap;

use super::PoolMachineFacts;
use crate::protocol::Observed;

/// Answers of machines and providers. A machine that was not asked is not in it, and nothing is concluded from that.
#[derive(Debug, Clone, Default)]
pub struct PoolObservations {
    /// Machines that were asked for their sessions.
    pub hosts: BTreeMap<String, HostSeen>,
    /// Machines that were looked up at their provider.
    pub looked_up: BTreeMap<String, LookedUp>,
}

/// The answer of a machine.
#[derive(Debug, Clone)]
pub enum HostSeen {
    /// Nothing.
    Unreachable,
    /// The states of the sessions that were asked for.
    Answered(BTreeMap<String, SeenSession>),
}

/// The answer of a machine about a session.
#[derive(Debug, Clone)]
pub struct SeenSession {
    /// The state of the session on the far side.
    pub observed: Observed,
    /// The state of the scheduler's job; `None` where there is no scheduler.
    pub job: Option<SchedulerJobState>,
}

/// State of a scheduler's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerJobState {
    /// The scheduler knows the job: it waits or runs.
    Known,
    /// There is none for that session.
    Absent,
}

/// The answer of a provider about a machine.
#[derive(Debug, Clone)]
pub enum LookedUp {
    /// The machine is there.
    There(PoolMachineFacts),
    /// There is no such machine.
    Gone,
    /// The lookup failed, for this reason.
    Unknown(String),
}
