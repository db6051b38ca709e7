//! Errors of granting a stopped call.

use amplihack_sys::error::{ErrorExplanation, ExitKind};

use super::StoppedCallId;

/// The reason why a call cannot be granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// The text is no id.
    #[error("`{}` is not the id of a stopped call; `amplihack policy pending` lists them", text.escape_debug())]
    NoId {
        /// The text.
        text: String,
    },
    /// No running session has a stopped call of this id.
    #[error(
        "no running session has a stopped call with the id {id}; `amplihack policy pending` lists those that can be allowed"
    )]
    Unknown {
        /// The id.
        id: StoppedCallId,
    },
    /// No launch listens.
    #[error("no session started by amplihack is running; only in such a session can a call be allowed once")]
    NoSession,
    /// The session takes this process for an agent's.
    #[error("only you can allow a call, and amplihack cannot tell that you are asking: {why}")]
    NotAPerson {
        /// The reason why the asking process does not count as a person's, for people.
        why: String,
    },
}

impl ErrorExplanation for OnceError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoId { .. } => "once_no_id",
            Self::Unknown { .. } => "once_unknown",
            Self::NoSession => "once_no_session",
            Self::NotAPerson { .. } => "denied",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotAPerson { .. } => Some("run it in another terminal window that you opened".to_owned()),
            _ => None,
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::NoId { .. } => ExitKind::Usage,
            Self::Unknown { .. } | Self::NoSession => ExitKind::NotFound,
            Self::NotAPerson { .. } => ExitKind::Denied,
        }
    }
}
