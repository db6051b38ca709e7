//! Why a call cannot be granted.

use std::io;
use std::path::PathBuf;

use amplihack_utils::error::{ExitKind, Explain};

use super::Id;

/// Why a call cannot be granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// The text is no id.
    #[error("`{}` is not the id of a stopped call; copy the id after `allow-once` from the message", text.escape_debug())]
    NoId {
        /// The text.
        text: String,
    },
    /// No stopped call has this id, or it was granted before.
    #[error(
        "no stopped call has the id {id}, or it was granted before; let the agent try again and take the new id"
    )]
    Unknown {
        /// The id.
        id: Id,
    },
    /// The call was stopped too long ago.
    #[error("the call {id} was stopped more than a day ago; let the agent try again and take the new id")]
    Expired {
        /// The id.
        id: Id,
    },
    /// The system refuses.
    #[error("{}: {source}; check that the directory is yours and has room", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Explain for OnceError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoId { .. } => "once_no_id",
            Self::Unknown { .. } => "once_unknown",
            Self::Expired { .. } => "once_expired",
            Self::Io { .. } => "once_io",
        }
    }

    fn exit(&self) -> ExitKind {
        match self {
            Self::NoId { .. } => ExitKind::Usage,
            Self::Unknown { .. } | Self::Expired { .. } => ExitKind::NotFound,
            Self::Io { .. } => ExitKind::Failed,
        }
    }
}
