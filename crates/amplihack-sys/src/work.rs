//! Limit of a thread's work, whatever else the machine does meanwhile.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// An end for the work of the thread that made it, in the processor's time: on a busy machine the same work is done as on an
/// idle one. Waiting does not count, so whoever may be kept waiting needs a deadline of another kind as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimit {
    /// Processor time that the thread may have had.
    work: Duration,
    /// Before this moment it cannot have had so much. The clock is read in the process itself, the processor's time by a system call,
    /// so that looking often costs little.
    not_before: Instant,
}

impl WorkLimit {
    /// After `time` of work from now on.
    pub fn from_now(time: Duration) -> Self {
        let now = Instant::now();
        Self {
            not_before: now.checked_add(time).unwrap_or(now),
            work: thread_cpu_time().saturating_add(time),
        }
    }

    /// Returns the end that lies `time` earlier.
    #[must_use]
    pub fn shift_earlier(self, time: Duration) -> Self {
        Self {
            work: self.work.saturating_sub(time),
            not_before: self.not_before.checked_sub(time).unwrap_or_else(Instant::now),
        }
    }

    /// Reports whether the limit has passed.
    pub fn is_over(self) -> bool {
        Instant::now() > self.not_before && thread_cpu_time() > self.work
    }
}

/// Returns the processor time that this thread has used.
pub fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_work_and_working_is() {
        let limit = WorkLimit::from_now(Duration::from_millis(30));
        std::thread::sleep(Duration::from_millis(60));
        assert!(!limit.is_over(), "a thread that sleeps does not work");
        assert!(
            WorkLimit::from_now(Duration::MAX).shift_earlier(Duration::from_secs(1)) != limit,
            "no overflow"
        );
        let mut sum = 0_u64;
        while !limit.is_over() {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(WorkLimit::from_now(Duration::ZERO).shift_earlier(Duration::from_millis(1)).is_over());
    }
}
