//! Before a tool is used: the one place where a call can be stopped.

use std::path::Path;

use amplihack_audit::EventType;
use amplihack_policy::Event;
use amplihack_policy::policy::UNDECIDED;
use amplihack_verdict::{Decision, Verdict};

use crate::channel::HookReport;
use crate::dialect::{self, HookCall, HookReply, ToolKind};
use crate::hook_context::{HookContext, HookJudge};
use crate::once::ToolCallKey;

pub(super) fn answer_pre_tool(call: &HookCall, headless: bool, plane: &HookContext<'_>) -> HookReply {
    let verdict = judge_call(call, plane.judge);
    let verdict = if is_muted(&verdict) { Verdict::no_objection() } else { verdict };
    answer_verdict(call, verdict, headless, plane, |verdict, answerable| {
        dialect::render_verdict(verdict, call.dialect, answerable)
    })
}

/// The answer to `call` with `verdict`, in the words of `reply`: audited, and reported to the launch; a launch that cannot be reached
/// denies. `reply` also hears whether a person can answer a question.
pub(super) fn answer_verdict(
    call: &HookCall,
    verdict: Verdict,
    headless: bool,
    plane: &HookContext<'_>,
    reply: impl FnOnce(&Verdict, bool) -> HookReply,
) -> HookReply {
    let warning = plane.record_verdict(EventType::PreToolValidation, Some(call.event), Some(call), &verdict);
    let answerable = !headless && is_attended(plane);
    let report = HookReport {
        decision: dialect::answered_decision(verdict.decision, call.dialect, answerable),
        rule: verdict.rule.as_ref().map(ToString::to_string),
        ..HookReport::of_call(call.event, call)
    };
    let verdict = match plane.report_event(report, &warning) {
        Ok(()) => verdict,
        Err(why) => super::unreached_verdict(why),
    };
    let mut reply = reply(&verdict, answerable);
    reply.stderr.push_str(&warning);
    reply
}

/// Reports whether a fault mutes one of the two sides: amplihack's own guards, or XPIA.
fn is_muted(verdict: &Verdict) -> bool {
    if verdict.rule.as_ref().is_some_and(|rule| rule.0.starts_with("guards/")) {
        amplihack_sys::sabotage::is_active("copilot-pretool-guards")
    } else {
        amplihack_sys::sabotage::is_active("copilot-pretool-xpia")
    }
}

/// Claude Code says of a session whether a person attends it.
fn is_attended(plane: &HookContext<'_>) -> bool {
    plane.env.text("CLAUDE_CODE_SESSION_ATTENDED") != Some("0")
}

/// Judges a call: the strictest verdict on its files, and on the other readings of its payload.
pub fn judge_call(call: &HookCall, judge: &dyn HookJudge) -> Verdict {
    call.others
        .iter()
        .map(|other| judge_one(other, judge))
        .fold(judge_one(call, judge), Verdict::join_strictest)
}

fn judge_one(call: &HookCall, judge: &dyn HookJudge) -> Verdict {
    judge.keep_directory(&call.cwd);
    let here = judge_in(call, &call.cwd, judge);
    match &call.workdir {
        Some(elsewhere) if here.decision < Decision::Deny => {
            here.join_strictest(judge_in(call, elsewhere, judge))
        }
        _ => here,
    }
}

fn judge_in(call: &HookCall, cwd: &Path, judge: &dyn HookJudge) -> Verdict {
    let asker = ToolCallKey::new(call.session.as_deref(), call.call_id.as_deref());
    let judged = |event: &Event<'_>| judge.judge_for(event, asker.as_ref());
    let verdict = match (&call.skill, call.kind) {
        (Some(skill), ToolKind::Skill) => super::skill::judge_skill(skill, cwd, judge),
        _ => judge_by_kind(call, cwd, &judged),
    };
    if verdict.decision < Decision::Deny {
        verdict.join_strictest(judge_loose_fields(call, cwd, &judged))
    } else {
        verdict
    }
}

/// Judges the part of a call that its kind tells.
fn judge_by_kind(call: &HookCall, cwd: &Path, judged: &dyn Fn(&Event<'_>) -> Verdict) -> Verdict {
    let tool = call.tool.as_deref().unwrap_or_default();
    let strictest = |verdicts: &mut dyn Iterator<Item = Verdict>| {
        verdicts.fold(Verdict::no_objection(), Verdict::join_strictest)
    };
    match call.kind {
        ToolKind::Shell => match &call.command {
            Some(command) => judged(&Event::Shell { script: command.as_bytes(), cwd }),
            // Without a command nothing runs.
            None => Verdict::no_objection(),
        },
        ToolKind::Write | ToolKind::Edit => {
            let written = strictest(&mut call.paths.iter().map(|path| judged(&Event::Write { path, cwd })));
            written.join_strictest(super::written_files::judge_written_files(call, cwd, judged))
        }
        ToolKind::Read => strictest(&mut call.paths.iter().map(|path| judged(&Event::Read { path, cwd }))),
        ToolKind::Fetch if call.urls.is_empty() => judged(&Event::Other { tool }),
        ToolKind::Fetch => strictest(&mut call.urls.iter().map(|url| judged(&Event::Fetch { url, cwd }))),
        ToolKind::Mcp if call.command.is_some() => {
            judge_foreign_script(call.command.as_deref().unwrap_or_default(), cwd, judged)
        }
        ToolKind::Agent | ToolKind::Mcp | ToolKind::Other | ToolKind::Skill | ToolKind::Unknown => {
            judged(&Event::Other { tool })
        }
    }
}

/// Judges fields that only a server understands.
fn judge_loose_fields(call: &HookCall, cwd: &Path, judged: &dyn Fn(&Event<'_>) -> Verdict) -> Verdict {
    let loose = &call.loose;
    let scripts = loose.scripts.iter().map(|script| judge_foreign_script(script, cwd, judged));
    let reads = loose.paths.iter().map(|path| judged(&Event::Read { path, cwd }));
    let writes = loose.paths.iter().filter(|_| loose.may_change && call.kind != ToolKind::Read);
    let writes = writes.map(|path| judged(&Event::Write { path, cwd }));
    let fetches = loose.urls.iter().map(|url| judged(&Event::Fetch { url, cwd }));
    scripts.chain(reads).chain(writes).chain(fetches).fold(Verdict::no_objection(), Verdict::join_strictest)
}

/// Judges a text that may be of another language than bash: it is held back only for what it would do.
fn judge_foreign_script(script: &str, cwd: &Path, judged: &dyn Fn(&Event<'_>) -> Verdict) -> Verdict {
    let verdict = judged(&Event::Shell { script: script.as_bytes(), cwd });
    if verdict.rule == Some(UNDECIDED) { Verdict::no_objection() } else { verdict }
}
