//! The XPIA hook: a payload in, a flat answer out, and never a call let through because something went wrong.

mod defender;

use std::path::Path;

use amplihack_policy::audit::EventType;
use amplihack_policy::{Decision, RuleId, Verdict};
use serde_json::{Map, Value, json};

use crate::dialect::{self, Bad, Call, Kind, Reply};
use crate::event::HookEvent;
use crate::events;
use crate::plane::Plane;

pub use defender::{Answer, DEADLINE, ask};

const SIGN: &str = "\u{1f6ab}";

/// The variable that names an external defender.
pub const DEFEND_PATH: &str = "XPIA_DEFEND_PATH";

/// Answers as the seed's hook: `{}`, or a flat deny or ask. The exit code is always 0.
pub fn answer(payload: Result<Vec<u8>, Bad>, plane: &Plane<'_>) -> Reply {
    let call = payload.and_then(|bytes| dialect::read(&bytes, HookEvent::PreToolUse, None, plane.cwd));
    let call = match call {
        Ok(call) if amplihack_utils::sabotage::active("copilot-xpia-cwd") => {
            Call { cwd: plane.cwd.to_owned(), ..call }
        }
        Ok(call) => call,
        Err(_) if amplihack_utils::sabotage::active("copilot-xpia-fail-closed") => {
            return Reply::object(&json!({}));
        }
        Err(bad) => {
            let verdict = Verdict::new(Decision::Deny, events::UNREADABLE, bad.to_string(), Vec::new());
            let stderr = plane.record(EventType::HookError, None, None, &verdict);
            return Reply { stderr, ..refused(&broken(&verdict.reason)) };
        }
    };
    if call.kind == Kind::Shell && amplihack_utils::sabotage::active("copilot-xpia-bash") {
        return Reply::object(&json!({}));
    }
    judged(&call, plane)
}

/// Every tool is judged as on the guard's own event; an external defender knows commands of shells only.
fn judged(call: &Call, plane: &Plane<'_>) -> Reply {
    let verdict = events::judge(call, plane.judge);
    let command = call.command.as_deref().filter(|_| call.kind == Kind::Shell);
    let defender =
        plane.env.path(DEFEND_PATH).filter(|_| !amplihack_utils::sabotage::active("copilot-xpia-defender"));
    let (event_type, foreign, words) = match command.zip(defender) {
        Some((command, defender)) => defend(&defender, command),
        None => (EventType::PreToolValidation, Verdict::none(), String::new()),
    };
    // The seed's log has no line for a harmless call of another tool.
    if command.is_none() && verdict.decision == Decision::None {
        return Reply::object(&json!({}));
    }
    let ours = foreign.decision < verdict.decision;
    let verdict = foreign.join(verdict);
    let stderr = plane.record(event_type, None, Some(call), &verdict);
    let reply = match verdict.decision {
        Decision::None | Decision::Allow if amplihack_utils::sabotage::active("copilot-xpia-allow") => {
            flat("allow", "nothing against it")
        }
        Decision::None | Decision::Allow => Reply::object(&json!({})),
        Decision::Deny if amplihack_utils::sabotage::active("copilot-xpia-deny") => {
            flat("ask", &verdict.reason)
        }
        Decision::Deny if ours => refused(&format!("{SIGN} XPIA Security Block (Rust): {}", verdict.reason)),
        Decision::Deny => refused(&words),
        Decision::Ask => flat("ask", &verdict.reason),
    };
    Reply { stderr, ..reply }
}

/// What an external defender says: the audit's event, the verdict, and the words of a deny.
fn defend(program: &Path, command: &str) -> (EventType, Verdict, String) {
    const RULE: RuleId = RuleId::new("xpia/defender");
    let deny = |event_type, words: String| {
        (event_type, Verdict::new(Decision::Deny, RULE, dialect::one_line(&words), Vec::new()), words)
    };
    match ask(program, command) {
        Answer::Valid => (EventType::PreToolValidation, Verdict::none(), String::new()),
        Answer::Blocked { risk, threats, recommendations } => deny(
            EventType::PreToolValidation,
            format!(
                "{SIGN} XPIA Security Block (Rust): Command blocked — {risk} risk\nThreats: {}\nRecommendations: {}",
                threats.join(", "),
                recommendations.join(", ")
            ),
        ),
        Answer::Missing => deny(
            EventType::RustUnavailable,
            format!(
                "{SIGN} XPIA Security: Rust defense binary (xpia-defend) not found. All bash commands blocked until binary is installed."
            ),
        ),
        Answer::Broken(why) => deny(EventType::HookError, broken(&why)),
    }
}

fn broken(why: &str) -> String {
    format!("{SIGN} XPIA Security: Hook error (fail-closed): {why}")
}

fn refused(words: &str) -> Reply {
    flat("deny", words)
}

/// `message` for the seed's readers, `permissionDecisionReason` for Copilot, which hands only that on.
fn flat(decision: &str, words: &str) -> Reply {
    let mut object = Map::new();
    object.insert("permissionDecision".to_owned(), decision.into());
    if !amplihack_utils::sabotage::active("copilot-xpia-message") {
        object.insert("message".to_owned(), words.into());
    }
    object.insert("permissionDecisionReason".to_owned(), words.into());
    Reply::object(&Value::Object(object))
}

/// The deny that is laid ready for the XPIA hook and for the joining of answers: flat, exit code 0.
pub(crate) fn last_words(why: &str) -> Reply {
    refused(&broken(why))
}
