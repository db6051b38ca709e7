//! Identity of a launch: its id, and the small file by which others can tell whether it still runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ContextError, launch_index, serialize_lossy, serialize_rfc3339};
use crate::agent_binary::AgentBinary;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};
use amplihack_sys::hex::{random_bytes, to_hex};
use amplihack_sys::sabotage;

/// The largest session file that is read, in bytes. Ours are below 1 KiB, apart from the path in them.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The name of a launch: 1 to 64 of `A-Z a-z 0-9 . _ -`, not starting with a dot. Safe as one part of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

/// A string is no [`SessionId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a session id; use 1 to 64 letters, digits, '.', '_' or '-', not starting with '.'")]
pub struct BadSessionId;

impl SessionId {
    /// Takes `text` if it is a session id.
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let good = sabotage::is_active("routing-session-path")
            || (1..=64).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(allowed);
        if good { Ok(Self(text.to_owned())) } else { Err(BadSessionId) }
    }

    /// Directory of all that is kept of this launch below `home`, the value of [`crate::env::Env::amplihack_home`].
    pub fn directory(&self, home: &Path) -> PathBuf {
        sessions_directory(home).join(&self.0)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The directory of all launches below `home`, the value of [`crate::env::Env::amplihack_home`].
pub fn sessions_directory(home: &Path) -> PathBuf {
    home.join("sessions")
}

/// The one of `kept` that is meant by `wanted`: its `id`, or the beginning of it where no other begins so. `Err`: how many begin so.
pub fn pick_by_prefix<T>(mut kept: Vec<T>, wanted: &str, id: impl Fn(&T) -> &str) -> Result<T, usize> {
    if let Some(exact) = kept.iter().position(|one| id(one) == wanted) {
        return Ok(kept.swap_remove(exact));
    }
    // The first part is the time, which many share: the beginning of the second is enough.
    let second = |one: &T| id(one).rsplit_once('-').is_some_and(|(_, second)| second.starts_with(wanted));
    kept.retain(|one| !wanted.is_empty() && (id(one).starts_with(wanted) || second(one)));
    match (kept.pop(), kept.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => Err(more + 1),
        (None, _) => Err(0),
    }
}

/// An id that no other launch has: the time, to sort by, and 48 random bits.
///
/// # Errors
/// There is no source of random numbers.
pub fn new_session_id() -> io::Result<SessionId> {
    let random = to_hex(random_bytes::<6>()?);
    Ok(SessionId(format!("{}-{random}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"))))
}

/// `$AMPLIHACK_HOME/sessions/<id>/context.json`: written by a launch before its agent starts, and entered in the index of
/// running launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionContext {
    /// The agent that was launched.
    pub agent: AgentBinary,
    /// The launching process.
    pub pid: u32,
    /// Start of that process, in clock ticks since boot.
    pub start_time: u64,
    /// Time of the launch, in UTC.
    #[serde(serialize_with = "serialize_rfc3339", deserialize_with = "deserialize_timestamp")]
    pub started_at: Timestamp,
    /// The directory in which it was launched; what is not UTF-8 in it is replaced.
    #[serde(serialize_with = "serialize_lossy")]
    pub cwd: PathBuf,
}

impl SessionContext {
    /// The context of a launch by this process, now.
    pub fn of_this_process(agent: AgentBinary, cwd: &Path) -> Self {
        let pid = std::process::id();
        Self {
            agent,
            pid,
            start_time: amplihack_sys::start_time(pid).unwrap_or_default(),
            started_at: Timestamp::now(),
            cwd: cwd.to_path_buf(),
        }
    }

    /// Path of the file of launch `id` below `home`, the value of [`crate::env::Env::amplihack_home`].
    pub fn path(home: &Path, id: &SessionId) -> PathBuf {
        id.directory(home).join("context.json")
    }

    /// Writes the file with mode 0600; directories that are missing are made with 0700. Returns its path.
    pub fn write(&self, home: &Path, id: &SessionId) -> Result<PathBuf, ContextError> {
        let path = Self::path(home, id);
        let failed = |source: io::Error| ContextError::Io { path: path.clone(), source };
        let directory = path.parent().unwrap_or(home);
        create_private_dir(directory).map_err(failed)?;
        let text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        write_atomic(&path, &text, 0o600, WriteDurability::Process).map_err(failed)?;
        launch_index::enter_launch(home, id, self).map_err(failed)?;
        Ok(path)
    }

    /// Reads the file of launch `id`. `None` if there is none.
    pub fn read(home: &Path, id: &SessionId) -> Result<Option<Self>, ContextError> {
        let path = Self::path(home, id);
        match read_regular(&path, MAX_FILE_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| ContextError::Damaged {
                path,
                line: error.line(),
                column: error.column(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ContextError::Io { path, source }),
        }
    }

    /// Removes the file of launch `id`, and its directory if nothing else is in it. It need not be there.
    pub fn remove(home: &Path, id: &SessionId) -> Result<(), ContextError> {
        let path = Self::path(home, id);
        if let Ok(Some(context)) = Self::read(home, id) {
            launch_index::remove_launch(home, id, &context);
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ContextError::Io { path, source: error })
            }
            _ => {
                // A journal may be in it and is kept.
                let _ = path.parent().map(std::fs::remove_dir);
                Ok(())
            }
        }
    }
}

