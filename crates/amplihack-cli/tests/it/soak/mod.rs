//! Many launches, many runs at once, many turns and recipes for an hour: nothing is left over, and what lives long does not grow.
//!
//! The short forms take seconds and run always; `cargo xtask test --long` runs the others.

mod auto;
mod launches;
mod parallel;
mod recipes;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;

use amplihack_testkit::{Sandbox, long, loud, procs};

use crate::remote::world::files_with;
use crate::scene::files;

/// `short`, or `whole` in the long form.
fn sized<T>(short: T, whole: T) -> T {
    if long() { whole } else { short }
}

/// Tells what was seen, in the long form: its figures are kept in `docs/explanation/robustness.md`.
fn tell(line: &str) {
    if long() {
        loud(&format!("soak: {line}"));
    }
}

/// Claims that nothing lives, nothing is in directories for what is temporary, and shared memory holds nothing of the sandbox.
#[track_caller]
fn assert_nothing_is_left(sandbox: &Sandbox) {
    procs::assert_none(&sandbox.everything());
    let temporary = files(&sandbox.root().join("tmp"));
    assert!(temporary.is_empty(), "{temporary:#?}");
    let directories = names(&sandbox.root().join("tmp"));
    assert!(directories.is_empty(), "{directories:#?}");
    let shared = files_with(Path::new("/dev/shm"), sandbox.everything().as_bytes());
    assert!(shared.is_empty(), "{shared:#?}");
}

/// The names in a directory; none if there is no such directory.
fn names(directory: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return BTreeSet::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
