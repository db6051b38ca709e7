//! Signals that end what this process does: one latch for the whole process, and whoever asks it.

use std::io;
use std::task::{Context, Poll};

use amplihack_sys::interrupts::{self, DeliveredSignals, ENDING};
use amplihack_sys::{self as sys, Signal};
use tokio::signal::unix::{self, SignalKind};

use crate::spec::TerminalMode;

/// A notice to a run about this process's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalNotice {
    /// A signal that ends the run.
    End(Signal),
    /// A child of this process ended or stopped.
    Child,
    /// Notice that this process was continued after a stop.
    Continued,
}

/// SIGINT, SIGQUIT, SIGTERM and SIGHUP to this process, from a moment on.
///
/// A value that is handed down to everything that has to end on them. It misses none of them, however late somebody begins to
/// wait: they are counted by the process ([`interrupts`]), and each clone takes them for itself.
#[derive(Debug, Clone, Default)]
pub struct InterruptSignals {
    /// Number of times that each signal was taken. `None`: nothing is heard.
    taken: Option<[u32; 4]>,
    /// Only a repeated request counts.
    repeated: bool,
}

impl InterruptSignals {
    /// Every signal from now on. They no longer end this process by themselves; those that are ignored now (`nohup`) stay ignored.
    ///
    /// For programs only: the effect is on the whole process, and for good.
    pub fn listen_from_now() -> Self {
        if let Err(error) = interrupts::install_latch() {
            // They end this process then, as they end any other; `stream` has the same error.
            tracing::warn!(%error, "signals to this process cannot be counted");
        }
        Self { taken: Some(interrupts::delivered_signals().counts), repeated: false }
    }

    /// No signal, for a library: its host's signals are left alone.
    pub const fn without_signals() -> Self {
        Self { taken: None, repeated: false }
    }

    /// Signals from now on, for what has to be done in spite of the earlier ones.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self { taken: self.taken.map(|_| interrupts::delivered_signals().counts), repeated: false }
    }

    /// Signals from now on that repeat a request, for what keeps the results when a signal ends this process: neither a signal so far
    /// nor the very first one ends that.
    #[must_use]
    pub fn only_repeated(&self) -> Self {
        Self { repeated: true, ..self.from_now() }
    }

    /// The first signal that was not taken yet. It stays untaken.
    pub fn pending_signal(&self) -> Option<Signal> {
        self.clone().take_signal()
    }

    /// The next signals, to be waited for. Needs a runtime.
    ///
    /// # Errors
    /// The system's error, if a signal cannot be listened to.
    pub fn open_stream(&self) -> io::Result<InterruptStream> {
        let mut wake = Vec::new();
        if self.taken.is_some() {
            for signal in ENDING.into_iter().filter(|signal| !sys::ignores_signal(*signal)) {
                wake.push(unix::signal(SignalKind::from_raw(signal.as_raw()))?);
            }
        }
        Ok(InterruptStream { interrupts: self.clone(), wake })
    }

    fn take_signal(&mut self) -> Option<Signal> {
        let taken = self.taken.as_mut()?;
        take_first(taken, self.repeated, &interrupts::delivered_signals())
    }
}

/// The first of the deliveries beyond `taken`, which counts as taken then.
fn take_first(taken: &mut [u32; 4], repeated: bool, delivered: &DeliveredSignals) -> Option<Signal> {
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

/// The signals of [`InterruptSignals`], as they come.
#[derive(Debug)]
pub struct InterruptStream {
    interrupts: InterruptSignals,
    /// Streams that wake the waiting task, and tell nothing else.
    wake: Vec<unix::Signal>,
}

impl InterruptStream {
    /// The next of them: at once if it was delivered before. Cancel-safe. Never returns where nothing is heard.
    pub async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| self.poll_signal(context)).await
    }

    fn poll_signal(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        // Registered first: what comes after the look at the latch wakes.
        for wake in &mut self.wake {
            while let Poll::Ready(Some(())) = wake.poll_recv(context) {}
        }
        self.interrupts.take_signal().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Listener of a single run: the signals that end it, and the others that its terminal and its children need.
pub(crate) struct RunListener {
    interrupts: InterruptStream,
    terminal: TerminalMode,
    others: Vec<(SignalNotice, unix::Signal)>,
}

impl RunListener {
    /// A listener for a run with `terminal`.
    ///
    /// An agent that owns the terminal gets Ctrl-C and Ctrl-\ from the terminal itself; here they must only not end
    /// this process.
    pub(crate) fn new(interrupts: &InterruptSignals, terminal: TerminalMode) -> io::Result<Self> {
        let mut listener = Self { interrupts: interrupts.open_stream()?, terminal, others: Vec::new() };
        if listener.sees_stops() {
            listener.add_signal(Signal::CONT, SignalNotice::Continued)?;
        }
        Ok(listener)
    }

    /// Reports whether the run is stopped and continued with this process.
    pub(crate) fn sees_stops(&self) -> bool {
        self.terminal == TerminalMode::Owned && self.interrupts.interrupts.taken.is_some()
    }

    /// Listens also to the ends and stops of children.
    pub(crate) fn and_children(mut self) -> io::Result<Self> {
        self.add_signal(Signal::CHILD, SignalNotice::Child)?;
        Ok(self)
    }

    fn add_signal(&mut self, signal: Signal, notice: SignalNotice) -> io::Result<()> {
        self.others.push((notice, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        Ok(())
    }

    /// The next notice. Cancel-safe. Never returns when it listens to nothing.
    pub(crate) async fn next(&mut self) -> SignalNotice {
        std::future::poll_fn(|context| self.poll_notice(context)).await
    }

    fn poll_notice(&mut self, context: &mut Context<'_>) -> Poll<SignalNotice> {
        while let Poll::Ready(signal) = self.interrupts.poll_signal(context) {
            let by_terminal = signal == Signal::INT || signal == Signal::QUIT;
            if self.terminal == TerminalMode::Detached || !by_terminal {
                return Poll::Ready(SignalNotice::End(signal));
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
        let order: Vec<_> = std::iter::from_fn(|| take_first(&mut taken, false, &all)).collect();
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
            assert_eq!(take_first(&mut taken, true, &first), None, "the very first {signal:?}");
            counts[number] = 2;
            assert_eq!(
                take_first(&mut taken, true, &delivered(signal, counts)),
                Some(signal),
                "again {signal:?}"
            );
            counts = [0; 4];
        }
        let mut taken = [0; 4];
        assert_eq!(
            take_first(&mut taken, true, &delivered(Signal::HUP, [0, 0, 1, 1])),
            None,
            "a closed terminal"
        );
        let mut taken = [0, 0, 1, 0];
        let ctrl_c = delivered(Signal::TERM, [1, 0, 1, 0]);
        assert_eq!(take_first(&mut taken, true, &ctrl_c), Some(Signal::INT), "Ctrl-C after SIGTERM");
    }

    #[test]
    fn nothing_is_heard_where_nobody_listens() {
        assert_eq!(InterruptSignals::without_signals().pending_signal(), None);
        assert_eq!(InterruptSignals::without_signals().only_repeated().pending_signal(), None);
        let runtime = crate::block::build_runtime().unwrap();
        runtime.block_on(async {
            let mut stream = InterruptSignals::without_signals().open_stream().unwrap();
            let soon = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(soon, stream.next()).await.is_err());
        });
    }
}
