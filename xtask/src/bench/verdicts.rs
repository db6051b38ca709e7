//! The first table of the page: what contracts and we ourselves ask of the speed, and whether the figures below it keep that.
//!
//! It is read out of the page's own tables, so that it can say nothing else than they do.

use std::fmt::Write as _;

/// What the section of `docs/benchmarks.md` begins with.
pub(crate) const HEADING: &str = "## Goals and results";

/// What is asked of a figure.
enum Bound {
    Most(f64),
    Least(f64),
    /// No more than this many times the same figure of another row.
    MostTimes(f64, &'static str),
    /// No less than that.
    LeastTimes(f64, &'static str),
}

use Bound::{Least, LeastTimes, Most, MostTimes};

/// Something that is asked for, and where it is measured.
struct Line {
    /// The page that asks: a contract, or `own`.
    of: &'static str,
    asked: &'static str,
    /// What the row's name begins with.
    row: &'static str,
    /// The column's title.
    column: &'static str,
    /// Which figure of the cell: cells with several have ` / ` between them.
    part: usize,
    bound: Bound,
}

const fn line(
    of: &'static str,
    asked: &'static str,
    row: &'static str,
    column: &'static str,
    part: usize,
    bound: Bound,
) -> Line {
    Line { of, asked, row, column, part, bound }
}

const OURS: &str = "ours: min / median / p95";
const MORE: &str = "difference, median";
const RATIO: &str = "ratio, median";
const ALONE: &str = "min / median / p95";
const SPEED: &str = "MB/s of CPU";
const PEAK: &str = "peak, MB";

const LAUNCH: &str = "own, launches";
const HOOKS: &str = "hooks";
const OWN_HOOKS: &str = "own, hooks";
const STREAMS: &str = "sessions and Amp SDK";
const RECIPES: &str = "recipes";
const AUTO: &str = "own, unattended";
const REMOTE: &str = "remote";
const SCAN: &str = "own, remote";
const OWN: &str = "own, commands";

/// Seconds.
const MS: f64 = 1e-3;
const US: f64 = 1e-6;

const LINES: &[Line] = &[
    line(
        LAUNCH,
        "first byte of the agent ≤ 3 ms later",
        "launch, to the agent's first byte",
        MORE,
        0,
        Most(3.0 * MS),
    ),
    line(LAUNCH, "end of the agent ≤ 5 ms later", "launch, to its end", MORE, 0, Most(5.0 * MS)),
    line(
        LAUNCH,
        "resolver ≤ 1.3 × the bare walk, 8 deep",
        "resolver, no context file, 8 below",
        RATIO,
        0,
        Most(1.3),
    ),
    line(LAUNCH, "the same, 30 deep", "resolver, no context file, 30 below", RATIO, 0, Most(1.3)),
    line(
        HOOKS,
        "whole process ≤ 1.3 × `/bin/true`",
        "guard, as `tar` unpacks it: `cargo",
        RATIO,
        0,
        Most(1.3),
    ),
    line(
        OWN_HOOKS,
        "`ls -la` ≤ 0.85 × `/bin/true`, after `tar`",
        "guard, as `tar` unpacks it: `ls",
        RATIO,
        0,
        Most(0.85),
    ),
    line(
        OWN_HOOKS,
        "the same, read again",
        "guard, read again, as after a reboot: `ls",
        RATIO,
        0,
        Most(0.85),
    ),
    line(OWN_HOOKS, "the same, a copy just made", "guard, a copy just made: `ls", RATIO, 0, Most(0.85)),
    line(
        OWN_HOOKS,
        "all parsers ≤ 1.2 × `/bin/true`, after `tar`",
        "guard, as `tar` unpacks it: `X=",
        RATIO,
        0,
        Most(1.2),
    ),
    line(
        OWN_HOOKS,
        "all parsers, read again",
        "guard, read again, as after a reboot: `X=",
        RATIO,
        0,
        Most(1.2),
    ),
    line(OWN_HOOKS, "all parsers, a copy just made", "guard, a copy just made: `X=", RATIO, 0, Most(1.2)),
    line(
        OWN_HOOKS,
        "registered command, by `sh`, ≤ 2.0 × `/bin/true`",
        "the command that a launch registers",
        RATIO,
        0,
        Most(2.0),
    ),
    line(HOOKS, "judged cold ≤ 250 µs", "the guard's part of a whole process", ALONE, 1, Most(250.0 * US)),
    line(HOOKS, "warm p50 ≤ 25 µs", "judging twelve everyday commands", ALONE, 1, Most(25.0 * US)),
    line(HOOKS, "warm p99 ≤ 250 µs", "judging twelve everyday commands", "p99", 0, Most(250.0 * US)),
    line(
        HOOKS,
        "here-document of 64 KiB ≤ 5 ms",
        "judging a here-document of 64 KiB",
        ALONE,
        1,
        Most(5.0 * MS),
    ),
    line(
        HOOKS,
        "linear in input: 256 KiB ≤ 5 × 64 KiB",
        "judging a here-document of 256 KiB",
        ALONE,
        1,
        MostTimes(5.0, "judging a here-document of 64 KiB"),
    ),
    line(
        HOOKS,
        "a hostile script is judged or denied within 50 ms, p95",
        "judging hostile scripts",
        ALONE,
        2,
        Most(50.0 * MS),
    ),
    line(
        STREAMS,
        "Amp's stream ≥ 300 MB/s of CPU, the CLI's included",
        "**`amp-sdk`**",
        SPEED,
        0,
        Least(300.0),
    ),
    line(STREAMS, "Claude Code's stream, the same", "**`amplihack-session`**", SPEED, 0, Least(300.0)),
    line(STREAMS, "decoder of Amp ≥ 300 MB/s", "amp | ", SPEED, 0, Least(300.0)),
    line(STREAMS, "decoder of Claude Code", "claude | ", SPEED, 0, Least(300.0)),
    line(STREAMS, "decoder of Codex", "codex | ", SPEED, 0, Least(300.0)),
    line(STREAMS, "decoder of Copilot", "copilot | ", SPEED, 0, Least(300.0)),
    line(STREAMS, "peak ≤ 10 MB and twice the longest line, of Amp", "**`amp-sdk`**", PEAK, 0, Most(10.1)),
    line(STREAMS, "the same with a line of 60 MB", "amp | one line of 60 MB", PEAK, 0, Most(130.0)),
    line(
        STREAMS,
        "≥ 6 × Amp's SDK for Python by CPU",
        "Amp's SDK for Python",
        "its CPU over ours",
        0,
        Least(6.0),
    ),
    line(
        STREAMS,
        "≥ 10 × claude-agent-sdk by CPU",
        "`claude-agent-sdk`",
        "its CPU over ours",
        0,
        Least(10.0),
    ),
    line(
        STREAMS,
        "a line of 20 MB in linear time: ≥ 0.7 × the speed of 1 MB",
        "amp | one line of 20 MB",
        SPEED,
        0,
        LeastTimes(0.7, "amp | one line of 1 MB"),
    ),
    line(RECIPES, "≤ 0.3 ms a step: 100 steps ≤ 30 ms", "100 steps", MORE, 0, Most(30.0 * MS)),
    line(RECIPES, "start ≤ 3 ms", "start: `amplihack recipe run`", MORE, 0, Most(3.0 * MS)),
    line(RECIPES, "start of `recipe-runner-rs` ≤ 3 ms", "start: `recipe-runner-rs`", MORE, 0, Most(3.0 * MS)),
    line(
        RECIPES,
        "a value of 10 MB costs 99 steps that do not use it nothing: ≤ 1.25 × what it costs once",
        "a value of 10 MB that nothing uses, 100 steps",
        MORE,
        0,
        MostTimes(1.25, "a value of 10 MB that nothing uses, one step"),
    ),
    line(RECIPES, "50 parallel steps of 0.5 s ≤ 0.65 s", "50 parallel steps", OURS, 1, Most(650.0 * MS)),
    line(
        AUTO,
        "a run of one turn ≤ 150 ms more than its agent",
        "an unattended run of one turn",
        MORE,
        0,
        Most(150.0 * MS),
    ),
    line(AUTO, "a turn ≤ 100 ms more", "an unattended run of three turns", MORE, 0, Most(200.0 * MS)),
    line(REMOTE, "`list` of 1,000 sessions ≤ 50 ms", "`amplihack remote list`", OURS, 1, Most(50.0 * MS)),
    line(
        REMOTE,
        "`status` among 1,000 sessions ≤ 50 ms",
        "`amplihack remote status`",
        OURS,
        1,
        Most(50.0 * MS),
    ),
    line(
        SCAN,
        "a change of a state of 1,000 ≤ 50 ms",
        "a session added to a state",
        ALONE,
        1,
        Most(50.0 * MS),
    ),
    line(
        SCAN,
        "search for secrets ≥ 100 MB/s of a history: 20 MB ≤ 200 ms",
        "packaging a history",
        MORE,
        0,
        Most(200.0 * MS),
    ),
    line(
        SCAN,
        "search for secrets ≥ 200 MB/s of CPU",
        "**`amplihack_secrets::scan_file`** | ",
        SPEED,
        0,
        Least(200.0),
    ),
    line(OWN, "`sessions list` of 500 runs ≤ 50 ms", "`amplihack sessions list`", OURS, 1, Most(50.0 * MS)),
    line(
        OWN,
        "`sessions search` through 500 runs ≤ 150 ms",
        "`amplihack sessions search`",
        OURS,
        1,
        Most(150.0 * MS),
    ),
    line(
        OWN,
        "`sessions export --html` of 2 MB ≤ 150 ms",
        "`amplihack sessions export --html`",
        OURS,
        1,
        Most(150.0 * MS),
    ),
    line(
        OWN,
        "`sessions export --otel` of 2 MB ≤ 100 ms",
        "`amplihack sessions export --otel`",
        OURS,
        1,
        Most(100.0 * MS),
    ),
    line(OWN, "`install` ≤ 50 ms", "`amplihack install", OURS, 1, Most(50.0 * MS)),
    line(OWN, "`completions` ≤ 20 ms", "`amplihack completions", OURS, 1, Most(20.0 * MS)),
];

/// The section for a page with these tables.
pub(crate) fn section(page: &str) -> String {
    let mut text = format!(
        "{HEADING}\n\n`cargo xtask bench` reads these out of the tables below. A figure is the median unless its goal says otherwise. Goals that we set ourselves,\n\
         beyond the project's contracts, begin with \"own\".\n\n\
         | topic | goal | measured in the row | measured | met |\n|---|---|---|---|---|\n"
    );
    let mut missed = 0;
    for line in LINES {
        let (measured, kept) = match line.judged(page) {
            Some((shown, true)) => (shown, "yes"),
            Some((shown, false)) => {
                missed += 1;
                (shown, "**no**")
            }
            None => {
                missed += 1;
                ("not measured".to_owned(), "**unknown**")
            }
        };
        let row = line.row.trim_end_matches(" | ").replace(" | ", ", ");
        let _ = writeln!(text, "| {} | {} | {row} … | {measured} | {kept} |", line.of, line.asked);
    }
    let _ = writeln!(text, "\n{} of {} goals are met.", LINES.len() - missed, LINES.len());
    text
}

impl Line {
    /// The figure as the page shows it, and whether it is as it should be; `None` if the page does not have it.
    fn judged(&self, page: &str) -> Option<(String, bool)> {
        let cell = |row| cell(page, row, self.column, self.part);
        let shown = cell(self.row)?;
        let value = value(shown)?;
        let other = |row| cell(row).and_then(self::value);
        Some(match self.bound {
            Most(most) => (shown.to_owned(), value <= most),
            Least(least) => (shown.to_owned(), value >= least),
            MostTimes(times, row) => against(shown, value / other(row)?, |ratio| ratio <= times),
            LeastTimes(times, row) => against(shown, value / other(row)?, |ratio| ratio >= times),
        })
    }
}

fn against(shown: &str, ratio: f64, kept: impl Fn(f64) -> bool) -> (String, bool) {
    (format!("{shown}: {ratio:.2} ×"), kept(ratio))
}

/// A figure in the first row of `page` that begins with `row` and stands in a table with the column `column`.
fn cell<'a>(page: &'a str, row: &str, column: &str, part: usize) -> Option<&'a str> {
    let mut titles: Option<usize> = None;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_some_and(|next| next.starts_with("|---")) {
            titles = cells(line).position(|title| title == column);
        } else if let (Some(at), Some(rest)) = (titles, line.strip_prefix("| "))
            && rest.starts_with(row)
        {
            return cells(line).nth(at)?.split(" / ").nth(part);
        }
    }
    None
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.trim_matches('|').split('|').map(str::trim)
}

