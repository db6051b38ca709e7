//! What each event does: one call in, one reply out.

mod post_tool;
mod pre_tool;
mod prompt;
mod turns;

use amplihack_policy::audit::EventType;
use amplihack_policy::{Decision, RuleId, Verdict};

use crate::continuation;
use crate::dialect::{self, Bad, Call, Reply};
use crate::event::HookEvent;
use crate::host::host;
use crate::invocation::Invocation;
use crate::plane::Plane;

pub use pre_tool::judge;

/// The rule of everything that a guard refuses because it does not understand it.
pub const UNREADABLE: RuleId = RuleId::new("hook/unreadable");
/// The rule of everything that a guard refuses because it is broken itself.
pub const BROKEN: RuleId = RuleId::new("hook/broken");

/// Answers one event. What cannot be read is a deny on the guard and silence elsewhere, and stands in the audit.
pub fn answer(
    event: HookEvent,
    invocation: &Invocation,
    payload: Result<Vec<u8>, Bad>,
    plane: &Plane<'_>,
) -> Reply {
    let call = payload.and_then(|bytes| dialect::read(&bytes, event, invocation.host, plane.cwd));
    match call {
        Ok(call) => answer_call(&call, invocation, plane),
        Err(bad) => refuse(event, &bad.to_string(), UNREADABLE, plane),
    }
}

/// The answer when nothing could be judged.
pub(crate) fn refuse(event: HookEvent, why: &str, rule: RuleId, plane: &Plane<'_>) -> Reply {
    let verdict = Verdict::new(Decision::Deny, rule, why, Vec::new());
    let warning = plane.record(EventType::HookError, Some(event), None, &verdict);
    let mut reply = if event.is_guard() {
        // Which dialect is listening is not known, so the answer is the one that every host takes, and the code with it:
        // Copilot's own dialect sees only that.
        let words = dialect::last_words(Some(event), why);
        Reply {
            stdout: words.stdout,
            stderr: String::from_utf8_lossy(&words.stderr).into_owned(),
            code: words.code,
        }
    } else {
        Reply { stderr: format!("{}\n", dialect::one_line(why)), ..Reply::silence() }
    };
    reply.stderr.push_str(&warning);
    reply
}

fn answer_call(call: &Call, invocation: &Invocation, plane: &Plane<'_>) -> Reply {
    match call.event {
        HookEvent::PreToolUse => pre_tool::answer(call, invocation.headless, plane),
        HookEvent::PostToolUse => post_tool::answer(call, plane),
        HookEvent::UserPromptSubmit => prompt::answer(call, plane),
        HookEvent::WorkflowClassificationReminder => prompt::reminder_only(call, plane),
        HookEvent::Stop => continuation::answer(call, plane),
        // A sub-agent serves its own agent, which is the one that is held to its goal.
        HookEvent::SubagentStop | HookEvent::PreCompact => Reply::silence(),
        HookEvent::SessionStart => {
            dialect::context(&plane.judge.notice().unwrap_or_default(), call.event, call.dialect)
        }
        HookEvent::SessionStop => {
            turns::forget(call, plane.env);
            let is_stop = host(call.host()).is_ok_and(|host| host.end_is_stop);
            if is_stop && !amplihack_utils::sabotage::active("copilot-session-stop-both") {
                continuation::answer(call, plane)
            } else {
                Reply::silence()
            }
        }
        HookEvent::ErrorOccurred => {
            let why = call.error.as_deref().unwrap_or("the host does not say what");
            let verdict = Verdict { reason: dialect::one_line(why), ..Verdict::none() };
            let stderr = plane.record(EventType::AgentError, Some(call.event), Some(call), &verdict);
            Reply { stderr, ..Reply::silence() }
        }
    }
}
