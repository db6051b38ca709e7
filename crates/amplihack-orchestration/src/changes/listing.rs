//! Files by their names, sizes, times and modes: enough to see that one was made, changed or removed, without reading it.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What git itself writes in a repository when somebody only looks at it.
const LOOKED: &[&str] = &["index", "index.lock", "gc.log", "fsmonitor--daemon"];

/// Groups of files, each with a digest of its files' names and states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listing(BTreeMap<String, u64>);

impl Listing {
    /// Enters the file `name` below `root`, in the group of its first directory. The order of files does not count.
    pub(super) fn file(&mut self, root: &Path, name: &Path) {
        let mut parts = name.components();
        let first =
            parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        let group = if parts.next().is_some() { format!("{first}/") } else { first };
        let digest = root.join(name).symlink_metadata().map(|file| of_file(name, &file)).unwrap_or_default();
        let sum = self.0.entry(group).or_default();
        *sum = sum.wrapping_add(digest);
    }

    /// Enters a group with its digest.
    pub(super) fn enter(&mut self, group: &str, digest: u64) {
        self.0.insert(group.to_owned(), digest);
    }

    /// The groups of `now` that are new or other than here, and those that are gone.
    pub(super) fn differing(&self, now: &Self) -> Vec<String> {
        let new =
            now.0.iter().filter(|(group, digest)| self.0.get(*group) != Some(digest)).map(|(group, _)| group);
        new.cloned().collect()
    }
}

/// The digest of everything in `directory`, its own repository included. Links are not followed.
pub(super) fn of_directory(directory: &Path) -> u64 {
    let mut sum = walk(directory, Path::new(""));
    // A submodule's repository lies elsewhere.
    if let Ok(text) = std::fs::read_to_string(directory.join(".git"))
        && let Some(elsewhere) = text.strip_prefix("gitdir: ")
    {
        sum = sum.wrapping_add(walk(&directory.join(elsewhere.trim_end()), Path::new(".git")));
    }
    sum
}

fn walk(directory: &Path, name: &Path) -> u64 {
    let (mut sum, mut waiting) = (0_u64, vec![(directory.to_owned(), name.to_owned())]);
    while let Some((directory, name)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        // The repository's own directory has a HEAD; what lies deeper in it is told by its names.
        let repository = directory.join("HEAD").is_file() && directory.join("objects").is_dir();
        for entry in entries.flatten() {
            let file_name = entry.file_name();
            if repository && LOOKED.iter().any(|looked| file_name == *looked) {
                continue;
            }
            let Ok(file) = entry.path().symlink_metadata() else { continue };
            let name: PathBuf = name.join(&file_name);
            if file.is_dir() {
                waiting.push((entry.path(), name));
            } else {
                sum = sum.wrapping_add(of_file(&name, &file));
            }
        }
    }
    sum
}

/// FNV-1a over a file's name and state. It is only ever compared within one run.
fn of_file(name: &Path, file: &Metadata) -> u64 {
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
        let mut before = Listing::default();
        before.file(root, Path::new("a/b/f"));
        fs::write(root.join("a/b/f"), "22").unwrap();
        fs::write(root.join("top"), "").unwrap();
        let mut now = Listing::default();
        now.file(root, Path::new("a/b/f"));
        now.file(root, Path::new("top"));
        assert_eq!(before.differing(&now), ["a/", "top"]);
        assert!(now.differing(&now).is_empty());
        fs::create_dir_all(root.join("r/.git/objects")).unwrap();
        fs::write(root.join("r/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let empty = of_directory(&root.join("r"));
        fs::write(root.join("r/.git/index"), "x").unwrap();
        assert_eq!(of_directory(&root.join("r")), empty);
        fs::write(root.join("r/.git/objects/x"), "x").unwrap();
        assert_ne!(of_directory(&root.join("r")), empty);
        fs::create_dir_all(root.join("s")).unwrap();
        fs::write(root.join("s/.git"), format!("gitdir: {}\n", root.join("r/.git").display())).unwrap();
        let submodule = of_directory(&root.join("s"));
        fs::write(root.join("r/.git/objects/y"), "y").unwrap();
        assert_ne!(of_directory(&root.join("s")), submodule);
    }
}
