//! `launcher_context.json`: which launch is in charge of a repository, written by launches, read by the resolver.

mod exclude;
mod launch_index;
mod read;
mod session;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use crate::agent_binary::AgentBinary;
use amplihack_sys::error::ErrorExplanation;

pub use launch_index::{LaunchIndex, sweep_index};
pub use read::{ContextFileError, LauncherContextFile, MAX_AGE, MAX_DEPTH, MAX_FILE_BYTES, read};
pub use session::{
    BadSessionId, SessionContext, SessionId, new_session_id, pick_by_prefix, sessions_directory,
};
pub use write::{context_path, write};

/// The file's name.
pub const FILE_NAME: &str = "launcher_context.json";

/// Path of the file below the directory that a launch is in charge of.
pub const RELATIVE_PATH: &str = ".claude/runtime/launcher_context.json";

/// The variable by which a launch names its session to its descendants.
pub const SESSION_VAR: &str = "AMPLIHACK_SESSION_ID";

/// Facts of a launch about itself. Never a command line, never a prompt: the file lies in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LauncherContext {
    /// The agent that was launched.
    pub launcher: AgentBinary,
    /// The launch.
    pub session_id: SessionId,
    /// The directory in which it was launched; what is not UTF-8 in it is replaced.
    #[serde(serialize_with = "serialize_lossy")]
    pub cwd: PathBuf,
    /// Time of the launch, in UTC.
    #[serde(serialize_with = "serialize_rfc3339")]
    pub started_at: Timestamp,
    /// The version of amplihack that launched it.
    pub amplihack_version: String,
    /// The launching process. While it lives the file does not go stale.
    pub pid: u32,
    /// Start of that process, in clock ticks since boot.
    pub start_time: u64,
}

impl LauncherContext {
    /// The context of a launch by this process, now.
    pub fn of_this_process(launcher: AgentBinary, session_id: SessionId, cwd: &Path) -> Self {
        Self {
            launcher,
            session_id,
            cwd: cwd.to_path_buf(),
            started_at: Timestamp::now(),
            amplihack_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            start_time: amplihack_sys::start_time(std::process::id()).unwrap_or_default(),
        }
    }
}

fn serialize_lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn serialize_rfc3339<S: serde::Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Error in writing, reading or removing a context file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// A symbolic link leads out of the directory that the context is for.
    #[error("{} leads out of {}; replace the symbolic link by a directory", path.display(), anchor.display())]
    Outside {
        /// The directory that does not stand where it seems to.
        path: PathBuf,
        /// The directory that it has to be in.
        anchor: PathBuf,
    },
    /// Reading, writing or removing failed.
    #[error("{}: {source}; check its permissions and the space left", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Not what was written there.
    #[error("{} is damaged at line {line}, column {column}; remove it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line of the first fault, from 1.
        line: usize,
        /// Column of the first fault, from 1.
        column: usize,
    },
}

impl ContextError {
    fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}

impl ErrorExplanation for ContextError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Outside { .. } => "context_outside",
            Self::Io { .. } => "context_io",
            Self::Damaged { .. } => "context_damaged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_kind() {
        let path = PathBuf::from("p");
        for (error, kind) in [
            (ContextError::Outside { path: path.clone(), anchor: path.clone() }, "context_outside"),
            (ContextError::io_error(&path)(io::ErrorKind::NotFound.into()), "context_io"),
            (ContextError::Damaged { path, line: 1, column: 1 }, "context_damaged"),
        ] {
            assert_eq!(error.kind(), kind);
        }
    }
}
