//! A run as its answer.

use amplihack_session::RunOutcome;

use crate::error::{CliEnd, Error, Result, reports_missing_login};
use crate::options::Options;
use crate::prompt::AmpPrompt;
use crate::stream::execute;
use crate::wire::{ErrorResultMessage, ResultMessage, StreamMessage};

/// Runs Amp to its end and returns the text of its result, byte for byte; of several messages the last one's result.
///
/// When it returns, the CLI has ended and nothing of it is left. Needs a tokio runtime; see [`blocking::run`](crate::blocking::run) for
/// programs without one.
///
/// ```no_run
/// # async fn f() -> amp_sdk::Result<()> {
/// let answer = amp_sdk::run("How many modules are in src/?", amp_sdk::Options::default()).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`execute`]. An error result is [`Error::ExecutionFailed`] or, if it says so, [`Error::Auth`]; a result of a CLI that left a
/// part of the prompt unread is [`Error::ExecutionFailed`], too.
pub async fn run(prompt: impl Into<AmpPrompt>, options: Options) -> Result<String> {
    run_to_answer(prompt, options).await.map(|answer| answer.text)
}

/// The result of a run, with the facts that [`run`] leaves out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunAnswer {
    /// The text of the result, byte for byte.
    pub text: String,
    /// Options without the effect that they seem to have, and odd ends, such as an exit code other than 0 after the result.
    pub warnings: Vec<String>,
    /// The end of the CLI process.
    pub end: CliEnd,
    /// The result itself: of several messages the last one's.
    pub result: ResultMessage,
    /// Results of the messages before the last, in their order; errors among them are warnings, too.
    pub earlier: Vec<StreamMessage>,
}

/// [`run`] with the warnings, the end of the CLI and the whole result.
///
/// A CLI that exits with another code than 0 after its result has answered: the code is a warning.
///
/// # Errors
///
/// Those of [`run`]. A result of a CLI that left a part of the prompt unread is [`Error::ExecutionFailed`] with the subtype
/// `prompt_unread`: it answers another question.
pub async fn run_to_answer(prompt: impl Into<AmpPrompt>, options: Options) -> Result<RunAnswer> {
    let mut messages = execute(prompt, options);
    let mut results = Vec::new();
    while let Some(message) = messages.next().await {
        match message? {
            message if message.is_final() => results.push(message),
            _ => {}
        }
    }
    let last = results.pop();
    let end = messages.end().cloned().unwrap_or_default();
    match last {
        Some(StreamMessage::Result(_)) if end.run.outcome() == RunOutcome::PromptUnread => {
            Err(Error::ExecutionFailed {
                message: format!("{}; nothing of the answer can be relied on", end.run.reason()),
                subtype: RunOutcome::PromptUnread.name().to_owned(),
                permission_denials: Vec::new(),
                end: Box::new(end),
            })
        }
        Some(StreamMessage::Result(result)) => Ok(RunAnswer {
            text: match &result.result {
                Some(text) if amplihack_sys::sabotage::is_active("amp-run-text") => text.trim().to_owned(),
                text => text.clone().unwrap_or_default(),
            },
            warnings: [messages.warnings(), &earlier_errors(&results)].concat(),
            end,
            result,
            earlier: results,
        }),
        Some(StreamMessage::ErrorResult(result)) => Err(result_error(&result, Box::new(end))),
        _ => Err(Error::NoResult { end: Box::new(end) }),
    }
}

/// Warnings about messages whose own result is an error.
fn earlier_errors(results: &[StreamMessage]) -> Vec<String> {
    let numbered = results.iter().enumerate();
    let errors = numbered.filter_map(|(at, result)| match result {
        StreamMessage::ErrorResult(error) => {
            Some(format!("message {} ended in an error: {}", at + 1, error.message()))
        }
        _ => None,
    });
    errors.collect()
}

fn result_error(result: &ErrorResultMessage, end: Box<CliEnd>) -> Error {
    let message = result.message();
    if amplihack_sys::sabotage::is_active("amp-run-error") {
        return Error::NoResult { end };
    }
    if reports_missing_login(&message) {
        return Error::Auth { message, end };
    }
    Error::ExecutionFailed {
        message,
        subtype: result.subtype.clone(),
        permission_denials: result.summary.permission_denials.iter().map(ToString::to_string).collect(),
        end,
    }
}
