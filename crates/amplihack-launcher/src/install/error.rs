//! Errors for which nothing was installed or taken away.

use std::io;
use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::HookError;
use amplihack_hooks::guard::UnknownEngine;
use amplihack_hooks::settings::EditError;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_sys::form::NewerFormError;
use amplihack_sys::lock::LockError;

/// An installation that was refused or broke off. What it had changed is in its journal, and `uninstall` takes it back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A file cannot be edited for sure.
    #[error("{} {why}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be edited.
        why: EditError,
    },
    /// A file cannot be read or changed.
    #[error("{} {doing}: {source}; check its permissions and the space left", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Act that failed, in words.
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// A file of our name is somebody else's.
    #[error("{} is not amplihack's; move it away and try again", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The journal is not what this version wrote.
    #[error("the journal {} cannot be read: {why}; repair it, or move it away and remove amplihack's hooks by hand", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be read.
        why: String,
    },
    /// A newer version wrote the journal.
    #[error(transparent)]
    Newer(#[from] NewerFormError),
    /// There is no home to install into.
    #[error("{0} is not an absolute path; set it")]
    NoHome(&'static str),
    /// A repository is needed.
    #[error("{} is in no git repository; go to one, or use --scope user", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// No agent is there to install for.
    #[error("no agent was found; install one, or name it with --agent")]
    NoAgent,
    /// No registration of the agent is there.
    #[error(transparent)]
    Hooks(#[from] HookError),
    /// Another installation is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another engine for hooks is asked for.
    #[error(transparent)]
    Engine(#[from] UnknownEngine),
    /// A registered command did not answer as it has to.
    #[error("the guard of {agent} does not hold: {why}; run `amplihack doctor`")]
    Unheld {
        /// The agent.
        agent: AgentBinary,
        /// Answer of the command, in words.
        why: String,
    },
}

impl ErrorExplanation for InstallError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Edit { .. } => "install_refused",
            Self::Io { .. } => "install_io",
            Self::Foreign { .. } => "install_foreign_file",
            Self::Journal { .. } => "install_journal",
            Self::Newer(_) => "install_journal_newer",
            Self::NoHome(_) => "no_home",
            Self::NoRepository { .. } => "no_repository",
            Self::NoAgent => "no_agent",
            Self::Hooks(error) => error.kind(),
            Self::Lock(error) => error.kind(),
            Self::Engine(_) => "unknown_hook_engine",
            Self::Unheld { .. } => "guard_does_not_hold",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::NoAgent | Self::NoRepository { .. } => ExitKind::NotFound,
            _ => ExitKind::Failed,
        }
    }
}
