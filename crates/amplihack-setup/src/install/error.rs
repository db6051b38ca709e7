//! Errors for which nothing was installed or taken away.

use std::path::PathBuf;

use amplihack_hooks::HookError;
use amplihack_hooks::guard::UnknownEngine;
use amplihack_launcher::installed::RegistrationError;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_sys::form::NewerFormError;
use amplihack_sys::lock::LockError;

/// An installation that was refused or broke off. What it had changed is in its journal, and `uninstall` takes it back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A file or a registration is not as it has to be.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
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
    /// No agent is there to install for.
    #[error("no agent was found; install one, or name it with --agent")]
    NoAgent,
    /// Another installation is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another engine for hooks is asked for.
    #[error(transparent)]
    Engine(#[from] UnknownEngine),
}

impl From<HookError> for InstallError {
    fn from(error: HookError) -> Self {
        Self::Registration(error.into())
    }
}

impl ErrorExplanation for InstallError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Registration(error) => error.kind(),
            Self::Foreign { .. } => "install_foreign_file",
            Self::Journal { .. } => "install_journal",
            Self::Newer(_) => "install_journal_newer",
            Self::NoAgent => "no_agent",
            Self::Lock(error) => error.kind(),
            Self::Engine(_) => "unknown_hook_engine",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Registration(error) => error.exit_kind(),
            Self::NoAgent => ExitKind::NotFound,
            _ => ExitKind::Failed,
        }
    }
}
