//! Pauses between tries: each twice as long, half of it at random, until a budget is used up.

use std::time::Duration;

use amplihack_sys::hex::random_bytes;
use tokio::time::Instant;

/// Policy of repeated attempts: the length of the first pause, and the time that all attempts may take.
#[derive(Debug, Clone, Copy)]
pub struct AzlinRetryPolicy {
    first: Duration,
    budget: Duration,
}

/// A series of tries.
#[derive(Debug)]
pub struct AzlinAttempts {
    next: Duration,
    until: Instant,
}

impl AzlinRetryPolicy {
    /// The first pause is about `first` long; all tries together take at most `budget`.
    pub const fn new(first: Duration, budget: Duration) -> Self {
        Self { first, budget }
    }

    /// Begins a series.
    pub fn start_attempts(self) -> AzlinAttempts {
        AzlinAttempts { next: self.first, until: Instant::now() + self.budget }
    }
}

impl AzlinAttempts {
    /// Waits before the next try; `false` if there is no time for one.
    pub async fn wait_for_next(&mut self) -> bool {
        let pause = jitter_pause(self.next);
        if Instant::now() + pause > self.until {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.next *= 2;
        true
    }
}

/// Between a half of `time` and all of it, so that many clients do not come back together.
fn jitter_pause(time: Duration) -> Duration {
    // Without random bytes everybody waits half the time, which is no harm.
    let random = random_bytes().unwrap_or_default();
    time / 2 + time.mul_f64(f64::from(u16::from_ne_bytes(random)) / f64::from(u16::MAX) / 2.0)
}
