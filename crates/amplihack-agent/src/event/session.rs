//! The agent's session: its beginning, and what of it changes.

use amplihack_config::agent_binary::AgentBinary;
use serde::{Deserialize, Serialize};

/// The beginning of an agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentSessionStarted {
    /// The agent.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::agent_schema"))]
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
#[non_exhaustive]
pub struct AgentMcpServer {
    /// Name of the server.
    pub name: String,
    /// Status of the server, in the agent's own word.
    pub status: String,
}

impl AgentMcpServer {
    /// A server with its status.
    pub fn new(name: impl Into<String>, status: impl Into<String>) -> Self {
        Self { name: name.into(), status: status.into() }
    }
}

/// Facts of a session that are known now, or are others now. What is missing stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentSessionUpdate {
    /// The agent's own name of the session, where it was not known at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// State in the agent's own word: `idle`, `requesting`, `compacting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode in the agent's own word: `plan`, `default`, `autopilot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Reason of the change, where the agent gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tokens of the conversation now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The most tokens that a conversation may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_limit: Option<u64>,
    /// Commands and skills that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Sub-agents that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The MCP servers that it knows, or one of them whose status changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<AgentMcpServer>,
    /// Tasks that run in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<u64>,
}

impl AgentSessionUpdate {
    /// An update with the state `status`.
    pub fn with_status(status: impl Into<String>) -> Self {
        Self { status: Some(status.into()), ..Self::default() }
    }
}
