//! `cargo xtask docs`: the API documentation, and the pages of `docs/` that are made from the code.

use std::fs;

use crate::{Failure, command_line, recording, shell, ui};

/// The page that is made from the help of the binary and of all its commands. The others are listed by the example `reference`.
const COMMANDS: &str = "docs/reference/cli.md";

/// Writes the generated pages or, with `--check`, compares them; then documents the workspace without a warning.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err(format!("unknown arguments {args:?}; try: cargo xtask docs [--check]")),
    };
    let mut stale = Vec::new();
    for (name, text) in pages()? {
        let path = shell::root().join(&name);
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::write(&path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
            ui::say(&format!("wrote {name}"));
        }
    }
    let mut doc = shell::cargo();
    doc.args(["doc", "--quiet", "--workspace", "--no-deps"]);
    shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("out of date: {}; run `cargo xtask docs` and commit what it writes", stale.join(", ")))
}

/// Every generated page, by its path, with its text.
fn pages() -> Result<Vec<(String, String)>, Failure> {
    shell::build_programs()?;
    let amplihack = shell::target().join("debug/amplihack");
    let mut pages = vec![
        (COMMANDS.to_owned(), command_line::page(&amplihack)?),
        (recording::PATH.to_owned(), recording::demo(&amplihack)?),
    ];
    for path in reference(None)?.lines() {
        pages.push((path.to_owned(), reference(Some(path))?));
    }
    Ok(pages)
}

/// What the example `reference` prints.
fn reference(path: Option<&str>) -> Result<String, Failure> {
    shell::read(shell::example("reference").args(path))
}
