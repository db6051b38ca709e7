//! Whether the public types of the libraries still are what the last release promised.

use std::process::Command;

use crate::{Failure, shell, ui};

/// The libraries that programs of other people use, with no other crate of ours in between.
const LIBRARIES: &[&str] = &["amplihack-amp-sdk", "amplihack-agent", "amplihack-session"];

/// Compares the libraries with the last tag `v…`. Without the tool, a tag or the libraries in it this is said, and nothing compared.
pub(crate) fn run() -> Result<(), Failure> {
    let has_tool =
        shell::cargo().args(["semver-checks", "--version"]).output().is_ok_and(|told| told.status.success());
    if !has_tool {
        ui::warn(
            "NOT COMPARED: the public types; cargo-semver-checks is missing: cargo install cargo-semver-checks --locked",
        );
        return Ok(());
    }
    let Some(tag) = last_tag() else {
        ui::warn("NOT COMPARED: the public types; no tag v… is behind this commit: git fetch --tags");
        return Ok(());
    };
    let mut check = shell::cargo();
    check.args(["semver-checks", "--baseline-rev", &tag]);
    for library in LIBRARIES {
        if is_in(&tag, library) {
            check.args(["--package", library]);
        } else {
            ui::warn(&format!("NOT COMPARED: the public types of {library}, which is not in {tag}"));
        }
    }
    if check.get_args().all(|word| word != "--package") {
        return Ok(());
    }
    shell::run(&mut check)
}

/// The newest tag of a release that this commit has behind it.
fn last_tag() -> Option<String> {
    let mut git = shell::program("git");
    // Not this commit itself: a release is compared with the one before.
    let found = shell::read(git.args(["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"])).ok()?;
    Some(found.trim().to_owned()).filter(|tag| !tag.is_empty())
}

/// Reports whether a crate of this name is in the release `tag`.
fn is_in(tag: &str, library: &str) -> bool {
    let mut git: Command = shell::program("git");
    let name = format!("^name = \"{library}\"$");
    git.args(["grep", "--quiet", "-e", &name, tag, "--", "crates/*/Cargo.toml"]);
    git.status().is_ok_and(|status| status.success())
}
