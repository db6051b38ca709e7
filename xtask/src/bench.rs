//! `cargo xtask bench`: our commands against what they are measured by, in turns, so that both meet the same machine.

mod alone;
mod calls;
mod commands;
mod guard;
mod measure;
mod random;
mod recipes;
mod scan;
mod sdks;
mod session;
mod stage;
mod streams;
mod table;
mod transcript;
mod verdicts;
mod weigh;

use std::path::{Path, PathBuf};

use crate::{Failure, dist, shell, ui};
use measure::{Entry, Job, Pairs, Until};
use stage::Stage;

const RUNS: usize = 200;
const USAGE: &str = "try: cargo xtask bench [--only launches|guard|recipes|commands|streams|secrets|verdicts] [--runs N] [--bins DIR]";

/// Builds, measures, prints a table and, unless the binaries were given, writes `docs/benchmarks.md`.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (mut runs, mut given, mut only_part) = (RUNS, None, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--runs", Some(number)) => {
                runs = number.parse().map_err(|_| format!("--runs takes a number, not {number:?}"))?;
            }
            ("--bins", Some(directory)) => given = Some(PathBuf::from(directory)),
            ("--only", Some(part)) => only_part = Some(part.as_str()),
            _ => return Err(format!("cannot read {word:?}; {USAGE}")),
        }
    }
    if runs == 0 {
        return Err("--runs must be at least 1".to_owned());
    }
    if let Some(part) = only_part {
        return only(part, given.as_deref(), runs);
    }
    let (bins, guard) = match &given {
        Some(bins) => (bins.clone(), bins.join("amplihack-hooks")),
        None => (build(COMMANDS)?, dist::hook_binary_in_order()?),
    };
    let stage = Stage::new(&bins, &guard)?;
    let mut rows = measure::rows(&stage, entries(&stage, runs))?;
    rows.splice(1..1, guard_rows(&stage, runs)?);
    ui::say("the resolver, in one process");
    rows.extend(resolver(&bins, runs)?);
    ui::say("judging and scanning, in one process");
    let alone = table::alone(&alone::rows(&stage, &bins, runs)?);
    let table = table::table(&rows);
    let calls = calls::of_a_launch(&stage)?;
    ui::warn(&format!("{table}\n{alone}\n{calls}"));
    let recipes = recipes::section(&stage, runs)?;
    let more = commands::section(&stage, &bins, runs)?;
    ui::warn(&format!("{recipes}\n{more}"));
    if given.is_some() {
        return Ok(());
    }
    let streams = streams::section(&build(READERS)?)?;
    let secrets = scan::section(&build(SCANNER)?)?;
    write(&format!("{}\n{recipes}\n{more}\n{streams}\n{secrets}", table::page(&table, &alone, &calls, runs)))
}

/// Measures a part of the page and, unless the binaries were given, replaces its section.
fn only(part: &str, given: Option<&Path>, runs: usize) -> Result<(), Failure> {
    let built = |programs| given.map_or_else(|| build(programs), |bins| Ok(bins.to_owned()));
    // No guard is started by these.
    let staged = |bins: &Path| Stage::new(bins, &bins.join("amplihack"));
    let (heading, text) = match part {
        "streams" => (streams::HEADING, streams::section(&built(READERS)?)?),
        "secrets" => (scan::HEADING, scan::section(&built(SCANNER)?)?),
        "recipes" => (recipes::HEADING, recipes::section(&staged(&built(RECIPES)?)?, runs)?),
        "commands" => {
            let bins = built(MORE)?;
            (commands::HEADING, commands::section(&staged(&bins)?, &bins, runs)?)
        }
        "guard" => {
            let hook =
                given.map_or_else(dist::hook_binary_in_order, |bins| Ok(bins.join("amplihack-hooks")))?;
            let stage = Stage::new(&built(COMMANDS)?, &hook)?;
            let table = table::table(&guard_rows(&stage, runs)?);
            ui::warn(&table);
            // Its rows stand in a table with others.
            return if given.is_some() { Ok(()) } else { write(&guard::replace_rows(&page()?, &table)) };
        }
        "launches" => {
            let stage = staged(&built(MORE)?)?;
            let table = table::table(&measure::rows(&stage, launch_entries(&stage, runs))?);
            ui::warn(&table);
            return if given.is_some() { Ok(()) } else { write(&with_rows(&page()?, &table)) };
        }
        "verdicts" => (verdicts::HEADING, String::new()),
        _ => return Err(format!("there is no part {part:?}; {USAGE}")),
    };
    ui::warn(&text);
    if given.is_some() {
        return Ok(());
    }
    let page = page()?;
    write(&if text.is_empty() { page } else { with_section(&page, heading, &text) })
}

