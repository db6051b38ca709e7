//! What a payload says, whichever host sent it.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;

use super::Dialect;
use crate::event::HookEvent;

/// What a tool does, as far as the policy is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Runs a command in a shell.
    Shell,
    /// Makes or replaces a file.
    Write,
    /// Changes a file.
    Edit,
    /// Reads a file or a directory.
    Read,
    /// Fetches from the network.
    Fetch,
    /// Starts another agent.
    Agent,
    /// A tool of an MCP server.
    Mcp,
    /// Known, and none of the others.
    Other,
    /// Not in the host's table.
    Unknown,
}

/// A hook call, read from any dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// How its sender speaks, and what it listens to.
    pub dialect: Dialect,
    /// The event.
    pub event: HookEvent,
    /// The tool's name as the host says it; `None` for events without a tool.
    pub tool: Option<String>,
    /// What the tool does.
    pub kind: Kind,
    /// The shell command. `None` without one, which is nothing to judge.
    pub command: Option<String>,
    /// The files that a write, an edit or a read names.
    pub paths: Vec<PathBuf>,
    /// What a fetch asks for: several, where a host puts them into a text.
    pub urls: Vec<String>,
    /// What the user said, or the first prompt of a session.
    pub prompt: Option<String>,
    /// Every text that a tool gave back.
    pub output: Option<String>,
    /// The directory that the agent works in: the payload's, if that is an absolute path, else the caller's.
    pub cwd: PathBuf,
    /// Where the call itself asks to be run, if that is elsewhere. Whether a host does so is not known, so both places count.
    pub workdir: Option<PathBuf>,
    /// The host's own session.
    pub session: Option<String>,
    /// The host's id of this tool call.
    pub call_id: Option<String>,
    /// Whether the agent goes on only because a stop hook said so before.
    pub stop_active: bool,
    /// How many prompts there were before this one, from the few hosts that say.
    pub turn: Option<u64>,
    /// What the host says went wrong.
    pub error: Option<String>,
}

impl Call {
    /// A call that says nothing but its event.
    pub fn empty(dialect: Dialect, event: HookEvent, cwd: &Path) -> Self {
        Self {
            dialect,
            event,
            tool: None,
            kind: Kind::Other,
            command: None,
            paths: Vec::new(),
            urls: Vec::new(),
            prompt: None,
            output: None,
            cwd: cwd.to_owned(),
            workdir: None,
            session: None,
            call_id: None,
            stop_active: false,
            turn: None,
            error: None,
        }
    }

    /// The agent that sent it.
    pub fn host(&self) -> AgentBinary {
        self.dialect.host()
    }
}
