//! Where an agent writes down what it used while it works, if its stream tells that at the end only.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;

use crate::event::Totals;

/// A file that an agent appends to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveFile {
    /// Codex's record of a session, somewhere below a directory, which states the session's total.
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
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum Counted {
    /// So much is used in all of the session.
    Total(Totals),
    /// So much more was used in this launch, or in one below it.
    More {
        /// The session that it was used in: the first that is named is the launch's own.
        session: String,
        /// How much.
        amounts: Totals,
    },
}

/// How many directories stand between a directory of rollouts and a rollout.
pub const ROLLOUT_DEPTH: usize = 3;

/// The file of `agent` in the environment `env`, at `ours` where its place is ours to choose. `None` for an agent whose stream tells, that
/// writes none, or whose user sends it elsewhere.
pub fn live_file(agent: AgentBinary, env: &Env, ours: &Path) -> Option<LiveFile> {
    match agent {
        AgentBinary::Codex => crate::codex::rollouts(env).map(|below| LiveFile::Rollout { below }),
        AgentBinary::Copilot => crate::copilot::spans(env, ours),
        _ => None,
    }
}

impl LiveFile {
    /// Whether a file of this name is that of `session`.
    pub fn is_of(name: &str, session: &str) -> bool {
        name.strip_suffix(".jsonl").is_some_and(|stem| !session.is_empty() && stem.ends_with(session))
    }

    /// What `line` says, if anything.
    pub fn line(&self, line: &[u8]) -> Option<Counted> {
        match self {
            Self::Rollout { .. } => crate::codex::rollout_line(line).map(Counted::Total),
            Self::Spans { .. } => crate::copilot::span(line),
        }
    }
}
