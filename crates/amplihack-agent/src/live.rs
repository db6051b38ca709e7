//! Files to which an agent writes its usage while it works, if its stream has it at the end only, or not of nested agents: see
//! [`Counts::live_file`](crate::profile::UsageReports::live_file).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::event::UsageTotals;

/// A file, or several, that an agent appends to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveFile {
    /// Codex's records of a session and of the agents nested in it, somewhere below a directory. Each states its own total.
    Rollout {
        /// The directory.
        below: PathBuf,
    },
    /// Copilot's spans of one launch, which name what each answer used.
    Spans {
        /// The file.
        file: PathBuf,
        /// Variables that Copilot has to find in its environment, to write the file.
        env: Vec<(&'static str, OsString)>,
    },
    /// Records of messages: Claude's of its sub-agents, Gemini's of all its agents.
    Messages(MessageFiles),
}

/// Files with a line for each message of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFiles {
    /// The directory with a directory for each project.
    pub below: PathBuf,
    /// Format of the files.
    pub of: MessageFormat,
}

/// Rules by which files of messages are named and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// Claude's.
    Claude,
    /// Gemini's.
    Gemini,
}

impl MessageFiles {
    /// The directories of a project in which files of `session` are, with how their names end.
    pub fn message_directories(&self, project: &Path, session: &str) -> Vec<(PathBuf, String)> {
        match self.of {
            MessageFormat::Claude => vec![(project.join(session).join("subagents"), ".jsonl".to_owned())],
            MessageFormat::Gemini => {
                let chats = project.join("chats");
                let short = session.get(..8).unwrap_or(session);
                vec![(chats.join(session), ".jsonl".to_owned()), (chats, format!("-{short}.jsonl"))]
            }
        }
    }

    /// The message in `line`, if it has one that counts.
    pub fn parse_line(&self, line: &[u8]) -> Option<LiveMessage> {
        match self.of {
            MessageFormat::Claude => crate::claude::message_line(line),
            MessageFormat::Gemini => crate::gemini::message_line(line),
        }
    }
}

/// An answer of the model in a file of messages. A later line of its id replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveMessage {
    /// Id of the answer, equal to the stream's where that has one too.
    pub id: String,
    /// Time at which the answer was written.
    pub at: Option<Timestamp>,
    /// Amounts that the answer used.
    pub amounts: UsageTotals,
    /// The calls of tools in it.
    pub calls: Vec<String>,
}

/// Usage that a span reports: so much more was used in this launch, or in one below it.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageSpan {
    /// The session that it was used in: the first that is named is the launch's own.
    pub session: String,
    /// Amounts that were used.
    pub amounts: UsageTotals,
}

/// Content of a line of Codex's record.
#[derive(Debug, Clone, PartialEq)]
pub enum RolloutLine {
    /// So much is used in all of this agent's part of the session.
    Total(UsageTotals),
    /// A tool is called.
    Call(String),
}

/// Number of directories between a directory of rollouts and a rollout.
pub const ROLLOUT_DEPTH: usize = 3;

/// The id at the end of a rollout's name. Ids are in the order of their making.
pub fn rollout_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl")?;
    stem.get(stem.len().checked_sub(36)?..)
}

/// Returns the content of `line` of a rollout, if it has any.
pub fn rollout_line(line: &[u8]) -> Option<RolloutLine> {
    crate::codex::rollout_line(line)
}

/// The session that a rollout belongs to, by its first line: that of the agent that the user asked.
pub fn rollout_session(line: &[u8]) -> Option<String> {
    crate::codex::rollout_session(line)
}

/// Returns the usage in `line` of a file of spans, if it reports any.
pub fn parse_span(line: &[u8]) -> Option<UsageSpan> {
    crate::copilot::read_span(line)
}
