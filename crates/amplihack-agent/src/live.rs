//! Where an agent writes down what it used while it works, if its stream tells that at the end only: see
//! [`Counts::live_file`](crate::profile::Counts::live_file).

use std::ffi::OsString;
use std::path::PathBuf;

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