/// `page` with `section` in the place of what begins with `heading`, or behind everything.
fn with_section(page: &str, heading: &str, section: &str) -> String {
    let (before, rest) = page.split_once(heading).unwrap_or((page, ""));
    let after = rest.find("\n## ").map(|at| &rest[at..]).unwrap_or_default();
    format!("{}\n\n{}\n{after}", before.trim_end(), section.trim_end())
}

/// `page` with `table`'s rows in the place of its own of the same names.
fn with_rows(page: &str, table: &str) -> String {
    fn name(row: &str) -> Option<&str> {
        row.strip_prefix("| ")?.split(" | ").next()
    }
    let measured = |line: &str| {
        let is_alike = |row: &&str| name(row).is_some_and(|name_of| Some(name_of) == name(line));
        // Its head and the line below are no rows: other tables of the page begin alike, and have other columns.
        table.lines().skip(2).find(is_alike).unwrap_or(line).to_owned() + "\n"
    };
    page.lines().map(measured).collect()
}

fn page() -> Result<String, Failure> {
    let path = shell::root().join(PAGE);
    std::fs::read_to_string(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}

const PAGE: &str = "docs/benchmarks.md";

/// Writes `page` with the verdicts that its tables give.
fn write(page: &str) -> Result<(), Failure> {
    let path = shell::root().join(PAGE);
    std::fs::write(&path, judged(page))
        .map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    ui::say(&format!("wrote {PAGE}"));
    Ok(())
}

/// `page` with the verdicts before all else.
fn judged(page: &str) -> String {
    let verdicts = verdicts::section(page);
    if page.contains(verdicts::HEADING) {
        return with_section(page, verdicts::HEADING, &verdicts);
    }
    let (title, rest) = page.split_once("\n\n").unwrap_or((page, ""));
    format!("{title}\n\n{verdicts}\n## Launches and the guard\n\n{rest}")
}

/// Everything that is measured by starting processes.
fn entries(stage: &Stage, runs: usize) -> Vec<Entry> {
    let amplihack = |args: &[&str]| Job::new(stage.amplihack(), args);
    let floor = || Job::new("/bin/true", &[]);
    let start = |name: &str, args| Entry::to_end(name, "", amplihack(args), floor(), runs);
    let sessions = stage.sessions();
    let mut entries = vec![
        Entry::to_end("the floor: `/bin/true` against itself", "", floor(), floor(), runs),
        start("start: `amplihack --version` against `/bin/true`", &["--version"]),
        start("start: `amplihack --help` against `/bin/true`", &["--help"]),
        start("start: `amplihack which` against `/bin/true`", &["which"]),
        Entry::to_end(
            "`amplihack remote list`, 1,000 sessions, against `/bin/true`",
            "≤ 50 ms",
            amplihack(&["remote", "list", "--state-file", &sessions.to_string_lossy()]),
            floor(),
            runs,
        ),
    ];
    entries.extend(launch_entries(stage, runs));
    entries
}

/// Launches against their agent alone.
fn launch_entries(stage: &Stage, runs: usize) -> Vec<Entry> {
    let amplihack = |args: &[&str]| Job::new(stage.amplihack(), args);
    let launch = |name: &str, goal, until| Entry {
        name: name.to_owned(),
        goal,
        ours: amplihack(&["claude", "-p", "--prompt", "hi"]),
        against: Job::new(stage.agent(), &["-p", "--", "hi"]),
        until,
        runs,
    };
    let prompt = stage.prompt();
    let piped = format!("cat '{}' | '{}' -p", prompt.display(), stage.agent().display());
    vec![
        launch(
            "launch, to the agent's first byte: `amplihack claude -p --prompt hi` against the agent itself",
            "≤ 3 ms more",
            Until::FirstByte,
        ),
        launch("launch, to its end: the same", "≤ 5 ms more", Until::End),
        Entry::to_end(
            "a prompt of 1 MiB by stdin: `amplihack claude -p --prompt-file F` against `cat F` into `agent -p`",
            "",
            amplihack(&["claude", "-p", "--prompt-file", &prompt.to_string_lossy()]),
            Job::new("/bin/sh", &["-c", &piped]),
            runs,
        ),
    ]
}

/// The guard, while a session runs.
fn guard_rows(stage: &Stage, runs: usize) -> Result<Vec<measure::Row>, Failure> {
    let session = session::Session::begin(stage)?;
    measure::rows(stage, guard::entries(stage, &session, runs)?)
}

/// The resolver against the bare walk, both in the process of an example of `amplihack-config`.
fn resolver(bins: &Path, runs: usize) -> Result<Vec<(String, &'static str, Pairs)>, Failure> {
    let program = bins.join("examples/resolver");
    let text = shell::read(shell::program(program).arg(runs.to_string()))?;
    let mut rows: Vec<(String, &'static str, Pairs)> = Vec::new();
    for line in text.lines() {
        let numbers: Vec<u64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
        let [depth, ours, against] = numbers[..] else {
            return Err(format!("the resolver's bench said {line:?}"));
        };
        let name = format!(
            "resolver, no context file, {depth} below the root: against the bare walk of two `stat`s each"
        );
        if rows.last().is_none_or(|(last, ..)| *last != name) {
            rows.push((name, "≤ 1.3 ×", Pairs::default()));
        }
        if let Some((.., pairs)) = rows.last_mut() {
            pairs.push(ours, against);
        }
    }
    Ok(rows)
}

/// What is measured with processes and in one process.
const COMMANDS: &[[&str; 4]] = &[
    ["--package", "amplihack-cli", "--bin", "amplihack"],
    ["--package", "amplihack-cli", "--bin", "recipe-runner-rs"],
    ["--package", "amplihack-testkit", "--bin", "fake-agent"],
    ["--package", "amplihack-config", "--example", "resolver"],
    ["--package", "amplihack-policy", "--example", "bench"],
    ["--package", "amplihack-remote", "--example", "speed"],
];
/// What runs recipes.
const RECIPES: &[[&str; 4]] = &[
    ["--package", "amplihack-cli", "--bin", "amplihack"],
    ["--package", "amplihack-cli", "--bin", "recipe-runner-rs"],
];
/// What runs the other commands.
const MORE: &[[&str; 4]] = &[
    ["--package", "amplihack-cli", "--bin", "amplihack"],
    ["--package", "amplihack-testkit", "--bin", "fake-agent"],
    ["--package", "amplihack-remote", "--example", "speed"],
];
/// What reads streams.
const READERS: &[[&str; 4]] = &[
    ["--package", "amplihack-amp-sdk", "--example", "count"],
    ["--package", "amplihack-session", "--example", "count_events"],
    ["--package", "amplihack-agent", "--example", "decode_speed"],
];

/// What scans files for credentials.
const SCANNER: &[[&str; 4]] = &[["--package", "amplihack-secrets", "--example", "secrets"]];

/// Builds for release. Returns where.
fn build(programs: &[[&str; 4]]) -> Result<PathBuf, Failure> {
    for what in programs {
        shell::run(shell::cargo().args(["build", "--quiet", "--release"]).args(what))?;
    }
    Ok(shell::target().join("release"))
}

#[cfg(test)]
mod tests {
    use super::{judged, with_section};

    #[test]
    fn a_section_is_replaced_and_its_neighbours_stay() {
        let page = "# All\n\n## Recipes\n\nold\n\n## Streams\n\nfast\n";
        let found = with_section(page, "## Recipes", "## Recipes\n\nnew\n");
        assert_eq!(found, "# All\n\n## Recipes\n\nnew\n\n## Streams\n\nfast\n");
        let found = with_section(&found, "## Streams", "## Streams\n\nfaster\n");
        assert_eq!(found, "# All\n\n## Recipes\n\nnew\n\n## Streams\n\nfaster\n");
        assert_eq!(with_section("# All\n", "## X", "## X\n"), "# All\n\n## X\n");
    }

    #[test]
    fn rows_are_replaced_by_their_names() {
        let page = "| | ours |\n|---|---|\n| launch | 1 |\n| other | 2 |\n";
        let found = super::with_rows(page, "| | ours |\n|---|---|\n| launch | 3 |\n| new | 4 |\n");
        assert_eq!(found, "| | ours |\n|---|---|\n| launch | 3 |\n| other | 2 |\n");
        let heads = "| what | slowest | goal |\n|---|---|---|\n| x | 1 | |\n";
        let found = super::with_rows(heads, "| what | ours |\n|---|---|\n| launch | 3 |\n");
        assert_eq!(found, heads);
    }

    #[test]
    fn the_verdicts_come_first_and_once() {
        let once = judged("# Benchmarks\n\nHow.\n\n## Recipes\n\nfast\n");
        assert!(once.starts_with(&format!("# Benchmarks\n\n{}", super::verdicts::HEADING)), "{once}");
        assert!(once.ends_with("## Launches and the guard\n\nHow.\n\n## Recipes\n\nfast\n"), "{once}");
        assert_eq!(judged(&once), once);
    }
}
