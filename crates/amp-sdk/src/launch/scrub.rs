//! Errors and outputs without the values of an authority.

use amplihack_config::secret::REDACTED;

use super::CliLaunch;
use crate::error::{CliEnd, Error};

impl CliLaunch {
    /// `text` without the values of an authority.
    pub(crate) fn hide_values(&self, text: &str) -> String {
        self.hidden.iter().fold(text.to_owned(), |text, value| {
            if text.contains(value.as_str()) { text.replace(value.as_str(), REDACTED) } else { text }
        })
    }

    /// `error` without the values of an authority.
    pub(crate) fn scrub_error(&self, error: Error) -> Error {
        if self.hidden.is_empty() {
            return error;
        }
        let hide = |text: String| self.hide_values(&text);
        let source =
            |source: Box<dyn std::error::Error + Send + Sync>| self.hide_values(&source.to_string()).into();
        let end = |mut end: Box<CliEnd>| {
            end.stderr.text = self.hide_values(&end.stderr.text);
            end
        };
        match error {
            Error::CliNotFound { looked } => Error::CliNotFound { looked: hide(looked) },
            Error::Auth { message, end: at } => Error::Auth { message: hide(message), end: end(at) },
            Error::CommandFailed { command, end: at } => {
                Error::CommandFailed { command: hide(command), end: end(at) }
            }
            Error::CommandTimeout { command, after, end: at } => {
                Error::CommandTimeout { command: hide(command), after, end: end(at) }
            }
            Error::CommandExecution { command, source: why } => {
                Error::CommandExecution { command: hide(command), source: source(why) }
            }
            Error::StreamStart { source: why } => Error::StreamStart { source: source(why) },
            Error::Transport { source: why } => Error::Transport { source: source(why) },
            Error::TransportExit { end: at } => Error::TransportExit { end: end(at) },
            Error::Parse { message, details } => {
                Error::Parse { message: hide(message), details: hide(details) }
            }
            Error::InvalidMessage { message, cause, details } => {
                Error::InvalidMessage { message: hide(message), cause, details: hide(details) }
            }
            Error::ExecutionFailed { message, subtype, permission_denials, end: at } => {
                Error::ExecutionFailed {
                    message: hide(message),
                    subtype,
                    permission_denials: permission_denials.into_iter().map(hide).collect(),
                    end: end(at),
                }
            }
            Error::NoResult { end: at } => Error::NoResult { end: end(at) },
            Error::RunDeadline { after, end: at } => Error::RunDeadline { after, end: end(at) },
            Error::StreamTimeout { wait, after, end: at } => {
                Error::StreamTimeout { wait, after, end: end(at) }
            }
            Error::TaskTimeout { what, after } => Error::TaskTimeout { what: hide(what), after },
            Error::TaskExit { what, message } => Error::TaskExit { what: hide(what), message: hide(message) },
            Error::Reported { kind, message } => Error::Reported { kind, message: hide(message) },
            Error::Unknown { code, message } => Error::Unknown { code, message: hide(message) },
            // Made by the SDK itself, of names alone.
            other @ (Error::InvalidConfiguration { .. }
            | Error::ConfigInvalid { .. }
            | Error::EmptyPrompt
            | Error::Unsupported { .. }) => other,
        }
    }
}
