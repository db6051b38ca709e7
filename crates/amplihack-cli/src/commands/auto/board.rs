//! What a person sees of unattended runs: a line a run on a terminal, plain lines elsewhere; or objects for a program.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Instant;

use amplihack_export::visible;
use amplihack_orchestration::progress::{checked_name, phase_name};
use amplihack_orchestration::{Progress, Summary, View};
use amplihack_utils::launcher_context::SessionId;
use serde::Serialize;

use crate::ui::{self, line};

/// Shows runs.
pub(crate) struct Board {
    json: bool,
    live: bool,
    rows: RefCell<Vec<Row>>,
    /// Lines that stand on the terminal and are drawn anew.
    drawn: Cell<usize>,
}

struct Row {
    id: SessionId,
    view: View,
    started: Instant,
}

#[derive(Serialize)]
struct Object<'a> {
    run: &'a str,
    #[serde(flatten)]
    progress: &'a Progress,
}

impl Board {
    /// A board for a person, or for a program.
    pub(crate) fn new(json: bool) -> Self {
        let live = !json && std::io::stderr().is_terminal();
        Self { json, live, rows: RefCell::default(), drawn: Cell::new(0) }
    }

    /// Whether lines are drawn anew.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Shows what happened in the run `id`.
    pub(crate) fn told(&self, id: &SessionId, progress: &Progress) {
        if self.json {
            // Whoever stopped reading does not end the run.
            if let Ok(text) = line(&Object { run: id.as_str(), progress }) {
                let _ = ui::data(&text);
            }
            return;
        }
        let (many, number) = {
            let mut rows = self.rows.borrow_mut();
            let number = rows.iter().position(|row| row.id == *id).unwrap_or_else(|| {
                let view = View::default();
                rows.push(Row { id: id.clone(), view, started: Instant::now() });
                rows.len() - 1
            });
            if let Some(row) = rows.get_mut(number) {
                row.view.told(progress);
            }
            (rows.len() > 1, number)
        };
        let words = words(progress);
        let label = if many || number > 0 { format!("{id} ") } else { String::new() };
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
        let mut text = String::new();
        let rows = self.rows.borrow();
        for row in rows.iter() {
            let short = row.id.as_str().rsplit('-').next().unwrap_or_default();
            let _ = writeln!(text, "\x1b[2K{short} {}", visible(&row.view.line(row.started.elapsed())));
        }
        self.clear();
        self.drawn.set(rows.len());
        ui::draw(&text);
    }
}

/// One plain line, for what is worth one.
fn words(progress: &Progress) -> Option<String> {
    Some(match progress {
        Progress::Began { resumed, directory, branch } => {
            let how = if *resumed { "goes on" } else { "begins" };
            let branch = branch.as_ref().map(|branch| format!(" on the branch {branch}")).unwrap_or_default();
            format!("{how} in {directory}{branch}")
        }
        Progress::Turn { turn, of, phase, agent, .. } => {
            format!("turn {turn} of {of}: {agent}, {}", phase_name(*phase))
        }
        Progress::Answered { turn, how } => format!("turn {turn}: {how}"),
        Progress::Notice { message } => format!("warning: {message}"),
        Progress::Checked { turn, verdict } => {
            let failed = verdict.checks.iter().find(|check| !check.passed);
            let what = failed.map(|check| format!(": {}", check.what)).unwrap_or_default();
            format!("turn {turn}: {}{what}", checked_name(verdict.outcome))
        }
        Progress::Did { .. } | Progress::Used { .. } | Progress::Ended { .. } => return None,
    })
}

/// What is printed of a run when it is over, one fact a line.
pub(crate) fn told_at_the_end(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}", summary.end.name(), summary.end.reason());
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
    if let Some(tree) = &summary.worktree {
        let _ = writeln!(out, "worktree: {} ({})", tree.path.display(), tree.branch);
    }
    let _ = writeln!(out, "more: amplihack sessions show {}", summary.id);
    out
}
