//! Where an agent writes down what it used while it works, if its stream tells that at the end only, or not of nested agents: see
//! [`Counts::live_file`](crate::profile::Counts::live_file).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::event::Totals;

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
        /// What Copilot has to find in its environment, to write it.
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
    /// Whose files they are.
    pub of: MessageFormat,
}

/// How files of messages are named and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// Claude's.
    Claude,
    /// Gemini's.
    Gemini,
}

impl MessageFiles {
    /// The directories of a project in which files of `session` are, with how their names end.
    pub fn places(&self, project: &Path, session: &str) -> Vec<(PathBuf, String)> {
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
    pub fn line(&self, line: &[u8]) -> Option<Message> {
        match self.of {
            MessageFormat::Claude => crate::claude::message_line(line),
            MessageFormat::Gemini => crate::gemini::message_line(line),
        }
    }
}

/// An answer of the model in a file of messages. A later line of its id replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id, the same as in the stream where that has it too.
    pub id: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// What it used.
    pub amounts: Totals,
    /// The calls of tools in it.
    pub calls: Vec<String>,
}

/// What a span says: so much more was used in this launch, or in one below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The session that it was used in: the first that is named is the launch's own.
    pub session: String,
    /// How much.
    pub amounts: Totals,
}

/// What a line of Codex's record says.
#[derive(Debug, Clone, PartialEq)]
pub enum RolloutLine {
    /// So much is used in all of this agent's part of the session.
    Total(Totals),
    /// A tool is called.
    Call(String),
}

/// How many directories stand between a directory of rollouts and a rollout.
pub const ROLLOUT_DEPTH: usize = 3;

/// The id at the end of a rollout's name. Ids are in the order of their making.
pub fn rollout_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl")?;
    stem.get(stem.len().checked_sub(36)?..)
}

/// What `line` of a rollout says, if anything.
pub fn rollout_line(line: &[u8]) -> Option<RolloutLine> {
    crate::codex::rollout_line(line)
}

/// The session that a rollout belongs to, by its first line: that of the agent that the user asked.
pub fn rollout_session(line: &[u8]) -> Option<String> {
    crate::codex::rollout_session(line)
}

/// What `line` of a file of spans says, if anything.
pub fn span(line: &[u8]) -> Option<Span> {
    crate::copilot::span(line)
}
