//! Errors for which a context cannot be handed over.

use std::io;
use std::path::PathBuf;

use amplihack_sys::error::{ErrorExplanation, ExitKind};

/// A context that cannot be handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpillError {
    /// A key that `--set KEY=VALUE` cannot say.
    #[error("the context key {key:?} {why}")]
    BadKey {
        /// The key.
        key: String,
        /// The fault of the key.
        why: &'static str,
    },
    /// A value that no argument holds.
    #[error("the context value of {key} holds a NUL byte")]
    NulInValue {
        /// The key of the value.
        key: String,
    },
    /// A large value could not be written.
    #[error("the context value of {key} could not be written below {}: {source}", directory.display())]
    Write {
        /// The key of the value.
        key: String,
        /// The directory that was to hold the file.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ErrorExplanation for SpillError {
    fn kind(&self) -> &'static str {
        match self {
            Self::BadKey { .. } => "bad_context_key",
            Self::NulInValue { .. } => "nul_in_context",
            Self::Write { .. } => "context_not_written",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        if matches!(self, Self::Write { .. }) { ExitKind::Failed } else { ExitKind::Usage }
    }

    fn hint(&self) -> Option<String> {
        matches!(self, Self::Write { .. }).then(|| "name a directory with room in TMPDIR".into())
    }
}
