//! Differences between a delivery and its request, in words that are safe for every log.

use std::fmt;

use super::{DeliveryMode, ENV_VAR_NAME, MAX_ARG_BYTES, PromptDelivery};
use amplihack_sys::sabotage;

/// Something that a delivery did otherwise than requested. Holds no byte of the prompt and no value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeliveryWarning {
    /// The requested mode cannot take this prompt; another one was used.
    UnsupportedMode {
        /// Mode that was asked for.
        requested: PromptDelivery,
        /// Mode that is used.
        effective: DeliveryMode,
    },
    /// An argument was asked for, and the prompt does not fit into one; another mode was used.
    TooLargeForArgv {
        /// Bytes of the prompt.
        size: usize,
        /// Mode that is used.
        effective: DeliveryMode,
    },
    /// The variable holds no known request; `auto` was used.
    UnknownRequest,
    /// NUL bytes were removed from the prompt.
    NulRemoved {
        /// Number of NUL bytes.
        count: usize,
    },
}

impl fmt::Display for DeliveryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedMode { requested, .. }
                if sabotage::is_active("delivery-warning-names-modes") =>
            {
                write!(f, "requested {requested} is unsupported; degrading")
            }
            Self::UnsupportedMode { requested, effective } => {
                write!(f, "requested {requested} is unsupported; degrading to {effective}")
            }
            Self::TooLargeForArgv { size, effective } => write!(
                f,
                "requested argv cannot hold a prompt of {size} bytes (at most {MAX_ARG_BYTES}); degrading to {effective}"
            ),
            Self::UnknownRequest => {
                write!(f, "{ENV_VAR_NAME} is not one of auto, argv, tempfile, stdin; using auto")
            }
            Self::NulRemoved { count: 1 } => f.write_str("1 NUL byte was removed from the prompt"),
            Self::NulRemoved { count } => write!(f, "{count} NUL bytes were removed from the prompt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let degraded = DeliveryWarning::UnsupportedMode {
            requested: PromptDelivery::Tempfile,
            effective: DeliveryMode::Argv,
        };
        assert_eq!(degraded.to_string(), "requested tempfile is unsupported; degrading to argv");
        let large = DeliveryWarning::TooLargeForArgv { size: 200_000, effective: DeliveryMode::Stdin };
        assert_eq!(
            large.to_string(),
            "requested argv cannot hold a prompt of 200000 bytes (at most 131071); degrading to stdin"
        );
        assert_eq!(
            DeliveryWarning::UnknownRequest.to_string(),
            "AMPLIHACK_PROMPT_DELIVERY is not one of auto, argv, tempfile, stdin; using auto"
        );
        let removed = |count| DeliveryWarning::NulRemoved { count }.to_string();
        assert_eq!(removed(1), "1 NUL byte was removed from the prompt");
        assert_eq!(removed(2), "2 NUL bytes were removed from the prompt");
    }
}
