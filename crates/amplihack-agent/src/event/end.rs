//! How a run ended.

use amplihack_utils::sys::Exit;
use serde::{Deserialize, Serialize};

/// How a run ended. `end` in JSON, in snake case.
///
/// Success is proved: an agent's record of success *and* its exit with code 0. Everything else has a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "end", rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// It said that it was done, and ended with code 0.
    Success(Summary),
    /// It failed.
    Failed {
        /// How.
        kind: FailKind,
        /// What the agent, or the system, says.
        message: String,
        /// What is known besides.
        #[serde(flatten)]
        summary: Summary,
    },
    /// The policy, or the agent's own permissions, denied what it needed.
    Denied {
        /// What is said about it.
        message: String,
        /// What is known besides.
        #[serde(flatten)]
        summary: Summary,
    },
    /// A budget was used up: turns, tokens, money, or the total time.
    Budget {
        /// Which.
        message: String,
        /// What is known besides.
        #[serde(flatten)]
        summary: Summary,
    },
    /// Somebody ended it.
    Interrupted {
        /// Who or what.
        message: String,
        /// What is known besides.
        #[serde(flatten)]
        summary: Summary,
    },
    /// It did nothing for too long.
    Stalled {
        /// For how long.
        message: String,
        /// What is known besides.
        #[serde(flatten)]
        summary: Summary,
    },
}

/// What is known of a run at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The last thing that the agent said: its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The agent's own name of the session, to resume it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many turns the agent counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// How long the agent says that it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How the process ended. Missing in a recorded stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::exit"))]
    pub exit: Option<Exit>,
}

/// How a run failed. New kinds may come.
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
    /// It ended with a code other than 0, or by a signal, and said nothing about it.
    Exit,
    /// It ended with code 0 and never said that it was done.
    NoResult,
    /// It said that it was done, and then ended with a code other than 0, or by a signal.
    ExitAfterSuccess,
    /// It gave no sign of life in time.
    Startup,
    /// It could not be started or watched.
    Spawn,
}

impl End {
    /// Whether the run was a success.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Success(_))
    }

    /// Its word, as in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Success(_) => "success",
            Self::Failed { .. } => "failed",
            Self::Denied { .. } => "denied",
            Self::Budget { .. } => "budget",
            Self::Interrupted { .. } => "interrupted",
            Self::Stalled { .. } => "stalled",
        }
    }

    /// What is known besides.
    pub const fn summary(&self) -> &Summary {
        match self {
            Self::Success(summary)
            | Self::Failed { summary, .. }
            | Self::Denied { summary, .. }
            | Self::Budget { summary, .. }
            | Self::Interrupted { summary, .. }
            | Self::Stalled { summary, .. } => summary,
        }
    }

    // Once more: no function is generic over whether it may change what it gives.
    /// The same, to add to it.
    pub const fn summary_mut(&mut self) -> &mut Summary {
        match self {
            Self::Success(summary)
            | Self::Failed { summary, .. }
            | Self::Denied { summary, .. }
            | Self::Budget { summary, .. }
            | Self::Interrupted { summary, .. }
            | Self::Stalled { summary, .. } => summary,
        }
    }

    /// A failure of `kind`.
    pub fn failed(kind: FailKind, message: impl Into<String>) -> Self {
        Self::Failed { kind, message: message.into(), summary: Summary::default() }
    }

    /// What `said`, an agent's own record of its end if there is one, is worth after `exit`; `None` for a recording,
    /// whose exit nobody knows.
    pub fn settle(said: Option<Self>, exit: Option<Exit>) -> Self {
        let clean = exit.is_none_or(Exit::success);
        let mut end = match (said, exit) {
            (Some(Self::Success(summary)), Some(exit)) if !clean => Self::Failed {
                kind: FailKind::ExitAfterSuccess,
                message: format!("the agent reported success and then ended with {exit}"),
                summary,
            },
            (Some(said), _) => said,
            (None, Some(exit)) if !clean => {
                Self::failed(FailKind::Exit, format!("the agent ended with {exit} and reported no result"))
            }
            (None, _) => Self::failed(FailKind::NoResult, "the agent ended without reporting a result"),
        };
        end.summary_mut().exit = exit;
        end
    }
}
