//! Display of unattended runs: a line per run on a terminal, plain lines elsewhere; or objects for a program.

mod row;

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::time::Instant;

use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_orchestration::progress::{phase_name, verification_result_name};
use amplihack_orchestration::snapshots::DiffStat;
use amplihack_orchestration::turns::VerificationResult;
use amplihack_orchestration::verify::BaselineOutcome;
use amplihack_orchestration::{AutoProgress, AutoRunSummary};
use amplihack_sys::push_line;
use serde::Serialize;

use crate::ui::{self, json_line};
use row::{ProgressRow, TerminalLine};

pub(crate) use row::{fit_width, format_clock};

/// The size that is assumed of a terminal that does not tell it.
const SIZE: (usize, usize) = (80, 24);

/// Shows runs.
pub(crate) struct ProgressDisplay {
    json: bool,
    live: bool,
    colors: bool,
    /// The first words of each task; empty for a single run, whose task is its user's alone.
    titles: Vec<String>,
    runs: RefCell<Vec<DisplayedRun>>,
    /// Lines that stand on the terminal and are drawn anew.
    drawn: Cell<usize>,
}

/// A run that has begun.
struct DisplayedRun {
    number: usize,
    row: ProgressRow,
    started: Instant,
}

#[derive(Serialize)]
struct ProgressObject<'a> {
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(flatten)]
    progress: &'a AutoProgress,
}

impl ProgressDisplay {
    /// A board for a person, or for a program; of several tasks if there are `titles`.
    pub(crate) fn new(json: bool, titles: Vec<String>, env: &Env) -> Self {
        let is_dumb = env.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let live = !json && !is_dumb && std::io::stderr().is_terminal();
        let colors = live && env.get("NO_COLOR").is_none_or(OsStr::is_empty);
        Self { json, live, colors, titles, runs: RefCell::default(), drawn: Cell::new(0) }
    }

    /// Reports whether lines are redrawn in place.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Shows what happened in the run `id` of the task `number`, from 0.
    pub(crate) fn show_progress(&self, number: usize, id: &SessionId, progress: &AutoProgress) {
        let title = self.titles.get(number);
        if self.json {
            let task = title.map(|_| number + 1);
            let object =
                ProgressObject { run: id.as_str(), task, title: title.map(String::as_str), progress };
            if let Ok(text) = json_line(&object) {
                // Whoever stopped reading does not end the run.
                let _ = ui::print_data(&text);
            }
            return;
        }
        self.update_row(number, progress);
        let label = title.map_or_else(String::new, |title| format!("task {} ({title}): ", number + 1));
        let words = progress_text(progress, title.is_some());
        if !self.live {
            if let Some(words) = words {
                ui::print_line(&format!("{label}{words}"));
            }
            return;
        }
        if let (AutoProgress::Notice { .. }, Some(words)) = (progress, words) {
            self.clear_lines();
            ui::print_line(&format!("{label}{words}"));
        }
        self.draw_lines();
    }

    fn update_row(&self, number: usize, progress: &AutoProgress) {
        let mut runs = self.runs.borrow_mut();
        let place = runs.iter().position(|run| run.number == number).unwrap_or_else(|| {
            runs.push(DisplayedRun { number, row: ProgressRow::default(), started: Instant::now() });
            runs.len() - 1
        });
        if let Some(run) = runs.get_mut(place) {
            run.row.apply_progress(progress, run.started.elapsed());
        }
    }

    /// Redraws the lines, since time advanced.
    pub(crate) fn redraw_lines(&self) {
        self.draw_lines();
    }

    fn clear_lines(&self) {
        let lines = self.drawn.replace(0);
        if lines > 0 {
            ui::write_stderr(&format!("\x1b[{lines}A\x1b[J"));
        }
    }

    fn draw_lines(&self) {
        let (width, height) = terminal_size();
        let lines = self.visible_lines(width, height.saturating_sub(1).max(1));
        let mut text = String::new();
        for TerminalLine { text: line, color } in &lines {
            let (on, off) =
                color.filter(|_| self.colors).map_or(("", ""), |color| (color.escape_sequence(), "\x1b[m"));
            push_line!(text, "\x1b[2K{on}{line}{off}");
        }
        self.clear_lines();
        self.drawn.set(lines.len());
        ui::write_stderr(&text);
    }

