//! `cargo xtask minimal-versions`: whether the lowest versions that the manifests ask for still compile.

use std::fs;
use std::path::Path;

use crate::{Failure, shell, ui};

/// Resolves a copy of the workspace to the lowest versions of what it names itself, and checks every target of it.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(format!("unknown arguments {args:?}; try: cargo xtask minimal-versions"));
    }
    let place = shell::target().join("minimal-versions");
    let copy = place.join("workspace");
    // Files that are gone here would stay there.
    let _ = fs::remove_dir_all(&copy);
    copy_tracked(&copy)?;
    let mut update = shell::cargo();
    // The option is unstable, and only the resolver is asked: what is found is compiled as everything else is.
    update.current_dir(&copy).env("RUSTC_BOOTSTRAP", "1").args(["update", "-Z", "direct-minimal-versions"]);
    shell::run(&mut update)?;
    let mut check = shell::cargo();
    check.current_dir(&copy).env("CARGO_TARGET_DIR", place.join("target"));
    shell::run(check.args(["check", "--workspace", "--all-targets", "--all-features", "--locked"]))?;
    ui::say("the lowest versions compile");
    Ok(())
}

/// Copies what git tracks, as it is in the working tree, so that manifests and lock file here stay as they are.
fn copy_tracked(to: &Path) -> Result<(), Failure> {
    let tracked = shell::read(shell::program("git").args(["ls-files", "-z"]))?;
    for name in tracked.split_terminator('\0') {
        let (from, to) = (shell::root().join(name), to.join(name));
        // A file that was removed and not committed yet, or a link.
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(&to))
            .and_then(|()| fs::copy(&from, &to))
            .map_err(|error| format!("failed to copy {name}: {error}"))?;
    }
    Ok(())
}
