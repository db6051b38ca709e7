//! A run as a stream of messages.

mod engine;
mod input;
mod interrupt;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use amplihack_session::RunError;
use futures_core::Stream;
use tokio::runtime::Handle;
use tracing::Span;

use crate::error::{CliEnd, Error, Result, StderrTail};
use crate::options::Options;
use crate::prompt::{AmpPrompt, UserInputMessage};
use crate::wire::StreamMessage;
use engine::StreamEngine;
use input::RunInput;

pub use interrupt::StreamInterrupter;

/// Runs Amp and gives its messages as they come.
///
/// Lazy: nothing is checked, written or started before the first poll, which has to happen within a tokio runtime with I/O and time
/// enabled; elsewhere it gives an error. The stream ends after exactly one result, or one for each message of the prompt, or one error:
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
    MessageStream::new(RunInput::Prompt(prompt), options, StreamInterrupter::default())
}

/// Runs Amp with messages that come while it works, and gives its messages as they come.
///
/// Like [`execute`]; nothing is started before the first message. The next message is asked for when the CLI has been given all before it,
/// whether or not they are answered, and only while the returned stream is polled. When `messages` ends, the CLI's input is closed. The
/// stream ends after as many results as there were messages, or after one error; one of the CLI's own results that is an
/// [`StreamMessage::ErrorResult`] does not end it as long as others are to come. While every message is answered and another may come,
/// silence of the CLI is no stall.
///
/// ```
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// use amp_sdk::testing::{FakeAmp, FakeReply};
/// use amp_sdk::{StreamMessage, UserInputMessage, create_user_message, execute_messages};
///
/// /// A channel as a stream; the crate `tokio-stream` has such wrappers.
/// struct Questions(tokio::sync::mpsc::Receiver<&'static str>);
///
/// impl futures_core::Stream for Questions {
///     type Item = UserInputMessage;
///
///     fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
///         self.0.poll_recv(context).map(|text| text.map(create_user_message))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let fake = FakeAmp::new().with_run(FakeReply::new().await_message().init().result("one").await_message().result("two")).build()?;
/// let (ask, questions) = tokio::sync::mpsc::channel(1);
/// ask.send("First.").await.unwrap();
/// let mut ask = Some(ask);
/// let mut stream = execute_messages(Questions(questions), fake.options());
/// while let Some(message) = stream.next().await {
///     if let StreamMessage::Result(result) = message? {
///         println!("{:?}", result.result);
///         // The next question may follow from the answer; without a sender the input ends.
///         if let Some(ask) = ask.take() {
///             ask.send("Second.").await.unwrap();
///         }
///     }
/// }
/// # Ok::<(), amp_sdk::Error>(()) }).unwrap();
/// ```
pub fn execute_messages(
    messages: impl Stream<Item = UserInputMessage> + Send + 'static,
    options: Options,
) -> MessageStream {
    MessageStream::new(RunInput::Messages(Box::pin(messages)), options, StreamInterrupter::default())
}

/// Messages of a run, as [`execute`] yields them.
pub struct MessageStream {
    state: StreamState,
    facts: StreamFacts,
    interrupter: StreamInterrupter,
    /// Entered whenever the run is polled.
    span: Option<Span>,
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
    fn new(input: RunInput, options: Options, interrupter: StreamInterrupter) -> Self {
        let engine = StreamEngine::new(input, options, interrupter.clone());
        Self {
            state: StreamState::Rests(Box::new(engine)),
            facts: StreamFacts::default(),
            interrupter,
            span: None,
        }
    }

    /// The stream of a prompt that `interrupter` interrupts.
    pub(crate) fn with_interrupter(
        prompt: AmpPrompt,
        options: Options,
        interrupter: StreamInterrupter,
    ) -> Self {
        Self::new(RunInput::Prompt(prompt), options, interrupter)
    }

    /// Interrupts the run; see [`StreamInterrupter::interrupt`]. What the CLI still says comes as before: its result, or an error of the
    /// kind `execution_failed` with the subtype `user_cancelled`.
    pub fn interrupt(&self) {
        self.interrupter.interrupt();
    }

    /// Returns a handle that interrupts the run while somebody else waits for its messages.
    pub fn interrupter(&self) -> StreamInterrupter {
        self.interrupter.clone()
    }

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

/// The span of a run: its events, and those of whatever it calls, are in it.
fn new_span() -> Span {
    tracing::info_span!(
        "amp_run",
        pid = tracing::field::Empty,
        session_id = tracing::field::Empty,
        exit = tracing::field::Empty
    )
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
        if Handle::try_current().is_err() && !matches!(this.state, StreamState::Over) {
            // What was started is dropped with the state, and killed.
            this.state = StreamState::Over;
            return Poll::Ready(Some(Err(Error::from_run(RunError::NoRuntime { program: "amp".into() }))));
        }
        let span = this.span.get_or_insert_with(|| {
            let span = new_span();
            if let StreamState::Rests(engine) = &mut this.state {
                engine.set_span(span.clone());
            }
            span
        });
        let _entered = span.enter();
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
