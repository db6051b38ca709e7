//! A host that is made to ask before each call: the guard gives the permission, for a call that was judged.
//!
//! Where hooks that die let a call run, a question that nobody answers does not. The launch knows which calls were judged; one whose
//! first hook was killed is judged here.

use std::path::{Component, Path};

use amplihack_verdict::Decision;

use super::pre_tool::{answer_verdict, judge_call};
use crate::dialect::{self, HookCall, HookReply, ToolKind};
use crate::hook_context::HookContext;

pub(super) fn answer_permission(call: &HookCall, headless: bool, plane: &HookContext<'_>) -> HookReply {
    if !is_ours_to_give(call) {
        return HookReply::new_silent();
    }
    if call.digest.as_deref().is_some_and(|digest| plane.was_judged(digest)) {
        return dialect::grant_permission();
    }
    answer_verdict(call, judge_call(call, plane.judge), headless, plane, |verdict, answerable| {
        match verdict.decision {
            Decision::None | Decision::Allow => dialect::grant_permission(),
            // The host's own question stands.
            Decision::Ask if answerable => HookReply::new_silent(),
            Decision::Ask | Decision::Deny => dialect::refuse_permission(verdict),
        }
    })
}

/// Tools of Claude Code whose question is what they are for: an answer of the guard would be taken for the person's.
const QUESTIONS: [&str; 3] = ["askuserquestion", "enterplanmode", "exitplanmode"];

/// Tools that Claude Code lets run unasked in any mode, beside those that read.
const UNASKED: [&str; 12] = [
    "agent",
    "croncreate",
    "crondelete",
    "cronlist",
    "listagents",
    "reportfindings",
    "schedulewakeup",
    "sendmessage",
    "structuredoutput",
    "taskstop",
    "todowrite",
    "toolsearch",
];

/// Reports whether the host itself would not ask a person about `call`, because permissions are skipped or were when the call was made.
fn is_ours_to_give(call: &HookCall) -> bool {
    let tool = call.tool.as_deref().unwrap_or_default().to_ascii_lowercase();
    if QUESTIONS.contains(&tool.as_str()) {
        return false;
    }
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    let is_inside =
        || call.paths.iter().all(|path| !climbs(path) && call.cwd.join(path).starts_with(&call.cwd));
    call.skips_permissions || UNASKED.contains(&tool.as_str()) || call.kind == ToolKind::Read && is_inside()
}
