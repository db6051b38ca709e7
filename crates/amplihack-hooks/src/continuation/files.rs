//! The lock files: `.claude/runtime/locks/` of the nearest directory that has one.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use amplihack_utils::fs::{Durability, create_private_dir, read_regular, write_atomic};

use super::rules::{Count, Lock, StopSignal};

const ACTIVE: &str = ".lock_active";
const GOAL: &str = ".lock_goal";
const MESSAGE: &str = ".lock_message";
const PROMPT: &str = ".continuation_prompt";
const COUNT: &str = "lock_invocations.txt";
/// More than any of these files needs.
const MAX_BYTES: u64 = 64 * 1024;

/// A directory of lock files.
pub(super) struct Locks(PathBuf);

impl Locks {
    /// The locks that hold an agent in `cwd`: of the nearest directory above it with a `.claude`.
    pub(super) fn find(cwd: &Path) -> Option<Self> {
        let root = cwd.ancestors().find(|directory| directory.join(".claude").is_dir())?;
        let locks = root.join(".claude/runtime/locks");
        locks.is_dir().then_some(Self(locks))
    }

    /// Everything that the rules want to know.
    pub(super) fn signal<'a>(
        &self,
        session: &'a str,
        name: &str,
        stop_active: bool,
        now: SystemTime,
    ) -> StopSignal<'a> {
        StopSignal {
            session,
            stop_active,
            lock: self.lock(),
            count: self.counted(name),
            prompt: self.text(PROMPT).or_else(|| self.text(MESSAGE)),
            goal: self.text(GOAL),
            now: seconds(now),
        }
    }

    fn lock(&self) -> Option<Lock> {
        let path = self.0.join(ACTIVE);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        let text = self.text(ACTIVE).unwrap_or_default();
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let locked_at = field("locked_at:").and_then(|value| time(&value)).or_else(|| modified(&metadata));
        Some(Lock { session: field("session_id:"), locked_at })
    }

    fn counted(&self, name: &str) -> Count {
        match read_regular(&self.0.join(name).join(COUNT), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Count::Times(0),
            Err(_) => Count::Corrupt,
            Ok(bytes) => String::from_utf8(bytes)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .map_or(Count::Corrupt, Count::Times),
        }
    }

    fn text(&self, file: &str) -> Option<String> {
        String::from_utf8(read_regular(&self.0.join(file), MAX_BYTES).ok()?).ok()
    }

    /// Writes down how often the session was made to go on.
    pub(super) fn count(&self, name: &str, count: u64) -> io::Result<()> {
        let directory = self.0.join(name);
        create_private_dir(&directory)?;
        write_atomic(&directory.join(COUNT), count.to_string().as_bytes(), 0o600, Durability::Process)
    }

    /// Takes this session's lock away. What another session owns is never named here.
    pub(super) fn release(&self, name: &str) {
        for file in [ACTIVE, GOAL, MESSAGE, PROMPT] {
            // A lock that cannot be removed holds nobody longer: its count is at its bound, or it is stale.
            let _ = std::fs::remove_file(self.0.join(file));
        }
        let _ = std::fs::remove_file(self.0.join(name).join(COUNT));
        let _ = std::fs::remove_dir(self.0.join(name));
    }
}

/// Seconds since 1970, from a number of them or an RFC 3339 time, with or without a zone.
fn time(text: &str) -> Option<u64> {
    if let Some(seconds) = text.split('.').next().and_then(|whole| whole.parse().ok()) {
        return Some(seconds);
    }
    let stamp: Option<jiff::Timestamp> = text.parse().ok();
    let stamp = stamp.or_else(|| format!("{text}Z").parse().ok())?;
    u64::try_from(stamp.as_second()).ok()
}

fn modified(metadata: &Metadata) -> Option<u64> {
    metadata.modified().ok().map(seconds)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_read_as_seconds_or_by_the_calendar() {
        assert_eq!(time("1795817387"), Some(1_795_817_387));
        assert_eq!(time("1795817387.25"), Some(1_795_817_387));
        assert_eq!(time("1970-01-02T00:00:00Z"), Some(86_400));
        assert_eq!(time("1970-01-02T00:00:00.5"), Some(86_400));
        assert_eq!(time("yesterday"), None);
    }
}
