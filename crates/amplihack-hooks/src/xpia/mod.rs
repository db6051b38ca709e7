//! The XPIA hook: a payload in, a flat answer out, and never a call let through because something went wrong.

mod defender;

use std::path::Path;

use amplihack_audit::EventType;
use amplihack_verdict::{Decision, RuleId, Verdict};
use serde_json::{Map, Value, json};

use crate::dialect::{self, HookCall, HookReply, PayloadError, ToolKind};
use crate::event::HookEvent;
use crate::events;
use crate::hook_context::HookContext;

pub use defender::{DEADLINE, DefenderAnswer, ask_defender};

const SIGN: &str = "\u{1f6ab}";

/// The variable that names an external defender.
pub const DEFEND_PATH: &str = "XPIA_DEFEND_PATH";

/// Answers as the seed's hook: `{}`, or a flat deny or ask. The exit code is always 0.
pub fn answer_xpia(payload: Result<Vec<u8>, PayloadError>, plane: &HookContext<'_>) -> HookReply {
    let call = payload.and_then(|bytes| dialect::read_call(&bytes, HookEvent::PreToolUse, None, plane.cwd));
    let call = match call {
        Ok(call) if amplihack_sys::sabotage::is_active("copilot-xpia-cwd") => {
            HookCall { cwd: plane.cwd.to_owned(), ..call }
        }
        Ok(call) => call,
        Err(_) if amplihack_sys::sabotage::is_active("copilot-xpia-fail-closed") => {
            return HookReply::from_object(&json!({}));
        }
        Err(bad) => {
            let verdict = Verdict::new(Decision::Deny, events::UNREADABLE, bad.to_string(), Vec::new());
            let stderr = plane.record_verdict(EventType::HookError, None, None, &verdict);
            return HookReply { stderr, ..denial_reply(&broken_words(&verdict.reason)) };
        }
    };
    if call.kind == ToolKind::Shell && amplihack_sys::sabotage::is_active("copilot-xpia-bash") {
        return HookReply::from_object(&json!({}));
    }
    answer_judged(&call, plane)
}

/// Every tool is judged as on the guard's own event; an external defender knows commands of shells only.
fn answer_judged(call: &HookCall, plane: &HookContext<'_>) -> HookReply {
    let verdict = events::judge_call(call, plane.judge);
    let readings = std::iter::once(call).chain(&call.others);
    let mut commands =
        readings.filter(|call| call.kind == ToolKind::Shell).filter_map(|call| call.command.as_deref());
    let command = commands.next();
    let defender =
        plane.env.path(DEFEND_PATH).filter(|_| !amplihack_sys::sabotage::is_active("copilot-xpia-defender"));
    let (event_type, foreign, words) = match command.zip(defender) {
        // Of several readings the first that it blocks.
        Some((command, defender)) => commands.fold(defender_verdict(&defender, command), |said, command| {
            if said.1.decision == Decision::Deny { said } else { defender_verdict(&defender, command) }
        }),
        None => (EventType::PreToolValidation, Verdict::no_objection(), String::new()),
    };
    // The seed's log has no line for a harmless call of another tool.
    if command.is_none() && verdict.decision == Decision::None {
        return HookReply::from_object(&json!({}));
    }
    let ours = foreign.decision < verdict.decision;
    let verdict = foreign.join_strictest(verdict);
    let stderr = plane.record_verdict(event_type, None, Some(call), &verdict);
    let reply = match verdict.decision {
        Decision::None | Decision::Allow if amplihack_sys::sabotage::is_active("copilot-xpia-allow") => {
            flat_reply("allow", "nothing against it")
        }
        Decision::None | Decision::Allow => HookReply::from_object(&json!({})),
        Decision::Deny if amplihack_sys::sabotage::is_active("copilot-xpia-deny") => {
            flat_reply("ask", &verdict.reason)
        }
        Decision::Deny if ours => {
            denial_reply(&format!("{SIGN} XPIA Security Block (Rust): {}", verdict.reason))
        }
        Decision::Deny => denial_reply(&words),
        Decision::Ask => flat_reply("ask", &verdict.reason),
    };
    HookReply { stderr, ..reply }
}

/// Asks an external defender: the audit's event, the verdict, and the words of a deny.
fn defender_verdict(program: &Path, command: &str) -> (EventType, Verdict, String) {
    const RULE: RuleId = RuleId::new("xpia/defender");
    let deny = |event_type, words: String| {
        (event_type, Verdict::new(Decision::Deny, RULE, dialect::one_line(&words), Vec::new()), words)
    };
    match ask_defender(program, command) {
        DefenderAnswer::Valid => (EventType::PreToolValidation, Verdict::no_objection(), String::new()),
        DefenderAnswer::Blocked { risk, threats, recommendations } => deny(
            EventType::PreToolValidation,
            format!(
                "{SIGN} XPIA Security Block (Rust): Command blocked — {risk} risk\nThreats: {}\nRecommendations: {}",
                threats.join(", "),
                recommendations.join(", ")
            ),
        ),
        DefenderAnswer::Missing => deny(
            EventType::RustUnavailable,
            format!(
                "{SIGN} XPIA Security: Rust defense binary (xpia-defend) not found. All bash commands blocked until binary is installed."
            ),
        ),
        DefenderAnswer::Broken(why) => deny(EventType::HookError, broken_words(&why)),
    }
}

fn broken_words(why: &str) -> String {
    format!("{SIGN} XPIA Security: Hook error (fail-closed): {why}")
}

fn denial_reply(words: &str) -> HookReply {
    flat_reply("deny", words)
}

/// `message` for the seed's readers, `permissionDecisionReason` for Copilot, which hands only that on.
fn flat_reply(decision: &str, words: &str) -> HookReply {
    let mut object = Map::new();
    object.insert("permissionDecision".to_owned(), decision.into());
    if !amplihack_sys::sabotage::is_active("copilot-xpia-message") {
        object.insert("message".to_owned(), words.into());
    }
    object.insert("permissionDecisionReason".to_owned(), words.into());
    HookReply::from_object(&Value::Object(object))
}

/// The deny that is laid ready for the XPIA hook and for the joining of answers: flat, exit code 0.
pub(crate) fn prepared_denial(why: &str) -> HookReply {
    denial_reply(&broken_words(why))
}
