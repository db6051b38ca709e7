//! Words of an agent and of its user, and the turns and model calls in which they fall.

use serde::{Deserialize, Serialize};

use super::is_false;

/// Text of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentText {
    /// The text, or the next part of it.
    pub text: String,
    /// Set for a part: the whole text comes later, or never.
    #[serde(default, skip_serializing_if = "is_false")]
    pub delta: bool,
    /// The agent's name of the message that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The tool call whose sub-agent said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The provider's signature of a thought, by which it takes the thought back in a later request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Set for a thought that the provider shows to nobody: its text is empty.
    #[serde(default, skip_serializing_if = "is_false")]
    pub redacted: bool,
}

impl AgentText {
    /// A whole text of the main agent.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A part of a text of the main agent.
    pub fn of_delta(text: impl Into<String>) -> Self {
        Self { delta: true, ..Self::new(text) }
    }
}

/// A prompt, as the agent took it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentPrompt {
    /// Text of the prompt.
    pub text: String,
    /// The agent's name of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Author of the prompt, in the agent's own word, where it is not the user: a background task that ended, another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The tool call whose sub-agent was given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl AgentPrompt {
    /// A prompt of the user's.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A turn: the work on one prompt, or one round of it where the agent counts rounds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentTurn {
    /// The agent's name of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The prompt that the turn works on, where the agent tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The tool call whose sub-agent takes the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A call of the model: its beginning, or its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentModelCall {
    /// Phase of the call.
    pub phase: ActivityPhase,
    /// The message that the call writes, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The turn in which it falls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reason for which the model stopped, in the provider's own word: `end_turn`, `tool_use`, `max_tokens`, `refusal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// HTTP status of a call that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// The error of a call that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tool call whose sub-agent made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl AgentModelCall {
    /// A call of which only the phase is known.
    pub fn new(phase: ActivityPhase) -> Self {
        Self { phase, ..Self::default() }
    }

    /// The failure in words, of a call that failed.
    pub fn failure(&self) -> String {
        let error = self.error.as_deref().unwrap_or("the model gave no answer");
        match self.status {
            Some(status) => format!("{status}: {error}"),
            None => error.to_owned(),
        }
    }
}

/// Phase of something that takes time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActivityPhase {
    /// Beginning.
    #[default]
    Started,
    /// Sign of life between beginning and end.
    Progress,
    /// End as it should be.
    Completed,
    /// End by a failure.
    Failed,
    /// End by somebody who stopped it.
    Cancelled,
    /// A phase that this version does not know.
    #[serde(other)]
    Unknown,
}
