//! Chores of this workspace: `cargo xtask test | compliance | nightly | agents | record | dist | docs | man | examples | minimal-versions | bench`. The standard library
//! only, so that it starts fast.

mod agents;
mod bench;
mod cell_tests;
mod command_line;
mod compliance;
mod debian;
mod dist;
mod docs;
mod examples;
mod grid;
mod guard_table;
mod man;
mod minimal_versions;
mod nightly;
mod odd_place;
mod record;
mod recording;
mod requirements;
mod selection;
mod shell;
mod skips;
mod summary;
mod test;
mod ui;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask test [--long] [--system | --skip-missing] [RUNNER ARGS…]
                                                  every test, or those that the runner's arguments select. --system: install what the tests
                                                  need outside of the checkout, and count a skipped test as a failure; --skip-missing: leave
                                                  out the tests that need it
       cargo xtask test --shipped-hook            the guard's tests alone, with the hook binary as it is shipped; the first line ends with them
       cargo xtask test --grid                    every whole journey with every agent, and the table of what came of each
       cargo xtask test --guard-table             every situation of the guard table, and docs/reference/guard-table.md
       cargo xtask compliance [--static] [--rows TEXT] [--fault NAME] [--jobs N]
                                                  every promise of docs/compliance.md tried, and broken once; --static: count only
       cargo xtask nightly [--seconds N] [--seed N] [--fuzz-only] [--system]
                                                  every fuzz program for N seconds (60), the long form of the tests, the promises
       cargo xtask dist [--bins DIR] [--out DIR]  a release: static binaries, completions, manual, sums; --bins: of these binaries
       cargo xtask dist --hook-binary             the hook binary alone, into target/hook-binary
       cargo xtask agents                         the pinned agent CLIs, below agents/, by npm
       cargo xtask record [AGENT [SCENARIO]]      the streams of the real agents once more, into crates/amplihack-agent/tests/transcripts
       cargo xtask docs [--check]                 API documentation and generated pages; --check: fail if a page is out of date
       cargo xtask man [DIR]                      manual pages of every command, into dist/man
       cargo xtask examples                       run every example of the Amp SDK against its fake CLI
       cargo xtask minimal-versions               whether the lowest versions that the manifests ask for compile
       cargo xtask bench [--runs N] [--bins DIR]  timings, into docs/benchmarks.md; --bins: use these binaries, write nothing
       cargo xtask bench --only PART              one part of that page: launches, guard, recipes, commands, streams, secrets, verdicts";

/// A chore that could not be done, in words for a person. An empty text: it has been said already.
type Failure = String;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let chore = args.first().map(String::as_str);
    let rest = args.get(1..).unwrap_or_default();
    let done = match chore {
        Some("test") if rest == ["--grid"] => grid::run(),
        Some("test") if rest == ["--guard-table"] => guard_table::run(),
        Some("test") => test::run(rest),
        Some("compliance") => compliance::run(rest),
        Some("dist") => dist::run(rest),
        // What a linker is, in a build of `dist`.
        Some(dist::LINK) => dist::link(rest),
        Some("nightly") => nightly::run(rest),
        Some("agents") => agents::run(rest),
        Some("record") => record::run(rest),
        Some("docs") => docs::run(rest),
        Some("man") => man::run(rest),
        Some("minimal-versions") => minimal_versions::run(rest),
        Some("examples") => examples::run(rest),
        Some("bench") => bench::run(rest),
        _ => {
            ui::warn(USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            if !text.is_empty() {
                ui::warn(&format!("error: {text}"));
            }
            ExitCode::FAILURE
        }
    }
}
