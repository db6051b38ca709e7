//! The decision whether an agent that wants to stop must continue: the rules, without I/O, and the thin layer of lock files around them.

mod files;
mod rules;

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

use crate::dialect::{self, HookCall, HookReply};
use crate::event::HookEvent;
use crate::hook_context::HookContext;
use crate::host::hook_host;

pub use rules::{
    Continuation, ContinuationCount, ContinuationLock, ContinuationStep, ContinuationStopReason, StopSignal,
};

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
fn counted_mark(call: &HookCall, session: &str, env: &Env) -> Option<PathBuf> {
    let twice = hook_host(call.host_agent()).is_ok_and(|host| host.end_is_stop);
    Some(env.amplihack_home().filter(|_| twice)?.join("hook-sessions").join(format!("{session}.counted")))
}

/// Marks a stop as counted.
fn write_mark(mark: &Path) {
    let made = mark.parent().is_some_and(|directory| create_private_dir(directory).is_ok());
    if made {
        // Without the mark a stop counts twice, and the lock is released earlier.
        let _ = write_atomic(mark, b"", 0o600, WriteDurability::Process);
    }
}

/// Answers a stop: silence, or the words with which the agent goes on.
///
/// The end of a session is answered like a stop, for hosts that tell of nothing else. A host that tells of both tells of one stop
/// twice, and it counts once.
pub fn answer_stop(call: &HookCall, plane: &HookContext<'_>) -> HookReply {
    let id = call
        .session
        .as_deref()
        .or_else(|| plane.env.text("AMPLIHACK_SESSION_ID"))
        .or_else(|| plane.env.text("CLAUDE_SESSION_ID"));
    let Some(session) = id.and_then(session_name) else { return HookReply::new_silent() };
    let ended = call.event == HookEvent::SessionStop;
    let mark = counted_mark(call, &session, plane.env);
    let counted = ended && mark.as_ref().is_some_and(|mark| std::fs::remove_file(mark).is_ok());
    if plane.env.get("AMPLIHACK_SHUTDOWN_IN_PROGRESS").is_some_and(|value| value == "1") {
        return HookReply::new_silent();
    }
    let Some(locks) = files::ContinuationLocks::find_locks(&call.cwd) else { return HookReply::new_silent() };
    let rules = Continuation::from_env(plane.env);
    let signal = locks.stop_signal(id.unwrap_or_default(), &session, call.stop_active, plane.now);
    match if counted { rules.decide_counted_stop(&signal) } else { rules.decide_stop(&signal) } {
        ContinuationStep::Stop { release, why } => {
            if release {
                locks.release_lock(&session);
            }
            let stderr = why.stop_notice().map(|notice| format!("{notice}\n")).unwrap_or_default();
            HookReply { stderr, ..HookReply::new_silent() }
        }
        ContinuationStep::Continue { words, count } => match locks.store_count(&session, count) {
            Ok(()) => {
                if let Some(mark) = mark.filter(|_| !ended) {
                    write_mark(&mark);
                }
                dialect::keep_going(&words)
            }
            // A loop that cannot be counted would not end.
            Err(error) => HookReply {
                stderr: format!("the agent may stop: its turns cannot be counted: {error}\n"),
                ..HookReply::new_silent()
            },
        },
    }
}
