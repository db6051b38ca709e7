//! The rules of going on: sans-IO, shared with unattended runs.

use amplihack_config::env::Env;

/// Turns that one lock can hold an agent, unless the environment says otherwise.
const MAX_ITERATIONS: u64 = 50;
/// Seconds after which a lock is forgotten.
const TTL_SECONDS: u64 = 86_400;
/// Longer continuation prompts are not used.
const MAX_PROMPT: usize = 1000;

/// Said when the lock brings no words of its own.
const DEFAULT_PROMPT: &str = "we must keep pursuing the user's objective and must not stop before it is reached: look at what is still open, do the \
    next piece of it, and stop only when everything that was asked for is done and checked, or when only the user can decide how to go on";

/// `.lock_active`, as far as it says anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContinuationLock {
    /// The session that it is for; `None`: for whoever asks.
    pub session: Option<String>,
    /// The time when the lock was made, in seconds since 1970; `None` if nothing shows it.
    pub locked_at: Option<u64>,
}

/// Number of times that this session was made to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContinuationCount {
    /// So often.
    Times(u64),
    /// The file says something that is no number.
    Corrupt,
}

/// An agent wants to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopSignal<'a> {
    /// The host's session, as the payload says it.
    pub session: &'a str,
    /// `true` if the host reports that the agent continues only because it was made to.
    pub stop_active: bool,
    /// The lock, if there is one.
    pub lock: Option<ContinuationLock>,
    /// Number of times that the session was made to continue.
    pub count: ContinuationCount,
    /// The lock's own words.
    pub prompt: Option<String>,
    /// The goal that the lock was set for.
    pub goal: Option<String>,
    /// Now, in seconds since 1970.
    pub now: u64,
}

/// The reason why an agent may stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContinuationStopReason {
    /// Nothing holds it.
    NoLock,
    /// The lock is another session's.
    OtherSession,
    /// The lock is too old.
    Stale,
    /// The agent was made to continue as often as allowed.
    Bound,
    /// Nobody knows how often it was made to go on.
    CountLost,
}

impl ContinuationStopReason {
    /// A line for the person, where the end is not the usual one.
    pub fn stop_notice(self) -> Option<&'static str> {
        match self {
            Self::NoLock | Self::OtherSession => None,
            Self::Stale => Some("the lock that kept this agent working was too old and is released"),
            Self::Bound => Some(
                "the agent was made to continue AMPLIHACK_MAX_LOCK_ITERATIONS times; its lock is released",
            ),
            Self::CountLost => Some("the count of forced turns is unreadable, so the lock is released"),
        }
    }
}

/// The answer of the rules to an agent that wants to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContinuationStep {
    /// The agent stops.
    Stop {
        /// `true` if this session's lock is to be removed.
        release: bool,
        /// The reason why the agent may stop.
        why: ContinuationStopReason,
    },
    /// The agent goes on.
    Continue {
        /// With these words.
        words: String,
        /// Number of times that the agent was made to continue, this time included.
        count: u64,
    },
}

/// The rules' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuation {
    /// The agent stops at this many asks.
    pub max_iterations: u64,
    /// A lock older than this many seconds holds nobody.
    pub ttl_seconds: u64,
}

impl Default for Continuation {
    fn default() -> Self {
        Self { max_iterations: MAX_ITERATIONS, ttl_seconds: TTL_SECONDS }
    }
}

impl Continuation {
    /// The numbers that the environment sets; what is no number counts as not set, and so does a lifetime of zero. No iteration
    /// at all is a bound like any other: no lock holds.
    pub fn from_env(env: &Env) -> Self {
        let number = |name: &str| env.text(name).and_then(|value| value.parse().ok());
        Self {
            max_iterations: number("AMPLIHACK_MAX_LOCK_ITERATIONS").unwrap_or(MAX_ITERATIONS),
            ttl_seconds: number("AMPLIHACK_LOCK_TTL_SECONDS")
                .filter(|seconds| *seconds >= 1)
                .unwrap_or(TTL_SECONDS),
        }
    }

    /// Decides. An agent that the host already calls forced goes on all the same: the count bounds it, and the count is
    /// taken from the host's word too where the file knows less.
    pub fn decide_stop(&self, signal: &StopSignal<'_>) -> ContinuationStep {
        self.decide_with_count(signal, 1)
    }

    /// Decides about a stop that was counted already, when the host told of it by another event.
    pub fn decide_counted_stop(&self, signal: &StopSignal<'_>) -> ContinuationStep {
        self.decide_with_count(signal, 0)
    }

    fn decide_with_count(&self, signal: &StopSignal<'_>, stops: u64) -> ContinuationStep {
        let Some(lock) = &signal.lock else {
            return ContinuationStep::Stop { release: false, why: ContinuationStopReason::NoLock };
        };
        if lock.session.as_deref().is_some_and(|owner| owner != signal.session) {
            return ContinuationStep::Stop { release: false, why: ContinuationStopReason::OtherSession };
        }
        let age = lock.locked_at.map_or(0, |at| signal.now.saturating_sub(at));
        if age > self.ttl_seconds {
            return ContinuationStep::Stop { release: true, why: ContinuationStopReason::Stale };
        }
        let ContinuationCount::Times(before) = signal.count else {
            return ContinuationStep::Stop { release: true, why: ContinuationStopReason::CountLost };
        };
        let count = before.max(u64::from(signal.stop_active)).saturating_add(stops);
        if count >= self.max_iterations {
            return ContinuationStep::Stop { release: true, why: ContinuationStopReason::Bound };
        }
        ContinuationStep::Continue { words: continuation_words(signal), count }
    }
}

