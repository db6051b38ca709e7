//! `cargo xtask docs`: the API documentation, and the pages of `docs/` that are made from the code.

use std::fs;

use crate::{Failure, shell, ui};

/// A generated page and the cargo arguments whose output it is.
struct Page {
    path: &'static str,
    cargo: &'static [&'static str],
}

/// Every generated page. A page that is not here is written by hand.
const PAGES: &[Page] = &[Page {
    path: "docs/environment.md",
    cargo: &["run", "--quiet", "--package", "amplihack-testkit", "--bin", "reference", "--", "environment"],
}];

/// Documents the workspace without a warning, then writes the generated pages or, with `--check`, compares them.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err(format!("unknown arguments {args:?}; try: cargo xtask docs [--check]")),
    };
    let mut doc = shell::cargo();
    doc.args(["doc", "--quiet", "--workspace", "--no-deps"]);
    shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    let mut stale = Vec::new();
    for page in PAGES {
        let text = shell::read(shell::cargo().args(page.cargo))?;
        let path = shell::root().join(page.path);
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        if check {
            stale.push(page.path);
        } else {
            fs::write(&path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
            ui::say(&format!("wrote {}", page.path));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("out of date: {}; run `cargo xtask docs` and commit what it writes", stale.join(", ")))
}
