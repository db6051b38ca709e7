//! Sockets of other programs: a path that may be read is also a way to whoever listens there, which no mount forbids.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use amplihack_sys::confine::PathAccess;

use crate::compile::{SandboxEntry, SandboxRule};

/// The kernel's list of sockets of this network namespace.
const LIST: &str = "/proc/net/unix";

/// Entries that hide the listening sockets below what `entries` open. One that is made later is not among them.
pub(crate) fn sockets_below(entries: &[SandboxEntry]) -> Vec<SandboxEntry> {
    let list = std::fs::read_to_string(LIST).unwrap_or_default();
    let is_opened = |path: &Path| {
        let nearest = entries.iter().filter(|entry| path.starts_with(&entry.path));
        let nearest = nearest.max_by_key(|entry| entry.path.components().count());
        nearest.is_some_and(|entry| {
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
fn socket_paths(list: &str) -> impl Iterator<Item = PathBuf> + '_ {
    list.lines().skip(1).filter_map(|line| {
        let path = line.splitn(8, ' ').nth(7)?.trim_start();
        path.find('/').map(|at| PathBuf::from(path.get(at..).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_paths_are_read() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            ffff8881: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock\n\
            ffff8882: 00000002 00000000 00010000 0001 01 12346 @abstract\n\
            ffff8883: 00000002 00000000 00000000 0002 01 12347\n\
            ffff8884: 00000002 00000000 00010000 0001 01 1 /home/u/x\n";
        let paths: Vec<PathBuf> = socket_paths(list).collect();
        assert_eq!(paths, [PathBuf::from("/run/a b.sock"), PathBuf::from("/home/u/x")]);
    }
}
