//! Files by their names, sizes, times and modes: enough to see that one was made, changed or removed, without reading it.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Files that git itself writes in a repository when somebody only looks at it.
const LOOKED: &[&str] = &["index", "index.lock", "gc.log", "fsmonitor--daemon"];

/// The most files and directories that are looked at in one place; where there are more, it is unknown what they are.
const MOST: usize = 500_000;

/// Groups of files, each with a digest of its files' names and states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileDigests(BTreeMap<String, u64>);

impl FileDigests {
    /// Enters the file `name` below `root`, in the group of its first directory. The order of files does not count.
    pub(super) fn enter_file(&mut self, root: &Path, name: &Path) {
        let mut parts = name.components();
        let first =
            parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        let group = if parts.next().is_some() { format!("{first}/") } else { first };
        let digest =
            root.join(name).symlink_metadata().map(|file| file_digest(name, &file)).unwrap_or_default();
        let sum = self.0.entry(group).or_default();
        *sum = sum.wrapping_add(digest);
    }

    /// Enters a group with its digest.
    pub(super) fn enter_group(&mut self, group: &str, digest: u64) {
        self.0.insert(group.to_owned(), digest);
    }

    /// The groups of `now` that are new or other than here. One that is gone took nothing of the run along.
    pub(super) fn changed_groups(&self, now: &Self) -> Vec<String> {
        let new =
            now.0.iter().filter(|(group, digest)| self.0.get(*group) != Some(digest)).map(|(group, _)| group);
        new.cloned().collect()
    }
}

/// The digest of everything in `directory`, its own repository included if that lies in `repository`, the directory of git around.
/// Links are not followed. `None` if not all of it can be seen.
pub(super) fn directory_digest(directory: &Path, repository: &Path) -> Option<u64> {
    let mut left = MOST;
    let sum = walk_files(directory, Path::new(""), &mut left)?;
    // A submodule's repository lies elsewhere. An agent may have written where: only what could go with the worktree is looked at.
    let elsewhere = amplihack_sys::fs::read_regular(&directory.join(".git"), 4096).ok();
    let elsewhere = elsewhere.as_deref().and_then(|text| text.strip_prefix(b"gitdir: "));
    let elsewhere =
        elsewhere.map(|place| directory.join(amplihack_config::git::path_of(place.trim_ascii_end())));
    match elsewhere.and_then(|place| place.canonicalize().ok()) {
        Some(place) if place.starts_with(repository) => {
            Some(sum.wrapping_add(walk_files(&place, Path::new(".git"), &mut left)?))
        }
        _ => Some(sum),
    }
}

fn walk_files(directory: &Path, name: &Path, left: &mut usize) -> Option<u64> {
    let (mut sum, mut waiting) = (0_u64, vec![(directory.to_owned(), name.to_owned())]);
    while let Some((directory, name)) = waiting.pop() {
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => continue,
            Err(_) => return None,
        };
        // The repository's own directory has a HEAD; what lies deeper in it is told by its names.
        let repository = directory.join("HEAD").is_file() && directory.join("objects").is_dir();
        for entry in entries {
            let entry = entry.ok()?;
            *left = left.checked_sub(1)?;
            let file_name = entry.file_name();
            if repository && LOOKED.iter().any(|looked| file_name == *looked) {
                continue;
            }
            let file = match entry.path().symlink_metadata() {
                Ok(file) => file,
                Err(error) if is_gone(&error) => continue,
                Err(_) => return None,
            };
            let name: PathBuf = name.join(&file_name);
            if file.is_dir() {
                waiting.push((entry.path(), name));
            } else {
                sum = sum.wrapping_add(file_digest(&name, &file));
            }
        }
    }
    Some(sum)
}

/// Reports whether there is nothing, or no directory any more.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// FNV-1a over a file's name and state. It is only ever compared within one run.
fn file_digest(name: &Path, file: &Metadata) -> u64 {
    let numbers =
        [file.size(), file.mode().into(), file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned()];
    let bytes = name
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .copied()
        .chain(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_made_or_changed_is_seen_and_a_look_at_a_repository_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "1").unwrap();
        let mut before = FileDigests::default();
        before.enter_file(root, Path::new("a/b/f"));
        fs::write(root.join("a/b/f"), "22").unwrap();
        fs::write(root.join("top"), "").unwrap();
        let mut now = FileDigests::default();
        now.enter_file(root, Path::new("a/b/f"));
        now.enter_file(root, Path::new("top"));
        assert_eq!(before.changed_groups(&now), ["a/", "top"]);
        assert!(now.changed_groups(&now).is_empty());
        fs::create_dir_all(root.join("r/.git/objects")).unwrap();
        fs::write(root.join("r/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let git = root.canonicalize().unwrap().join("r/.git");
        let digest = |name: &str| directory_digest(&root.join(name), &git);
        let empty = digest("r");
        fs::write(root.join("r/.git/index"), "x").unwrap();
        assert_eq!(digest("r"), empty);
        fs::write(root.join("r/.git/objects/x"), "x").unwrap();
        assert_ne!(digest("r"), empty);
        fs::create_dir_all(root.join("s")).unwrap();
        fs::write(root.join("s/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        let submodule = digest("s");
        fs::write(root.join("r/.git/objects/y"), "y").unwrap();
        assert_ne!(digest("s"), submodule);
        // What lies out of the repository is not followed.
        fs::create_dir_all(root.join("out")).unwrap();
        fs::write(root.join("s/.git"), format!("gitdir: {}\n", root.join("out").display())).unwrap();
        let submodule = digest("s");
        fs::write(root.join("out/y"), "y").unwrap();
        assert_eq!(digest("s"), submodule);
    }

    #[test]
    fn what_is_too_much_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let walked = |mut left: usize| walk_files(dir.path(), Path::new(""), &mut left);
        assert!(walked(3).is_some());
        assert_eq!(walked(2), None);
    }
}
