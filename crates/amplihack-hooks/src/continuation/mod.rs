//! Whether an agent that wants to stop has to go on: the rules, without I/O, and the thin layer of lock files around them.

mod files;
mod rules;

use std::path::{Path, PathBuf};

use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};

use crate::dialect::{self, Call, Reply};
use crate::event::HookEvent;
use crate::host::host;
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

/// A file that says of a session that its last stop was counted, and that the end of the session may tell of that stop again.
///
/// Not among the locks: those are shared with other programs. `None` for a host whose sessions' ends are no stops.
fn mark(call: &Call, session: &str, env: &Env) -> Option<PathBuf> {
    let twice = host(call.host()).is_ok_and(|host| host.end_is_stop);
    Some(env.amplihack_home().filter(|_| twice)?.join("hook-sessions").join(format!("{session}.counted")))
}

/// Without the mark a stop counts twice, and the lock is released earlier.
fn remember(mark: &Path) {
    let made = mark.parent().is_some_and(|directory| create_private_dir(directory).is_ok());
    if made {
        let _ = write_atomic(mark, b"", 0o600, Durability::Process);
    }
}

/// Answers a stop: silence, or the words with which the agent goes on.
///
/// The end of a session is answered like a stop, for hosts that tell of nothing else. A host that tells of both tells of one stop
/// twice, and it counts once.
pub fn answer(call: &Call, plane: &Plane<'_>) -> Reply {
    let id = call
        .session
        .as_deref()
        .or_else(|| plane.env.text("AMPLIHACK_SESSION_ID"))
        .or_else(|| plane.env.text("CLAUDE_SESSION_ID"));
    let Some(session) = id.and_then(session_name) else { return Reply::silence() };
    let ended = call.event == HookEvent::SessionStop;
    let mark = mark(call, &session, plane.env);
    let counted = ended && mark.as_ref().is_some_and(|mark| std::fs::remove_file(mark).is_ok());
    if plane.env.get("AMPLIHACK_SHUTDOWN_IN_PROGRESS").is_some_and(|value| value == "1") {
        return Reply::silence();
    }
    let Some(locks) = files::Locks::find(&call.cwd) else { return Reply::silence() };
    let rules = Continuation::from_env(plane.env);
    let signal = locks.signal(id.unwrap_or_default(), &session, call.stop_active, plane.now);
    match if counted { rules.step_again(&signal) } else { rules.step(&signal) } {
        Step::Stop { release, why } => {
            if release {
                locks.release(&session);
            }
            let stderr = why.notice().map(|notice| format!("{notice}\n")).unwrap_or_default();
            Reply { stderr, ..Reply::silence() }
        }
        Step::Continue { words, count } => match locks.count(&session, count) {
            Ok(()) => {
                if let Some(mark) = mark.filter(|_| !ended) {
                    remember(&mark);
                }
                dialect::keep_going(&words)
            }
            // A loop that cannot be counted would not end.
            Err(error) => Reply {
                stderr: format!("the agent may stop: its turns cannot be counted: {error}\n"),
                ..Reply::silence()
            },
        },
    }
}
