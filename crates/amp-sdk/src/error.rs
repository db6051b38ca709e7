//! Failures of the SDK: one enum, stable kinds, the end of the CLI and the tail of its stderr attached.

mod kind;
mod normalize;

use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::event::FailKind;
use amplihack_session::RunEnd;
use amplihack_sys::ProcessExit;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use semver::Version;

pub use kind::ErrorKind;
pub(crate) use normalize::reports_missing_login;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The last bytes that a CLI wrote to its standard error, as text (invalid UTF-8 replaced).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StderrTail {
    /// At most `Options::max_stderr_buffer_bytes` bytes, the last ones.
    pub text: String,
    /// `true` if stderr had more bytes before these.
    pub truncated: bool,
}

/// The end of a CLI process, with what it said last.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CliEnd {
    /// The end of the run: outcome, evidence, exit, survivors, bytes of the prompt that were not read.
    pub run: RunEnd,
    /// The last bytes on stderr.
    pub stderr: StderrTail,
}

impl Default for CliEnd {
    fn default() -> Self {
        Self::new(None, StderrTail::default())
    }
}

impl CliEnd {
    /// An end with this code, where one is known, and this tail of stderr.
    pub fn new(exit_code: Option<i32>, stderr: StderrTail) -> Self {
        let run = match exit_code {
            Some(code) => RunEnd::from_exit(ProcessExit::Code(code)),
            None => RunEnd::from_failure(FailKind::NoResult, "the end of the CLI is not known"),
        };
        Self { run, stderr }
    }

    /// The end of a process that is known.
    pub(crate) const fn from_run_end(run: RunEnd, stderr: StderrTail) -> Self {
        Self { run, stderr }
    }

    /// The exit code; 128 + n after signal n; `None` while it is not known.
    pub fn exit_code(&self) -> Option<i32> {
        self.run.exit().map(ProcessExit::code)
    }

    /// The signal that ended the CLI, where one did: 9 is SIGKILL.
    pub fn signal(&self) -> Option<i32> {
        match self.run.exit() {
            Some(ProcessExit::Signal(signal)) => Some(signal),
            _ => None,
        }
    }

    /// The tail without blanks around it, and how the process ended where the tail cannot tell.
    fn stderr_summary(&self) -> String {
        let text = self.stderr.text.trim();
        match (text.is_empty(), self.signal(), self.exit_code()) {
            (false, None, _) => text.to_owned(),
            (false, Some(signal), _) => format!("{text} (the CLI was ended by signal {signal})"),
            (true, Some(signal), _) => format!("the CLI was ended by signal {signal} and said nothing"),
            (true, None, Some(code)) => format!("the CLI exited with {code} and said nothing"),
            (true, None, None) => "the CLI ended and said nothing".to_owned(),
        }
    }

    /// Returns the text of stderr, or a hint where to look for the reason.
    fn no_result_hint(&self) -> String {
        match self.stderr.text.trim() {
            "" => "look at its stderr and its log file".to_owned(),
            text => format!("its stderr: {text}"),
        }
    }
}

/// The wait that ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamWait {
    /// From the start to the first byte (`Options::startup_timeout_ms`).
    Startup,
    /// From one output to the next (`Options::stream_timeout_ms`).
    Idle,
}

impl std::fmt::Display for StreamWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Startup => "the CLI has said nothing since its start",
            Self::Idle => "the CLI has said nothing",
        })
    }
}

