//! A way to interrupt a run that somebody else reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Interrupts the run that it came from, as Ctrl-C does, from any thread. Clones interrupt the same run.
#[derive(Debug, Clone, Default)]
pub struct StreamInterrupter {
    told: Arc<InterruptFlag>,
}

#[derive(Debug, Default)]
struct InterruptFlag {
    is_set: AtomicBool,
    changed: Notify,
}

impl StreamInterrupter {
    /// Interrupts the run: the CLI gets SIGINT when the stream is polled next, and may still say what it did. A CLI that goes on gets
    /// SIGTERM, or SIGTERM at once if it is interrupted again, and SIGKILL within `Options::transport_headless_timeout_ms`. A run that
    /// has not started does not start.
    pub fn interrupt(&self) {
        self.told.is_set.store(true, Ordering::Release);
        self.told.changed.notify_one();
    }

    /// Reports whether the run was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.told.is_set.load(Ordering::Acquire)
    }

    /// Waits for an interrupt that nobody has seen yet. Cancel-safe.
    pub(super) async fn wait(&self) {
        self.told.changed.notified().await;
    }
}