    /// At most `height` lines, those of runs that have ended last.
    fn visible_lines(&self, width: usize, height: usize) -> Vec<TerminalLine> {
        let runs = self.runs.borrow();
        let of = |run: &DisplayedRun| {
            let title = self.titles.get(run.number).map(|title| format!("{} {title}", run.number + 1));
            run.row.render_lines(title.as_deref(), run.started.elapsed(), width)
        };
        let all: Vec<TerminalLine> = runs.iter().flat_map(of).collect();
        if all.len() <= height {
            return all;
        }
        let mut lines: Vec<TerminalLine> =
            runs.iter().filter(|run| !run.row.has_ended()).flat_map(of).collect();
        lines.truncate(height.saturating_sub(1));
        let ended = runs.iter().filter(|run| run.row.has_ended()).count();
        let text = fit_width(&format!("… {} begun, {ended} of them ended", runs.len()), width);
        lines.push(TerminalLine { text, color: None });
        lines
    }
}

/// Columns and rows of the terminal.
fn terminal_size() -> (usize, usize) {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map_or(SIZE, |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Returns one plain line for progress that is worth one. The end of a single run is printed when all have ended.
fn progress_text(progress: &AutoProgress, is_one_of_many: bool) -> Option<String> {
    Some(match progress {
        AutoProgress::Began { resumed, directory, branch } => {
            let how = if *resumed { "continues" } else { "begins" };
            let branch = branch.as_ref().map(|branch| format!(" on the branch {branch}")).unwrap_or_default();
            format!("{how} in {directory}{branch}")
        }
        AutoProgress::Baseline { baseline } => {
            let failed = baseline.checks.iter().find(|check| check.outcome != BaselineOutcome::Green);
            let what = match failed {
                Some(check) => format!("`{}`", check.command),
                None => "every check passes already".to_owned(),
            };
            format!("before the first turn: {}: {what}", baseline.outcome.name())
        }
        AutoProgress::Checking { turn, command, limit_seconds } => {
            let when = if *turn == 0 { "before the first turn".to_owned() } else { format!("turn {turn}") };
            let limit = format_clock(std::time::Duration::from_secs(*limit_seconds));
            format!("{when}: checking: `{command}` (at most {limit})")
        }
        AutoProgress::Turn { turn, of, phase, agent, .. } => {
            format!("turn {turn} of {of}: {agent}, {}", phase_name(*phase))
        }
        AutoProgress::Answered { turn, how } => format!("turn {turn}: {how}"),
        AutoProgress::Notice { message } => format!("warning: {message}"),
        AutoProgress::Kept { worktree, reason } => format!("the worktree {worktree} is kept: {reason}"),
        AutoProgress::Checked { turn, verdict } => {
            let failed = verdict.failed_checks().next().map(|check| format!(": {}", check.failure_line()));
            let failed =
                failed.filter(|_| verdict.outcome == VerificationResult::Refuted).unwrap_or_default();
            format!("turn {turn}: {}{failed}", verification_result_name(verdict.outcome))
        }
        AutoProgress::Ended { headline, turns, .. } if is_one_of_many => {
            format!("{headline} (turns: {turns})")
        }
        AutoProgress::Did { .. } | AutoProgress::Used { .. } | AutoProgress::Ended { .. } => return None,
    })
}

/// The size of a change in words: `+12 −3 in 2 files`.
pub(crate) fn diff_size(stat: DiffStat) -> String {
    let files = if stat.files == 1 { "1 file".to_owned() } else { format!("{} files", stat.files) };
    format!("+{} −{} in {files}", stat.added, stat.removed)
}

/// Returns the report of a run at its end, one fact a line.
pub(crate) fn end_report(summary: &AutoRunSummary) -> String {
    let mut out = String::new();
    push_line!(out, "{}", summary.headline());
    push_line!(out, "turns: {}", summary.turns);
    push_line!(out, "tokens: {}", amplihack_orchestration::budget::count_tokens(&summary.end.usage));
    if let Some(cost) = summary.end.usage.cost_usd {
        push_line!(out, "cost: ${cost:.4}");
    }
    for denied in summary.end.denials.denied_rules() {
        push_line!(out, "denied: {denied}");
    }
    if let Some(changed) = summary.changed {
        push_line!(out, "files: {}", if changed { "changed" } else { "unchanged" });
    }
    if let Some(stat) = summary.stat.filter(|stat| stat.files > 0) {
        push_line!(out, "diff: {}", diff_size(stat));
    }
    if let Some(tree) = &summary.worktree {
        push_line!(out, "worktree: {} ({})", tree.path.display(), tree.branch);
        push_line!(out, "kept: {}", summary.kept.as_deref().unwrap_or("it holds changes"));
        push_line!(out, "take it in: amplihack sessions merge {}", summary.id);
        push_line!(out, "uncommitted: amplihack sessions apply {}", summary.id);
    }
    if !summary.end.is_success() {
        push_line!(out, "continue: amplihack auto --resume {}", summary.id);
    }
    push_line!(out, "more: amplihack sessions show {}", summary.id);
    out
}