/// A failure of the SDK. Never holds a prompt, a secret or a value of an authority.
///
/// The CLI's own error results are no errors of the stream: they are `Ok(StreamMessage::ErrorResult)`; only
/// [`run`](crate::run) makes [`Error::ExecutionFailed`] of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The CLI is not where it should be, or cannot be executed. Kind `cli_not_found`, exit code 127.
    #[error(
        "find the Amp CLI: {looked}; install it (npm install -g @ampcode/cli) or name it in Options::cli_path"
    )]
    CliNotFound {
        /// Places where the CLI was looked for, or the message of its shell.
        looked: String,
    },
    /// The CLI has no credentials. Kind `auth_error`.
    #[error("authenticate with Amp: {message}; run `amp login`, or put AMP_API_KEY into Options::env")]
    Auth {
        /// Message of the CLI.
        message: String,
        /// The end of the CLI process.
        end: Box<CliEnd>,
    },
    /// A management command ended with another code than 0. Kind `command_failed`.
    #[error("run `amp {command}`: {}", end.stderr_summary())]
    CommandFailed {
        /// The command's words, without values that may be secrets.
        command: String,
        /// The end of the CLI process.
        end: Box<CliEnd>,
    },
    /// A management command took too long. Kind `command_timeout`, exit code 124.
    #[error("run `amp {command}`: no end after {} ms; give it more time with its timeout", after.as_millis())]
    CommandTimeout {
        /// The command's words, without values that may be secrets.
        command: String,
        /// Time that the run had.
        after: Duration,
        /// State of the CLI at the deadline, with the tail of its stderr.
        end: Box<CliEnd>,
    },
    /// A management command could not be started or watched. Kind `command_execution_failed`.
    #[error("run `amp {command}`: {source}")]
    CommandExecution {
        /// The command's words, without values that may be secrets.
        command: String,
        /// Cause of the failure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The CLI could not be started. Kind `stream_start_failed`.
    #[error("start the Amp CLI: {source}")]
    StreamStart {
        /// Cause of the failure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The CLI runs but can no longer be talked to. Kind `transport_error`.
    #[error("talk to the Amp CLI: {source}")]
    Transport {
        /// Cause of the failure.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The CLI ended without a result and with another code than 0. Kind `transport_exit`.
    #[error("{}", end.stderr_summary())]
    TransportExit {
        /// The end of the CLI process; the text of stderr is the message.
        end: Box<CliEnd>,
    },
    /// A line of the CLI is not JSON, and the stream is strict; or a listing cannot be read. Kind `parse_error`.
    #[error(
        "read the CLI's output: {message}; update the SDK or the CLI, or read on without Options::strict"
    )]
    Parse {
        /// Description of the defect.
        message: String,
        /// The line or the output, its first 4 KiB.
        details: String,
    },
    /// JSON that is no message. Kind `invalid_message`.
    #[error("read a message of the CLI: {message}; update the SDK or the CLI")]
    InvalidMessage {
        /// Description of the defect.
        message: String,
        /// A stable name for the cause: `missing_type_field`, `invalid_type_field`, `not_an_object`, `invalid_field`.
        cause: &'static str,
        /// The line, its first 4 KiB.
        details: String,
    },
    /// Options, a rule, a settings file or an authority that cannot be used. Kind `invalid_configuration`.
    #[error("use {field}: {message}")]
    InvalidConfiguration {
        /// The option, `labels[0]` for one of many.
        field: String,
        /// Description of the defect and the remedy; no value of a secret or an authority.
        message: String,
        /// The file it is about.
        path: Option<PathBuf>,
    },
    /// The working directory is not there. Kind `config_invalid`.
    #[error("use cwd: {} is not a directory; create it or correct Options::cwd", path.display())]
    ConfigInvalid {
        /// Path that was asked for.
        path: PathBuf,
    },
    /// The prompt, or the list of messages, is empty. Kind `invalid_configuration`.
    #[error("use the prompt: it is empty; give it some text")]
    EmptyPrompt,
    /// The run ended in an error result. Kind `execution_failed`.
    #[error("run the prompt: {message}")]
    ExecutionFailed {
        /// Message of the CLI.
        message: String,
        /// The result's subtype: `error_during_execution`, `error_max_turns`, …
        subtype: String,
        /// Calls that were denied, as the CLI lists them.
        permission_denials: Vec<String>,
        /// The end of the CLI process.
        end: Box<CliEnd>,
    },
    /// The CLI exited with 0 and gave no result. Kind `no_result`.
    #[error("run the prompt: the CLI ended without a result; {}", end.no_result_hint())]
    NoResult {
        /// The end of the CLI process.
        end: Box<CliEnd>,
    },
    /// The whole run took too long. Kind `run_deadline_exceeded`.
    #[error("run the prompt: no end after {} ms; raise Options::run_deadline_ms", after.as_millis())]
    RunDeadline {
        /// Time that the command had.
        after: Duration,
        /// State of the CLI at the deadline, with the tail of its stderr.
        end: Box<CliEnd>,
    },
    /// Nothing came for too long. Kind `stream_timeout`.
    #[error("run the prompt: {wait} for {} ms; raise Options::{}", after.as_millis(), wait.option_name())]
    StreamTimeout {
        /// The wait that ran out.
        wait: StreamWait,
        /// Length of the wait.
        after: Duration,
        /// State of the CLI at the deadline, with the tail of its stderr.
        end: Box<CliEnd>,
    },
    /// Work inside of the SDK took too long, such as asking the CLI for its version. Kind `task_timeout`.
    #[error("{what}: no end after {} ms; run it by hand to see what it waits for", after.as_millis())]
    TaskTimeout {
        /// Action that was tried.
        what: String,
        /// Time that the action had.
        after: Duration,
    },
    /// A thread or runtime of the SDK could not be had, or ended. Kind `task_exit`.
    #[error("{what}: {message}; check the limits of threads and open files (ulimit -u, ulimit -n)")]
    TaskExit {
        /// Action that was tried.
        what: String,
        /// Message of the system.
        message: String,
    },
    /// The CLI cannot do this, or the SDK refuses to pretend. Nothing was started. Kind `unsupported_capability`.
    #[error("use {feature}: the Amp CLI{} does not have it{}", VersionSuffix(cli_version.as_ref()), ReasonSuffix(*reason))]
    Unsupported {
        /// The flag, command or option.
        feature: String,
        /// The CLI's version, if it was asked for.
        cli_version: Option<Version>,
        /// Remedy, or reason.
        reason: Option<&'static str>,
    },
    /// A failure that another program, a log or another SDK reported as a code and a text. Its kind is the code's, and its text is all
    /// that is known.
    #[error("{message}")]
    Reported {
        /// The kind that was reported.
        kind: ErrorKind,
        /// The foreign text.
        message: String,
    },
    /// A failure from outside with a code that is not known here. Kind `unknown`.
    #[error("{message}")]
    Unknown {
        /// The foreign code.
        code: String,
        /// The foreign text.
        message: String,
    },
}

