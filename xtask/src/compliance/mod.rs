//! `cargo xtask compliance`: the promises of `docs/compliance.md`, their tests, and each promise broken once on purpose.

mod build;
mod counts;
mod page;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use build::{Program, Test};
use counts::Counts;
use page::{Breach, Row};
use trial::{End, Workers};

use crate::{Failure, shell, ui};

const USAGE: &str = "try: cargo xtask compliance [--static] [--rows TEXT] [--fault NAME] [--jobs N]";
/// How long a test may take while nothing is broken.
const LIMIT: Duration = Duration::from_mins(4);
/// What a test may take beyond four times its usual time while a fault is active.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    only_count: bool,
    /// Only rows whose line of the page contains it.
    rows: Option<String>,
    /// Only rows with this fault.
    fault: Option<String>,
    jobs: Option<usize>,
}

/// A row with the tests that its names mean.
struct Promise<'a> {
    row: &'a Row,
    tests: Vec<Test>,
}

/// Runs the tests of every row as built, then the tests of each row against the row's fault, and prints the counts.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let options = options(args)?;
    let path = shell::root().join("docs/compliance.md");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
    let all = page::rows(&text).map_err(|error| format!("docs/compliance.md: {error}"))?;
    let lines: Vec<&str> = text.lines().collect();
    let rows: Vec<Row> =
        all.into_iter().filter(|row| is_wanted(row, lines.get(row.line - 1), &options)).collect();
    if rows.is_empty() {
        return Err("no row of docs/compliance.md is selected".to_owned());
    }
    let mut counts = Counts::of(&rows);
    if options.only_count {
        ui::warn(&counts.to_string());
        return Ok(());
    }
    let begun = Instant::now();
    let failures = try_all(&rows, options.jobs, &mut counts)?;
    for failure in &failures {
        ui::warn(failure);
    }
    ui::warn(&counts.to_string());
    ui::say(&format!("it took {} seconds", begun.elapsed().as_secs()));
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{} rows do not hold, or would not be missed", failures.len()))
    }
}

fn options(args: &[String]) -> Result<Options, Failure> {
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| format!("{word} needs a value; {USAGE}"));
        match word.as_str() {
            "--static" => options.only_count = true,
            "--rows" => options.rows = Some(value()?),
            "--fault" => options.fault = Some(value()?),
            "--jobs" => {
                let jobs = value()?.parse().ok().filter(|jobs| *jobs > 0);
                options.jobs = Some(jobs.ok_or_else(|| format!("--jobs needs a number above 0; {USAGE}"))?);
            }
            _ => return Err(format!("unknown argument {word}; {USAGE}")),
        }
    }
    Ok(options)
}

fn is_wanted(row: &Row, line: Option<&&str>, options: &Options) -> bool {
    let named = options.fault.as_deref().is_none_or(|fault| row.fault() == Some(fault));
    let selected = options.rows.as_deref();
    named
        && selected
            .is_none_or(|text| row.document.contains(text) || line.is_some_and(|line| line.contains(text)))
}

