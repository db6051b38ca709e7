//! Model of what an agent does, one for all agents.
//!
//! Texts are the agent's own, byte for byte: nothing is trimmed. What the model has no place for is kept whole as
//! [`AgentEvent::Raw`], and the line behind every event is in its [`Envelope`] where that was asked for.

mod end;
mod json;
mod outcome;
#[cfg(feature = "schema")]
pub mod schema;
mod sound;
mod usage;

use amplihack_config::agent_binary::AgentBinary;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use end::{EndEvent, FailKind, RunEndSummary};
pub use json::EventJson;
pub use outcome::RunOutcome;
pub use sound::{is_sound, mend_surrogates};
pub use usage::{AgentUsage, UsageTotals};

/// Event of an agent. `type` in JSON, in snake case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent's session began, or was continued.
    Started(AgentSessionStarted),
    /// The agent said something, whole or in parts.
    Text(AgentText),
    /// The agent thought something, whole or in parts.
    Thinking(AgentText),
    /// The agent asked for a tool.
    ToolCall(ToolCall),
    /// A tool gave something back.
    ToolResult(ToolResult),
    /// The agent asked whether it may do something.
    PermissionAsked(AgentPermission),
    /// The agent was told whether it may.
    PermissionDecided(AgentPermission),
    /// Usage of a message, or of all of the run.
    Usage(AgentUsage),
    /// Something to know that ends nothing: a retry, an error that the agent survived, a line that is too long.
    Warning(AgentWarning),
    /// A line that this model has no place for.
    Raw(AgentRawLine),
    /// The end: the last event of every run, and the only one of its kind.
    End(EndEvent),
}

/// An event with its place in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The beginning of an agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSessionStarted {
    /// The agent.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::agent_schema"))]
    pub agent: AgentBinary,
    /// The agent's own name of the session, to resume it by.
    #[serde(default, alias = "session", skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The agent's version, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Working directory of the agent, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The tools that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The MCP servers that it knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<AgentMcpServer>,
}

impl AgentSessionStarted {
    /// The beginning of a session of which only the agent is known.
    pub const fn new(agent: AgentBinary) -> Self {
        Self {
            agent,
            agent_session: None,
            version: None,
            model: None,
            cwd: None,
            tools: Vec::new(),
            mcp_servers: Vec::new(),
        }
    }
}

/// An MCP server as an agent sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentMcpServer {
    /// Name of the server.
    pub name: String,
    /// Status of the server, in the agent's own word.
    pub status: String,
}

/// Text of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The agent's name of the call.
    pub id: String,
    /// The tool, in the agent's own word.
    pub name: String,
    /// The call's arguments, as the agent gave them.
    pub input: EventJson,
    /// The tool call whose sub-agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The call that it answers.
    pub id: String,
    /// Output of the tool, as text; blocks of text are joined by newlines, other blocks are their JSON.
    pub output: String,
    /// Set if the agent calls it a failure.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// The exit code of a command, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The tool call whose sub-agent it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A question whether a tool may run, or its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
pub struct AgentWarning {
    /// Kind of the warning: `retry`, `error`, `too_long`, `not_json`, `stderr`, or the agent's own word.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
