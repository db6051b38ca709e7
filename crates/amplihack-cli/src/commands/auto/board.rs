//! What a person sees of unattended runs: a line per run on a terminal, plain lines elsewhere; or objects for a program.

mod row;

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Instant;

use amplihack_orchestration::progress::{checked_name, phase_name};
use amplihack_orchestration::snapshots::DiffStat;
use amplihack_orchestration::turns::Checked;
use amplihack_orchestration::verify::BaselineOutcome;
use amplihack_orchestration::{Progress, Summary};
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::SessionId;
use serde::Serialize;

use crate::ui::{self, line};
use row::{Line, Row};

pub(crate) use row::{clock, fitted};

/// The size that is assumed of a terminal that does not tell it.
const SIZE: (usize, usize) = (80, 24);

/// Shows runs.
pub(crate) struct Board {
    json: bool,
    live: bool,
    colors: bool,
    /// The first words of each task; empty for a single run, whose task is its user's alone.
    titles: Vec<String>,
    runs: RefCell<Vec<Run>>,
    /// Lines that stand on the terminal and are drawn anew.
    drawn: Cell<usize>,
}

/// A run that has begun.
struct Run {
    number: usize,
    row: Row,
    started: Instant,
}

#[derive(Serialize)]
struct Object<'a> {
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(flatten)]
    progress: &'a Progress,
}

impl Board {
    /// A board for a person, or for a program; of several tasks if there are `titles`.
    pub(crate) fn new(json: bool, titles: Vec<String>, env: &Env) -> Self {
        let is_dumb = env.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let live = !json && !is_dumb && std::io::stderr().is_terminal();
        let colors = live && env.get("NO_COLOR").is_none_or(OsStr::is_empty);
        Self { json, live, colors, titles, runs: RefCell::default(), drawn: Cell::new(0) }
    }

    /// Whether lines are drawn anew.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Shows what happened in the run `id` of the task `number`, from 0.
    pub(crate) fn take(&self, number: usize, id: &SessionId, progress: &Progress) {
        let title = self.titles.get(number);
        if self.json {
            let task = title.map(|_| number + 1);
            let object = Object { run: id.as_str(), task, title: title.map(String::as_str), progress };
            // Whoever stopped reading does not end the run.
            if let Ok(text) = line(&object) {
                let _ = ui::data(&text);
            }
            return;
        }
        self.row(number, progress);
        let label = title.map_or_else(String::new, |title| format!("task {} ({title}): ", number + 1));
        let words = words(progress, title.is_some());
        if !self.live {
            if let Some(words) = words {
                ui::plain(&format!("{label}{words}"));
            }
            return;
        }
        if let (Progress::Notice { .. }, Some(words)) = (progress, words) {
            self.clear();
            ui::plain(&format!("{label}{words}"));
        }
        self.draw();
    }

    fn row(&self, number: usize, progress: &Progress) {
        let mut runs = self.runs.borrow_mut();
        let place = runs.iter().position(|run| run.number == number).unwrap_or_else(|| {
            runs.push(Run { number, row: Row::default(), started: Instant::now() });
            runs.len() - 1
        });
        if let Some(run) = runs.get_mut(place) {
            run.row.take(progress, run.started.elapsed());
        }
    }

    /// Draws the lines anew, since time went on.
    pub(crate) fn tick(&self) {
        self.draw();
    }

    fn clear(&self) {
        let lines = self.drawn.replace(0);
        if lines > 0 {
            ui::draw(&format!("\x1b[{lines}A\x1b[J"));
        }
    }

    fn draw(&self) {
        let (width, height) = size();
        let lines = self.lines(width, height.saturating_sub(1).max(1));
        let mut text = String::new();
        for Line { text: line, color } in &lines {
            let (on, off) =
                color.filter(|_| self.colors).map_or(("", ""), |color| (color.sequence(), "\x1b[m"));
            let _ = writeln!(text, "\x1b[2K{on}{line}{off}");
        }
        self.clear();
        self.drawn.set(lines.len());
        ui::draw(&text);
    }