fn deserialize_timestamp<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(|_| serde::de::Error::custom("not an RFC 3339 time"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn ids_that_could_leave_their_directory_are_refused() {
        let long = "x".repeat(65);
        for bad in ["", ".", "..", ".hidden", "../x", "a/b", "a\\b", "a b", "a\0", "a\n", "ä", "a:b", &long]
        {
            assert_eq!(SessionId::parse(bad), Err(BadSessionId), "{bad:?}");
        }
        for good in ["a", "rs-1700000000-42", "A_b.c-1", &long[..64]] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
    }

    proptest! {
        #[test]
        fn a_path_of_any_id_stays_below_sessions(text in any::<String>()) {
            if let Ok(id) = SessionId::parse(&text) {
                let path = SessionContext::path(Path::new("/h"), &id);
                prop_assert_eq!(path.components().count(), 5);
                prop_assert!(path.components().all(|part| matches!(part,
                    std::path::Component::RootDir | std::path::Component::Normal(_))));
            }
        }
    }

    #[test]
    fn new_ids_are_well_formed_and_differ() {
        let ids: std::collections::BTreeSet<_> = (0..100).map(|_| new_session_id().unwrap()).collect();
        assert_eq!(ids.len(), 100);
        for id in ids {
            assert_eq!(SessionId::parse(id.as_str()).as_ref(), Ok(&id));
            assert_eq!(id.as_str().len(), "20261127T232030Z-5f3a9c1e2b4d".len());
        }
    }

    #[test]
    fn a_session_file_is_private_and_comes_back_whole() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let id = SessionId::parse("s1").unwrap();
        assert_eq!(SessionContext::read(&home, &id).unwrap(), None);
        let context = SessionContext::of_this_process(AgentBinary::Codex, Path::new("/repo"));
        let path = context.write(&home, &id).unwrap();
        assert_eq!(SessionContext::read(&home, &id).unwrap(), Some(context));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o600);
        for directory in path.ancestors().skip(1).take(3) {
            assert_eq!(mode(directory), 0o700, "{}", directory.display());
        }
    }

    #[test]
    fn removing_keeps_what_else_a_session_has() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId::parse("s1").unwrap();
        let context = SessionContext::of_this_process(AgentBinary::Codex, Path::new("/repo"));
        let path = context.write(dir.path(), &id).unwrap();
        std::fs::write(path.with_file_name("journal"), "x").unwrap();
        SessionContext::remove(dir.path(), &id).unwrap();
        assert!(!path.exists() && path.with_file_name("journal").exists());

        std::fs::remove_file(path.with_file_name("journal")).unwrap();
        SessionContext::remove(dir.path(), &id).unwrap();
        assert!(!dir.path().join("sessions/s1").exists());
    }

    #[test]
    fn a_file_of_64_kib_is_read_and_one_byte_more_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId::parse("s1").unwrap();
        let context = SessionContext::of_this_process(AgentBinary::Amp, Path::new("/"));
        let path = context.write(dir.path(), &id).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str(&" ".repeat(64 * 1024 - text.len()));
        std::fs::write(&path, &text).unwrap();
        assert_eq!(SessionContext::read(dir.path(), &id).unwrap(), Some(context));
        std::fs::write(&path, text + " ").unwrap();
        assert!(matches!(SessionContext::read(dir.path(), &id), Err(ContextError::Io { .. })));
    }

    #[test]
    fn what_is_meant_is_the_same_id_or_the_only_one_that_begins_so() {
        let of = |wanted: &str| pick_by_prefix(vec!["abc", "ab", "abd", "x1"], wanted, |id| id);
        for (wanted, found) in [
            ("ab", Ok("ab")),
            ("abd", Ok("abd")),
            ("x", Ok("x1")),
            ("a", Err(3)),
            ("", Err(0)),
            ("abcd", Err(0)),
        ] {
            assert_eq!(of(wanted), found, "{wanted}");
        }
    }

    #[test]
    fn what_cannot_be_removed_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId::parse("s1").unwrap();
        SessionContext::remove(dir.path(), &id).unwrap();
        let path = SessionContext::path(dir.path(), &id);
        std::fs::create_dir_all(path.join("x")).unwrap();
        let error = SessionContext::remove(dir.path(), &id).unwrap_err();
        assert!(matches!(&error, ContextError::Io { path: named, .. } if *named == path), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId::parse("s1").unwrap();
        let path =
            SessionContext::of_this_process(AgentBinary::Amp, Path::new("/")).write(dir.path(), &id).unwrap();
        std::fs::write(&path, "{\"agent\":\"no\"").unwrap();
        let error = SessionContext::read(dir.path(), &id).unwrap_err().to_string();
        assert_eq!(error, format!("{} is damaged at line 1, column 13; remove it", path.display()));
    }
}
