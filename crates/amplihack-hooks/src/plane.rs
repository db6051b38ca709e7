//! What an event needs from outside: the policy, the audit, the environment, the clock.

use std::path::Path;
use std::time::SystemTime;

use amplihack_policy::audit::EventType;
use amplihack_policy::{Event, Verdict};
use amplihack_utils::env::Env;

use crate::dialect::Call;
use crate::event::HookEvent;
use crate::once::Asker;

/// The policy, as far as a hook is concerned.
pub trait Judge {
    /// What the policy says of one thing that the agent is about to do, or has read.
    fn judge(&self, event: &Event<'_>) -> Verdict;

    /// The same, where the host says which tool call it asks about.
    fn judge_for(&self, event: &Event<'_>, _asker: Option<&Asker>) -> Verdict {
        self.judge(event)
    }

    /// What a session has to be told of the policy at its start, for example that it only observes.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// One line for the audit.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// What happened.
    pub event_type: EventType,
    /// The hook's event; `None` for the XPIA hook.
    pub event: Option<HookEvent>,
    /// What was read of the payload; `None` if nothing could be.
    pub call: Option<&'a Call>,
    /// What was decided, before it was put into a host's words.
    pub verdict: &'a Verdict,
    /// The directory of the launch that waits for denials.
    pub launch: Option<&'a Path>,
    /// From the start of the process to the decision.
    pub duration_us: u64,
}

/// Where decisions are written down. A failure never changes an answer: it is told on stderr.
pub trait Audit {
    /// Writes one entry.
    fn record(&self, entry: &Entry<'_>) -> Result<(), String>;
}

/// Everything together.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    /// The policy.
    pub judge: &'a dyn Judge,
    /// The audit.
    pub audit: &'a dyn Audit,
    /// The environment of the hook process.
    pub env: &'a Env,
    /// The directory of the hook process; stands in where a payload names none.
    pub cwd: &'a Path,
    /// The directory of the launch that made this registration.
    pub launch: Option<&'a Path>,
    /// Now.
    pub now: SystemTime,
    /// When the process began to work.
    pub started: std::time::Instant,
}

impl std::fmt::Debug for Plane<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plane").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl Plane<'_> {
    /// Writes an entry; what went wrong comes back as a line for stderr.
    pub(crate) fn record(
        &self,
        event_type: EventType,
        event: Option<HookEvent>,
        call: Option<&Call>,
        verdict: &Verdict,
    ) -> String {
        let duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        match self.audit.record(&Entry { event_type, event, call, verdict, launch: self.launch, duration_us })
        {
            Ok(()) => String::new(),
            Err(why) => format!("the audit could not be written: {why}\n"),
        }
    }
}