/// A figure with its unit, in seconds where that is one of time.
fn value(shown: &str) -> Option<f64> {
    let (number, unit) = shown.split_once(' ').unwrap_or((shown, ""));
    let number: f64 = number.parse().ok()?;
    match unit {
        "" => Some(number),
        "ms" => Some(number * MS),
        "µs" => Some(number * US),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| what | ours: min / median / p95 | difference, median |\n|---|---|---|\n\
| list: 5 | 1.00 ms / 2.00 ms / 9.00 ms | -5.0 µs |\n| list: 6 | 1 / 2 / 3 | 1.00 ms |\n\n\
| decoder | MB/s of CPU |\n|---|---|\n| list: 5 | 300 |\n";

    fn judged(row: &'static str, column: &'static str, part: usize, bound: Bound) -> Option<(String, bool)> {
        line("x", "y", row, column, part, bound).judged(PAGE)
    }

    #[test]
    fn a_figure_is_found_by_row_column_and_part() {
        let shown = |text: &str, kept| Some((text.to_owned(), kept));
        assert_eq!(judged("list: 5", OURS, 1, Most(2.0 * MS)), shown("2.00 ms", true));
        assert_eq!(judged("list: 5", OURS, 2, Most(2.0 * MS)), shown("9.00 ms", false));
        assert_eq!(judged("list: 5", MORE, 0, Most(0.0)), shown("-5.0 µs", true));
        assert_eq!(judged("list: 5", SPEED, 0, Least(300.0)), shown("300", true));
        assert_eq!(judged("list: 6", MORE, 0, MostTimes(2.0, "list: 5")), shown("1.00 ms: -200.00 ×", true));
        assert_eq!(judged("list: 5", OURS, 1, LeastTimes(1.0, "list: 6")), shown("2.00 ms: 0.00 ×", false));
        for missing in [
            judged("list: 7", OURS, 1, Most(1.0)),
            judged("list: 5", RATIO, 0, Most(1.0)),
            judged("list: 5", OURS, 3, Most(1.0)),
        ] {
            assert_eq!(missing, None);
        }
    }

    /// A `|` in a name would move every figure behind it into another column.
    #[test]
    fn every_row_of_the_page_has_the_cells_of_its_table() {
        let page = std::fs::read_to_string(crate::shell::root().join("docs/benchmarks.md")).unwrap();
        let mut width = 0;
        let lines: Vec<&str> = page.lines().collect();
        for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
            if next.starts_with("|---") {
                width = cells(line).count();
            } else if line.starts_with("| ") {
                assert_eq!(cells(line).count(), width, "{line}");
            }
        }
    }

    /// The committed page has every row that a line names: a row that was renamed would be unknown for ever.
    #[test]
    fn every_line_is_measured_on_the_page() {
        let page = std::fs::read_to_string(crate::shell::root().join("docs/benchmarks.md")).unwrap();
        let unknown: Vec<&str> =
            LINES.iter().filter(|line| line.judged(&page).is_none()).map(|line| line.asked).collect();
        assert_eq!(unknown, [""; 0]);
        assert!(page.contains(HEADING), "the page opens with the table");
    }
}
