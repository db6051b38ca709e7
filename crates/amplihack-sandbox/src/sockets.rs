//! Sockets of other programs: a path that may be read is also a way to whoever listens there, which no mount forbids.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use amplihack_sys::confine::PathAccess;

use crate::compile::{SandboxEntry, SandboxRule, nearest_entry};

/// The kernel's list of sockets of this network namespace.
const LIST: &str = "/proc/net/unix";

/// Entries that hide the listening sockets below what `entries` open. One that is made later is not among them.
pub(crate) fn sockets_below(entries: &[SandboxEntry]) -> Vec<SandboxEntry> {
    // Names of sockets are bytes, and anybody may bind one.
    let list = std::fs::read(LIST).unwrap_or_default();
    let is_opened = |path: &Path| {
        nearest_entry(entries, path).is_some_and(|entry| {
            matches!(entry.access, PathAccess::Read | PathAccess::Write | PathAccess::Overlay)
                && entry.rule < SandboxRule::OpenedToRead
        })
    };
    let is_socket = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    let paths = socket_paths(&list).filter_map(|path| path.canonicalize().ok()).filter(is_socket);
    let mut paths: Vec<PathBuf> = paths.filter(|path| is_opened(path)).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| SandboxEntry::new(path, PathAccess::Hidden, SandboxRule::Sockets)).collect()
}

/// The absolute paths in the kernel's list: its eighth field, which may have blanks.
fn socket_paths(list: &[u8]) -> impl Iterator<Item = PathBuf> + '_ {
    list.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let path = line.splitn(8, |byte| *byte == b' ').nth(7)?;
        let at = path.iter().position(|byte| *byte == b'/')?;
        Some(PathBuf::from(OsStr::from_bytes(path.get(at..)?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_paths_are_read() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            ffff8881: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock\n\
            ffff8882: 00000002 00000000 00010000 0001 01 12346 @abstract\xff\n\
            ffff8883: 00000002 00000000 00000000 0002 01 12347\n\
            ffff8884: 00000002 00000000 00010000 0001 01 1 /home/u/x\n";
        let paths: Vec<PathBuf> = socket_paths(list).collect();
        assert_eq!(paths, [PathBuf::from("/run/a b.sock"), PathBuf::from("/home/u/x")]);
    }
}
