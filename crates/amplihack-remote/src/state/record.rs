//! A session as the state file keeps it: what users see, and what is needed to finish, find and fetch it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Client;
pub use crate::backend::Backend as BackendKind;
use crate::session::{Condition, Session, SessionStatus};

/// How far a session's start has come. It only goes forward, except that a session whose machine could not be had
/// is [`Queued`](Self::Queued) again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It has no slot.
    #[default]
    Queued,
    /// It has a slot; nothing of it was sent that could start it.
    Reserved,
    /// Its start is being sent: the far side may have claimed it. Written down before the first byte goes out.
    Sent,
    /// The far side has claimed it.
    Claimed,
    /// Its machine's scheduler has it, and starts it when there is room.
    Submitted,
    /// It was seen to run, or its end was seen.
    Started,
}

/// What was brought home of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrieved {
    /// The references that were fetched, in order.
    pub refs: Vec<String>,
    /// The results were verified here. Before that nothing may be deleted.
    pub verified: bool,
    /// When.
    pub at: Timestamp,
    /// The length of the log that was read until then.
    #[serde(default)]
    pub log_bytes: u64,
}

/// A session, with everything that this side knows of it. In the file its fields stand beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// What users see.
    #[serde(flatten)]
    pub session: Session,
    /// What runs it; `None` if whoever made it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendKind>,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How far its start has come; `None` for sessions that were not started through the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The process that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// What stands in the way of knowing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// Since when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition_since: Option<Timestamp>,
    /// When its machine last answered for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// It was ended by force, and its machine did not confirm that nothing of it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub end_unconfirmed: bool,
    /// Why it could not be started, or how it was lost.
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
    /// What its job asks for, in the scheduler's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job_options: Vec<String>,
    /// The user's words to find it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// The user's word for the call that made it; the same word makes no second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Which of that call's prompts it has, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_number: Option<u32>,
    /// What was brought home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<Retrieved>,
    /// What others wrote beside it.
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
    /// Whether it takes up a slot: it is neither at its end nor without a machine.
    pub(crate) fn needs_slot(&self) -> bool {
        !self.session.status.is_final() && self.phase != Some(Phase::Queued)
    }

    /// Whether results may be waiting on its machine: it got there, and they were not verified here.
    pub(crate) fn has_results_there(&self) -> bool {
        let began = || self.session.started_at.is_some();
        let got_there = self.phase.map_or_else(began, |phase| phase >= Phase::Claimed);
        got_there && self.retrieved.as_ref().is_none_or(|retrieved| !retrieved.verified)
    }

    /// Says what stands in the way since `now`; what stood there before keeps its time.
    pub(crate) fn set_condition(&mut self, condition: Option<Condition>, now: Timestamp) {
        if self.condition != condition {
            self.condition = condition;
            self.condition_since = condition.map(|_| now);
        }
    }

    /// Its end. What is at its end stays as it is, and `false` is the answer.
    pub(crate) fn finish(&mut self, status: SessionStatus, exit_code: Option<i32>, at: Timestamp) -> bool {
        if self.session.status.is_final() {
            return false;
        }
        self.session.status = status;
        self.session.exit_code = exit_code;
        self.session.completed_at = Some(at);
        true
    }
}
