//! Keeps `.claude/runtime` out of git through the repository's own `info/exclude`, which is never committed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_sys::fs::{WriteDurability, read_regular, write_atomic};

/// A larger exclude file is left alone.
const MAX_EXCLUDE_BYTES: u64 = 1024 * 1024;

/// Adds a line for `anchor`'s `.claude/runtime` to the exclude file of the repository at `root`, unless it is there.
///
/// All else in the file stays as it is. If `root` has nothing that looks like a git directory, nothing happens.
pub(super) fn hide_runtime(root: &Path, anchor: &Path) -> io::Result<()> {
    let (Some(git), Some(line)) = (common_directory(root), exclude_line(root, anchor)) else { return Ok(()) };
    let listed = git.join("info/exclude");
    // Some people link this file to one that they share.
    let file = std::fs::canonicalize(&listed).unwrap_or(listed);
    let (mut contents, mode) = match std::fs::metadata(&file) {
        Ok(metadata) => (read_regular(&file, MAX_EXCLUDE_BYTES)?, metadata.permissions().mode() & 0o7777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(git.join("info"))?;
            (Vec::new(), 0o644)
        }
        Err(error) => return Err(error),
    };
    if contents.split(|byte| *byte == b'\n').any(|old| old.trim_ascii_end() == line) {
        return Ok(());
    }
    if contents.last().is_some_and(|byte| *byte != b'\n') {
        contents.push(b'\n');
    }
    contents.extend_from_slice(&line);
    contents.push(b'\n');
    write_atomic(&file, &contents, mode, WriteDurability::Process)
}

/// The git directory that all worktrees of a repository share: `.git`, or where a `.git` file leads.
fn common_directory(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let git = if dot_git.is_dir() { dot_git } else { root.join(path_in(&dot_git, b"gitdir:")?) };
    let common = match path_in(&git.join("commondir"), b"") {
        Some(common) => git.join(common),
        None => git,
    };
    common.join("HEAD").exists().then_some(common)
}

/// The path that a one-line file of git's holds after `prefix`.
fn path_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let bytes = read_regular(file, 8 * 1024).ok()?;
    let path = bytes.strip_prefix(prefix)?.trim_ascii();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// The line that hides `anchor`'s `.claude/runtime`. `None` if git's format has no way to write it.
