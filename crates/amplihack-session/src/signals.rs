//! Signals that end what this process does: one latch for the whole process, and whoever asks it.

use std::io;
use std::task::{Context, Poll};

use amplihack_utils::sys::interrupts::{self, DeliveredSignals, ENDING};
use amplihack_utils::sys::{self, Signal};
use tokio::signal::unix::{self, SignalKind};

use crate::spec::Terminal;

/// A notice to a run about this process's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A signal that ends the run.
    End(Signal),
    /// A child of this process ended or stopped.
    Child,
    /// This process was continued after a stop.
    Continued,
}

/// SIGINT, SIGQUIT, SIGTERM and SIGHUP to this process, from a moment on.
///
/// A value that is handed down to everything that has to end on them. It misses none of them, however late somebody begins to
/// wait: they are counted by the process ([`interrupts`]), and each clone takes them for itself.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    /// How often each was taken. `None`: nothing is heard.
    taken: Option<[u32; 4]>,
    /// Only a repeated request counts.
    repeated: bool,
}

impl Interrupts {
    /// Every signal from now on. They no longer end this process by themselves; those that are ignored now (`nohup`) stay ignored.
    ///
    /// For programs only: the effect is on the whole process, and for good.
    pub fn listen() -> Self {
        if let Err(error) = interrupts::install() {
            // They end this process then, as they end any other; `stream` has the same error.
            tracing::warn!(%error, "signals to this process cannot be counted");
        }
        Self { taken: Some(interrupts::delivered().counts), repeated: false }
    }

    /// No signal, for a library: its host's signals are left alone.
    pub const fn none() -> Self {
        Self { taken: None, repeated: false }
    }

    /// Those from now on, for what has to be done in spite of the ones so far.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self { taken: self.taken.map(|_| interrupts::delivered().counts), repeated: false }
    }

    /// Those from now on that repeat a request, for what keeps the results when a signal ends this process: neither a signal so far
    /// nor the very first one ends that.
    #[must_use]
    pub fn repeated(&self) -> Self {
        Self { repeated: true, ..self.from_now() }
    }

    /// The first signal that was not taken yet. It stays untaken.
    pub fn heard(&self) -> Option<Signal> {
        self.clone().take()
    }

    /// The next signals, to be waited for. Needs a runtime.
    pub fn stream(&self) -> io::Result<InterruptStream> {
        let mut wake = Vec::new();
        if self.taken.is_some() {
            for signal in ENDING.into_iter().filter(|signal| !sys::ignores(*signal)) {
                wake.push(unix::signal(SignalKind::from_raw(signal.as_raw()))?);
            }
        }
        Ok(InterruptStream { interrupts: self.clone(), wake })
    }

    fn take(&mut self) -> Option<Signal> {
        let taken = self.taken.as_mut()?;
        take(taken, self.repeated, &interrupts::delivered())
    }
}

/// The first of the deliveries beyond `taken`, which counts as taken then.
fn take(taken: &mut [u32; 4], repeated: bool, delivered: &DeliveredSignals) -> Option<Signal> {
    let DeliveredSignals { first, counts } = *delivered;
    let rest = ENDING.iter().zip(taken.iter_mut().zip(counts));
    let mut found: Vec<_> = rest.filter(|(_, (taken, count))| **taken != *count).collect();
    found.sort_by_key(|(signal, _)| Some(**signal) != first);
    for (signal, (taken, count)) in found {
        // A closed terminal brings SIGHUP and SIGTERM together; that is no second request. A second Ctrl-C is.
        let again = count > 1 || (*signal == Signal::INT && first != Some(Signal::INT));
        if repeated && !again {
            *taken = count;
            continue;
        }
        *taken = taken.wrapping_add(1);
        return Some(*signal);
    }
    None
}

/// The signals of an [`Interrupts`], as they come.
#[derive(Debug)]
pub struct InterruptStream {
    interrupts: Interrupts,
    /// They wake who waits, and say nothing else.
    wake: Vec<unix::Signal>,
}

