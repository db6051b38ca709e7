//! Runs and streams for programs without a runtime.
//!
//! Each run has a thread with a runtime of its own; may be called from anywhere, also from within a runtime, which it blocks.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::error::{CliEnd, Error, Result};
use crate::options::Options;
use crate::prompt::AmpPrompt;
use crate::run::RunAnswer;
use crate::stream::{MessageStream, StreamFacts, StreamInterrupter};
use crate::wire::StreamMessage;

/// [`crate::run`], blocking.
///
/// # Errors
/// Those of [`crate::run`], and `task_exit` if no thread or runtime can be had.
pub fn run(prompt: impl Into<AmpPrompt>, options: Options) -> Result<String> {
    let prompt = prompt.into();
    on_a_thread("run a prompt", || crate::run(prompt, options))?
}

/// [`crate::run_to_answer`], blocking.
///
/// # Errors
/// Those of [`crate::run_to_answer`], and `task_exit` if no thread or runtime can be had.
pub fn run_to_answer(prompt: impl Into<AmpPrompt>, options: Options) -> Result<RunAnswer> {
    let prompt = prompt.into();
    on_a_thread("run a prompt", || crate::run_to_answer(prompt, options))?
}

/// Runs a future to its end on a thread with a runtime of its own.
pub(crate) fn on_a_thread<T: Send, F: Future<Output = T>>(
    what: &str,
    make: impl FnOnce() -> F + Send,
) -> Result<T> {
    amplihack_session::block_on_thread(make).map_err(|error| no_thread(what, &error))
}

fn no_thread(what: &str, error: &std::io::Error) -> Error {
    Error::TaskExit { what: what.to_owned(), message: error.to_string() }
}

/// [`crate::execute`] as an iterator. Nothing is started before the first `next`; dropping it ends the CLI.
pub fn execute(prompt: impl Into<AmpPrompt>, options: Options) -> BlockingMessages {
    BlockingMessages {
        state: BlockingStreamState::Waits(Box::new((prompt.into(), options))),
        facts: StreamFacts::default(),
        interrupter: StreamInterrupter::default(),
    }
}

/// Messages of a run, as [`execute`] yields them.
#[derive(Debug)]
pub struct BlockingMessages {
    state: BlockingStreamState,
    facts: StreamFacts,
    interrupter: StreamInterrupter,
}

#[derive(Debug)]
enum BlockingStreamState {
    Waits(Box<(AmpPrompt, Options)>),
    Runs(StreamThread),
    Over,
}

/// A message with what is known of the run when it came, or the end with that.
type SentMessage = (Option<Result<StreamMessage>>, StreamFacts);

#[derive(Debug)]
struct StreamThread {
    messages: Receiver<SentMessage>,
    /// Dropping it ends the thread, and with it the CLI.
    goes_on: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl BlockingMessages {
    /// See [`MessageStream::interrupter`].
    pub fn interrupter(&self) -> StreamInterrupter {
        self.interrupter.clone()
    }

    /// See [`MessageStream::end`].
    pub fn end(&self) -> Option<&CliEnd> {
        self.facts.end.as_ref()
    }

    /// See [`MessageStream::warnings`].
    pub fn warnings(&self) -> &[String] {
        &self.facts.warnings
    }

    /// See [`MessageStream::pid`].
    pub fn pid(&self) -> Option<u32> {
        self.facts.pid.filter(|_| self.facts.end.is_none())
    }
}

impl Iterator for BlockingMessages {
    type Item = Result<StreamMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match std::mem::replace(&mut self.state, BlockingStreamState::Over) {
                BlockingStreamState::Over => return None,
                BlockingStreamState::Waits(asked) => {
                    match StreamThread::start_thread(asked.0, asked.1, self.interrupter.clone()) {
                        Ok(run) => self.state = BlockingStreamState::Runs(run),
                        Err(error) => return Some(Err(error)),
                    }
                }
                BlockingStreamState::Runs(run) => {
                    // The sender is gone only if its thread panicked.
                    let (item, facts) = run.messages.recv().ok()?;
                    self.facts = facts;
                    if item.is_some() {
                        self.state = BlockingStreamState::Runs(run);
                    }
                    return item;
                }
            }
        }
    }
}

impl StreamThread {
    fn start_thread(prompt: AmpPrompt, options: Options, interrupter: StreamInterrupter) -> Result<Self> {
        // Without room, so that nothing is read ahead of whoever asks.
        let (sender, messages) = sync_channel(0);
        let (goes_on, ended) = oneshot::channel();
        let failed = |error| no_thread("run a prompt", &error);
        let runtime = amplihack_session::build_runtime().map_err(failed)?;
        let outer = tracing::Span::current();
        let work = move || {
            let _entered = outer.enter();
            runtime.block_on(async {
                let stream = MessageStream::with_interrupter(prompt, options, interrupter);
                tokio::select! {
                    () = forward_messages(stream, &sender) => {}
                    _ = ended => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("amp-sdk".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { messages, goes_on: Some(goes_on), thread: Some(thread) })
    }
}

async fn forward_messages(mut stream: MessageStream, sender: &SyncSender<SentMessage>) {
    loop {
        let item = stream.next().await;
        let over = item.is_none();
        if sender.send((item, stream.facts().clone())).is_err() || over {
            return;
        }
    }
}

impl Drop for StreamThread {
    fn drop(&mut self) {
        // In this order: whoever sends finds nobody, whoever waits is told, and then the CLI is gone.
        self.messages = sync_channel(0).1;
        self.goes_on = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
