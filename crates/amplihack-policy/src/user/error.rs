//! Faults of a policy file.

use std::io;
use std::path::PathBuf;

use amplihack_sys::error::ErrorExplanation;

// Like `ConfigError` in its causes; texts, kinds and what may be done about them are a policy's own.
/// The reason why there is no policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A file is there and cannot be read.
    #[error("cannot read the policy {}: {source}; correct or remove it", file.display())]
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
        /// The parser's message.
        message: String,
    },
    /// A key is none, or has a value that it cannot have.
    #[error("{}:{line}:{column}: {message}", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The fault, and the right form.
        message: String,
    },
    /// A rule's example says that the rule does something else.
    #[error("{}:{line}:{column}: the rule {} `{}`; correct the rule or the example", file.display(),
        if *expected { "does not match its example" } else { "matches its counter-example" }, example.escape_debug())]
    Example {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The example.
        example: String,
        /// True if the example should match.
        expected: bool,
    },
}

impl ErrorExplanation for PolicyError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Read { .. } => "policy_read",
            Self::Syntax { .. } => "policy_syntax",
            Self::Value { .. } => "policy_value",
            Self::Example { .. } => "policy_example",
        }
    }
}
