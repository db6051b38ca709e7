//! `cargo xtask bench`: our commands against what they are measured by, in turns, so that both meet the same machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Failure, shell, ui};

/// One measurement: ours against the least that the same job could cost.
struct Entry {
    name: &'static str,
    /// The first word is looked for among the built binaries, then in PATH.
    ours: &'static [&'static str],
    against: &'static [&'static str],
}

/// Everything that is measured.
const ENTRIES: &[Entry] = &[Entry {
    name: "start: `amplihack --version` against `/bin/true`",
    ours: &["amplihack", "--version"],
    against: &["/bin/true"],
}];

/// Pairs that are run first and not counted.
const WARM_UP: usize = 5;
const RUNS: usize = 200;

/// Builds, measures, prints a table and, unless the binaries were given, writes `docs/benchmarks.md`.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (mut runs, mut given) = (RUNS, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--runs", Some(number)) => {
                runs = number.parse().map_err(|_| format!("--runs takes a number, not {number:?}"))?;
            }
            ("--bins", Some(directory)) => given = Some(PathBuf::from(directory)),
            _ => return Err(format!("cannot read {word:?}; try: cargo xtask bench [--runs N] [--bins DIR]")),
        }
    }
    if runs == 0 {
        return Err("--runs must be at least 1".to_owned());
    }
    let bins = given.clone().map_or_else(build, Ok)?;
    let mut rows = Vec::new();
    for entry in ENTRIES {
        ui::say(&format!("{}, {runs} pairs", entry.name));
        rows.push((entry.name, measure(entry, &bins, runs)?));
    }
    let table = table(&rows);
    ui::warn(&table);
    if given.is_none() {
        let path = shell::root().join("docs/benchmarks.md");
        std::fs::write(&path, page(&table, runs))
            .map_err(|error| format!("failed to write {}: {error}", path.display()))?;
        ui::say("wrote docs/benchmarks.md");
    }
    Ok(())
}

fn build() -> Result<PathBuf, Failure> {
    shell::run(shell::cargo().args(["build", "--quiet", "--release", "--package", "amplihack-cli"]))?;
    Ok(shell::target().join("release"))
}

/// Both sides' times, pair by pair.
struct Pairs {
    ours: Vec<Duration>,
    against: Vec<Duration>,
}

fn measure(entry: &Entry, bins: &Path, runs: usize) -> Result<Pairs, Failure> {
    let mut pairs = Pairs { ours: Vec::with_capacity(runs), against: Vec::with_capacity(runs) };
    for turn in 0..WARM_UP + runs {
        let (ours, against);
        // Whoever runs second finds warmer caches, so they take turns at that too.
        if turn % 2 == 0 {
            ours = once(entry.ours, bins)?;
            against = once(entry.against, bins)?;
        } else {
            against = once(entry.against, bins)?;
            ours = once(entry.ours, bins)?;
        }
        if turn >= WARM_UP {
            pairs.ours.push(ours);
            pairs.against.push(against);
        }
    }
    Ok(pairs)
}

fn once(argv: &[&str], bins: &Path) -> Result<Duration, Failure> {
    let [program, rest @ ..] = argv else { return Err("a benchmark without a command".to_owned()) };
    let built = bins.join(program);
    let mut command = Command::new(if built.is_file() { built } else { PathBuf::from(program) });
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    shell::run(&mut command)?;
    Ok(started.elapsed())
}

/// Smallest, middle and 95th-percentile value of a list that is not empty.
fn spread<T: Copy + PartialOrd>(values: &[T]) -> Option<[T; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let at =
        |hundredths: usize| sorted.get((sorted.len().saturating_sub(1) * hundredths).div_ceil(100)).copied();
    Some([at(0)?, at(50)?, at(95)?])
}

fn table(rows: &[(&str, Pairs)]) -> String {
    let mut text = String::from(
        "| what | ours min | median | p95 | against min | median | p95 | ours − against, median | ratio, median of pairs |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, pairs) in rows {
        let both = || pairs.ours.iter().zip(&pairs.against);
        let seconds: Vec<f64> =
            both().map(|(ours, against)| ours.as_secs_f64() - against.as_secs_f64()).collect();
        let ratios: Vec<f64> =
            both().map(|(ours, against)| ours.as_secs_f64() / against.as_secs_f64()).collect();
        let (Some(ours), Some(against)) = (spread(&pairs.ours), spread(&pairs.against)) else { continue };
        let (Some([_, difference, _]), Some([_, ratio, _])) = (spread(&seconds), spread(&ratios)) else {
            continue;
        };
        let cells = ours.iter().chain(&against).map(|time| milliseconds(time.as_secs_f64()));
        let cells =
            cells.chain([milliseconds(difference), format!("{ratio:.2}")]).collect::<Vec<_>>().join(" | ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {name} | {cells} |");
    }
    text
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1000.0)
}

fn page(table: &str, runs: usize) -> String {
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench`. Ours and what it is measured against run in turns, {runs} pairs after {WARM_UP} that are\n\
         not counted; the last two columns compare pair by pair, so that a busy moment meets both sides.\n\n\
         Machine: {processors} processors, Linux {}, {}; release build.\n\n{table}",
        kernel.trim(),
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
mod tests {
    use super::{Pairs, spread, table};
    use std::time::Duration;

    #[test]
    fn spread_is_smallest_middle_and_95th() {
        let values: Vec<u32> = (0..=100).rev().collect();
        assert_eq!(spread(&values), Some([0, 50, 95]));
        assert_eq!(spread(&[7]), Some([7, 7, 7]));
        assert_eq!(spread::<u32>(&[]), None);
    }

    #[test]
    fn pairs_are_compared_pair_by_pair() {
        let times = |list: [u64; 3]| list.map(Duration::from_millis).to_vec();
        let text = table(&[("x", Pairs { ours: times([20, 200, 30]), against: times([10, 100, 10]) })]);
        assert!(text.contains("| x | 20.000 ms | 30.000 ms | 200.000 ms | 10.000 ms |"), "{text}");
        assert!(text.contains("| 20.000 ms | 2.00 |"), "{text}");
    }
}
