//! Which prompt of a session is its first: hosts do not say, so an empty file below amplihack's home remembers.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use amplihack_utils::env::Env;
use amplihack_utils::fs::create_private_dir;

use crate::continuation::session_name;
use crate::dialect::Call;

/// Whether this prompt is the session's first, and remembers that there was one. Of two askers only one hears yes.
///
/// Without a session or a place to remember it, no: a reminder too few is better than one with every prompt.
pub(super) fn is_first(call: &Call, env: &Env) -> bool {
    let Some(path) = place(call, env) else { return false };
    let made = path.parent().is_some_and(|directory| create_private_dir(directory).is_ok());
    made && OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).is_ok()
}

/// The session is over.
pub(super) fn forget(call: &Call, env: &Env) {
    if let Some(path) = place(call, env) {
        // A file that stays behind only keeps a resumed session from being reminded again.
        let _ = std::fs::remove_file(path);
    }
}

fn place(call: &Call, env: &Env) -> Option<PathBuf> {
    let name = session_name(call.session.as_deref()?)?;
    Some(env.amplihack_home()?.join("hook-sessions").join(name))
}
