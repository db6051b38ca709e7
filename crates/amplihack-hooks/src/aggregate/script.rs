//! A user's own script beside a hook of ours: it runs first, with the host's payload, and its answer is joined with ours.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_utils::sys::{Captured, capture_fed};
use serde_json::{Map, Value};

use super::side::{Printed, Side, blocking, printed, stricter};
use crate::dialect::{Bad, Reply};
use crate::event::HookEvent;
use crate::invocation::Invocation;
use crate::plane::Plane;
use crate::repeated::Json;
use crate::{events, staging};

/// More than any answer.
const MAX_ANSWER: usize = 1 << 20;
/// What `exec` says of a file without a first line that names an interpreter.
const NO_INTERPRETER: i32 = 8;

/// How long a script may take at `event`.
pub fn time_of(event: HookEvent) -> Duration {
    staging::script_time(event)
}

/// Answers `event` with the strictest of what `script` and we have to say of it.
///
/// On the guard a script that cannot be run, that fails, or that answers with anything but one object, denies. On every other
/// event it is left out, with a line on stderr.
pub fn with_script(
    event: HookEvent,
    script: &Path,
    invocation: &Invocation,
    payload: Result<Vec<u8>, Bad>,
    plane: &Plane<'_>,
) -> Reply {
    // Nothing is asked of a script with a payload that we do not read either.
    let theirs = payload.as_ref().ok().map(|bytes| run(&plane.cwd.join(script), bytes, time_of(event)));
    let ours = events::answer(event, invocation, payload, plane);
    match theirs {
        None => ours,
        Some(theirs) if event.is_guard() => guarded(script, theirs, &ours),
        Some(theirs) => beside(script, theirs, ours),
    }
}

fn run(script: &Path, payload: &[u8], time: Duration) -> io::Result<Captured> {
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

fn text(bytes: &[u8]) -> String {
    // What is no text makes no object either.
    String::from_utf8_lossy(bytes).into_owned()
}

fn guarded(script: &Path, theirs: io::Result<Captured>, ours: &Reply) -> Reply {
    let name = script.display();
    let mut stderr = String::new();
    let theirs = match theirs {
        Ok(ran) => {
            stderr = text(&ran.stderr);
            let said =
                ran.stdout.trim_ascii().is_empty().then(|| stderr.trim()).filter(|said| !said.is_empty());
            match (ran.code, said) {
                // A script that denies by its code tells why on stderr.
                (Some(2), Some(why)) => Side::denying(&format!("{why} [{name}]")),
                (code, _) => Side::read(&format!("user's {name}"), &text(&ran.stdout), code.map(i64::from)),
            }
        }
        Err(error) => Side::denying(&format!(
            "the user's hook {name} did not run: {error}; repair it, or remove it and run `amplihack install --scope repo`"
        )),
    };
    let own = Side::read("amplihack", &text(&ours.stdout), Some(i64::from(ours.code)));
    let mut reply = Reply::object(&Value::Object(stricter(theirs, own)));
    reply.stderr = stderr + &ours.stderr;
    reply
}

/// Where nothing can be stopped: both are heard.
fn beside(script: &Path, theirs: io::Result<Captured>, ours: Reply) -> Reply {
    let name = script.display();
    let left_out = |why: &str| format!("the user's hook {name} {why}; its answer is left out\n");
    let (theirs, mut stderr) = match theirs {
        Err(error) => (None, left_out(&format!("did not run: {error}"))),
        Ok(ran) => {
            let stderr = text(&ran.stderr);
            match (printed(&text(&ran.stdout)), ran.code) {
                (Printed::Object(object), Some(0)) => (Some(object), stderr),
                (Printed::Nothing, Some(0)) => (None, stderr),
                (Printed::Garbage(_), Some(0)) => {
                    (None, stderr + &left_out("printed something that is not one JSON object"))
                }
                _ => (None, stderr + &left_out("failed")),
            }
        }
    };
    let Some(theirs) = theirs else {
        stderr.push_str(&ours.stderr);
        return Reply { stderr, ..ours };
    };
    stderr.push_str(&ours.stderr);
    let own: Map<String, Value> = serde_json::from_slice(&ours.stdout).unwrap_or_default();
    Reply { stderr, ..Reply::object(&Value::Object(both(&theirs, own))) }
}

/// Both objects as one: a word for the model that both have is said twice, what blocks blocks, else theirs stays as it is.
fn both(theirs: &Json, ours: Map<String, Value>) -> Map<String, Value> {
    let mut joined = theirs.object();
    let held = theirs.all("decision").any(blocking);
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
            Value::Object(both(&serde_json::from_str(theirs).unwrap(), ours))
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
