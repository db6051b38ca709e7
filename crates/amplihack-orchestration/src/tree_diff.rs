//! Difference of two trees, file by file, as git lists it for programs; and the lines by which git's index takes it in.

use std::path::Path;

use crate::error::AutoError;
use crate::process::RunProcesses;

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    mode: String,
    object: String,
}

impl TreeEntry {
    /// Reports whether the tree has the file: git gives one that it has not the mode 0.
    pub(crate) fn is_present(&self) -> bool {
        self.mode.bytes().any(|digit| digit != b'0')
    }
}

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// Path from the top of the repository, for people.
    pub(crate) path: String,
    /// The path as git has it.
    pub(crate) raw: Vec<u8>,
    /// The file in the first tree.
    pub(crate) before: TreeEntry,
    /// The file in the second tree.
    pub(crate) after: TreeEntry,
}

/// The files that differ between the trees `before` and `after`, which git finds in `directory` with `env`.
pub(crate) async fn tree_diff(
    processes: &RunProcesses,
    directory: &Path,
    env: &[(&str, &Path)],
    before: &str,
    after: &str,
) -> Result<Vec<FileChange>, AutoError> {
    let form = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"];
    let args = form.into_iter().chain([before, after, "--"]);
    Ok(parse_raw_diff(&processes.run_git("compare the files", directory, env, args).await?))
}

/// `:OLDMODE NEWMODE OLD NEW STATUS`, then the path, each with a NUL behind it.
fn parse_raw_diff(said: &[u8]) -> Vec<FileChange> {
    let mut fields = said.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(raw)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default().to_owned();
        let entry = |at: usize| TreeEntry { mode: word(at), object: word(at + 2) };
        let path = String::from_utf8_lossy(raw).into_owned();
        found.push(FileChange { path, raw: raw.to_owned(), before: entry(0), after: entry(1) });
    }
    found
}

/// The input of `update-index -z --index-info` that makes the index have each path as its entry says, or not at all. What goes comes
/// first, since a file may stand where a directory was.
pub(crate) fn index_info<'a>(files: impl Iterator<Item = (&'a [u8], &'a TreeEntry)>) -> Vec<u8> {
    let (mut gone, mut there) = (Vec::new(), Vec::new());
    for (path, entry) in files {
        let lines = if entry.is_present() { &mut there } else { &mut gone };
        let head = format!("{} {}\t", entry.mode, entry.object);
        lines.extend([head.as_bytes(), path, b"\0"].concat());
    }
    gone.extend(there);
    gone
}

/// An entry for tests: one that is there, or not.
#[cfg(test)]
pub(crate) fn entry(exists: bool) -> TreeEntry {
    TreeEntry { mode: if exists { "100644" } else { "000000" }.to_owned(), object: "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_lists_is_read_with_its_objects() {
        let raw = b":100644 100755 aaa bbb M\0a b\xff\0:000000 100644 000 ccc A\0n\n\0:100644 000000 ddd 000 D\0d\0";
        let found = parse_raw_diff(raw);
        assert_eq!(found[0].raw, b"a b\xff");
        assert_eq!(found[0].before, TreeEntry { mode: "100644".to_owned(), object: "aaa".to_owned() });
        assert_eq!((found[1].path.as_str(), found[1].before.is_present()), ("n\n", false));
        let lines = index_info(found.iter().map(|change| (&*change.raw, &change.after)));
        assert_eq!(lines, b"000000 000\td\x00100755 bbb\ta b\xff\x00100644 ccc\tn\n\0");
    }
}
