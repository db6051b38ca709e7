//! The files behind the one-time yes.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use amplihack_utils::fs::{create_private_dir, read_regular};
use amplihack_utils::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{GRANTED_FOR, Id, OFFERED_FOR, write_private};

/// A record is below 1 KiB but for its directory.
const MAX_BYTES: u64 = 64 * 1024;

/// A stopped call, or its grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Of the command and the directory.
    pub(super) hash: String,
    /// When it was stopped or granted, in seconds since 1970.
    pub(super) at: u64,
    pub(super) command: String,
    pub(super) cwd: PathBuf,
}

/// The hash of a command in a directory. The directory's length stands in front, so that nothing can move from one to the other.
pub(super) fn hash(script: &[u8], cwd: &Path) -> String {
    let cwd = cwd.as_os_str().as_bytes();
    let mut hash = Sha256::new();
    hash.update((cwd.len() as u64).to_be_bytes());
    hash.update(cwd);
    hash.update(script);
    hex(hash.finalize())
}

pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether what began `at` is over; what begins in the future never holds either.
pub(super) fn is_over(at: u64, lasts: Duration, now: SystemTime) -> bool {
    let now = seconds(now);
    at > now || now - at >= lasts.as_secs()
}

fn dir(home: &Path) -> PathBuf {
    home.join("once")
}

/// The file of a stopped call.
pub(super) fn offer(home: &Path, id: &Id) -> PathBuf {
    dir(home).join(id.as_str())
}

/// The directory of grants.
pub(super) fn grants(home: &Path) -> PathBuf {
    dir(home).join("granted")
}

/// The file of a grant.
pub(super) fn grant(home: &Path, hash: &str) -> PathBuf {
    grants(home).join(hash)
}

/// Removes grants that were used and are over, and their directory when it is empty.
pub(super) fn forget_used(grants: &Path, now: SystemTime) {
    for item in fs::read_dir(grants).into_iter().flatten().flatten() {
        let path = item.path();
        if path.extension().is_some() && is_spent(&path, GRANTED_FOR, now) {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_dir(grants);
}

/// The stopped calls that can still be granted, the oldest first; what is over is removed.
pub(super) fn offers(home: &Path, now: SystemTime) -> Vec<(Id, Record)> {
    let Ok(items) = fs::read_dir(dir(home)) else { return Vec::new() };
    let mut found = Vec::new();
    for item in items.flatten() {
        let name = item.file_name();
        let Some(name) = name.to_str() else { continue };
        // A grant that was cut off leaves its claim behind.
        let claim = name.strip_suffix(".claimed").and_then(Id::parse).is_some();
        let Some(id) = Id::parse(name) else {
            if claim && is_spent(&item.path(), OFFERED_FOR, now) {
                let _ = fs::remove_file(item.path());
            }
            continue;
        };
        if is_spent(&item.path(), OFFERED_FOR, now) {
            let _ = fs::remove_file(item.path());
        } else {
            found.extend(read(&item.path()).map(|record| (id, record)));
        }
    }
    found.sort_by(|(left_id, left), (right_id, right)| (left.at, left_id).cmp(&(right.at, right_id)));
    found
}

/// Whether what the file says is over. One that this version cannot read may be a newer version's: it is over by its age.
fn is_spent(path: &Path, lasts: Duration, now: SystemTime) -> bool {
    if let Some(record) = read(path) {
        is_over(record.at, lasts, now)
    } else {
        let written = fs::symlink_metadata(path).and_then(|found| found.modified());
        written.is_ok_and(|written| is_over(seconds(written), lasts, now))
    }
}

pub(super) fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&read_regular(path, MAX_BYTES).ok()?).ok()
}

/// Writes a record, private, into a directory that the last taker of a grant may remove at the same time.
pub(super) fn write(path: &Path, record: &Record) -> io::Result<()> {
    let bytes = serde_json::to_vec(record)?;
    let mut tries = 3;
    loop {
        if let Some(dir) = path.parent() {
            create_private_dir(dir)?;
        }
        match write_private(path, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 0 => tries -= 1,
            done => return done,
        }
    }
}
