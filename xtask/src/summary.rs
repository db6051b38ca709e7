//! What test runners said at their end, added up.

use std::fmt;

/// How many tests passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed, timed out ones included.
    pub(crate) failed: u64,
    /// Tests that were not run.
    pub(crate) skipped: u64,
}

impl Summary {
    /// Takes one line of a runner's output into account; lines that are no closing line change nothing.
    ///
    /// nextest closes with `Summary [   1.2s] 12 tests run: 10 passed, 1 failed, 1 timed out, 3 skipped`,
    /// cargo's own runner with `test result: ok. 5 passed; 0 failed; 1 ignored; …`, once for each test program.
    pub(crate) fn read(&mut self, line: &str) {
        // nextest shows a failed test's own closing line too, indented; only cargo's begins the line.
        let counts = if let Some(result) = line.strip_prefix("test result: ") {
            result
        } else if line.trim_start().starts_with("Summary [") {
            line.split_once(" run: ").map_or("", |(_, counts)| counts)
        } else {
            return;
        };
        for part in counts.split([',', ';', '.']) {
            // `12 passed (2 slow)`, `1 timed out`: the number stands before the word that counts.
            let words: Vec<&str> = part.split_whitespace().collect();
            let [number, word, ..] = words[..] else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" | "timed" | "exec" => self.failed += number,
                "skipped" | "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Adds another runner's counts.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    fn read(lines: &[&str]) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            summary.read(line);
        }
        summary
    }

    #[test]
    fn nextest_s_closing_line_is_read() {
        let line = "     Summary [   0.250s] 14 tests run: 10 passed (2 slow), 2 failed, 1 timed out, 1 exec failed, 3 skipped";
        assert_eq!(read(&[line]), Summary { passed: 10, failed: 4, skipped: 3 });
        let line = "     Summary [   0.250s] 4/14 tests run: 4 passed, 0 skipped";
        assert_eq!(read(&[line]), Summary { passed: 4, failed: 0, skipped: 0 });
    }

    #[test]
    fn cargo_s_closing_lines_are_added_up() {
        let line =
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s";
        let failed = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(read(&[line, failed, "test x ... ok"]), Summary { passed: 6, failed: 2, skipped: 1 });
    }

    #[test]
    fn other_lines_change_nothing() {
        assert_eq!(
            read(&[
                "5 passed; 3 failed",
                "    test result: FAILED. 0 passed; 1 failed",
                "PASS [ 0.1s] 1 failed",
                ""
            ]),
            Summary::default()
        );
    }
}
