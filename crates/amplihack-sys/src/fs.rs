//! Files that are whole or not there: bounded reads, atomic private writes.

mod git_directory;
mod walk;

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};

pub use git_directory::{CEILING_VAR, GitDirectories, git_directories};
pub use walk::{
    MAX_DIRECTORIES, RealDirectory, WalkStop, find_project_root, find_repository_border,
    find_repository_root, is_present, opened_path, real_directory, walk_up,
};

/// `path` with `.` and `..` resolved by its text: links are not followed.
pub fn normal_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// Reads at most `limit` bytes of `path`.
///
/// The limit is applied while reading, not by asking for the size first, so a file that grows meanwhile cannot
/// pass it. A longer file is an error of kind [`io::ErrorKind::FileTooLarge`].
pub fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open_limited(&File::open(path)?, limit)
}

/// Reads at most `limit` bytes of `path`, which must be a regular file: for files that other people may have put there.
///
/// Follows symbolic links. Anything else than a regular file is an error at once, also a pipe without a writer.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open_limited(&open_regular(path)?.0, limit)
}

/// Opens `path` for reading if it is a regular file. Never waits for a writer, never becomes a terminal's owner.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads at most `limit` bytes of an open file, from where it stands; see [`read_limited`].
pub fn read_open_limited(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    // Our own files fit, so that one read takes them, and what is longer is not moved about as it grows.
    let length = file.metadata().map_or(0, |found| found.len()).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(length + 1).unwrap_or_default().max(4096));
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Creates `path` and its missing parents with mode 0700. Directories that exist are left as they are.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Reports whether this user may write in the directory `path`, on a file system that takes writes.
pub fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

/// Durability of a write: whether it must survive the machine, or only the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteDurability {
    /// Survives `kill -9` of any process: written whole, then renamed.
    Process,
    /// Survives a power failure too: file and directory are synced.
    Machine,
}

/// Replaces `path` by a file with `contents` and `mode`, through a temporary file beside it and a rename.
///
/// A reader sees the old file or the new one, never a part. On an error the old file is untouched and nothing is left behind. A device,
/// a pipe or a socket is no file that could be replaced: it would be gone for everybody.
pub fn write_atomic(path: &Path, contents: &[u8], mode: u32, durability: WriteDurability) -> io::Result<()> {
    write_atomic_with(path, mode, durability, |file| file.write_all(contents))
}

/// Replaces `path` by a file with what `write` writes, for contents that are in no one piece.
pub fn write_atomic_with(
    path: &Path,
    mode: u32,
    durability: WriteDurability,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let kind = path.symlink_metadata().map(|there| there.file_type());
    if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_symlink() && !kind.is_dir()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file, and not replaced by one",
        ));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".amplihack-")
        .permissions(std::fs::Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    write(file.as_file_mut())?;
    // The umask may have taken bits away.
    file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    if durability == WriteDurability::Machine {
        file.as_file().sync_all()?;
    }
    if durability == WriteDurability::Process && exchange_files(file.path(), path) {
        // The old file has the temporary name now, and goes with it.
        return Ok(());
    }
    file.persist(path).map_err(|error| error.error)?;
    if durability == WriteDurability::Machine {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Exchanges two files in one step. False, and nothing done, if `path` is no regular file or the file system cannot.
///
/// A rename over a file makes ext4 write the new one out at once, which takes longer than the rest of a launch.
fn exchange_files(new: &Path, path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|old| old.is_file())
        && renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_replaced_and_what_it_led_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("f"), dir.path().join("other"));
        std::fs::write(&other, b"theirs").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write_atomic(&path, b"ours", 0o600, WriteDurability::Process).unwrap();
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_read_stops_at_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, [7_u8; 10]).unwrap();
        assert_eq!(read_limited(&path, 10).unwrap(), [7_u8; 10]);
        assert_eq!(read_limited(&path, 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // A device without end is a file that is too large, not a hang.
        assert_eq!(
            read_limited(Path::new("/dev/zero"), 4096).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
    }

    #[test]
    fn only_regular_files_are_read_and_a_pipe_does_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, pipe) = (dir.path().join("f"), dir.path().join("l"), dir.path().join("p"));
        std::fs::write(&file, b"x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(read_regular(&file, 1).unwrap(), b"x");
        assert_eq!(read_regular(&link, 1).unwrap(), b"x");
        assert_eq!(read_regular(&file, 0).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_regular(&pipe, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(read_regular(dir.path(), 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn an_atomic_write_is_private_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        // The first finds no file, the others find one.
        for (durability, contents) in [
            (WriteDurability::Process, "{}"),
            (WriteDurability::Process, "[]"),
            (WriteDurability::Machine, "{}"),
        ] {
            write_atomic(&path, contents.as_bytes(), 0o600, durability).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    /// What the next test traces: this test program again, with this test alone, in a directory of its own.
    #[test]
    #[ignore = "a process of another test"]
    fn writes_for_the_machine() {
        for contents in [b"new", b"old"] {
            write_atomic(Path::new("f"), contents, 0o600, WriteDurability::Machine).unwrap();
        }
    }

    #[test]
    fn a_write_for_the_machine_is_on_the_disk_before_its_rename_and_the_rename_after_it() {
        let probe = std::process::Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
        if !probe.is_ok_and(|status| status.success()) {
            amplihack_testkit::skip_test("strace does not run here");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        let traced = std::process::Command::new("strace")
            .args([
                "-f",
                "-qq",
                "-y",
                "-e",
                "trace=fsync,fdatasync,rename,renameat,renameat2",
                "-o",
                "../calls",
            ])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "fs::tests::writes_for_the_machine", "--ignored", "--test-threads=1"])
            .current_dir(dir.path().join("d"))
            .output()
            .unwrap();
        assert!(traced.status.success(), "{traced:?}");
        let calls = std::fs::read_to_string(dir.path().join("calls")).unwrap();
        let kinds: Vec<&str> = calls
            .lines()
            .map(|line| match line {
                _ if line.contains("rename") => "rename",
                _ if line.contains("/d/.amplihack-") => "file",
                _ if line.contains("/d>") => "directory",
                other => other,
            })
            .collect();
        assert_eq!(kinds, ["file", "rename", "directory"].repeat(2), "{calls}");
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("d");
        create_private_dir(&target.join("inner")).unwrap();
        // A directory cannot be replaced by a file.
        write_atomic(&target, b"x", 0o600, WriteDurability::Process).unwrap_err();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        write_atomic(&pipe, b"x", 0o600, WriteDurability::Process).unwrap_err();
        assert!(!pipe.symlink_metadata().unwrap().is_file());
        std::fs::remove_file(pipe).unwrap();
        assert!(target.join("inner").is_dir());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
