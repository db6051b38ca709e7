//! The lock files: `.claude/runtime/locks/` of the nearest directory that has one.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};

use super::rules::{ContinuationCount, ContinuationLock, StopSignal};

const ACTIVE: &str = ".lock_active";
const GOAL: &str = ".lock_goal";
const MESSAGE: &str = ".lock_message";
const PROMPT: &str = ".continuation_prompt";
const COUNT: &str = "lock_invocations.txt";
/// More than any of these files needs.
const MAX_BYTES: u64 = 64 * 1024;

/// A directory of lock files.
pub(super) struct ContinuationLocks(PathBuf);

impl ContinuationLocks {
    /// The locks that hold an agent in `cwd`: of the nearest directory above it with a `.claude`.
    pub(super) fn find_locks(cwd: &Path) -> Option<Self> {
        let root = cwd.ancestors().find(|directory| directory.join(".claude").is_dir())?;
        let locks = root.join(".claude/runtime/locks");
        locks.is_dir().then_some(Self(locks))
    }

    /// Everything that the rules want to know.
    pub(super) fn stop_signal<'a>(
        &self,
        session: &'a str,
        name: &str,
        stop_active: bool,
        now: SystemTime,
    ) -> StopSignal<'a> {
        StopSignal {
            session,
            stop_active,
            lock: self.read_lock(),
            count: self.read_count(name),
            prompt: self.read_text(PROMPT).or_else(|| self.read_text(MESSAGE)),
            goal: self.read_text(GOAL),
            now: seconds_since_epoch(now),
        }
    }

    fn read_lock(&self) -> Option<ContinuationLock> {
        let path = self.0.join(ACTIVE);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        let text = self.read_text(ACTIVE).unwrap_or_default();
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let locked_at = field("locked_at:")
            .and_then(|value| parse_seconds(&value))
            .or_else(|| modified_seconds(&metadata));
        Some(ContinuationLock { session: field("session_id:"), locked_at })
    }

    fn read_count(&self, name: &str) -> ContinuationCount {
        match read_regular(&self.0.join(name).join(COUNT), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => ContinuationCount::Times(0),
            Err(_) => ContinuationCount::Corrupt,
            Ok(bytes) => String::from_utf8(bytes)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .map_or(ContinuationCount::Corrupt, ContinuationCount::Times),
        }
    }

    fn read_text(&self, file: &str) -> Option<String> {
        String::from_utf8(read_regular(&self.0.join(file), MAX_BYTES).ok()?).ok()
    }

    /// Stores the number of times that the session was made to continue.
    pub(super) fn store_count(&self, name: &str, count: u64) -> io::Result<()> {
        let directory = self.0.join(name);
        create_private_dir(&directory)?;
        write_atomic(&directory.join(COUNT), count.to_string().as_bytes(), 0o600, WriteDurability::Process)
    }

    /// Takes this session's lock away. What another session owns is never named here.
    pub(super) fn release_lock(&self, name: &str) {
        let count = self.0.join(name).join(COUNT);
        for file in [ACTIVE, GOAL, MESSAGE, PROMPT].map(|file| self.0.join(file)).iter().chain([&count]) {
            // A lock that cannot be removed holds nobody longer: its count is at its bound, or it is stale.
            let _ = std::fs::remove_file(file);
        }
        // Gone only if it is empty.
        let _ = std::fs::remove_dir(self.0.join(name));
    }
}

/// Seconds since 1970, from a number of them or an RFC 3339 time, with or without a zone.
fn parse_seconds(text: &str) -> Option<u64> {
    if let Some(seconds) = text.split('.').next().and_then(|whole| whole.parse().ok()) {
        return Some(seconds);
    }
    let stamp: Option<jiff::Timestamp> = text.parse().ok();
    let stamp = stamp.or_else(|| format!("{text}Z").parse().ok())?;
    u64::try_from(stamp.as_second()).ok()
}

fn modified_seconds(metadata: &Metadata) -> Option<u64> {
    metadata.modified().ok().map(seconds_since_epoch)
}

fn seconds_since_epoch(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::parse_seconds;

    #[test]
    fn times_are_read_as_seconds_or_by_the_calendar() {
        assert_eq!(parse_seconds("1795817387"), Some(1_795_817_387));
        assert_eq!(parse_seconds("1795817387.25"), Some(1_795_817_387));
        assert_eq!(parse_seconds("1970-01-02T00:00:00Z"), Some(86_400));
        assert_eq!(parse_seconds("1970-01-02T00:00:00.5"), Some(86_400));
        assert_eq!(parse_seconds("yesterday"), None);
    }
}
