//! Activities beside words and tools: plans, sub-agents, the context, limits, hooks, questions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ActivityPhase, is_false};

/// The agent's plan, whole: it replaces the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentPlan {
    /// The tasks, in their order.
    pub entries: Vec<AgentPlanEntry>,
    /// The tool call that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool call whose sub-agent wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A task of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentPlanEntry {
    /// The agent's name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Text of the task.
    pub text: String,
    /// State of the task.
    pub status: AgentPlanStatus,
}

/// State of a task of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentPlanStatus {
    /// Worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
    /// Not begun, or in a state that this version does not know.
    #[default]
    #[serde(other)]
    Pending,
}

/// A sub-agent, or another task in the background: its beginning, its progress or its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentTask {
    /// The tool call that started it, which is the `parent` of what it says and does; else the agent's own name of it.
    pub id: String,
    /// Phase of the task.
    pub phase: ActivityPhase,
    /// Kind of the task in the agent's own word: the sub-agent's name, `local_bash` for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The task that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The answer or the error that it ended with, or what it does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that it used so far, of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls of tools so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Duration so far, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Set if the agent goes on while it runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub background: bool,
    /// The tool call whose sub-agent started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl AgentTask {
    /// A task of which only the phase is known.
    pub fn new(id: impl Into<String>, phase: ActivityPhase) -> Self {
        Self { id: id.into(), phase, ..Self::default() }
    }
}

/// A compaction of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentCompaction {
    /// Phase of the compaction.
    pub phase: ActivityPhase,
    /// Trigger in the agent's own word: `auto`, `manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Tokens of the conversation before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens of the conversation after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// The summary that the conversation goes on with, or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The tool call whose sub-agent's conversation it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// State of a limit of the account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentRateLimit {
    /// State in the agent's own word: `allowed`, `allowed_warning`, `rejected`.
    pub status: String,
    /// The limit in the agent's own word: `five_hour`, `premium_interactions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Time at which the limit is reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::time_schema"))]
    pub resets_at: Option<Timestamp>,
    /// Part of the limit that is used, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
}

impl AgentRateLimit {
    /// Reports whether the limit is near or reached, or may be: agents have words of their own for one that is not.
    pub fn is_in_the_way(&self) -> bool {
        !matches!(self.status.as_str(), "" | "allowed" | "available" | "unlimited" | "ok")
    }
}

/// Another try of a request that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentRetry {
    /// The reason, in the agent's own words.
    pub reason: String,
    /// Number of the try, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// The most tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u64>,
    /// Delay before the try, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// HTTP status of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
}

/// A hook of the agent's that runs, or ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentHookRun {
    /// The agent's name of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Event that the hook is called for, in the agent's own word: `PreToolUse`.
    pub event: String,
    /// Name of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Phase of the run.
    pub phase: ActivityPhase,
    /// Output of the hook, or its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Exit code of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

/// A question to the person, or its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentQuestion {
    /// The agent's name of the question.
    pub id: String,
    /// Text of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The answer; in an answer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Set once the question needs no answer any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub answered: bool,
    /// The MCP server or the tool that asks, where it is not the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}
