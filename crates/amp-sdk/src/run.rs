//! A run as its answer.

use crate::error::{CliEnd, Error, Result, says_auth};
use crate::options::Options;
use crate::prompt::Prompt;
use crate::stream::{MessageStream, execute};
use crate::wire::{ErrorResultMessage, StreamMessage};

/// Runs Amp to its end and returns the text of its result, byte for byte.
///
/// When it returns, the CLI has ended and nothing of it is left. Errors: those of [`execute`], and an error result as
/// [`Error::ExecutionFailed`] or, if it says so, [`Error::Auth`]. Needs a tokio runtime; see
/// [`blocking::run`](crate::blocking::run) for programs without one.
///
/// ```no_run
/// # async fn f() -> amp_sdk::Result<()> {
/// let answer = amp_sdk::run("How many modules are in src/?", amp_sdk::Options::default()).await?;
/// # Ok(()) }
/// ```
pub async fn run(prompt: impl Into<Prompt>, options: Options) -> Result<String> {
    let mut messages = execute(prompt, options);
    let mut last = None;
    while let Some(message) = messages.next().await {
        match message? {
            message if message.is_final() => last = Some(message),
            _ => {}
        }
    }
    answer(last, &messages)
}

/// What the last message of a run comes to.
pub(crate) fn answer(last: Option<StreamMessage>, messages: &MessageStream) -> Result<String> {
    let end = || Box::new(messages.end().cloned().unwrap_or_default());
    match last {
        Some(StreamMessage::Result(result)) => Ok(result.result.unwrap_or_default()),
        Some(StreamMessage::ErrorResult(result)) => Err(failure(&result, end())),
        _ => Err(Error::NoResult { end: end() }),
    }
}

fn failure(result: &ErrorResultMessage, end: Box<CliEnd>) -> Error {
    let message = result.message();
    if says_auth(&message) {
        return Error::Auth { message, end };
    }
    Error::ExecutionFailed {
        message,
        subtype: result.subtype.clone(),
        permission_denials: result.summary.permission_denials.iter().map(ToString::to_string).collect(),
        end,
    }
}
