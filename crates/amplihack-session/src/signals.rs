//! Signals to this process while a run lasts.

use std::io;
use std::task::{Context, Poll};

use amplihack_utils::sys::{self, Signal};
use tokio::signal::unix::{self, SignalKind};

use crate::spec::Terminal;

/// What this process is told by its signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A signal that ends the run.
    End(Signal),
    /// A child of this process ended or stopped.
    Child,
    /// This process was continued after a stop.
    Continued,
}

/// Listens from its making on. Once listened to, a signal never has its default effect on this process again.
pub(crate) struct Listener {
    streams: Vec<(Option<Notice>, unix::Signal)>,
}

impl Listener {
    /// Listens to nothing.
    pub(crate) fn deaf() -> Self {
        Self { streams: Vec::new() }
    }

    /// Listens to what ends a run.
    ///
    /// An agent that owns the terminal gets Ctrl-C and Ctrl-\ from the terminal itself; here they must only not end
    /// this process. Signals that are ignored now (`nohup`) stay so.
    pub(crate) fn new(terminal: Terminal) -> io::Result<Self> {
        let mut listener = Self::deaf();
        for signal in [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP] {
            if sys::ignores(signal) {
                continue;
            }
            let by_terminal = signal == Signal::INT || signal == Signal::QUIT;
            let notice = (terminal == Terminal::Detached || !by_terminal).then_some(Notice::End(signal));
            listener.add(signal, notice)?;
        }
        if terminal == Terminal::Owned {
            listener.add(Signal::CONT, Some(Notice::Continued))?;
        }
        Ok(listener)
    }

    /// Listens also to the ends and stops of children.
    pub(crate) fn and_children(mut self) -> io::Result<Self> {
        self.add(Signal::CHILD, Some(Notice::Child))?;
        Ok(self)
    }

    fn add(&mut self, signal: Signal, notice: Option<Notice>) -> io::Result<()> {
        self.streams.push((notice, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        Ok(())
    }

    /// The next notice. Cancel-safe. Never returns when it listens to nothing.
    pub(crate) async fn next(&mut self) -> Notice {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Notice> {
        for (notice, stream) in &mut self.streams {
            // One that is only kept from ending this process is taken, and forgotten.
            while let Poll::Ready(Some(())) = stream.poll_recv(context) {
                if let Some(notice) = notice {
                    return Poll::Ready(*notice);
                }
            }
        }
        Poll::Pending
    }
}

/// The signals that end this process, for whoever has to hear of them between runs and beside them. From its making on
/// they have no effect of their own.
pub struct Interruptions(Listener);

impl Interruptions {
    /// Listens to SIGINT, SIGQUIT, SIGTERM and SIGHUP; those that are ignored now (`nohup`) stay so.
    pub fn new() -> io::Result<Self> {
        Listener::new(Terminal::Detached).map(Self)
    }

    /// The next signal. Cancel-safe.
    pub async fn next(&mut self) -> Signal {
        loop {
            if let Notice::End(signal) = self.0.next().await {
                return signal;
            }
        }
    }
}
