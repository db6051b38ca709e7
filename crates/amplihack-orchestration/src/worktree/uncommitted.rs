//! Files that a worktree does not have of the directory that it was made from: uncommitted changes, ignored files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::AutoError;
use crate::process::RunProcesses;

/// Names that are shown of several.
const SHOWN: usize = 5;

/// Files in a repository's working tree that its commit does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UncommittedFiles {
    /// Files with changes, new ones included.
    pub(super) changed: Vec<PathBuf>,
    /// Files and directories that git ignores as a whole.
    pub(super) ignored: Vec<PathBuf>,
}

impl UncommittedFiles {
    /// Finds such files in the working tree at `root`, without those below `but`.
    pub(super) async fn find_in(
        processes: &RunProcesses,
        root: &Path,
        but: &Path,
    ) -> Result<Self, AutoError> {
        let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"];
        let answer = processes.run_git("list uncommitted changes", root, &[], args).await?;
        let mut found = Self::read(&answer);
        for paths in [&mut found.changed, &mut found.ignored] {
            // Other worktrees, and what amplihack itself writes.
            paths.retain(|path| !but.starts_with(root.join(path)) && !root.join(path).starts_with(but));
            paths.retain(|path| !path.starts_with(".claude/runtime"));
        }
        Ok(found)
    }

    /// Reads what `git status --porcelain -z` printed.
    fn read(answer: &[u8]) -> Self {
        let mut found = Self::default();
        let mut entries = answer.split(|byte| *byte == 0);
        while let Some(entry) = entries.next() {
            let Some((state, [b' ', name @ ..])) = entry.split_at_checked(2) else { continue };
            let name = name.strip_suffix(b"/").unwrap_or(name);
            let path = PathBuf::from(OsString::from_vec(name.to_vec()));
            if state == b"!!" {
                found.ignored.push(path);
            } else {
                found.changed.push(path);
            }
            // The name before a rename follows.
            if state.iter().any(|letter| matches!(letter, b'R' | b'C')) {
                entries.next();
            }
        }
        found
    }

    /// A line for each kind that the worktree at `tree` does not have.
    pub(super) fn missing_in(&self, tree: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.changed.is_empty() {
            let (files, are) = count_phrase(self.changed.len(), "file", "files");
            lines.push(format!("{files} with uncommitted changes {are} not in the worktree"));
        }
        let ignored: Vec<&PathBuf> =
            self.ignored.iter().filter(|path| tree.join(path).symlink_metadata().is_err()).collect();
        if !ignored.is_empty() {
            let (paths, are) = count_phrase(ignored.len(), "path", "paths");
            lines.push(format!(
                "{paths} that git ignores {are} not in the worktree: {}",
                join_paths(&ignored)
            ));
        }
        lines
    }
}

/// A number with its noun, and the verb after it.
pub(super) fn count_phrase(number: usize, one: &str, more: &str) -> (String, &'static str) {
    if number == 1 { (format!("1 {one}"), "is") } else { (format!("{number} {more}"), "are") }
}

/// The first of `paths`, in one line.
pub(super) fn join_paths<P: AsRef<Path>>(paths: &[P]) -> String {
    let one_line = |path: &P| {
        let name = path.as_ref().to_string_lossy();
        name.chars().map(|ch| if ch.is_control() { '?' } else { ch }).collect::<String>()
    };
    let shown: Vec<String> = paths.iter().take(SHOWN).map(one_line).collect();
    format!("{}{}", shown.join(", "), if paths.len() > SHOWN { ", …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_whatever_names_hold() {
        let answer = b" M a b\0R  new\0old\0?? line\nbreak\0!! node_modules/\0!! .env\0 D gone\0";
        let found = UncommittedFiles::read(answer);
        assert_eq!(found.changed, ["a b", "new", "line\nbreak", "gone"].map(PathBuf::from));
        assert_eq!(found.ignored, ["node_modules", ".env"].map(PathBuf::from));
    }

    #[test]
    fn each_kind_is_one_line_with_its_count() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".env"), "").unwrap();
        let uncommitted = |changed: &[&str], ignored: &[&str]| UncommittedFiles {
            changed: changed.iter().map(PathBuf::from).collect(),
            ignored: ignored.iter().map(PathBuf::from).collect(),
        };
        let lines = |found: UncommittedFiles| found.missing_in(dir.path());
        assert_eq!(lines(uncommitted(&[], &[".env"])), Vec::<String>::new());
        assert_eq!(
            lines(uncommitted(&["a"], &["node_modules", ".env"])),
            [
                "1 file with uncommitted changes is not in the worktree",
                "1 path that git ignores is not in the worktree: node_modules"
            ]
        );
        let many = ["a", "b", "c", "d", "e", "f\n"];
        assert_eq!(
            lines(uncommitted(&many, &many)),
            [
                "6 files with uncommitted changes are not in the worktree",
                "6 paths that git ignores are not in the worktree: a, b, c, d, e, …"
            ]
        );
    }
}
