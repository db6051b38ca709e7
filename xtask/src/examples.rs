//! `cargo xtask examples`: every example of the Amp SDK runs to its end, against the fake CLI that it brings along.

use std::fs;

use crate::{Failure, shell, ui};

/// Where they are.
const EXAMPLES: &str = "crates/amp-sdk/examples";

/// Runs them one after another. One that fails, or says nothing, fails the chore.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(format!("unknown arguments {args:?}; try: cargo xtask examples"));
    }
    for name in names()? {
        let mut cargo = shell::cargo();
        cargo.args(["run", "--quiet", "--package", "amp-sdk", "--example", &name]);
        let said = shell::read(&mut cargo)?;
        if said.trim().is_empty() {
            return Err(format!("the example {name} said nothing"));
        }
        ui::say(&format!("example {name}: {} lines", said.lines().count()));
    }
    Ok(())
}

/// The names of the examples, sorted: one file each.
fn names() -> Result<Vec<String>, Failure> {
    let path = shell::root().join(EXAMPLES);
    let entries =
        fs::read_dir(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| path.file_stem().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("there are no examples in {}", path.display()));
    }
    Ok(names)
}
