//! Answers to each event: one call in, one reply out.

mod first_prompt;
mod permission;
mod post_tool;
mod pre_tool;
mod prompt;
mod skill;
mod written_files;

use amplihack_audit::EventType;
use amplihack_verdict::{Decision, RuleId, Verdict};

use crate::channel::HookReport;
use crate::continuation;
use crate::dialect::{self, HookCall, HookReply, PayloadError};
use crate::event::HookEvent;
use crate::hook_context::HookContext;
use crate::host::hook_host;
use crate::invocation::HookInvocation;

pub use pre_tool::judge_call;

/// The rule of everything that a guard refuses because it does not understand it.
pub const UNREADABLE: RuleId = RuleId::new("hook/unreadable");
/// The rule of everything that is refused because the launch does not learn of it.
pub const UNREACHABLE: RuleId = RuleId::new("hook/no-launch");
/// The rule of everything that a guard refuses because it is broken itself.
pub const BROKEN: RuleId = RuleId::new("hook/broken");

/// Answers one event. What cannot be read is a deny on the guard and silence elsewhere, and stands in the audit.
pub fn answer_event(
    event: HookEvent,
    invocation: &HookInvocation,
    payload: Result<Vec<u8>, PayloadError>,
    plane: &HookContext<'_>,
) -> HookReply {
    let call = payload.and_then(|bytes| dialect::read_call(&bytes, event, invocation.host, plane.cwd));
    match call {
        Ok(call) => answer_call(&call, invocation, plane),
        Err(bad) => refuse_event(event, &bad.to_string(), UNREADABLE, plane),
    }
}

/// The verdict on a call that the launch does not learn of.
fn unreached_verdict(why: String) -> Verdict {
    Verdict::new(Decision::Deny, UNREACHABLE, why, Vec::new())
}

/// The answer when nothing could be judged.
pub(crate) fn refuse_event(event: HookEvent, why: &str, rule: RuleId, plane: &HookContext<'_>) -> HookReply {
    let verdict = Verdict::new(Decision::Deny, rule, why, Vec::new());
    let mut warning = plane.record_verdict(EventType::HookError, Some(event), None, &verdict);
    let decision = if event.is_guard() { verdict.decision } else { Decision::None };
    let marked =
        verdict.rule.as_ref().map_or_else(|| why.to_owned(), |rule| dialect::with_rule_mark(why, rule));
    let report =
        HookReport { rule: verdict.rule.map(|rule| rule.to_string()), ..HookReport::new(event, decision) };
    if let Err(unreached) = plane.report_event(report, &warning) {
        warning.extend([&unreached, "\n"]);
    }
    let mut reply = if event.is_guard() {
        // Which dialect is listening is not known, so the answer is the one that every host takes, and the code with it:
        // Copilot's own dialect sees only that.
        let words = dialect::prepared_denial(Some(event), &marked);
        HookReply {
            stdout: words.stdout.into_owned(),
            stderr: String::from_utf8_lossy(&words.stderr).into_owned(),
            code: words.code,
        }
    } else {
        HookReply { stderr: format!("{}\n", dialect::one_line(why)), ..HookReply::new_silent() }
    };
    reply.stderr.push_str(&warning);
    reply
}

fn answer_call(call: &HookCall, invocation: &HookInvocation, plane: &HookContext<'_>) -> HookReply {
    if call.event == HookEvent::PreToolUse {
        return pre_tool::answer_pre_tool(call, invocation.headless, plane);
    }
    if call.event == HookEvent::PermissionRequest {
        return permission::answer_permission(call, invocation.headless, plane);
    }
    if let Some(stopped) = prompt::stop_harmful_prompt(call, plane) {
        return stopped;
    }
    let mut reply = answer_other(call, plane);
    if let Err(unreached) = plane.report_event(HookReport::of_call(call.event, call), &reply.stderr) {
        reply.stderr.extend([&unreached, "\n"]);
    }
    reply
}

/// Answers an event at which nothing can be stopped.
fn answer_other(call: &HookCall, plane: &HookContext<'_>) -> HookReply {
    match call.event {
        HookEvent::PostToolUse => post_tool::answer_post_tool(call, plane),
        HookEvent::UserPromptSubmit => prompt::answer_prompt(call, plane),
        HookEvent::WorkflowClassificationReminder => prompt::answer_reminder(call, plane),
        HookEvent::Stop => continuation::answer_stop(call, plane),
        // A sub-agent serves its own agent, which is the one that is held to its goal.
        HookEvent::SubagentStop
        | HookEvent::PreCompact
        | HookEvent::PreToolUse
        | HookEvent::PermissionRequest => HookReply::new_silent(),
        HookEvent::SessionStart => dialect::render_context(
            &plane.judge.session_notice().unwrap_or_default(),
            call.event,
            call.dialect,
        ),
        HookEvent::SessionStop => {
            first_prompt::forget_session(call, plane.env);
            let is_stop = hook_host(call.host_agent()).is_ok_and(|host| host.end_is_stop);
            if is_stop && !amplihack_sys::sabotage::is_active("copilot-session-stop-both") {
                continuation::answer_stop(call, plane)
            } else {
                HookReply::new_silent()
            }
        }
        HookEvent::ErrorOccurred => {
            let why = call.error.as_deref().unwrap_or("the host does not say what");
            let verdict = Verdict { reason: dialect::one_line(why), ..Verdict::no_objection() };
            let stderr = plane.record_verdict(EventType::AgentError, Some(call.event), Some(call), &verdict);
            HookReply { stderr, ..HookReply::new_silent() }
        }
    }
}
