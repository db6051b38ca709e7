//! `cargo xtask nightly`: every fuzz program for a while, with inputs that no night before had, then the long form of the tests and
//! the whole guard table, then the public types compared with the last release, then every promise of `docs/compliance.md` broken once.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::requirements::MissingPolicy;
use crate::{Failure, compliance, guard_table, semver, shell, test, ui};

/// How long a program may go on beyond its time, for its last input.
const PATIENCE: Duration = Duration::from_mins(3);
/// What a program may have of memory, in KiB: an input that takes more is a find.
const MEMORY: u64 = 8 << 20;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u64,
    seed: Option<u64>,
    fuzz_only: bool,
    /// Installs what the tests need of the machine, as `cargo xtask test --system` does.
    system: bool,
}

/// What became of a program.
struct Row {
    program: String,
    /// Its closing line without its name, or how it ended without one.
    said: String,
    found: bool,
}

/// Runs all of it; fails if anything was found, or a test failed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let options = options(args)?;
    // Found before the fuzz programs take their hour, not after it.
    if !options.fuzz_only {
        test::prepare(if options.system { MissingPolicy::Install } else { MissingPolicy::Ask })?;
    }
    let seed = options.seed.unwrap_or_else(fresh);
    ui::say(&format!("the seed of this run is {seed}"));
    let programs = shell::programs(&shell::root().join("fuzz/src/bin"))?;
    shell::run(shell::cargo().args(["build", "--profile", "fuzz", "--package", "amplihack-fuzz", "--bins"]))?;
    // One of them runs the command itself.
    shell::run(shell::cargo().args([
        "build",
        "--quiet",
        "--package",
        "amplihack-cli",
        "--bin",
        "amplihack",
    ]))?;
    let mut rows = Vec::new();
    for program in programs {
        let row = fuzz(&program, options.seconds, seed)?;
        ui::say(&format!("{}: {}", row.program, row.said));
        rows.push(row);
    }
    let found = rows.iter().filter(|row| row.found).count();
    let tests = if options.fuzz_only { Ok(()) } else { tests(options.system) };
    ui::warn(&table(&rows, seed));
    match (found, tests) {
        (0, tests) => tests,
        (found, tests) => {
            // What the tests say is said already; the finds are not to be lost over it.
            let more = if tests.is_err() { ", and tests failed" } else { "" };
            Err(format!(
                "{found} of the fuzz programs found something{more}; inputs are in fuzz/artifacts, run one again with \
                 `cargo run --profile fuzz --package amplihack-fuzz --bin PROGRAM -- FILE`"
            ))
        }
    }
}

/// The long form of the tests; the whole guard table and the promises even if a test failed.
fn tests(system: bool) -> Result<(), Failure> {
    // What the machine lacks was asked about before.
    let machine = if system { "--system" } else { "--skip-missing" };
    let tests = test::run(&["--long", machine].map(str::to_owned));
    // Its cells were among them; this run writes the page.
    let table = guard_table::run();
    if let Err(text) = &table {
        ui::warn(&format!("error: {text}"));
    }
    let types = semver::run();
    if let Err(text) = &types {
        ui::warn(&format!("error: {text}"));
    }
    let promises = compliance::run(&[]);
    if let Err(text) = &promises {
        ui::warn(&format!("error: {text}"));
    }
    tests.and(table).and(types).and(promises)
}

fn options(args: &[String]) -> Result<Options, Failure> {
    let mut options = Options { seconds: 60, seed: None, fuzz_only: false, system: false };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            words.next().and_then(|value| value.parse().ok()).ok_or_else(|| format!("{word} needs a number"))
        };
        match word.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = Some(number()?),
            "--fuzz-only" => options.fuzz_only = true,
            "--system" => options.system = true,
            _ => {
                return Err(format!(
                    "unknown argument {word}; try: cargo xtask nightly [--seconds N] [--seed N] [--fuzz-only] [--system]"
                ));
            }
        }
    }
    Ok(options)
}

/// A number that no run before had.
fn fresh() -> u64 {
    u64::from(u32::try_from(RandomState::new().hash_one(std::process::id()) >> 32).unwrap_or(1))
}

