//! `cargo xtask docs`: the API documentation, and the pages of `docs/reference/` that are made from the code.

use std::fs;

use crate::{Failure, command_line, shell, ui};

/// A generated page.
struct Page {
    path: &'static str,
    source: Source,
}

/// What makes a page.
enum Source {
    /// The output of the example `reference` with this argument: a table or a schema of the code.
    Table(&'static str),
    /// The help of the binary and of all its commands.
    Help,
}

/// Every generated page. A page that is not here is written by hand.
const PAGES: &[Page] = &[
    Page { path: "docs/amp-sdk/provider-behavior.md", source: Source::Table("amp-behavior") },
    Page { path: "docs/reference/cli.md", source: Source::Help },
    Page { path: "docs/reference/configuration.md", source: Source::Table("configuration") },
    Page { path: "docs/reference/environment.md", source: Source::Table("environment") },
    Page { path: "docs/reference/exit-codes.md", source: Source::Table("exit-codes") },
    Page { path: "docs/reference/flag-matrix.md", source: Source::Table("flag-matrix") },
    Page { path: "docs/reference/hooks.md", source: Source::Table("hooks") },
    Page { path: "docs/reference/policy-rules.md", source: Source::Table("policy-rules") },
    Page { path: "docs/reference/schemas/event.json", source: Source::Table("schema-event") },
    Page { path: "docs/reference/schemas/report.json", source: Source::Table("schema-report") },
    Page { path: "docs/reference/schemas/run.json", source: Source::Table("schema-run") },
];

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
        let text = page.source.text()?;
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

impl Source {
    fn text(&self) -> Result<String, Failure> {
        let mut cargo = shell::cargo();
        match self {
            Self::Table(name) => {
                cargo.args(["run", "--quiet", "--package", "amplihack-cli", "--example", "reference", "--"]);
                shell::read(cargo.arg(name))
            }
            Self::Help => {
                cargo.args(["build", "--quiet", "--package", "amplihack-cli", "--bin", "amplihack"]);
                shell::run(&mut cargo)?;
                command_line::page(&shell::target().join("debug/amplihack"))
            }
        }
    }
}