impl InterruptStream {
    /// The next of them: at once if it was delivered before. Cancel-safe. Never returns where nothing is heard.
    pub async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        // Registered first: what comes after the look at the latch wakes.
        for wake in &mut self.wake {
            while let Poll::Ready(Some(())) = wake.poll_recv(context) {}
        }
        self.interrupts.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// What one run hears: the signals that end it, and what else its terminal and its children need.
pub(crate) struct Listener {
    interrupts: InterruptStream,
    terminal: Terminal,
    others: Vec<(Notice, unix::Signal)>,
}

impl Listener {
    /// A listener for a run with `terminal`.
    ///
    /// An agent that owns the terminal gets Ctrl-C and Ctrl-\ from the terminal itself; here they must only not end
    /// this process.
    pub(crate) fn new(interrupts: &Interrupts, terminal: Terminal) -> io::Result<Self> {
        let mut listener = Self { interrupts: interrupts.stream()?, terminal, others: Vec::new() };
        if listener.sees_stops() {
            listener.add(Signal::CONT, Notice::Continued)?;
        }
        Ok(listener)
    }

    /// Whether the run is stopped and continued with this process.
    pub(crate) fn sees_stops(&self) -> bool {
        self.terminal == Terminal::Owned && self.interrupts.interrupts.taken.is_some()
    }

    /// Listens also to the ends and stops of children.
    pub(crate) fn and_children(mut self) -> io::Result<Self> {
        self.add(Signal::CHILD, Notice::Child)?;
        Ok(self)
    }

    fn add(&mut self, signal: Signal, notice: Notice) -> io::Result<()> {
        self.others.push((notice, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        Ok(())
    }

    /// The next notice. Cancel-safe. Never returns when it listens to nothing.
    pub(crate) async fn next(&mut self) -> Notice {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Notice> {
        while let Poll::Ready(signal) = self.interrupts.poll(context) {
            let by_terminal = signal == Signal::INT || signal == Signal::QUIT;
            if self.terminal == Terminal::Detached || !by_terminal {
                return Poll::Ready(Notice::End(signal));
            }
        }
        for (notice, stream) in &mut self.others {
            if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                return Poll::Ready(*notice);
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: usize = 0;
    const TERM: usize = 2;
    const HUP: usize = 3;

    fn delivered(first: Signal, counts: [u32; 4]) -> DeliveredSignals {
        DeliveredSignals { first: Some(first), counts }
    }

    #[test]
    fn every_delivery_is_taken_once_the_first_signal_first() {
        let mut taken = [0; 4];
        let all = delivered(Signal::TERM, [2, 0, 1, 0]);
        let order: Vec<_> = std::iter::from_fn(|| take(&mut taken, false, &all)).collect();
        assert_eq!(order, [Signal::TERM, Signal::INT, Signal::INT]);
        assert_eq!(taken, all.counts);
    }

    #[test]
    fn what_keeps_results_ends_only_on_a_repeated_request() {
        let mut counts = [0; 4];
        for (number, signal) in [(INT, Signal::INT), (TERM, Signal::TERM), (HUP, Signal::HUP)] {
            counts[number] = 1;
            let mut taken = [0; 4];
            let first = delivered(signal, counts);
            assert_eq!(take(&mut taken, true, &first), None, "the very first {signal:?}");
            counts[number] = 2;
            assert_eq!(take(&mut taken, true, &delivered(signal, counts)), Some(signal), "again {signal:?}");
            counts = [0; 4];
        }
        let mut taken = [0; 4];
        assert_eq!(take(&mut taken, true, &delivered(Signal::HUP, [0, 0, 1, 1])), None, "a closed terminal");
        let mut taken = [0, 0, 1, 0];
        let ctrl_c = delivered(Signal::TERM, [1, 0, 1, 0]);
        assert_eq!(take(&mut taken, true, &ctrl_c), Some(Signal::INT), "Ctrl-C after SIGTERM");
    }

    #[test]
    fn nothing_is_heard_where_nobody_listens() {
        assert_eq!(Interrupts::none().heard(), None);
        assert_eq!(Interrupts::none().repeated().heard(), None);
        let runtime = crate::block::runtime().unwrap();
        runtime.block_on(async {
            let mut stream = Interrupts::none().stream().unwrap();
            let soon = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(soon, stream.next()).await.is_err());
        });
    }
}