struct VersionSuffix<'a>(Option<&'a Version>);

impl std::fmt::Display for VersionSuffix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |version| write!(f, " {version}"))
    }
}

struct ReasonSuffix(Option<&'static str>);

impl std::fmt::Display for ReasonSuffix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, "; {reason}"))
    }
}

impl StreamWait {
    const fn option_name(self) -> &'static str {
        match self {
            Self::Startup => "startup_timeout_ms",
            Self::Idle => "stream_timeout_ms",
        }
    }
}

impl Error {
    /// An option that cannot be used, without a file behind it.
    pub(crate) fn invalid_option(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidConfiguration { field: field.into(), message: message.into(), path: None }
    }

    /// Something that no version of the CLI, or not this one, can do.
    pub(crate) fn unsupported_feature(
        feature: impl Into<String>,
        version: Option<&Version>,
        reason: Option<&'static str>,
    ) -> Self {
        Self::Unsupported { feature: feature.into(), cli_version: version.cloned(), reason }
    }

    /// The stable name of the kind, `snake_case`.
    pub fn kind(&self) -> &'static str {
        self.error_kind().as_str()
    }

    /// The kind.
    pub fn error_kind(&self) -> ErrorKind {
        match self {
            Self::CliNotFound { .. } => ErrorKind::CliNotFound,
            Self::Auth { .. } => ErrorKind::AuthError,
            Self::CommandFailed { .. } => ErrorKind::CommandFailed,
            Self::CommandTimeout { .. } => ErrorKind::CommandTimeout,
            Self::CommandExecution { .. } => ErrorKind::CommandExecutionFailed,
            Self::StreamStart { .. } => ErrorKind::StreamStartFailed,
            Self::Transport { .. } => ErrorKind::TransportError,
            Self::TransportExit { .. } => ErrorKind::TransportExit,
            Self::Parse { .. } => ErrorKind::ParseError,
            Self::InvalidMessage { .. } => ErrorKind::InvalidMessage,
            Self::InvalidConfiguration { .. } | Self::EmptyPrompt => ErrorKind::InvalidConfiguration,
            Self::ConfigInvalid { .. } => ErrorKind::ConfigInvalid,
            Self::ExecutionFailed { .. } => ErrorKind::ExecutionFailed,
            Self::NoResult { .. } => ErrorKind::NoResult,
            Self::RunDeadline { .. } => ErrorKind::RunDeadlineExceeded,
            Self::StreamTimeout { .. } => ErrorKind::StreamTimeout,
            Self::TaskTimeout { .. } => ErrorKind::TaskTimeout,
            Self::TaskExit { .. } => ErrorKind::TaskExit,
            Self::Unsupported { .. } => ErrorKind::UnsupportedCapability,
            Self::Reported { kind, .. } => *kind,
            Self::Unknown { .. } => ErrorKind::Unknown,
        }
    }

    /// Returns the end of the CLI process, where one ran.
    pub fn end(&self) -> Option<&CliEnd> {
        match self {
            Self::Auth { end, .. }
            | Self::CommandFailed { end, .. }
            | Self::CommandTimeout { end, .. }
            | Self::TransportExit { end }
            | Self::ExecutionFailed { end, .. }
            | Self::NoResult { end }
            | Self::RunDeadline { end, .. }
            | Self::StreamTimeout { end, .. } => Some(end),
            _ => None,
        }
    }

    /// The exit code that belongs to this: the CLI's own; 127 for a missing CLI; 124 for a command out of time.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::CliNotFound { .. } => Some(127),
            Self::CommandTimeout { .. } | Self::Reported { kind: ErrorKind::CommandTimeout, .. } => Some(124),
            other => other.end().and_then(CliEnd::exit_code),
        }
    }

    /// The last bytes that the CLI wrote to stderr; empty where no CLI ran.
    pub fn stderr(&self) -> &str {
        self.end().map_or("", |end| end.stderr.text.as_str())
    }

    /// The raw text behind the failure: the line that is no JSON, or the tail of stderr.
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Parse { details, .. } | Self::InvalidMessage { details, .. } => Some(details),
            other => other.end().map(|end| end.stderr.text.as_str()).filter(|text| !text.is_empty()),
        }
    }
}

impl ErrorExplanation for Error {
    fn kind(&self) -> &'static str {
        Self::kind(self)
    }

    fn exit_kind(&self) -> ExitKind {
        match self.error_kind() {
            ErrorKind::CliNotFound => ExitKind::NotFound,
            ErrorKind::InvalidConfiguration | ErrorKind::ConfigInvalid | ErrorKind::UnsupportedCapability => {
                ExitKind::Usage
            }
            ErrorKind::CommandTimeout
            | ErrorKind::RunDeadlineExceeded
            | ErrorKind::StreamTimeout
            | ErrorKind::TaskTimeout => ExitKind::Budget,
            _ => ExitKind::Failed,
        }
    }
}
