//! Errors of a configuration, and what is only worth a warning.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::layer::ConfigOrigin;
use amplihack_sys::error::{ErrorExplanation, ExitKind};

/// Error that leaves no configuration, or keeps it from being changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("cannot read {}: {source}; correct or remove it", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("{}:{line}:{column} is not TOML: {message}; correct it", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Message of the parser.
        message: String,
    },
    /// A key in a file has a value that it cannot have.
    #[error("{}:{line}:{column}: {key} must be {expected}", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The key.
        key: String,
        /// Description of what the value has to be.
        expected: String,
    },
    /// An environment variable has a value that it cannot have.
    #[error("the variable {variable} must be {expected}; correct or unset it")]
    Variable {
        /// The variable.
        variable: String,
        /// Description of what the value has to be.
        expected: String,
    },
    /// A flag has a value that it cannot have.
    #[error("{flag} must be {expected}")]
    Flag {
        /// The flag.
        flag: String,
        /// Description of what the value has to be.
        expected: String,
    },
    /// A flag sets a key that is none.
    #[error("{flag} sets `{key}`, which is no configuration key{}", suggestion_text(suggestion.as_deref()))]
    UnknownKey {
        /// The flag.
        flag: String,
        /// The key.
        key: String,
        /// The key that may have been meant.
        suggestion: Option<String>,
    },
    /// The user has no place for a configuration.
    #[error("no place for a configuration: set HOME or XDG_CONFIG_HOME to an absolute path")]
    NoUserFile,
    /// There is nothing to trust.
    #[error("{} is not in a git repository; name a directory that is", directory.display())]
    NoRepository {
        /// The directory.
        directory: PathBuf,
    },
    /// A path that TOML cannot hold.
    #[error("the path {} is not UTF-8 and cannot be kept in a configuration; rename it", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; check its permissions and the space left", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ErrorExplanation for ConfigError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Read { .. } => "config_read",
            Self::Syntax { .. } => "config_syntax",
            Self::Value { .. } => "config_value",
            Self::Variable { .. } => "config_variable",
            Self::Flag { .. } => "config_flag",
            Self::UnknownKey { .. } => "config_unknown_key",
            Self::NoUserFile => "config_no_user_file",
            Self::NoRepository { .. } => "config_no_repository",
            Self::NotUtf8 { .. } => "config_not_utf8",
            Self::Write { .. } => "config_write",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Flag { .. } | Self::UnknownKey { .. } => ExitKind::Usage,
            _ => ExitKind::Failed,
        }
    }
}

/// Something in a configuration that has no effect, though someone wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// A file has a key that is none.
    UnknownKey {
        /// The key.
        key: String,
        /// Place of the key.
        origin: ConfigOrigin,
        /// The key that may have been meant.
        suggestion: Option<String>,
    },
    /// A variable holds a word that its key does not know; the key has its first word instead.
    UnknownWord {
        /// The variable.
        variable: String,
        /// The words that it may hold, comma-separated.
        expected: String,
        /// Word that holds instead.
        instead: String,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, origin, suggestion } => {
                write!(
                    f,
                    "{origin}: unknown key `{}`{}",
                    key.escape_debug(),
                    suggestion_text(suggestion.as_deref())
                )
            }
            Self::UnknownWord { variable, expected, instead } => {
                write!(f, "{variable} is not one of {expected}; using {instead}")
            }
        }
    }
}

fn suggestion_text(key: Option<&str>) -> String {
    key.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// A value that was read and does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredSetting {
    /// The key.
    pub key: String,
    /// The value that was ignored, as text.
    pub value: String,
    /// Place of the value.
    pub origin: ConfigOrigin,
    /// Reason why the value does not count, and what would make it count.
    pub why: &'static str,
}

impl fmt::Display for IgnoredSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ignored: {}", self.origin, self.key, self.why)
    }
}
