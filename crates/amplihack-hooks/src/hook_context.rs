//! The surroundings of an event: the policy, the audit, the environment, the clock.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use amplihack_audit::EventType;
use amplihack_config::env::Env;
use amplihack_policy::Event;
use amplihack_verdict::Verdict;

use crate::channel::{self, HookMessage, HookReport, LaunchReply};
use crate::dialect::{self, HookCall};
use crate::event::HookEvent;
use crate::once::ToolCallKey;

/// The beginning of a warning that the audit has no line of what happened.
const UNWRITTEN: &str = "the audit could not be written: ";

/// The policy, as far as a hook is concerned.
pub trait HookJudge {
    /// Judges a thing that the agent is about to do, or has read.
    fn judge(&self, event: &Event<'_>) -> Verdict;

    /// Judges as [`Self::judge`] does, where the host names the tool call that it asks about.
    fn judge_for(&self, event: &Event<'_>, _asker: Option<&ToolCallKey>) -> Verdict {
        self.judge(event)
    }

    /// Directories of the user's in which hosts look for skills and commands.
    fn user_places(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Takes note of a directory that no call may take away, wherever that call runs.
    fn keep_directory(&self, _directory: &Path) {}

    /// Reports whether the user asked for a reminder with prompts that begin new work in `cwd`.
    fn adds_reminder(&self, _cwd: &Path) -> bool {
        false
    }

    /// The process of the launch, which alone is told and believed; `None` where it is not known.
    fn launcher_pid(&self) -> Option<u32> {
        None
    }

    /// The text that a session has to be told of the policy at its start, for example that it only observes.
    fn session_notice(&self) -> Option<String> {
        None
    }
}

/// An entry for the audit.
#[derive(Debug, Clone, Copy)]
pub struct HookAuditEntry<'a> {
    /// The kind of occurrence.
    pub event_type: EventType,
    /// The hook's event; `None` for the XPIA hook.
    pub event: Option<HookEvent>,
    /// The part of the payload that was read; `None` if nothing could be.
    pub call: Option<&'a HookCall>,
    /// The decision, before it was put into a host's words.
    pub verdict: &'a Verdict,
    /// From the start of the process to the decision.
    pub duration_us: u64,
}

/// The audit, in which decisions are written down. A failure never changes an answer: it is told on stderr.
pub trait HookAudit {
    /// Writes one entry.
    fn record_entry(&self, entry: &HookAuditEntry<'_>) -> Result<(), String>;
}

/// Everything together.
#[derive(Clone, Copy)]
pub struct HookContext<'a> {
    /// The policy.
    pub judge: &'a dyn HookJudge,
    /// The audit.
    pub audit: &'a dyn HookAudit,
    /// The environment of the hook process.
    pub env: &'a Env,
    /// The directory of the hook process; stands in where a payload names none.
    pub cwd: &'a Path,
    /// The directory of the launch that made this registration.
    pub launch: Option<&'a Path>,
    /// Now.
    pub now: SystemTime,
    /// The moment at which the process began to work.
    pub started: std::time::Instant,
}

impl std::fmt::Debug for HookContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookContext").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl HookContext<'_> {
    /// Writes an entry; what went wrong comes back as a line for stderr.
    pub(crate) fn record_verdict(
        &self,
        event_type: EventType,
        event: Option<HookEvent>,
        call: Option<&HookCall>,
        verdict: &Verdict,
    ) -> String {
        let duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        match self.audit.record_entry(&HookAuditEntry { event_type, event, call, verdict, duration_us }) {
            Ok(()) => String::new(),
            Err(why) => format!("{UNWRITTEN}{why}\n"),
        }
    }

    /// Reports whether the launch knows that the call with `digest` was judged and may run.
    pub(crate) fn was_judged(&self, digest: &str) -> bool {
        let Some(launch) = self.launch else { return false };
        let message = HookMessage::Judged { digest: digest.to_owned() };
        let reply = match self.judge.launcher_pid() {
            Some(launcher) => channel::request_reply_from(launch, launcher, &message),
            None => channel::request_reply(launch, &message),
        };
        matches!(reply, Ok(LaunchReply::WasJudged))
    }

    /// Tells the launch, if there is one, what was answered. `warning` is what [`Self::record_verdict`] returned.
    ///
    /// # Errors
    /// The reason for a deny: a call of which the launch does not know is not let through.
    pub(crate) fn report_event(&self, report: HookReport, warning: &str) -> Result<(), String> {
        let Some(launch) = self.launch else { return Ok(()) };
        let unaudited = warning.trim_end().strip_prefix(UNWRITTEN).map(dialect::one_line);
        channel::send_report_to(launch, self.judge.launcher_pid(), HookReport { unaudited, ..report })
            .map_err(|error| format!("the launch that this guard belongs to cannot be reached ({error})"))
    }
}
