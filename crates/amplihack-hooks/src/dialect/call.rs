//! The content of a payload, whichever host sent it.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;

use super::{FileChanges, HookDialect, LooseFields};
use crate::event::HookEvent;

/// The effect of a tool, as far as the policy is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolKind {
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
    /// Loads a skill or a command of the host, which may run commands of its file.
    Skill,
    /// A tool of an MCP server.
    Mcp,
    /// Known, and none of the others.
    Other,
    /// Not in the host's table.
    Unknown,
}

/// A skill or a command of the host that is about to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCall {
    /// The skill's name as the host knows it, without a slash.
    pub name: String,
    /// The text that replaces the arguments that the skill's file names.
    pub arguments: String,
}

/// A hook call, read from any dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The sender's way of writing payloads and of reading answers.
    pub dialect: HookDialect,
    /// The event.
    pub event: HookEvent,
    /// Other readings of the payload, if it contradicts itself. Each is judged.
    pub others: Vec<HookCall>,
    /// The tool's name as the host says it; `None` for events without a tool.
    pub tool: Option<String>,
    /// The effect of the tool.
    pub kind: ToolKind,
    /// The shell command. `None` without one, which is nothing to judge.
    pub command: Option<String>,
    /// The files that a write, an edit or a read names.
    pub paths: Vec<PathBuf>,
    /// The changes that the call makes to the text of these files.
    pub changes: FileChanges,
    /// Addresses that a fetch asks for: several, where a host puts them into a text.
    pub urls: Vec<String>,
    /// Texts of a tool's input that only its server understands, by what they look like.
    pub loose: LooseFields,
    /// The skill that it loads.
    pub skill: Option<SkillCall>,
    /// The user's prompt, or the first prompt of a session.
    pub prompt: Option<String>,
    /// Every text that a tool gave back.
    pub output: Option<String>,
    /// The directory that the agent works in: the payload's, if that is an absolute path, else the caller's.
    pub cwd: PathBuf,
    /// The directory that the call itself asks for, if that is elsewhere. Not every host is known to obey it, so both directories count.
    pub workdir: Option<PathBuf>,
    /// The host's own session.
    pub session: Option<String>,
    /// The host's id of this tool call.
    pub call_id: Option<String>,
    /// `true` if the host reports that it asks nobody for permission.
    pub skips_permissions: bool,
    /// The digest of session, tool and arguments, by which a call without an id is known again; only where permissions are skipped.
    pub digest: Option<String>,
    /// The file in which the host keeps its record of the session.
    pub transcript: Option<PathBuf>,
    /// `true` if the agent continues only because a stop hook told it to before.
    pub stop_active: bool,
    /// Number of prompts before this one, from the few hosts that report it.
    pub turn: Option<u64>,
    /// The error text that the host reports.
    pub error: Option<String>,
}

impl HookCall {
    /// A call that says nothing but its event.
    pub fn new(dialect: HookDialect, event: HookEvent, cwd: &Path) -> Self {
        Self {
            dialect,
            event,
            others: Vec::new(),
            tool: None,
            kind: ToolKind::Other,
            command: None,
            paths: Vec::new(),
            changes: FileChanges::default(),
            urls: Vec::new(),
            loose: LooseFields::default(),
            skill: None,
            prompt: None,
            output: None,
            cwd: cwd.to_owned(),
            workdir: None,
            session: None,
            call_id: None,
            skips_permissions: false,
            digest: None,
            transcript: None,
            stop_active: false,
            turn: None,
            error: None,
        }
    }

    /// The agent that sent it.
    pub fn host_agent(&self) -> AgentBinary {
        self.dialect.host_agent()
    }
}
