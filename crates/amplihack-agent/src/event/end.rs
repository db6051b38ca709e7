//! The last event of a run: the outcome that the agent's stream and its exit support.

use amplihack_sys::ProcessExit;
use serde::{Deserialize, Serialize};

use super::{EventJson, RunOutcome};

/// The last event of a run.
///
/// Success is proved: an agent's record of success *and* its exit with code 0. Everything else has a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EndEvent {
    /// The outcome.
    #[serde(rename = "end")]
    pub outcome: RunOutcome,
    /// The kind of failure, of an outcome that is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailKind>,
    /// The reason, as the agent or the system gives it. Missing after a success.
    #[serde(default, alias = "reason", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Further facts.
    #[serde(flatten)]
    pub summary: RunEndSummary,
}

/// Facts about a run at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunEndSummary {
    /// The last thing that the agent said: its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The answer as JSON, where a schema was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<EventJson>,
    /// Reason for which the model stopped at last, in the provider's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The agent's own id of the session, to resume it by.
    #[serde(default, alias = "session", skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The number of turns that the agent counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The duration that the agent reports, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The exit of the process. Missing in a recorded stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::exit_schema"))]
    pub exit: Option<ProcessExit>,
}

/// Kind of a run's failure. New kinds may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailKind {
    /// The account or the key is not accepted.
    Auth,
    /// Too many requests for now.
    RateLimit,
    /// The account has nothing left.
    Quota,
    /// The prompt or the conversation is longer than the model takes.
    ContextLength,
    /// The agent reports a failure of its own.
    Agent,
    /// The agent ended with a code other than 0, or by a signal, and said nothing about it.
    Exit,
    /// The agent ended with code 0 and never said that it was done, or asked no model.
    NoResult,
    /// The agent said that it was done, and then ended with a code other than 0, or by a signal.
    ExitAfterSuccess,
    /// The agent ended, with success by its own word, before it had read the whole prompt.
    PromptUnread,
    /// The agent gave no sign of life in time.
    Startup,
    /// The agent could not be started or watched.
    Spawn,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

impl FailKind {
    /// The outcome of a run that failed so.
    pub const fn outcome(self) -> RunOutcome {
        match self {
            Self::NoResult => RunOutcome::NoResult,
            Self::PromptUnread => RunOutcome::PromptUnread,
            _ => RunOutcome::Failed,
        }
    }
}

impl EndEvent {
    /// A success.
    pub const fn of_success(summary: RunEndSummary) -> Self {
        Self { outcome: RunOutcome::Success, kind: None, message: None, summary }
    }

    /// A failure of `kind`, with nothing else known.
    pub fn bare_failure(kind: FailKind, message: impl Into<String>) -> Self {
        Self::of_failure(kind, message, RunEndSummary::default())
    }

    /// A failure of `kind`.
    pub fn of_failure(kind: FailKind, message: impl Into<String>, summary: RunEndSummary) -> Self {
        Self { outcome: kind.outcome(), kind: Some(kind), message: Some(message.into()), summary }
    }

    /// An end that is neither a success nor a failure of the agent.
    pub fn with_outcome(outcome: RunOutcome, message: impl Into<String>, summary: RunEndSummary) -> Self {
        Self { outcome, kind: None, message: Some(message.into()), summary }
    }

    /// Turns this end into another one, with its facts kept.
    pub fn become_outcome(&mut self, outcome: RunOutcome, message: impl Into<String>) {
        *self = Self::with_outcome(outcome, message, std::mem::take(&mut self.summary));
    }

    /// Turns this end into a failure of `kind`, with its facts kept.
    pub fn become_failure(&mut self, kind: FailKind, message: impl Into<String>) {
        *self = Self::of_failure(kind, message, std::mem::take(&mut self.summary));
    }

    /// Reports whether the run was a success.
    pub const fn is_success(&self) -> bool {
        self.outcome.is_success()
    }

    /// The outcome's word, as in JSON.
    pub const fn name(&self) -> &'static str {
        self.outcome.name()
    }

    /// The reason, or the outcome's word where none is given.
    pub fn reason(&self) -> &str {
        self.message.as_deref().unwrap_or(self.name())
    }

    /// The end that `said`, an agent's own record of its end if there is one, supports after `exit`; `None` for a recording,
    /// whose exit nobody knows.
    pub fn settle_record(said: Option<Self>, exit: Option<ProcessExit>) -> Self {
        let clean = exit.is_none_or(ProcessExit::is_success);
        let mut end = match (said, exit) {
            (Some(mut said), Some(exit)) if said.is_success() && !clean => {
                let message = format!("the agent reported success and then ended with {exit}");
                said.become_failure(FailKind::ExitAfterSuccess, message);
                said
            }
            (Some(said), _) => said,
            (None, Some(exit)) if !clean => Self::bare_failure(
                FailKind::Exit,
                format!("the agent ended with {exit} and reported no result"),
            ),
            (None, _) => Self::bare_failure(FailKind::NoResult, "the agent ended without reporting a result"),
        };
        end.summary.exit = exit;
        end
    }
}