/// Tries every row; returns what is wrong, a text for each row.
fn try_all(rows: &[Row], jobs: Option<usize>, counts: &mut Counts) -> Result<Vec<String>, Failure> {
    let packages: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| &row.tests)
        .filter_map(|name| Some(build::package_in(&name.split_once("::")?.0.replace('_', "-"))))
        .collect();
    let programs = build::build(&packages.into_iter().collect::<Vec<_>>())?;
    let (promises, mut failures) = resolve(rows, &programs);
    fs::write(build::choice(), "")
        .map_err(|error| format!("failed to write {}: {error}", build::choice().display()))?;
    let workers = Workers::of_this_machine(jobs);
    if workers == Workers::One {
        ui::say(
            "one test at a time, since this machine allows no mount namespaces, or one job was asked for",
        );
    }

    let tests: Vec<&Test> =
        promises.iter().flat_map(|promise| &promise.tests).collect::<BTreeSet<_>>().into_iter().collect();
    ui::say(&format!("{} tests, nothing broken", tests.len()));
    let ends = trial::each(workers, &tests, |worker, test| {
        trial::run(workers, worker, "", (&programs[test.program], test), LIMIT)
    });
    let mut usual: BTreeMap<&Test, Duration> = BTreeMap::new();
    for (test, end) in tests.iter().zip(ends) {
        match end? {
            End::Passed(time) => drop(usual.insert(test, time)),
            End::Failed(printed) => ui::warn(&format!("FAILED {}:\n{printed}", test.name)),
            End::TimedOut => ui::warn(&format!("FAILED {}: it did not end", test.name)),
        }
    }
    let (held, broken): (Vec<_>, Vec<_>) =
        promises.iter().partition(|promise| promise.tests.iter().all(|test| usual.contains_key(test)));
    failures.extend(broken.iter().map(|promise| format!("DOES NOT HOLD: {}", promise.row.shown())));
    counts.hold(&held.iter().map(|promise| promise.row).collect::<Vec<_>>());

    let with_fault: Vec<_> = held.into_iter().filter(|promise| promise.row.fault().is_some()).collect();
    ui::say(&format!("{} promises, each broken by its fault", with_fault.len()));
    let caught = trial::each(workers, &with_fault, |worker, promise| {
        let caught = by_fault(workers, worker, promise, &programs, &usual);
        if let Ok(Some(test)) = &caught {
            ui::say(&format!("{}: caught by {test}", promise.row.fault().unwrap_or_default()));
        }
        caught
    });
    for (promise, caught) in with_fault.iter().zip(caught) {
        match caught? {
            Some(_) => counts.caught += 1,
            None => failures.push(format!(
                "GREEN UNDER ITS FAULT {}: {}",
                promise.row.fault().unwrap_or_default(),
                promise.row.shown()
            )),
        }
    }
    Ok(failures)
}

/// The name of the first test of the row that notices the row's fault.
fn by_fault(
    workers: Workers,
    worker: usize,
    promise: &Promise<'_>,
    programs: &[Program],
    usual: &BTreeMap<&Test, Duration>,
) -> Result<Option<String>, Failure> {
    let Some(fault) = promise.row.fault() else { return Ok(None) };
    for test in &promise.tests {
        let limit = PATIENCE + usual.get(test).copied().unwrap_or(LIMIT) * 4;
        match trial::run(workers, worker, fault, (&programs[test.program], test), limit)? {
            End::Passed(_) => {}
            End::Failed(_) => return Ok(Some(test.name.clone())),
            End::TimedOut => return Ok(Some(format!("{}, which did not end", test.name))),
        }
    }
    Ok(None)
}

/// The tests of every row, and what is wrong with names.
fn resolve<'a>(rows: &'a [Row], programs: &[Program]) -> (Vec<Promise<'a>>, Vec<String>) {
    let mut promises = Vec::new();
    let mut failures = Vec::new();
    for row in rows {
        let mut tests = Vec::new();
        for name in &row.tests {
            let found = build::find(name, programs);
            if found.len() != 1 {
                let what = if found.is_empty() { "no integration test" } else { "several tests" };
                failures.push(format!("{what} of that name, {name}: {}", row.shown()));
            }
            tests.extend(found);
        }
        if row.breach == Breach::Open {
            failures.push(format!("nothing says how it is broken: {}", row.shown()));
        }
        promises.push(Promise { row, tests });
    }
    (promises, failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn options_are_read_and_mistakes_reported() {
        let read = options(&words(&["--rows", "Amp SDK", "--fault", "amp-x", "--jobs", "3", "--static"]));
        let expected = Options {
            only_count: true,
            rows: Some("Amp SDK".to_owned()),
            fault: Some("amp-x".to_owned()),
            jobs: Some(3),
        };
        assert_eq!(read, Ok(expected));
        for wrong in [&["--rows"][..], &["--jobs", "0"], &["--quick"]] {
            assert!(options(&words(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rows_are_selected_by_document_text_and_fault() {
        let text = "## Routing\n| A | one | `a::b` | `routing-one` |\n| A | two | `a::b` | |\n";
        let rows = page::rows(text).expect("rows");
        let lines: Vec<&str> = text.lines().collect();
        let wanted = |options: &[&str]| {
            let options = super::options(&words(options)).expect("options");
            rows.iter().filter(|row| is_wanted(row, lines.get(row.line - 1), &options)).count()
        };
        assert_eq!(wanted(&[]), 2);
        assert_eq!(wanted(&["--rows", "Routing"]), 2);
        assert_eq!(wanted(&["--rows", "two"]), 1);
        assert_eq!(wanted(&["--fault", "routing-one"]), 1);
        assert_eq!(wanted(&["--rows", "two", "--fault", "routing-one"]), 0);
    }
}
