//! Whether an agent that wants to stop has to go on: the rules, without I/O, and the thin layer of lock files around them.

mod files;
mod rules;

use crate::dialect::{self, Call, Reply};
use crate::plane::Plane;

pub use rules::{Continuation, Count, Lock, Step, StopSignal, Why};

/// The longest name of a session's directory.
const MAX_NAME: usize = 128;

/// `id` as the name of a file: letters, digits, `-` and `_` stay, everything else becomes `_`. `None` if nothing is left.
pub(crate) fn session_name(id: &str) -> Option<String> {
    let name: String = id
        .chars()
        .take(MAX_NAME)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect();
    (!name.is_empty()).then_some(name)
}

/// Answers a stop: silence, or the words with which the agent goes on.
pub fn answer(call: &Call, plane: &Plane<'_>) -> Reply {
    let id = call
        .session
        .as_deref()
        .or_else(|| plane.env.text("AMPLIHACK_SESSION_ID"))
        .or_else(|| plane.env.text("CLAUDE_SESSION_ID"));
    let Some(session) = id.and_then(session_name) else { return Reply::silence() };
    if plane.env.get("AMPLIHACK_SHUTDOWN_IN_PROGRESS").is_some_and(|value| value == "1") {
        return Reply::silence();
    }
    let Some(locks) = files::Locks::find(&call.cwd) else { return Reply::silence() };
    let rules = Continuation::from_env(plane.env);
    let signal = locks.signal(id.unwrap_or_default(), &session, call.stop_active, plane.now);
    match rules.step(&signal) {
        Step::Stop { release, why } => {
            if release {
                locks.release(&session);
            }
            let stderr = why.notice().map(|notice| format!("{notice}\n")).unwrap_or_default();
            Reply { stderr, ..Reply::silence() }
        }
        Step::Continue { words, count } => match locks.count(&session, count) {
            Ok(()) => dialect::keep_going(&words),
            // A loop that cannot be counted would not end.
            Err(error) => Reply {
                stderr: format!("the agent may stop: its turns cannot be counted: {error}\n"),
                ..Reply::silence()
            },
        },
    }
}
