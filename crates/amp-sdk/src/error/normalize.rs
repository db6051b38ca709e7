//! Foreign failures as ours, and what a text of the CLI says about its cause.

use std::io;

use amplihack_session::RunError;

use super::{CliEnd, Error, ErrorKind, StderrTail};

/// Phrases by which the CLI says that it has no credentials.
const AUTH: &[&str] =
    &["not authenticated", "authentication required", "please log in", "please login", "requires login"];

/// Reports whether `text` is about missing credentials of the CLI: one of its phrases, or `run … login`.
pub(crate) fn reports_missing_login(text: &str) -> bool {
    let text = text.to_lowercase();
    if amplihack_sys::sabotage::is_active("amp-auth-error") {
        return false;
    }
    AUTH.iter().any(|phrase| text.contains(phrase))
        || text.lines().any(|line| {
            line.find("run").is_some_and(|at| {
                line[at..].split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "login")
            })
        })
}

/// Reports whether `text` is about a missing program.
fn reports_missing_program(text: &str) -> bool {
    let text = text.to_lowercase();
    ["not found", "no such file", "cannot find"].iter().any(|phrase| text.contains(phrase))
}

/// Finds the word that the CLI calls an unknown option or command: `unknown option '--x'`, `Unknown command "x"`.
///
/// An older CLI than the capability table knows meets the SDK's options so.
fn unknown_word(text: &str) -> Option<&str> {
    [("unknown option '", '\''), ("Unknown command \"", '"')]
        .into_iter()
        .find_map(|(before, after)| text.split_once(before)?.1.split_once(after).map(|(word, _)| word))
}

impl Error {
    /// Classifies an end of the CLI without a result.
    pub(crate) fn from_end(end: CliEnd) -> Self {
        let end = match Self::from_any_call(end) {
            Ok(error) => return error,
            Err(end) => end,
        };
        if let Some(feature) = unknown_word(&end.stderr.text) {
            return Self::unsupported_feature(feature, None, Some("update the CLI, or leave the option out"));
        }
        match end.exit_code() {
            Some(0) if !amplihack_sys::sabotage::is_active("amp-no-result") => Self::NoResult { end },
            _ => Self::TransportExit { end },
        }
    }

    /// Classifies the end of a management command with a code other than 0.
    pub(crate) fn from_command(command: String, end: CliEnd) -> Self {
        Self::from_any_call(end).unwrap_or_else(|end| Self::CommandFailed { command, end })
    }

    /// Classifies failures that every call of the CLI may have: it is not there, or has no credentials.
    fn from_any_call(end: CliEnd) -> Result<Self, Box<CliEnd>> {
        if end.exit_code() == Some(127) && reports_missing_program(&end.stderr.text) {
            return Ok(Self::CliNotFound { looked: end.stderr_summary() });
        }
        let end = Box::new(end);
        if reports_missing_login(&end.stderr.text) {
            Ok(Self::Auth { message: end.stderr_summary(), end })
        } else {
            Err(end)
        }
    }

    /// Makes one of ours of a foreign failure: ours come back as they are, errors of the system and of runs are sorted in,
    /// everything else is [`Error::Unknown`] with its text.
    pub fn normalize(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let error = match error.into().downcast::<Self>() {
            Ok(ours) => return *ours,
            Err(error) => error,
        };
        let error = match error.downcast::<RunError>() {
            Ok(run) => return Self::from_run(*run),
            Err(error) => error,
        };
        let error = match error.downcast::<serde_json::Error>() {
            Ok(json) if amplihack_sys::sabotage::is_active("amp-normalize") => {
                return Self::Unknown { code: String::new(), message: json.to_string() };
            }
            Ok(json) => return Self::Parse { message: json.to_string(), details: String::new() },
            Err(error) => error,
        };
        match error.downcast::<io::Error>() {
            Ok(io) => Self::from_io(*io),
            Err(error) => Self::Unknown { code: String::new(), message: error.to_string() },
        }
    }

