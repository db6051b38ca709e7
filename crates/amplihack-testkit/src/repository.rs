//! The least that git takes for a repository, without running git.

use std::path::Path;

/// Makes `root`, if it is not there, the root of a repository without a commit.
///
/// # Panics
/// It cannot be written.
#[track_caller]
pub fn create_repository(root: &Path) {
    for part in ["objects", "refs", "info"] {
        std::fs::create_dir_all(root.join(".git").join(part)).expect("the repository is writable");
    }
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("the repository is writable");
}