fn continuation_words(signal: &StopSignal<'_>) -> String {
    let usable = |text: &Option<String>| {
        let text = text.as_deref().map(str::trim)?;
        (!text.is_empty() && text.chars().count() <= MAX_PROMPT).then(|| text.to_owned())
    };
    let words = usable(&signal.prompt).unwrap_or_else(|| DEFAULT_PROMPT.to_owned());
    match usable(&signal.goal) {
        Some(goal) => format!("{words}\n\nThe objective: {goal}"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(lock: Option<ContinuationLock>, count: u64) -> StopSignal<'static> {
        StopSignal {
            session: "s1",
            stop_active: false,
            lock,
            count: ContinuationCount::Times(count),
            prompt: None,
            goal: None,
            now: 1_000_000,
        }
    }

    fn mine() -> ContinuationLock {
        ContinuationLock { session: Some("s1".to_owned()), locked_at: Some(999_000) }
    }

    fn stop(release: bool, why: ContinuationStopReason) -> ContinuationStep {
        ContinuationStep::Stop { release, why }
    }

    #[test]
    fn a_lock_holds_its_own_session_up_to_the_bound() {
        let rules = Continuation::default();
        assert_eq!(rules.decide_stop(&signal(None, 0)), stop(false, ContinuationStopReason::NoLock));
        for lock in [Some(mine()), Some(ContinuationLock::default())] {
            let ContinuationStep::Continue { words, count: 49 } =
                rules.decide_stop(&signal(lock.clone(), 48))
            else {
                panic!()
            };
            assert!(words.starts_with("we must keep pursuing the user's objective and must not stop"));
            assert_eq!(rules.decide_stop(&signal(lock, 49)), stop(true, ContinuationStopReason::Bound));
        }
        let one = Continuation { max_iterations: 1, ..rules };
        assert_eq!(one.decide_stop(&signal(Some(mine()), 0)), stop(true, ContinuationStopReason::Bound));
    }

    #[test]
    fn another_sessions_lock_is_never_released_however_old() {
        let lock = ContinuationLock { session: Some("s2".to_owned()), locked_at: Some(0) };
        assert_eq!(
            Continuation::default().decide_stop(&signal(Some(lock), 0)),
            stop(false, ContinuationStopReason::OtherSession)
        );
    }

    #[test]
    fn an_old_lock_and_a_lost_count_release() {
        let old =
            ContinuationLock { locked_at: Some(1_000_000 - TTL_SECONDS - 1), ..ContinuationLock::default() };
        assert_eq!(
            Continuation::default().decide_stop(&signal(Some(old), 0)),
            stop(true, ContinuationStopReason::Stale)
        );
        let lost = StopSignal { count: ContinuationCount::Corrupt, ..signal(Some(mine()), 0) };
        assert_eq!(Continuation::default().decide_stop(&lost), stop(true, ContinuationStopReason::CountLost));
    }

    #[test]
    fn a_forced_turn_counts_even_where_the_file_forgot_it() {
        let forced = StopSignal { stop_active: true, ..signal(Some(mine()), 0) };
        let ContinuationStep::Continue { count, .. } = Continuation::default().decide_stop(&forced) else {
            panic!()
        };
        assert_eq!(count, 2);
        let two = Continuation { max_iterations: 2, ..Continuation::default() };
        assert_eq!(two.decide_stop(&forced), stop(true, ContinuationStopReason::Bound));
    }

    #[test]
    fn words_of_the_lock_are_used_if_they_are_short_enough() {
        let rules = Continuation::default();
        let said = |prompt: &str| {
            let signal = StopSignal {
                prompt: Some(prompt.to_owned()),
                goal: Some("ship it".to_owned()),
                ..signal(Some(mine()), 0)
            };
            match rules.decide_stop(&signal) {
                ContinuationStep::Continue { words, .. } => words,
                ContinuationStep::Stop { .. } => panic!(),
            }
        };
        assert_eq!(said(" keep on \n"), "keep on\n\nThe objective: ship it");
        assert!(said(&"x".repeat(1001)).starts_with("we must keep"));
        assert!(said("  ").starts_with("we must keep"));
    }

    #[test]
    fn numbers_come_from_the_environment() {
        let env = |max: &str| Env::empty().with_variable("AMPLIHACK_MAX_LOCK_ITERATIONS", max);
        assert_eq!(Continuation::from_env(&env("7")).max_iterations, 7);
        for no_number in ["-1", "many", ""] {
            assert_eq!(Continuation::from_env(&env(no_number)), Continuation::default());
        }
        let none = Continuation::from_env(&env("0"));
        assert_eq!(none.decide_stop(&signal(Some(mine()), 0)), stop(true, ContinuationStopReason::Bound));
        let ttl = Env::empty().with_variable("AMPLIHACK_LOCK_TTL_SECONDS", "0");
        assert_eq!(Continuation::from_env(&ttl), Continuation::default());
    }

    #[test]
    fn a_stop_that_was_counted_is_decided_again_without_a_count() {
        let rules = Continuation::default();
        let ContinuationStep::Continue { count: 7, .. } = rules.decide_counted_stop(&signal(Some(mine()), 7))
        else {
            panic!()
        };
        assert_eq!(
            rules.decide_counted_stop(&signal(Some(mine()), 50)),
            stop(true, ContinuationStopReason::Bound)
        );
    }
}
