//! The latch of this process: which of the signals that end a program have been delivered, and how often.
//!
//! Signals are the process's, not a thread's or a value's, so the latch is one for the whole process. Nothing is counted, and no
//! signal loses its default effect, before [`install_latch`] was called: only programs do that, never a library.

use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::process::Signal;

use super::ignores_signal;

/// The signals that end a program.
pub const ENDING: [Signal; 4] = [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP];

static DELIVERED: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
static FIRST: AtomicI32 = AtomicI32::new(0);
/// Signals of [`ENDING`] that are counted.
static INSTALLED: Mutex<[bool; 4]> = Mutex::new([false; 4]);

/// The deliveries so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveredSignals {
    /// The signal that came first; `None` if there was none.
    pub first: Option<Signal>,
    /// Number of deliveries of each of [`ENDING`], in that order.
    pub counts: [u32; 4],
}

/// Counts each of [`ENDING`] from now on, instead of ending this process by it. Signals that are ignored now (`nohup`) stay ignored.
/// A second call changes nothing.
///
/// # Errors
///
/// A handler that the system refuses.
#[expect(unsafe_code, reason = "a signal handler has no safe counterpart")]
pub fn install_latch() -> io::Result<()> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    for ((signal, count), installed) in ENDING.into_iter().zip(&DELIVERED).zip(installed.iter_mut()) {
        if *installed || ignores_signal(signal) {
            continue;
        }
        let number = signal.as_raw();
        // SAFETY: the handler touches two atomics and nothing else: it allocates nothing, takes no lock and cannot panic.
        unsafe {
            signal_hook_registry::register(number, move || {
                // Another may have been first.
                let _ = FIRST.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
                count.fetch_add(1, Ordering::SeqCst);
            })?;
        }
        *installed = true;
    }
    Ok(())
}

/// Returns what has been delivered since [`install_latch`].
pub fn delivered_signals() -> DeliveredSignals {
    let counts =
        std::array::from_fn(|number| DELIVERED.get(number).map_or(0, |count| count.load(Ordering::SeqCst)));
    let first = FIRST.load(Ordering::SeqCst);
    DeliveredSignals { first: ENDING.into_iter().find(|signal| signal.as_raw() == first), counts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send_to_process;

    #[test]
    fn each_delivery_counts_and_the_first_is_remembered() {
        install_latch().unwrap();
        install_latch().unwrap();
        assert_eq!(delivered_signals(), DeliveredSignals { first: None, counts: [0; 4] });
        let own = std::process::id();
        for signal in [Signal::HUP, Signal::INT, Signal::INT] {
            let before: u32 = delivered_signals().counts.iter().sum();
            send_to_process(own, signal).unwrap();
            // It may be delivered to another thread.
            while delivered_signals().counts.iter().sum::<u32>() == before {
                std::thread::yield_now();
            }
        }
        assert_eq!(delivered_signals(), DeliveredSignals { first: Some(Signal::HUP), counts: [2, 0, 0, 1] });
    }
}