/// Runs one program to its end.
fn fuzz(program: &str, seconds: u64, seed: u64) -> Result<Row, Failure> {
    let mut command = Command::new("/bin/sh");
    let script = format!("ulimit -v {MEMORY}; exec \"$@\"");
    command.arg("-c").arg(script).arg("sh").arg(shell::target().join("fuzz").join(program));
    command.args(["--seconds", &seconds.to_string(), "--seed", &seed.to_string()]);
    command.current_dir(shell::root()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let failed = |error| format!("failed to run {program}: {error}");
    let mut child = command.spawn().map_err(failed)?;
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || stdout.map_or_else(String::new, |mut out| read(&mut out)));
    let ended = wait(&mut child, Duration::from_secs(seconds) + PATIENCE).map_err(failed)?;
    let said = reader.join().unwrap_or_default();
    for line in said.lines().filter(|line| !line.starts_with(&format!("{program}: "))) {
        ui::warn(line);
    }
    Ok(row(program, &said, ended))
}

fn read(from: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // What it said before it died is told.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `None`: it did not end in its time, and was ended.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// What a program's output and its end come to.
fn row(program: &str, said: &str, ended: Option<ExitStatus>) -> Row {
    let closing = said.lines().rev().find_map(|line| line.strip_prefix(program)?.strip_prefix(": "));
    let current = format!("its input is fuzz/artifacts/{program}/current");
    let (said, found) = match (ended, closing) {
        (Some(status), Some(closing)) => (closing.to_owned(), !status.success()),
        (Some(status), None) => (format!("died, {status}; {current}"), true),
        (None, _) => (format!("hangs; {current}"), true),
    };
    Row { program: program.to_owned(), said, found }
}

fn table(rows: &[Row], seed: u64) -> String {
    let wide = rows.iter().map(|row| row.program.len()).max().unwrap_or_default();
    let mut out = format!("fuzz programs, seed {seed}:\n");
    for Row { program, said, found } in rows {
        let _ = writeln!(out, "  {} {program:wide$}  {said}", if *found { "FOUND" } else { "ok   " });
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn options_are_read_and_mistakes_told() {
        let read = options(&words(&["--seconds", "5", "--fuzz-only", "--seed", "7"]));
        assert_eq!(read, Ok(Options { seconds: 5, seed: Some(7), fuzz_only: true, system: false }));
        assert_eq!(options(&[]), Ok(Options { seconds: 60, seed: None, fuzz_only: false, system: false }));
        for wrong in [&["--seconds"][..], &["--seconds", "x"], &["--short"]] {
            assert!(options(&words(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_program_that_found_died_or_hangs_is_a_find() {
        let ended = |code| Some(ExitStatus::from_raw(code));
        let closing = "artifacts/x/001: panics\nx: 12 inputs in 1s, 1 found, the slowest took 1.0ms\n";
        let fine = row("x", "x: 12 inputs in 1s, 0 found, the slowest took 1.0ms\n", ended(0));
        assert_eq!(
            (fine.found, fine.said.as_str()),
            (false, "12 inputs in 1s, 0 found, the slowest took 1.0ms")
        );
        assert!(row("x", closing, ended(1 << 8)).found);
        let died = row("x", "", ended(6));
        assert!(died.found && died.said.contains("artifacts/x/current"), "{}", died.said);
        assert!(row("x", "", None).found);
        let shown = table(&[fine, died], 7);
        assert!(
            shown.contains("seed 7")
                && shown.contains("  ok    x  12 inputs")
                && shown.contains("  FOUND x  died"),
            "{shown}"
        );
    }

    #[test]
    fn every_program_has_a_row_in_the_table_of_the_fuzz_programs() {
        let place = shell::root().join("fuzz");
        let readme = std::fs::read_to_string(place.join("README.md")).expect("it is there");
        for program in shell::programs(&place.join("src/bin")).expect("there are some") {
            assert!(readme.contains(&format!("| `{program}` | ")), "{program}");
        }
    }
}
