//! A session as the state file keeps it: what users see, and what is needed to finish, find and fetch it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ClientProcess;
pub use crate::backend::Backend as BackendKind;
use crate::session::{Session, SessionCondition, SessionStatus};

/// Progress of a session's start. The phase only goes forward, except that a session whose machine could not be had
/// is [`Queued`](Self::Queued) again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartPhase {
    /// The session has no slot.
    #[default]
    Queued,
    /// The session has a slot; nothing of it was sent that could start it.
    Reserved,
    /// The start is being sent: the far side may have claimed it. Written down before the first byte goes out.
    Sent,
    /// The far side has claimed it.
    Claimed,
    /// The scheduler of the session's machine has it, and starts it when there is room.
    Submitted,
    /// The session was seen to run, or its end was seen.
    Started,
}

/// The results that were brought home from a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedResults {
    /// The references that were fetched, in order.
    pub refs: Vec<String>,
    /// The results were verified here. Before that nothing may be deleted.
    pub verified: bool,
    /// Time at which the results were brought home.
    pub at: Timestamp,
    /// The length of the log that was read until then.
    #[serde(default)]
    pub log_bytes: u64,
}

/// A session, with everything that this side knows of it. In the file its fields stand beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The session as users see it.
    #[serde(flatten)]
    pub session: Session,
    /// The backend that runs the session; `None` if whoever made it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendKind>,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Progress of the session's start; `None` for sessions that were not started through the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<StartPhase>,
    /// The process that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Obstacle to knowing more about the session; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<SessionCondition>,
    /// Since when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition_since: Option<Timestamp>,
    /// Time at which the session's machine last answered for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Set if the session was ended by force, and its machine did not confirm that nothing of it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub end_unconfirmed: bool,
    /// The reason that the session could not be started, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The repository here that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_path: Option<String>,
    /// The commit that results are counted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The branch that its work tree began on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The SHA-256 of the bundle that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Bundles that it stands on, oldest first: earlier sessions sent them there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// The name of its scheduler's job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The options of the session's job, in the scheduler's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job_options: Vec<String>,
    /// The user's words to find it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// The user's word for the call that made it; the same word makes no second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Number of the session's prompt among those of the call, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_number: Option<u32>,
    /// The results that were brought home; `None` if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<RetrievedResults>,
    /// Fields that other programs wrote; kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

impl From<Session> for SessionRecord {
    /// A record that says no more than the session.
    fn from(session: Session) -> Self {
        Self {
            session,
            backend: None,
            agent: None,
            phase: None,
            client: None,
            condition: None,
            condition_since: None,
            last_seen: None,
            end_unconfirmed: false,
            error: None,
            repo_path: None,
            base: None,
            branch: None,
            bundle: None,
            bases: Vec::new(),
            job: None,
            job_options: Vec::new(),
            labels: BTreeSet::new(),
            idempotency_key: None,
            prompt_number: None,
            retrieved: None,
            other: Map::new(),
        }
    }
}

impl SessionRecord {
    /// Reports whether the session takes up a slot: it has neither ended nor is it without a machine.
    pub(crate) fn needs_slot(&self) -> bool {
        !self.session.status.is_final() && self.phase != Some(StartPhase::Queued)
    }

    /// Reports whether results may be waiting on the session's machine: it got there, and they were not verified here.
    pub(crate) fn has_results_there(&self) -> bool {
        let began = || self.session.started_at.is_some();
        let got_there = self.phase.map_or_else(began, |phase| phase >= StartPhase::Claimed);
        got_there && self.retrieved.as_ref().is_none_or(|retrieved| !retrieved.verified)
    }

    /// Says what stands in the way since `now`; what stood there before keeps its time.
    pub(crate) fn set_condition(&mut self, condition: Option<SessionCondition>, now: Timestamp) {
        if self.condition != condition {
            self.condition = condition;
            self.condition_since = condition.map(|_| now);
        }
    }

    /// Records the session's end. A session that has ended already stays as it is, and `false` is the answer.
    pub(crate) fn finish_session(
        &mut self,
        status: SessionStatus,
        exit_code: Option<i32>,
        at: Timestamp,
    ) -> bool {
        if self.session.status.is_final() {
            return false;
        }
        self.session.status = status;
        self.session.exit_code = exit_code;
        self.session.completed_at = Some(at);
        true
    }
}