fn exclude_line(root: &Path, anchor: &Path) -> Option<Vec<u8>> {
    let below = anchor.strip_prefix(root).ok()?.join(".claude/runtime/").into_os_string().into_vec();
    if below.contains(&b'\n') {
        return None;
    }
    let mut line = vec![b'/'];
    for byte in below {
        if matches!(byte, b'\\' | b'*' | b'?' | b'[') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// Runs the real git, away from its user's settings.
    fn git(directory: &Path, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        command
            .current_dir(directory)
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
            .args(arguments);
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")] {
            command.env(name, value);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        command.output().unwrap().status.success()
    }

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("r");
        fs::create_dir(&root).unwrap();
        assert!(git(&root, &["init", "-q"]));
        (dir, root)
    }

    #[test]
    fn git_ignores_the_directory_and_nothing_else() {
        let (_dir, root) = repository();
        hide_runtime(&root, &root).unwrap();
        assert!(git(&root, &["check-ignore", "-q", ".claude/runtime/launcher_context.json"]));
        assert!(!git(&root, &["check-ignore", "-q", ".claude/settings.json"]));
        assert!(!git(&root, &["check-ignore", "-q", "sub/.claude/runtime/x"]));
    }

    #[test]
    fn an_anchor_below_the_root_is_written_with_its_odd_characters() {
        let (_dir, root) = repository();
        let anchor = root.join("a *[x]?\\ #!b");
        fs::create_dir(&anchor).unwrap();
        hide_runtime(&root, &anchor).unwrap();
        let inside = |directory: &Path| directory.join(".claude/runtime/f").to_str().unwrap().to_owned();
        assert!(git(&root, &["check-ignore", "-q", &inside(&anchor)]));
        assert!(!git(&root, &["check-ignore", "-q", &inside(&root)]));
        assert_eq!(exclude_line(&root, &root.join("a\nb")), None);
    }

    #[test]
    fn the_line_is_added_once_and_the_rest_is_kept() {
        let (_dir, root) = repository();
        let file = root.join(".git/info/exclude");
        fs::write(&file, b"# mine\r\n*.log\xff").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        for _ in 0..3 {
            hide_runtime(&root, &root).unwrap();
        }
        assert_eq!(fs::read(&file).unwrap(), b"# mine\r\n*.log\xff\n/.claude/runtime/\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
    }

    #[test]
    fn a_file_of_a_mebibyte_gets_the_line_and_a_larger_one_is_left_alone() {
        let (_dir, root) = repository();
        let file = root.join(".git/info/exclude");
        let long = format!("#{}\n", "x".repeat(1024 * 1024 - 2));
        fs::write(&file, &long).unwrap();
        hide_runtime(&root, &root).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), long.clone() + "/.claude/runtime/\n");
        let longer = format!("#{long}");
        fs::write(&file, &longer).unwrap();
        assert!(hide_runtime(&root, &root).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), longer);
    }

    #[test]
    fn a_linked_exclude_file_stays_a_link() {
        let (dir, root) = repository();
        let shared = dir.path().join("shared");
        fs::write(&shared, "*.o\n").unwrap();
        fs::remove_file(root.join(".git/info/exclude")).unwrap();
        std::os::unix::fs::symlink(&shared, root.join(".git/info/exclude")).unwrap();
        hide_runtime(&root, &root).unwrap();
        assert!(root.join(".git/info/exclude").is_symlink());
        assert_eq!(fs::read_to_string(&shared).unwrap(), "*.o\n/.claude/runtime/\n");
    }

    #[test]
    fn a_link_in_a_circle_is_left_alone() {
        let (_dir, root) = repository();
        let file = root.join(".git/info/exclude");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("exclude", &file).unwrap();
        assert!(hide_runtime(&root, &root).is_err());
        assert!(file.is_symlink());
    }

    #[test]
    fn a_path_may_be_as_long_as_paths_are_and_not_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".git");
        let said = |length: usize| {
            let path = "x".repeat(length);
            fs::write(&file, format!("gitdir: {path}")).unwrap();
            path_in(&file, b"gitdir:").map(|found| found == Path::new(&path))
        };
        assert_eq!(said(4096), Some(true));
        assert_eq!(said(8 * 1024 + 1), None);
    }

    #[test]
    fn a_missing_info_directory_is_made() {
        let (_dir, root) = repository();
        fs::remove_dir_all(root.join(".git/info")).unwrap();
        hide_runtime(&root, &root).unwrap();
        assert!(git(&root, &["check-ignore", "-q", ".claude/runtime/x"]));
    }

    #[test]
    fn a_worktree_uses_the_file_that_all_of_them_share() {
        let (dir, root) = repository();
        assert!(git(&root, &["commit", "-q", "--allow-empty", "-m", "x"]));
        let tree = fs::canonicalize(dir.path()).unwrap().join("tree");
        assert!(git(&root, &["worktree", "add", "-q", tree.to_str().unwrap()]));
        assert!(tree.join(".git").is_file());
        hide_runtime(&tree, &tree).unwrap();
        assert!(git(&tree, &["check-ignore", "-q", ".claude/runtime/x"]));
        assert!(fs::read_to_string(root.join(".git/info/exclude")).unwrap().contains("/.claude/runtime/\n"));
    }

    #[test]
    fn what_only_looks_like_a_repository_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for contents in ["", "gitdir:", "gitdir: ../nowhere", "gitdir: .", "hello"] {
            fs::write(dir.path().join(".git"), contents).unwrap();
            hide_runtime(dir.path(), dir.path()).unwrap();
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{contents}");
        }
    }
}
