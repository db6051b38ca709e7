//! Model of what an agent does, one for all agents.
//!
//! Texts are the agent's own, byte for byte: nothing is trimmed. What the model has no place for is kept whole as
//! [`AgentEvent::Raw`], and the line behind every event is in its [`Envelope`] where that was asked for.

mod activity;
mod end;
mod json;
mod message;
mod outcome;
#[cfg(feature = "schema")]
pub mod schema;
mod session;
mod sound;
mod tool;
mod unknown;
mod usage;
mod words;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use activity::{
    AgentCompaction, AgentHookRun, AgentPlan, AgentPlanEntry, AgentPlanStatus, AgentQuestion, AgentRateLimit,
    AgentRetry, AgentTask,
};
pub use end::{EndEvent, FailKind, RunEndSummary};
pub use json::EventJson;
pub use message::{ActivityPhase, AgentModelCall, AgentPrompt, AgentText, AgentTurn};
pub use outcome::RunOutcome;
pub use session::{AgentMcpServer, AgentSessionStarted, AgentSessionUpdate};
pub use sound::{is_sound, mend_surrogates};
pub use tool::{
    AgentFileChange, AgentImage, AgentToolKind, FileChangeKind, ToolCall, ToolInputDelta, ToolLocation,
    ToolOutputDelta, ToolResult,
};
pub use unknown::UnknownEvent;
pub use usage::{AgentUsage, UsageTotals};

/// Event of an agent. `type` in JSON, in snake case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent's session began, or was continued. Once a run.
    Started(AgentSessionStarted),
    /// Facts of the session are known now, or changed.
    SessionUpdated(AgentSessionUpdate),
    /// The agent took a prompt.
    Prompt(AgentPrompt),
    /// A turn began.
    TurnStarted(AgentTurn),
    /// A turn ended.
    TurnEnded(AgentTurn),
    /// A call of the model began or ended.
    ModelCall(AgentModelCall),
    /// The agent said something, whole or in parts.
    Text(AgentText),
    /// The agent thought something, whole or in parts.
    Thinking(AgentText),
    /// The agent writes the arguments of a call.
    ToolInput(ToolInputDelta),
    /// The agent asked for a tool.
    ToolCall(ToolCall),
    /// A tool that still runs printed something.
    ToolOutput(ToolOutputDelta),
    /// A tool gave something back.
    ToolResult(ToolResult),
    /// The agent wrote or changed its plan.
    Plan(AgentPlan),
    /// A sub-agent or a background task began, went on or ended.
    Task(AgentTask),
    /// The agent makes its conversation shorter.
    Compaction(AgentCompaction),
    /// The agent asked whether it may do something.
    PermissionAsked(AgentPermission),
    /// The agent was told whether it may.
    PermissionDecided(AgentPermission),
    /// The agent asked a person something, or was answered.
    Question(AgentQuestion),
    /// A hook of the agent's began or ended.
    Hook(AgentHookRun),
    /// Usage of a message, or of all of the run.
    Usage(AgentUsage),
    /// State of a limit of the account.
    RateLimit(AgentRateLimit),
    /// A request failed and is tried again.
    Retry(AgentRetry),
    /// Something to know that ends nothing: an error that the agent survived, a line that is too long.
    Warning(AgentWarning),
    /// A line that this model has no place for.
    Raw(AgentRawLine),
    /// The end: the last event of every run, and the only one of its kind.
    End(EndEvent),
    /// An event of a newer version, or one whose fields are not as this version knows them: kept whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown(UnknownEvent),
}

/// An event with its place in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Envelope {
    /// Number of the event in the run, from 0, without gaps.
    pub seq: u64,
    /// Time at which the event was read.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::time_schema"))]
    pub at: Timestamp,
    /// The line that it came from, without its newline. On the first event of a line only, and only if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json::line")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::line_schema"))]
    pub raw: Option<Bytes>,
    /// The event.
    #[serde(flatten)]
    pub event: AgentEvent,
}

impl Envelope {
    /// `event` as number `seq`, read at `at`.
    pub const fn new(seq: u64, at: Timestamp, event: AgentEvent) -> Self {
        Self { seq, at, raw: None, event }
    }
}

/// A question whether a tool may run, or its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentPermission {
    /// The agent's name of the question or of the tool call.
    pub id: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Set to true if the tool may run; in an answer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// Reason, where one is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Something to know that ends nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentWarning {
    /// Kind of the warning: `error`, `too_long`, `not_json`, `stderr`, or the agent's own word.
    pub kind: String,
    /// Text of the warning.
    pub message: String,
}

impl AgentWarning {
    /// A warning of `kind`.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}

/// A line that the model has no place for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentRawLine {
    /// The agent's word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The line, where it is JSON that every reader takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<EventJson>,
    /// The line, where it is not; bytes that are no UTF-8 are replaced here, and whole in [`Envelope::raw`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests;
