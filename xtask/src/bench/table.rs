//! The measured times as a table, and the page around it.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use super::alone::Row;
use super::measure::{Pairs, WARM_UP};

/// Smallest, middle and 95th-percentile value.
const USUAL: [usize; 3] = [0, 50, 95];

/// The values at these hundredths of a list that is not empty.
fn spread<T: Copy + PartialOrd, const N: usize>(values: &[T], hundredths: [usize; N]) -> Option<[T; N]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let last = sorted.len().checked_sub(1)?;
    Some(hundredths.map(|hundredths| sorted[(last * hundredths.min(100)).div_ceil(100)]))
}

/// The middle one of some figures; 0 of none.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    spread(&values, [50]).map_or(0.0, |[middle]| middle)
}

/// One line an entry: its name, its goal, its times.
pub(crate) fn table(rows: &[(String, &str, Pairs)]) -> String {
    let mut text = String::from(
        "| what | ours: min / median / p95 | against: min / median / p95 | difference, median | ratio, median | goal |\n\
         |---|---|---|---|---|---|\n",
    );
    for (name, goal, pairs) in rows {
        let both = || pairs.ours.iter().zip(&pairs.against).map(|(a, b)| (a.as_secs_f64(), b.as_secs_f64()));
        let differences: Vec<f64> = both().map(|(ours, against)| ours - against).collect();
        let ratios: Vec<f64> = both().map(|(ours, against)| ours / against).collect();
        let (Some(ours), Some(against)) = (spread(&pairs.ours, USUAL), spread(&pairs.against, USUAL)) else {
            continue;
        };
        let (Some([_, difference, _]), Some([_, ratio, _])) =
            (spread(&differences, USUAL), spread(&ratios, USUAL))
        else {
            continue;
        };
        let cell = |times: [Duration; 3]| times.map(|time| shown(time.as_secs_f64())).join(" / ");
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {ratio:.2} | {goal} |",
            cell(ours),
            cell(against),
            shown(difference)
        );
    }
    text
}

/// One line for each thing that is measured by itself.
pub(crate) fn alone(rows: &[Row]) -> String {
    let mut text =
        String::from("| what | min / median / p95 | p99 | slowest | goal |\n|---|---|---|---|---|\n");
    for (name, goal, times) in rows {
        let Some(parts) = spread(times, [0, 50, 95, 99, 100]) else { continue };
        let [least, middle, high, higher, most] = parts.map(|time| shown(time.as_secs_f64()));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {name} | {least} / {middle} / {high} | {higher} | {most} | {goal} |");
    }
    text
}

fn shown(seconds: f64) -> String {
    if seconds.abs() < 1e-4 {
        format!("{:.1} µs", seconds * 1e6)
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}

/// The whole page.
pub(crate) fn page(table: &str, alone: &str, calls: &str, runs: usize) -> String {
    format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench`, which builds in release mode (the hook binary as `cargo xtask dist` does), measures and\n\
         replaces this page; `--runs N` sets the number of pairs, `--bins DIR` measures programs that are built already and writes nothing.\n\n\
         Both sides of a line run in turns, {runs} pairs after {WARM_UP} that are not counted, with the same environment and directory, stdout\n\
         `/dev/null`, and stdin `/dev/null` or, for the guard and what it is measured by, a file with Claude Code's payload. Difference and ratio are taken pair by pair, so that a busy moment meets both sides. The floor tells how quiet the\n\
         machine was: where its p95 is far above its median, other work ran, and differences are too large. The agent is the test kit's\n\
         `fake-agent`: it reads its stdin to the end, reports to the launch as hooks do, says one word and ends. Its version is in the cache, as in every launch but the\n\
         first; the repository has settings, a skill and an agent for Claude Code, which a launch looks at.\n\n\
         The guard is measured in three states of its file, since a start maps the program and that depends on how the file came into memory: a copy just\n\
         made, which lies there in large pieces; as `tar` unpacks a release; and read again after the kernel was told to forget it, as after a reboot, which is\n\
         the state of `/bin/true` too. The command that a launch registers is taken from a session that runs beside it and receives its reports.\n\n\
         Machine: {}. {}\n\n{table}\n\
         Measured by themselves. The guard's part is what its audit says of the runs above: one process a call, from its first line to its\n\
         verdict. The others are made in one process by an example of `amplihack-policy`; the hostile scripts are those of the test kit, each once,\n\
         the best of three.\n\n{alone}\n{calls}",
        machine(),
        load(&fs::read_to_string("/proc/loadavg").unwrap_or_default()),
    )
}

/// A word about other work on the machine, by the kernel's averages over one, five and fifteen minutes.
fn load(averages: &str) -> String {
    /// What a benchmark that runs alone makes of it, and some more.
    const ALONE: f64 = 1.5;
    let Some(minutes) = averages.split(' ').nth(1).and_then(|word| word.parse::<f64>().ok()) else {
        return String::new();
    };
    if minutes <= ALONE {
        return format!(
            "It had nothing else to do: the load was {minutes:.1}, of which 1 is the benchmark's own."
        );
    }
    format!(
        "**It was shared with other work: the load was {minutes:.1}, of which 1 is the benchmark's own. Times are upper bounds.**"
    )
}

/// The machine without its name.
fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let kernel = read("/proc/sys/kernel/osrelease");
    let model = model.unwrap_or("an unnamed processor").trim();
    format!("{model}, {processors} of its processors, Linux {}, {}", kernel.trim(), std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::{Pairs, USUAL, spread, table};
    use std::time::Duration;

    #[test]
    fn a_shared_machine_is_told() {
        assert!(
            super::load("0.90 1.04 0.80 1/200 77")
                .starts_with("It had nothing else to do: the load was 1.0,")
        );
        assert!(
            super::load("3.10 14.21 9.00 7/200 77")
                .starts_with("**It was shared with other work: the load was 14.2,")
        );
        assert_eq!(super::load(""), "");
    }

    #[test]
    fn spread_is_smallest_middle_and_95th() {
        let values: Vec<u32> = (0..=100).rev().collect();
        assert_eq!(spread(&values, USUAL), Some([0, 50, 95]));
        assert_eq!(spread(&[7], [0, 100]), Some([7, 7]));
        assert_eq!(spread::<u32, 3>(&[], USUAL), None);
    }

    #[test]
    fn pairs_are_compared_pair_by_pair() {
        let times = |list: [u64; 3]| list.map(Duration::from_millis).to_vec();
        let pairs = Pairs { ours: times([20, 200, 30]), against: times([10, 100, 10]) };
        let text = table(&[("x".to_owned(), "≤ 9 ms", pairs)]);
        assert!(
            text.contains("| x | 20.00 ms / 30.00 ms / 200.00 ms | 10.00 ms / 10.00 ms / 100.00 ms |"),
            "{text}"
        );
        assert!(text.contains("| 20.00 ms | 2.00 | ≤ 9 ms |"), "{text}");
    }

    #[test]
    fn what_is_measured_by_itself_has_its_slowest_time_too() {
        let times = (1..=1000).map(Duration::from_micros).collect();
        let text = super::alone(&[("x", "≤ 1 ms", times)]);
        let row = "| x | 1.0 µs / 0.50 ms / 0.95 ms | 0.99 ms | 1.00 ms | ≤ 1 ms |";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn short_times_are_shown_in_microseconds() {
        assert_eq!(super::shown(0.000_012_34), "12.3 µs");
        assert_eq!(super::shown(-0.000_5), "-0.50 ms");
    }
}
