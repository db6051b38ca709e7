//! Before a tool is used: the one place where a call can be stopped.

use std::path::Path;

use amplihack_policy::audit::EventType;
use amplihack_policy::policy::UNDECIDED;
use amplihack_policy::{Decision, Event, Verdict};

use crate::dialect::{self, Call, Kind, Reply};
use crate::once::Asker;
use crate::plane::{Judge, Plane};

pub(super) fn answer(call: &Call, headless: bool, plane: &Plane<'_>) -> Reply {
    let verdict = judge(call, plane.judge);
    let verdict = if is_muted(&verdict) { Verdict::none() } else { verdict };
    let warning = plane.record(EventType::PreToolValidation, Some(call.event), Some(call), &verdict);
    let mut reply = dialect::verdict(&verdict, call.dialect, !headless && attended(plane));
    reply.stderr.push_str(&warning);
    reply
}

/// Whether a fault makes nothing of what one of the two sides says: amplihack's own guards, or XPIA.
fn is_muted(verdict: &Verdict) -> bool {
    if verdict.rule.as_ref().is_some_and(|rule| rule.0.starts_with("guards/")) {
        amplihack_utils::sabotage::active("copilot-pretool-guards")
    } else {
        amplihack_utils::sabotage::active("copilot-pretool-xpia")
    }
}

/// Claude Code says of a session whether a person attends it.
fn attended(plane: &Plane<'_>) -> bool {
    plane.env.text("CLAUDE_CODE_SESSION_ATTENDED") != Some("0")
}

/// What the policy says of a call: of several files the strictest.
pub fn judge(call: &Call, judge: &dyn Judge) -> Verdict {
    let here = judge_in(call, &call.cwd, judge);
    match &call.workdir {
        Some(elsewhere) if here.decision < Decision::Deny => here.join(judge_in(call, elsewhere, judge)),
        _ => here,
    }
}

fn judge_in(call: &Call, cwd: &Path, judge: &dyn Judge) -> Verdict {
    let tool = call.tool.as_deref().unwrap_or_default();
    let asker = Asker::new(call.session.as_deref(), call.call_id.as_deref());
    let judged = |event: &Event<'_>| judge.judge_for(event, asker.as_ref());
    match call.kind {
        Kind::Shell => match &call.command {
            Some(command) => judged(&Event::Shell { script: command.as_bytes(), cwd }),
            // Without a command nothing runs.
            None => Verdict::none(),
        },
        Kind::Write | Kind::Edit => call
            .paths
            .iter()
            .map(|path| judged(&Event::Write { path, cwd }))
            .fold(Verdict::none(), Verdict::join),
        Kind::Read => call
            .paths
            .iter()
            .map(|path| judged(&Event::Read { path, cwd }))
            .fold(Verdict::none(), Verdict::join),
        Kind::Fetch if call.urls.is_empty() => judged(&Event::Other { tool }),
        Kind::Fetch => call
            .urls
            .iter()
            .map(|url| judged(&Event::Fetch { url, cwd }))
            .fold(Verdict::none(), Verdict::join),
        // What a server calls a command may be one of its own language: it is held back only for what it would do.
        Kind::Mcp if call.command.is_some() => {
            let script = call.command.as_deref().unwrap_or_default().as_bytes();
            let verdict = judged(&Event::Shell { script, cwd });
            if verdict.rule == Some(UNDECIDED) { Verdict::none() } else { verdict }
        }
        Kind::Agent | Kind::Mcp | Kind::Other | Kind::Unknown => judged(&Event::Other { tool }),
    }
}