    /// At most `height` lines, those of runs that have ended last.
    fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let runs = self.runs.borrow();
        let of = |run: &Run| {
            let title = self.titles.get(run.number).map(|title| format!("{} {title}", run.number + 1));
            run.row.lines(title.as_deref(), run.started.elapsed(), width)
        };
        let all: Vec<Line> = runs.iter().flat_map(of).collect();
        if all.len() <= height {
            return all;
        }
        let mut lines: Vec<Line> = runs.iter().filter(|run| !run.row.has_ended()).flat_map(of).collect();
        lines.truncate(height.saturating_sub(1));
        let ended = runs.iter().filter(|run| run.row.has_ended()).count();
        let text = fitted(&format!("… {} begun, {ended} of them ended", runs.len()), width);
        lines.push(Line { text, color: None });
        lines
    }
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map_or(SIZE, |size| (size.ws_col.into(), size.ws_row.into()))
}

/// One plain line, for what is worth one. The end of a single run is printed when all is over.
fn words(progress: &Progress, is_one_of_many: bool) -> Option<String> {
    Some(match progress {
        Progress::Began { resumed, directory, branch } => {
            let how = if *resumed { "continues" } else { "begins" };
            let branch = branch.as_ref().map(|branch| format!(" on the branch {branch}")).unwrap_or_default();
            format!("{how} in {directory}{branch}")
        }
        Progress::Baseline { baseline } => {
            let failed = baseline.checks.iter().find(|check| check.outcome != BaselineOutcome::Green);
            let what = match failed {
                Some(check) => format!("`{}`", check.command),
                None => "every check passes already".to_owned(),
            };
            format!("before the first turn: {}: {what}", baseline.outcome.name())
        }
        Progress::Checking { turn, command, limit_seconds } => {
            let when = if *turn == 0 { "before the first turn".to_owned() } else { format!("turn {turn}") };
            let limit = clock(std::time::Duration::from_secs(*limit_seconds));
            format!("{when}: checking: `{command}` (at most {limit})")
        }
        Progress::Turn { turn, of, phase, agent, .. } => {
            format!("turn {turn} of {of}: {agent}, {}", phase_name(*phase))
        }
        Progress::Answered { turn, how } => format!("turn {turn}: {how}"),
        Progress::Notice { message } => format!("warning: {message}"),
        Progress::Kept { worktree, reason } => format!("the worktree {worktree} is kept: {reason}"),
        Progress::Checked { turn, verdict } => {
            let failed = verdict.failed().next().map(|check| format!(": {}", check.failure()));
            let failed = failed.filter(|_| verdict.outcome == Checked::Refuted).unwrap_or_default();
            format!("turn {turn}: {}{failed}", checked_name(verdict.outcome))
        }
        Progress::Ended { headline, turns, .. } if is_one_of_many => format!("{headline} (turns: {turns})"),
        Progress::Did { .. } | Progress::Used { .. } | Progress::Ended { .. } => return None,
    })
}

/// The size of a change in words: `+12 −3 in 2 files`.
pub(crate) fn diff_size(stat: DiffStat) -> String {
    let files = if stat.files == 1 { "1 file".to_owned() } else { format!("{} files", stat.files) };
    format!("+{} −{} in {files}", stat.added, stat.removed)
}

/// What is printed of a run at its end, one fact a line.
pub(crate) fn told_at_the_end(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", summary.headline());
    let _ = writeln!(out, "turns: {}", summary.turns);
    let _ = writeln!(out, "tokens: {}", amplihack_orchestration::budget::tokens(&summary.end.usage));
    if let Some(cost) = summary.end.usage.cost_usd {
        let _ = writeln!(out, "cost: ${cost:.4}");
    }
    for denied in summary.end.denials.rules() {
        let _ = writeln!(out, "denied: {denied}");
    }
    if let Some(changed) = summary.changed {
        let _ = writeln!(out, "files: {}", if changed { "changed" } else { "unchanged" });
    }
    if let Some(stat) = summary.stat.filter(|stat| stat.files > 0) {
        let _ = writeln!(out, "diff: {}", diff_size(stat));
    }
    if let Some(tree) = &summary.worktree {
        let _ = writeln!(out, "worktree: {} ({})", tree.path.display(), tree.branch);
        let _ = writeln!(out, "kept: {}", summary.kept.as_deref().unwrap_or("it holds changes"));
        let _ = writeln!(out, "take it in: amplihack sessions merge {}", summary.id);
        let _ = writeln!(out, "uncommitted: amplihack sessions apply {}", summary.id);
    }
    if !summary.end.is_success() {
        let _ = writeln!(out, "continue: amplihack auto --resume {}", summary.id);
    }
    let _ = writeln!(out, "more: amplihack sessions show {}", summary.id);
    out
}
