//! Finds the first prompt of a session: hosts do not report it, so an empty file below amplihack's home remembers.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use amplihack_config::env::Env;
use amplihack_sys::fs::create_private_dir;

use crate::continuation::session_name;
use crate::dialect::HookCall;

/// Reports whether this prompt is the session's first, and remembers that there was one. Of two askers only one gets `true`.
///
/// Without a session or a place to remember it, no: a reminder too few is better than one with every prompt.
pub(super) fn is_first(call: &HookCall, env: &Env) -> bool {
    let Some(path) = session_file(call, env) else { return false };
    let made = path.parent().is_some_and(|directory| create_private_dir(directory).is_ok());
    made && OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).is_ok()
}

/// The session is over.
pub(super) fn forget_session(call: &HookCall, env: &Env) {
    if let Some(path) = session_file(call, env) {
        // A file that stays behind only keeps a resumed session from being reminded again.
        let _ = std::fs::remove_file(path);
    }
}

fn session_file(call: &HookCall, env: &Env) -> Option<PathBuf> {
    let name = session_name(call.session.as_deref()?)?;
    Some(env.amplihack_home()?.join("hook-sessions").join(name))
}
