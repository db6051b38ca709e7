//! A run on a terminal: a line that fits, and the reason why its last check failed.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_agent::event::{RunOutcome, UsageTotals};
use amplihack_export::make_visible;
use amplihack_orchestration::AutoProgress;
use amplihack_orchestration::budget::count_tokens;
use amplihack_orchestration::progress::{phase_name, verification_result_name};
use amplihack_orchestration::turns::VerificationResult;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns for the number and the first words of a task.
const TITLE: usize = 24;
/// The least columns for what a run does.
const STATE: usize = 28;

/// A run, as its line shows it.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgressRow {
    agent: Option<AgentBinary>,
    turn: u32,
    of: u32,
    state: String,
    /// The check that runs: its command, when it began, and how long it may take.
    checking: Option<(String, Duration, Duration)>,
    /// Reason why the last check failed; absent if it passed or none has run.
    failed: Option<String>,
    used: UsageTotals,
    /// The outcome, the end in one line, and when it came.
    ended: Option<(RunOutcome, String, Duration)>,
}

/// A line of the terminal, with its color.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TerminalLine {
    pub(super) text: String,
    pub(super) color: Option<LineColor>,
}

/// The color of a line, by what the line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineColor {
    /// A success.
    Green,
    /// An end that is none.
    Red,
    /// A check that failed.
    Yellow,
}

impl LineColor {
    /// The sequence that switches it on.
    pub(super) const fn escape_sequence(self) -> &'static str {
        match self {
            Self::Green => "\x1b[32m",
            Self::Red => "\x1b[31m",
            Self::Yellow => "\x1b[33m",
        }
    }
}

impl ProgressRow {
    /// Takes in what happened, `elapsed` after the beginning.
    pub(super) fn apply_progress(&mut self, progress: &AutoProgress, elapsed: Duration) {
        match progress {
            AutoProgress::Checking { .. } | AutoProgress::Used { .. } | AutoProgress::Notice { .. } => {}
            _ => self.checking = None,
        }
        match progress {
            AutoProgress::Began { .. } => "begins".clone_into(&mut self.state),
            AutoProgress::Baseline { baseline } => {
                self.state = format!("checks are {}", baseline.outcome.name());
            }
            AutoProgress::Checking { command, limit_seconds, .. } => {
                self.checking = Some((command.clone(), elapsed, Duration::from_secs(*limit_seconds)));
            }
            AutoProgress::Turn { turn, of, phase, agent, .. } => {
                (self.turn, self.of, self.agent) = (*turn, *of, Some(*agent));
                phase_name(*phase).clone_into(&mut self.state);
            }
            AutoProgress::Did { what } => self.state.clone_from(what),
            AutoProgress::Used { used } => self.used = *used,
            AutoProgress::Answered { how, .. } => self.state.clone_from(how),
            AutoProgress::Checked { verdict, .. } => {
                verification_result_name(verdict.outcome).clone_into(&mut self.state);
                self.failed = verdict.failed_checks().next().map(|check| match verdict.outcome {
                    VerificationResult::Unchanged => check.failure_line(),
                    _ => format!("check failed: {}", check.failure_line()),
                });
            }
            AutoProgress::Ended { end, used, headline, .. } => {
                self.used = *used;
                self.ended = Some((*end, headline.clone(), elapsed));
            }
            AutoProgress::Notice { .. } | AutoProgress::Kept { .. } => {}
        }
    }

    /// Reports whether the run has ended.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns the tokens and cost used by the run, and its time.
    fn usage_figures(&self, elapsed: Duration) -> String {
        let cost = self.used.cost_usd.map_or_else(String::new, |cost| format!(" ${cost:.4}"));
        format!(" · {} tokens{cost} · {}", count_tokens(&self.used), format_clock(elapsed))
    }

    /// Returns the current activity of the run, or its end, in at most `room` columns.
    fn state_text(&self, elapsed: Duration, room: usize) -> String {
        let shown = |text: &str| make_visible(text).replace('\n', " ");
        match (&self.ended, &self.checking) {
            (Some((_, headline, _)), _) => fit_width(&shown(headline), room),
            (None, Some((command, since, limit))) => {
                let time = format!(
                    " ({} of {})",
                    format_clock(elapsed.saturating_sub(*since)),
                    format_clock(*limit)
                );
                // The command gives way, not the time.
                let room = room.saturating_sub(time.width() + "checking: ".len());
                format!("checking: {}{time}", fit_width(&shown(command), room))
            }
            (None, None) => fit_width(&shown(&self.state), room),
        }
    }

    /// The lines of the run of the task `title`, `elapsed` after the beginning, in `width` columns.
    pub(super) fn render_lines(
        &self,
        title: Option<&str>,
        elapsed: Duration,
        width: usize,
    ) -> Vec<TerminalLine> {
        let elapsed = self.ended.as_ref().map_or(elapsed, |(.., at)| *at);
        let columns = TITLE.min(width / 3);
        let title =
            title.map_or_else(String::new, |title| format!("{} ", pad_width(&make_visible(title), columns)));
        let agent = self.agent.map_or("-", AgentBinary::name);
        let left = match &self.ended {
            Some(_) => title,
            None => format!("{title}{agent} {}/{} ", self.turn, self.of),
        };
        // In a narrow terminal the figures give way, the clock last.
        let room = width.saturating_sub(left.width());
        let figures = [self.usage_figures(elapsed), format!(" · {}", format_clock(elapsed))];
        let figures = figures.into_iter().find(|figures| STATE + figures.width() <= room).unwrap_or_default();
        let state = self.state_text(elapsed, room.saturating_sub(figures.width()));
        let text = fit_width(&format!("{left}{state}{figures}"), width);
        let color = self
            .ended
            .as_ref()
            .map(|(end, ..)| if end.is_success() { LineColor::Green } else { LineColor::Red });
        let mut lines = vec![TerminalLine { text, color }];
        if let (None, Some(failed)) = (&self.ended, &self.failed) {
            let text = fit_width(&format!("    {}", make_visible(failed).replace('\n', " ")), width);
            lines.push(TerminalLine { text, color: Some(LineColor::Yellow) });
        }
        lines
    }
}