    /// A failure that came as a code and a text, from a log or another SDK. `-` and `_` are the same in codes.
    ///
    /// The kind is the code's; that of a foreign code is [`ErrorKind::Unknown`]. Kinds that need more than a text, such as how long
    /// something took, are [`Error::Reported`].
    pub fn from_code(code: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let tail = || Box::new(CliEnd::new(None, StderrTail { text: message.clone(), truncated: false }));
        match ErrorKind::from_code(code) {
            ErrorKind::CliNotFound => Self::CliNotFound { looked: message },
            ErrorKind::AuthError => Self::Auth { end: tail(), message },
            ErrorKind::TransportExit => Self::TransportExit { end: tail() },
            ErrorKind::NoResult => Self::NoResult { end: tail() },
            ErrorKind::ParseError => Self::Parse { message, details: String::new() },
            ErrorKind::InvalidConfiguration => Self::invalid_option("configuration", message),
            ErrorKind::StreamStartFailed => Self::StreamStart { source: message.into() },
            ErrorKind::TransportError => Self::Transport { source: message.into() },
            ErrorKind::ExecutionFailed => Self::ExecutionFailed {
                message,
                subtype: "error_during_execution".to_owned(),
                permission_denials: Vec::new(),
                end: Box::default(),
            },
            ErrorKind::Unknown => Self::Unknown { code: code.to_owned(), message },
            kind if amplihack_sys::sabotage::is_active("amp-codes") => {
                Self::Unknown { code: kind.to_string(), message }
            }
            kind => Self::Reported { kind, message },
        }
    }

    /// Classifies the reason why a run could not be started or watched.
    pub(crate) fn from_run(error: RunError) -> Self {
        match error {
            RunError::Spawn { program, source } if is_missing(&source) => {
                Self::CliNotFound { looked: format!("{}: {source}", program.display()) }
            }
            RunError::Spawn { .. } => Self::StreamStart { source: Box::new(error) },
            RunError::TimedOut { program, after } => {
                Self::TaskTimeout { what: format!("run {}", program.display()), after }
            }
            other => Self::Transport { source: Box::new(other) },
        }
    }

    fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::CliNotFound { looked: error.to_string() },
            io::ErrorKind::TimedOut if !amplihack_sys::sabotage::is_active("amp-task-timeout") => {
                Self::Reported { kind: ErrorKind::TaskTimeout, message: error.to_string() }
            }
            _ => Self::Transport { source: Box::new(error) },
        }
    }
}

/// Reports whether a program could not be started because it is not there or may not be executed.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ended(code: i32, stderr: &str) -> &'static str {
        let tail = StderrTail { text: stderr.to_owned(), truncated: false };
        Error::from_end(CliEnd::new(Some(code), tail)).kind()
    }

    #[test]
    fn the_end_of_a_cli_without_a_result_has_a_kind() {
        for (code, stderr, kind) in [
            (1, "Please log in", "auth_error"),
            (1, "please login first", "auth_error"),
            (1, "Not Authenticated.", "auth_error"),
            (1, "authentication required", "auth_error"),
            (1, "this requires login", "auth_error"),
            (1, "Run `amp login`", "auth_error"),
            (0, "Run `amp login`", "auth_error"),
            (1, "login page is down", "transport_exit"),
            (1, "Error: runner 7 failed", "transport_exit"),
            (0, "", "no_result"),
            (0, "a warning", "no_result"),
            (127, "amp: command not found", "cli_not_found"),
            (127, "odd", "transport_exit"),
            (137, "", "transport_exit"),
            (1, "Error: error: unknown option '--title'", "unsupported_capability"),
            (1, "Unknown command \"tasks\". Run 'amp --help' for the full list.", "unsupported_capability"),
        ] {
            assert_eq!(ended(code, stderr), kind, "{code} {stderr}");
        }
    }

    #[test]
    fn failures_of_runs_are_sorted_in() {
        let json = serde_json::from_str::<u8>("x").unwrap_err();
        let run = RunError::TimedOut { program: "amp".into(), after: Duration::from_secs(1) };
        let spawn = RunError::Spawn { program: "amp".into(), source: io::ErrorKind::PermissionDenied.into() };
        for (error, kind) in [
            (Error::normalize(Error::EmptyPrompt), "invalid_configuration"),
            (Error::normalize(json), "parse_error"),
            (Error::normalize(run), "task_timeout"),
            (Error::normalize(spawn), "cli_not_found"),
            (Error::normalize(io::Error::from(io::ErrorKind::NotFound)), "cli_not_found"),
            (Error::normalize(io::Error::from(io::ErrorKind::BrokenPipe)), "transport_error"),
            (Error::normalize("odd"), "unknown"),
        ] {
            assert_eq!(error.kind(), kind, "{error:?}");
        }
    }
}
