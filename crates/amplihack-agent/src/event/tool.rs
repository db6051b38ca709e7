//! Calls of tools, what they give back and what they change.

use serde::{Deserialize, Serialize};

use super::{EventJson, is_false};

/// Kind of a tool, the same for every agent: the kinds of the Agent Client Protocol, and four that it has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentToolKind {
    /// Reads files or lists directories.
    Read,
    /// Changes the content of files.
    Edit,
    /// Writes whole files.
    Write,
    /// Deletes files.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches files or the web.
    Search,
    /// Runs commands, or reads from and writes to running ones.
    Execute,
    /// Fetches from the network.
    Fetch,
    /// Thinks, or notes something.
    Think,
    /// Belongs to an MCP server.
    Mcp,
    /// Starts or steers a sub-agent.
    Agent,
    /// Writes a plan or a list of tasks.
    Plan,
    /// Anything else, or a kind that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolCall {
    /// The agent's name of the call.
    pub id: String,
    /// The tool, in the agent's own word.
    pub name: String,
    /// Kind of the tool.
    #[serde(default)]
    pub kind: AgentToolKind,
    /// The call's arguments, as the agent gave them.
    pub input: EventJson,
    /// The command that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The pattern or the words that it searches for, or the address that it fetches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The files that it is about, as the call names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<ToolLocation>,
    /// The tool call whose sub-agent asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl ToolCall {
    /// A call of which nothing but its arguments is known.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: EventJson) -> Self {
        Self { id: id.into(), name: name.into(), input, ..Self::default() }
    }
}

/// A place in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolLocation {
    /// Path of the file, as the agent names it.
    pub path: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl ToolLocation {
    /// The file at `path`.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}

/// The next part of a call's arguments, while the model writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolInputDelta {
    /// The agent's name of the call.
    pub id: String,
    /// The tool, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The next part of the arguments' text.
    pub delta: String,
    /// The tool call whose sub-agent asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Output of a tool that still runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolOutputDelta {
    /// The agent's name of the call.
    pub id: String,
    /// The next part of the output, or all of it so far.
    pub text: String,
    /// Set if `text` is all of the output so far.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole: bool,
    /// Duration so far, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The stream of a command that wrote it: `stdout` or `stderr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The tool call whose sub-agent runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolResult {
    /// The call that it answers.
    pub id: String,
    /// Output of the tool, as text; blocks of text are joined by newlines, images are left out, other blocks are their JSON.
    pub output: String,
    /// Set if the call failed: the agent says so, or its command ended with another code than 0.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// The kind of the failure, in the agent's own words, where it says so: `invalid_tool_params`, `file_not_found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// The exit code of a command, where the agent says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The files that the call changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<AgentFileChange>,
    /// The images that it gave back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<AgentImage>,
    /// The tool call whose sub-agent it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl ToolResult {
    /// A result with `output`.
    pub fn new(id: impl Into<String>, output: impl Into<String>) -> Self {
        Self { id: id.into(), output: output.into(), ..Self::default() }
    }
}

/// A file that a call changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentFileChange {
    /// Path of the file, as the agent names it.
    pub path: String,
    /// Kind of the change.
    pub kind: FileChangeKind,
    /// The path that a moved file has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Hunks of the unified format, without file headers, where the agent gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl AgentFileChange {
    /// A change of the file at `path`.
    pub fn new(path: impl Into<String>, kind: FileChangeKind) -> Self {
        Self { path: path.into(), kind, ..Self::default() }
    }
}

/// Kind of a change to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileChangeKind {
    /// The file is new.
    Add,
    /// The file has another content.
    #[default]
    Update,
    /// The file is gone.
    Delete,
    /// The file has another name.
    Move,
    /// The file was written, and the agent does not say whether it was there before.
    Write,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentImage {
    /// Media type, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Content in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Address or path of the image, where its content is not in the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}
