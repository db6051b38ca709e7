//! A user's own script beside a hook of ours: it runs first, with the host's payload, and its answer is joined with ours.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_audit::EventType;
use amplihack_sys::{ProgramOutput, capture_fed};
use amplihack_verdict::{Decision, Verdict};
use serde_json::{Map, Value};

use super::side::{PrintedAnswer, SideDecision, is_blocking, parse_printed, stricter_payload};
use crate::dialect::{self, HookReply, PayloadError};
use crate::event::HookEvent;
use crate::hook_context::HookContext;
use crate::invocation::HookInvocation;
use crate::repeated_keys::RepeatedKeyJson;
use crate::{events, staging};

/// More than any answer.
const MAX_ANSWER: usize = 1 << 20;
/// The error number of `exec` for a file without a first line that names an interpreter.
const NO_INTERPRETER: i32 = 8;

/// The longest time that a script may take at `event`.
pub fn script_deadline(event: HookEvent) -> Duration {
    staging::script_time(event)
}

/// Answers `event` with the strictest of what `script` and we have to say of it.
///
/// On the guard a script that cannot be run, that fails, or that answers with anything but one object, denies. On every other
/// event it is left out, with a line on stderr.
pub fn with_script(
    event: HookEvent,
    script: &Path,
    invocation: &HookInvocation,
    payload: Result<Vec<u8>, PayloadError>,
    plane: &HookContext<'_>,
) -> HookReply {
    // Nothing is asked of a script with a payload that we do not read either.
    let theirs =
        payload.as_ref().ok().map(|bytes| run_script(&plane.cwd.join(script), bytes, script_deadline(event)));
    let Some(theirs) = theirs else { return events::answer_event(event, invocation, payload, plane) };
    if !event.is_guard() {
        return join_open_answers(script, theirs, events::answer_event(event, invocation, payload, plane));
    }
    let asked = payload.clone();
    let ours = events::answer_event(event, invocation, payload, plane);
    join_guard_answers(script, theirs, &ours, |changed| {
        let changed = asked.and_then(|bytes| changed_payload(&bytes, changed));
        judge_changed(event, changed, invocation, plane)
    })
}

/// The payload with `changed` as the tool's arguments.
fn changed_payload(payload: &[u8], changed: &Map<String, Value>) -> Result<Vec<u8>, PayloadError> {
    let mut value: Value =
        serde_json::from_slice(payload).map_err(|error| PayloadError::Json(error.to_string()))?;
    let arguments =
        dialect::arguments_mut(&mut value).ok_or(PayloadError::Shape("no tool arguments to change"))?;
    *arguments = Value::Object(changed.clone());
    serde_json::to_vec(&value).map_err(|error| PayloadError::Json(error.to_string()))
}

/// Judges the call that `payload` now is by the policy; also returns a stderr line if the verdict could not be written down.
fn judge_changed(
    event: HookEvent,
    payload: Result<Vec<u8>, PayloadError>,
    invocation: &HookInvocation,
    plane: &HookContext<'_>,
) -> (Verdict, String) {
    let call = payload.and_then(|bytes| dialect::read_call(&bytes, event, invocation.host, plane.cwd));
    let (verdict, call) = match call {
        Ok(call) => (events::judge_call(&call, plane.judge), Some(call)),
        Err(bad) => (Verdict::new(Decision::Deny, events::UNREADABLE, bad.to_string(), Vec::new()), None),
    };
    let warning = plane.record_verdict(EventType::PreToolValidation, Some(event), call.as_ref(), &verdict);
    (verdict, warning)
}

fn run_script(script: &Path, payload: &[u8], time: Duration) -> io::Result<ProgramOutput> {
    match capture_fed(Command::new(script), payload, time, MAX_ANSWER) {
        // As every shell does.
        Err(error) if error.raw_os_error() == Some(NO_INTERPRETER) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(script);
            capture_fed(shell, payload, time, MAX_ANSWER)
        }
        ran => ran,
    }
}

fn lossy_text(bytes: &[u8]) -> String {
    // What is no text makes no object either.
    String::from_utf8_lossy(bytes).into_owned()
}

