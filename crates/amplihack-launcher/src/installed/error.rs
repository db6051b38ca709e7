//! Errors for which a registration cannot be read, edited or tried.

use std::io;
use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::HookError;
use amplihack_hooks::settings::EditError;
use amplihack_sys::error::{ErrorExplanation, ExitKind};

/// A registration that is not as it has to be, or whose files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
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
    /// There is no home to install into.
    #[error("{0} is not an absolute path; set it")]
    NoHome(&'static str),
    /// A repository is needed.
    #[error("{} is in no git repository; go to one, or use --scope user", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// No registration of the agent is there.
    #[error(transparent)]
    Hooks(#[from] HookError),
    /// A registered command did not answer as it has to.
    #[error("the guard of {agent} does not hold: {why}; run `amplihack doctor`")]
    Unheld {
        /// The agent.
        agent: AgentBinary,
        /// Answer of the command, in words.
        why: String,
    },
}

impl ErrorExplanation for RegistrationError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Edit { .. } => "install_refused",
            Self::Io { .. } => "install_io",
            Self::NoHome(_) => "no_home",
            Self::NoRepository { .. } => "no_repository",
            Self::Hooks(error) => error.kind(),
            Self::Unheld { .. } => "guard_does_not_hold",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        if matches!(self, Self::NoRepository { .. }) { ExitKind::NotFound } else { ExitKind::Failed }
    }
}
