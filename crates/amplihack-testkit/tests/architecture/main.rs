//! Keeps what `ARCHITECTURE.md` promises about the shape of the code: who knows whom, and who alone may do what.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a rule that cannot be checked fails the test, in helper functions too"
)]

mod compliance;
#[path = "../../../../xtask/src/compliance/page.rs"]
mod compliance_page;
mod crates;
mod docs;
mod files;
mod functions;
mod names;
mod packages;
mod readers;
mod source;
mod words;

use std::path::PathBuf;
use std::process::Command;

use source::Source;

/// Every tracked file, and every new one that is not ignored, relative to the workspace's root.
fn tracked() -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git
        .current_dir(amplihack_testkit::workspace())
        .output()
        .expect("git lists the files of this repository");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names of this repository are UTF-8");
    let root = amplihack_testkit::workspace();
    // What a link leads to is not ours: the agents that are installed.
    let is_ours = |path: &PathBuf| root.join(path).symlink_metadata().is_ok_and(|found| found.is_file());
    names.split_terminator('\0').map(PathBuf::from).filter(is_ours).collect()
}

/// Every Rust file of the workspace.
fn sources() -> Vec<Source> {
    let sources: Vec<Source> = tracked()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .map(Source::read)
        .collect();
    assert!(sources.len() > 20, "only {} Rust files were found", sources.len());
    sources
}

/// Fails the test with every breach of `rule`, one a line.
#[track_caller]
fn none(rule: &str, breaches: impl IntoIterator<Item = String>) {
    let breaches: Vec<String> = breaches.into_iter().collect();
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}
