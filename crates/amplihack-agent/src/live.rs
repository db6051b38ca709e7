//! Where an agent writes down what it used while it works, if its stream tells that at the end only.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;

use crate::event::Totals;

/// A file that an agent appends to, found by the name of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFile {
    root: PathBuf,
}

/// The file of `agent` in the environment `env`; `None` for one whose stream tells, or that writes none.
pub fn live_file(agent: AgentBinary, env: &Env) -> Option<LiveFile> {
    match agent {
        AgentBinary::Codex => crate::codex::rollouts(env).map(|root| LiveFile { root }),
        _ => None,
    }
}

impl LiveFile {
    /// The directory below which it is, at most [`Self::DEPTH`] directories deep.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many directories stand between the root and the file.
    pub const DEPTH: usize = 3;

    /// Whether a file of this name is that of `session`.
    pub fn is_of(&self, name: &str, session: &str) -> bool {
        name.strip_suffix(".jsonl").is_some_and(|stem| !session.is_empty() && stem.ends_with(session))
    }

    /// The total of the session, if `line` states one.
    pub fn line(&self, line: &[u8]) -> Option<Totals> {
        crate::codex::rollout_line(line)
    }
}
