//! The same for programs without a runtime.
//!
//! Each run has a thread with a runtime of its own; may be called from anywhere, also from within a runtime, which it blocks.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::error::{CliEnd, Error, Result};
use crate::options::Options;
use crate::prompt::Prompt;
use crate::run::Answer;
use crate::stream::{Facts, MessageStream};
use crate::wire::StreamMessage;

/// [`crate::run`], blocking.
pub fn run(prompt: impl Into<Prompt>, options: Options) -> Result<String> {
    let prompt = prompt.into();
    on_a_thread("run a prompt", || crate::run(prompt, options))?
}

/// [`crate::answer`], blocking.
pub fn answer(prompt: impl Into<Prompt>, options: Options) -> Result<Answer> {
    let prompt = prompt.into();
    on_a_thread("run a prompt", || crate::answer(prompt, options))?
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
pub fn execute(prompt: impl Into<Prompt>, options: Options) -> Messages {
    Messages { state: State::Waits(Box::new((prompt.into(), options))), facts: Facts::default() }
}

/// What [`execute`] gives.
#[derive(Debug)]
pub struct Messages {
    state: State,
    facts: Facts,
}

#[derive(Debug)]
enum State {
    Waits(Box<(Prompt, Options)>),
    Runs(Run),
    Over,
}

/// A message with what is known of the run when it came, or the end with that.
type Sent = (Option<Result<StreamMessage>>, Facts);

#[derive(Debug)]
struct Run {
    messages: Receiver<Sent>,
    /// Dropping it ends the thread, and with it the CLI.
    goes_on: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Messages {
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

impl Iterator for Messages {
    type Item = Result<StreamMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Waits(asked) => match Run::start(asked.0, asked.1) {
                    Ok(run) => self.state = State::Runs(run),
                    Err(error) => return Some(Err(error)),
                },
                State::Runs(run) => {
                    // The sender is gone only if its thread panicked.
                    let (item, facts) = run.messages.recv().ok()?;
                    self.facts = facts;
                    if item.is_some() {
                        self.state = State::Runs(run);
                    }
                    return item;
                }
            }
        }
    }
}

impl Run {
    fn start(prompt: Prompt, options: Options) -> Result<Self> {
        // Without room, so that nothing is read ahead of whoever asks.
        let (sender, messages) = sync_channel(0);
        let (goes_on, ended) = oneshot::channel();
        let failed = |error| no_thread("run a prompt", &error);
        let runtime = amplihack_session::runtime().map_err(failed)?;
        let work = move || {
            runtime.block_on(async {
                let stream = crate::execute(prompt, options);
                tokio::select! {
                    () = send(stream, &sender) => {}
                    _ = ended => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("amp-sdk".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { messages, goes_on: Some(goes_on), thread: Some(thread) })
    }
}

async fn send(mut stream: MessageStream, sender: &SyncSender<Sent>) {
    loop {
        let item = stream.next().await;
        let over = item.is_none();
        if sender.send((item, stream.facts().clone())).is_err() || over {
            return;
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // In this order: whoever sends finds nobody, whoever waits is told, and then the CLI is gone.
        self.messages = sync_channel(0).1;
        self.goes_on = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