/// `text`, or its beginning and an ellipsis, in at most `width` columns.
pub(crate) fn fit_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or_default();
        if used >= width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// `text` in exactly `width` columns.
fn pad_width(text: &str, width: usize) -> String {
    let text = fit_width(text, width);
    let missing = width.saturating_sub(text.width());
    text + &" ".repeat(missing)
}

/// A time as a clock shows it.
pub(crate) fn format_clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use amplihack_orchestration::turns::TurnPhase;
    use amplihack_orchestration::verify::{CheckResult, WorkVerification};
    use amplihack_session::EndEvidence;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn at_work() -> ProgressRow {
        let mut row = ProgressRow::default();
        let turn = AutoProgress::Turn {
            turn: 2,
            of: 10,
            phase: TurnPhase::Execute,
            agent: AgentBinary::Codex,
            launch: "l".to_owned(),
        };
        row.apply_progress(&turn, seconds(1));
        row.apply_progress(&AutoProgress::Did { what: "calls Bash".to_owned() }, seconds(2));
        let used = UsageTotals {
            input_tokens: 1200,
            output_tokens: 34,
            cost_usd: Some(0.5),
            ..UsageTotals::default()
        };
        row.apply_progress(&AutoProgress::Used { used }, seconds(3));
        row
    }

    fn refuted(found: &str) -> AutoProgress {
        let check = CheckResult { what: "`cargo test`".to_owned(), passed: false, found: found.to_owned() };
        let verdict = WorkVerification {
            outcome: VerificationResult::Refuted,
            checks: vec![check],
            changed: Some(true),
            check_changed: Vec::new(),
        };
        AutoProgress::Checked { turn: 2, verdict }
    }

    fn ended(end: RunOutcome, headline: &str) -> AutoProgress {
        AutoProgress::Ended {
            end,
            reason: String::new(),
            evidence: EndEvidence::Nothing,
            turns: 2,
            used: UsageTotals { input_tokens: 9, ..UsageTotals::default() },
            denied: Vec::new(),
            changed: None,
            baseline: None,
            limit: None,
            check_changed: Vec::new(),
            headline: headline.to_owned(),
        }
    }

    fn shown(row: &ProgressRow, title: Option<&str>, elapsed: u64, width: usize) -> String {
        let lines: Vec<String> =
            row.render_lines(title, seconds(elapsed), width).into_iter().map(|line| line.text).collect();
        for line in &lines {
            assert!(line.width() <= width, "{} columns: {line}", line.width());
        }
        lines.join("\n")
    }

    #[test]
    fn a_run_is_one_line_that_fits() {
        let row = at_work();
        let title = Some("2 修正解析器，使它接受所有輸入 and more of it");
        insta::assert_snapshot!(
            [
                shown(&row, None, 75, 80),
                shown(&row, Some("1 fix the parser"), 75, 80),
                shown(&row, title, 4000, 80),
                shown(&row, title, 75, 40),
            ]
            .join("\n"),
            @r"
        codex 2/10 calls Bash · 1234 tokens $0.5000 · 1:15
        1 fix the parser         codex 2/10 calls Bash · 1:15
        2 修正解析器，使它接受…  codex 2/10 calls Bash · 1:06:40
        2 修正解析器… codex 2/10 calls Bash
        "
        );
    }

    #[test]
    fn a_check_is_shown_while_it_runs_and_why_it_failed_after_it() {
        let mut row = at_work();
        let command = "cargo test --workspace --all-features --no-fail-fast".to_owned();
        row.apply_progress(&AutoProgress::Checking { turn: 2, command, limit_seconds: 600 }, seconds(10));
        let checking = shown(&row, Some("1 fix the parser"), 22, 80);
        row.apply_progress(
            &refuted("it ended with exit code 101\nrunning 3 tests\n\ntest result: FAILED. 2 failed\n"),
            seconds(30),
        );
        let failed = shown(&row, Some("1 fix the parser"), 31, 80);
        row.apply_progress(&AutoProgress::Did { what: "calls \u{1b}[31mBash".to_owned() }, seconds(40));
        insta::assert_snapshot!([checking, failed, shown(&row, None, 41, 80)].join("\n"), @r"
        1 fix the parser         codex 2/10 checking: cargo test… (0:12 of 10:00) · 0:22
        1 fix the parser         codex 2/10 check failed · 0:31
            check failed: `cargo test`: test result: FAILED. 2 failed
        codex 2/10 calls [U+001B][31mBash · 1234 tokens $0.5000 · 0:41
            check failed: `cargo test`: test result: FAILED. 2 failed
        ");
    }

    #[test]
    fn an_end_is_one_line_whose_clock_stands_still() {
        let mut row = at_work();
        row.apply_progress(&refuted("no"), seconds(50));
        row.apply_progress(
            &ended(RunOutcome::Verified, "verified (red → green): the check passed"),
            seconds(61),
        );
        let lines = row.render_lines(Some("1 fix the parser"), seconds(900), 80);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].color, Some(LineColor::Green));
        assert!(lines[0].text.ends_with(" · 9 tokens · 1:01"), "{lines:?}");
        row.apply_progress(&ended(RunOutcome::Stalled, "stalled: x"), seconds(70));
        assert_eq!(row.render_lines(None, seconds(900), 80)[0].color, Some(LineColor::Red));
    }
}