/// The stricter of both. Arguments that the script changed are judged by `judge` as if the agent had called the tool with them, and
/// handed on only if nothing is to be said of them.
fn join_guard_answers(
    script: &Path,
    theirs: io::Result<ProgramOutput>,
    ours: &HookReply,
    judge: impl FnOnce(&Map<String, Value>) -> (Verdict, String),
) -> HookReply {
    let name = script.display();
    let mut stderr = String::new();
    let mut theirs = match theirs {
        Ok(ran) => {
            stderr = lossy_text(&ran.stderr);
            let said =
                ran.stdout.trim_ascii().is_empty().then(|| stderr.trim()).filter(|said| !said.is_empty());
            match (ran.code, said) {
                // A script that denies by its code tells why on stderr.
                (Some(2), Some(why)) => SideDecision::with_denial(&format!("{why} [{name}]")),
                (code, _) => SideDecision::read(
                    &format!("user's {name}"),
                    &lossy_text(&ran.stdout),
                    code.map(i64::from),
                ),
            }
        }
        Err(error) => SideDecision::with_denial(&format!(
            "the user's hook {name} did not run: {error}; repair it, or remove it and run `amplihack install --scope repo`"
        )),
    };
    let own = SideDecision::read("amplihack", &lossy_text(&ours.stdout), Some(i64::from(ours.code)));
    let mut handed_on = None;
    if let Some(changed) = theirs.changed.take().filter(|_| own.decision < Decision::Ask) {
        let (verdict, warning) = judge(&changed);
        stderr += &warning;
        if verdict.decision >= Decision::Ask {
            theirs = SideDecision::with_denial(&format!("{} [arguments changed by {name}]", verdict.reason));
        } else if theirs.decision < Decision::Ask {
            handed_on = Some(changed);
        }
    }
    let mut answer = stricter_payload(theirs, own);
    if let Some(changed) = handed_on {
        answer.insert("modifiedArgs".to_owned(), Value::Object(changed));
    }
    let mut reply = HookReply::from_object(&Value::Object(answer));
    reply.stderr = stderr + &ours.stderr;
    reply
}

/// Joins both answers at an event where nothing can be stopped.
fn join_open_answers(script: &Path, theirs: io::Result<ProgramOutput>, ours: HookReply) -> HookReply {
    let name = script.display();
    let left_out = |why: &str| format!("the user's hook {name} {why}; its answer is left out\n");
    let (theirs, mut stderr) = match theirs {
        Err(error) => (None, left_out(&format!("did not run: {error}"))),
        Ok(ran) => {
            let stderr = lossy_text(&ran.stderr);
            match (parse_printed(&lossy_text(&ran.stdout)), ran.code) {
                (PrintedAnswer::Object(object), Some(0)) => (Some(object), stderr),
                (PrintedAnswer::Nothing, Some(0)) => (None, stderr),
                (PrintedAnswer::Garbage(_), Some(0)) => {
                    (None, stderr + &left_out("printed something that is not one JSON object"))
                }
                _ => (None, stderr + &left_out("failed")),
            }
        }
    };
    let Some(theirs) = theirs else {
        stderr.push_str(&ours.stderr);
        return HookReply { stderr, ..ours };
    };
    stderr.push_str(&ours.stderr);
    let own: Map<String, Value> = serde_json::from_slice(&ours.stdout).unwrap_or_default();
    HookReply { stderr, ..HookReply::from_object(&Value::Object(join_objects(&theirs, own))) }
}

/// Both objects as one: a word for the model that both have is said twice, what blocks blocks, else theirs stays as it is.
fn join_objects(theirs: &RepeatedKeyJson, ours: Map<String, Value>) -> Map<String, Value> {
    let mut joined = theirs.to_object();
    let held = theirs.values_of("decision").any(is_blocking);
    if held {
        joined.insert("decision".to_owned(), "block".into());
    }
    for (key, value) in ours {
        let before = joined.get(&key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let value = match (key.as_str(), before, value.as_str()) {
            ("additionalContext", Some(before), Some(more)) => format!("{before}\n\n{more}").into(),
            // A reason without a block is none of why the agent goes on.
            ("reason", Some(before), Some(more)) if held => format!("{before}\n\n{more}").into(),
            _ => value,
        };
        joined.insert(key, value);
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_are_heard_and_what_blocks_blocks() {
        let joined = |theirs: &str, ours: Value| {
            let ours = ours.as_object().cloned().unwrap();
            Value::Object(join_objects(&serde_json::from_str(theirs).unwrap(), ours))
        };
        assert_eq!(
            joined(r#"{"additionalContext":"a","x":1}"#, json!({"additionalContext": "b"})),
            json!({"additionalContext": "a\n\nb", "x": 1})
        );
        let block = json!({"decision": "block", "reason": "ours"});
        assert_eq!(joined(r#"{"decision":"approve","reason":"fine"}"#, block.clone()), block);
        assert_eq!(
            joined(r#"{"decision":"block","reason":"theirs"}"#, block),
            json!({"decision": "block", "reason": "theirs\n\nours"})
        );
        assert_eq!(
            joined(r#"{"decision":"block","decision":"approve","reason":"theirs"}"#, json!({})),
            json!({"decision": "block", "reason": "theirs"})
        );
    }
}
