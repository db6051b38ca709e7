//! A user's one-time yes: a call that was stopped leaves an id, a person grants it, and the same call goes through once.
//!
//! All of it lies below `$AMPLIHACK_HOME/once`: a file for each stopped call, and a directory of grants that is only there while
//! there are grants, so that a call costs one failed look when nobody said yes to anything.

mod error;
mod id;
mod store;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use amplihack_agent::profile;
use amplihack_policy::secrets::redact;
use amplihack_utils::agent_binary::{AgentBinary, MARK_VAR};
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, write_atomic};
use amplihack_utils::launcher_context::SESSION_VAR;

pub use error::OnceError;
pub use id::Id;
use store::{Record, seconds};

/// How long a grant waits for its call.
pub const GRANTED_FOR: Duration = Duration::from_mins(10);
/// How long a stopped call can be granted.
pub(crate) const OFFERED_FOR: Duration = Duration::from_hours(24);
/// Stopped calls that are kept; beyond them the oldest goes.
pub(crate) const OFFERS: usize = 64;

/// Characters of a command that are kept, to show a person what the id is about.
const SHOWN_CHARS: usize = 200;

/// A stopped call that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub id: Id,
    /// The beginning of the command, without credentials.
    pub command: String,
    /// The directory.
    pub cwd: PathBuf,
    /// Until when the call may come.
    pub until: SystemTime,
}

/// One tool call of one session, as its host names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker(String);

impl Asker {
    /// The tool call `call_id` of a session; `None` where the host does not name both.
    pub fn new(session: Option<&str>, call_id: Option<&str>) -> Option<Self> {
        let named = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self(store::hash(named(call_id)?.as_bytes(), Path::new(&named(session)?))))
    }
}

/// Keeps a stopped call in `home`, amplihack's own directory, and returns the id that grants it.
///
/// The same call in the same directory keeps its id. `None` if it cannot be kept: then nothing can be granted, and the call stays
/// stopped.
pub fn offer(home: &Path, script: &[u8], cwd: &Path, now: SystemTime) -> Option<Id> {
    let hash = store::hash(script, cwd);
    let offers = store::offers(home, now);
    if let Some((id, _)) = offers.iter().find(|(_, record)| record.hash == hash) {
        return Some(id.clone());
    }
    // The newest come last.
    for (id, _) in offers.iter().rev().skip(OFFERS - 1) {
        let _ = fs::remove_file(store::offer(home, id));
    }
    let id = Id::new(&hash)?;
    let text = redact(&String::from_utf8_lossy(script)).chars().take(SHOWN_CHARS).collect();
    let record = Record { hash, at: seconds(now), command: text, cwd: cwd.to_path_buf() };
    store::write(&store::offer(home, &id), &record).ok()?;
    Some(id)
}

/// Grants the stopped call `id`: for [`GRANTED_FOR`] the same command in the same directory goes through, once.
///
/// # Errors
/// There is no such call, it is too old, or the grant cannot be written.
pub fn grant(home: &Path, id: &str, now: SystemTime) -> Result<Pending, OnceError> {
    let id = Id::parse(id).ok_or_else(|| OnceError::NoId { text: id.to_owned() })?;
    let unknown = || OnceError::Unknown { id: id.clone() };
    let path = store::offer(home, &id);
    // Of two who grant the same id, one gets the file.
    let claimed = path.with_extension("claimed");
    fs::rename(&path, &claimed).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => unknown(),
        _ => OnceError::Io { path: path.clone(), source: error },
    })?;
    let record = store::read(&claimed);
    let granted = record.ok_or_else(unknown).and_then(|record| {
        if store::is_over(record.at, OFFERED_FOR, now) {
            return Err(OnceError::Expired { id: id.clone() });
        }
        let grant = Record { at: seconds(now), ..record };
        let path = store::grant(home, &grant.hash);
        store::write(&path, &grant).map_err(|source| OnceError::Io { path, source })?;
        Ok(Pending { id: id.clone(), command: grant.command, cwd: grant.cwd, until: now + GRANTED_FOR })
    });
    if matches!(granted, Err(OnceError::Io { .. } | OnceError::Unknown { .. })) {
        // It may be tried again, by a newer version where this one cannot read it.
        let _ = fs::rename(&claimed, &path);
    } else {
        let _ = fs::remove_file(&claimed);
    }
    granted
}

/// Whether a person granted this call; the grant is used up by asking. Of two equal calls at the same time one gets it.
///
/// A host may ask more than once about one tool call: `asker`, which is the tool call, gets the same answer while the grant lasts.
pub fn take(home: &Path, script: &[u8], cwd: &Path, asker: Option<&Asker>, now: SystemTime) -> bool {
    let grants = store::grants(home);
    // The directory is there only while something is granted: the usual answer costs one look.
    if fs::symlink_metadata(&grants).is_err() {
        return false;
    }
    let hash = store::hash(script, cwd);
    let path = store::grant(home, &hash);
    let holds = |record: &Record| record.hash == hash && !store::is_over(record.at, GRANTED_FOR, now);
    let Some(asker) = asker else {
        let Some(record) = store::read(&path) else { return false };
        // Whoever removes the file has the grant.
        let taken = fs::remove_file(&path).is_ok();
        let _ = fs::remove_dir(&grants);
        return taken && holds(&record);
    };
    // Whoever renames the file has the grant, and keeps it under a name of its own.
    let used = path.with_extension(&asker.0);
    let _ = fs::rename(&path, &used);
    let taken = store::read(&used).is_some_and(|record| holds(&record));
    store::forget_used(&grants, now);
    taken
}

/// The variable that shows that this process belongs to an agent's session, where no person can be asked.
pub fn session_mark(env: &Env) -> Option<OsString> {
    let is_mark = |name: &str| {
        OWN_MARKS.contains(&name)
            || AGENT_MARKS.iter().any(|prefix| name.starts_with(prefix))
            || AgentBinary::ALL.into_iter().any(|agent| profile(agent).scrubs(name))
    };
    env.iter().find(|(name, _)| name.to_str().is_some_and(is_mark)).map(|(name, _)| name.to_owned())
}

/// What a launch sets for its descendants. The agent's name alone is no mark: a user may set it for good.
const OWN_MARKS: [&str; 3] = [SESSION_VAR, "AMPLIHACK_SESSION_DEPTH", MARK_VAR];
/// What agents set for their tools beside the marks that a launch removes.
const AGENT_MARKS: [&str; 6] =
    ["CODEX_SANDBOX", "CODEX_THREAD_", "CODEX_CI", "COPILOT_AGENT_", "AGENT_THREAD_ID", "AMP_CURRENT_THREAD"];

/// Writes a record as a private file.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_atomic(path, bytes, 0o600, Durability::Process)
}
