//! Unattended runs for people and programs: turns, verdicts, and the diff.

use std::path::Path;

use amplihack_config::launcher_context::SessionId;
use amplihack_orchestration::budget::count_tokens;
use amplihack_orchestration::drive::diff_path;
use amplihack_orchestration::end_headline;
use amplihack_orchestration::journal::{AutoRunState, TurnRecord, all_runs, find_run, read_run};
use amplihack_orchestration::progress::{phase_name, verification_result_name};
use amplihack_sys::{push_line, push_text};
use serde_json::{Value, json};

use super::super::auto::display::diff_size;
use super::super::prune::EndedRun;
use super::print_either;
use crate::ui::{CommandFailure, print_note};

/// The most of a diff that is shown with its run.
const SHOWN_DIFF: u64 = 64 * 1024;

/// The diff of a run, as far as it is shown.
enum DisplayedDiff {
    Whole(String),
    Large(u64),
}

impl DisplayedDiff {
    fn read(path: &Path) -> Self {
        match std::fs::metadata(path).map(|file| file.len()) {
            Ok(bytes) if bytes > SHOWN_DIFF => Self::Large(bytes),
            _ => Self::Whole(String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()),
        }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Whole(text) = self { Some(text) } else { None }
    }
}

/// Shows the unattended run that is meant by `wanted`; `None` if there is none.
pub(super) fn show_unattended(home: &Path, wanted: &str, json: bool) -> Result<Option<u8>, CommandFailure> {
    let Ok(id) = find_run(home, wanted) else { return Ok(None) };
    let story = read_run(home, &id)?;
    let diff = DisplayedDiff::read(&diff_path(&id.directory(home)));
    print_either(json, || unattended_json(&id, &story, diff.text()), || unattended_text(&id, &story, &diff))
        .map(Some)
}

/// Returns the runs that ended, or were begun and killed.
pub(super) fn ended_runs(home: &Path) -> impl Iterator<Item = EndedRun> {
    let over = unattended_runs(home).into_iter().filter(|(_, story)| !story.is_running());
    over.map(|(id, story)| EndedRun {
        directory: id.directory(home),
        ended: story.ended.as_ref().map_or(story.began, |ended| ended.at),
        id: id.to_string(),
    })
}

/// All unattended runs that can be read, oldest first; what cannot is said.
pub(in crate::commands) fn unattended_runs(home: &Path) -> Vec<(SessionId, AutoRunState)> {
    let read = |id: SessionId| match read_run(home, &id) {
        Ok(story) => Some((id, story)),
        Err(error) => {
            print_note("warning", error);
            None
        }
    };
    all_runs(home).into_iter().filter_map(read).collect()
}

pub(super) fn unattended_json(id: &SessionId, story: &AutoRunState, diff: Option<&str>) -> Value {
    let ended = story.ended.as_ref();
    json!({
        "id": id.as_str(),
        "state": story.state_name(),
        "reason": story.ended.as_ref().map(|ended| ended.run.reason()),
        "agent": story.agent,
        "directory": story.working_directory(),
        "worktree": story.worktree,
        "began": story.began,
        "ended": story.ended.as_ref().map(|ended| ended.at),
        "changed": story.ended.as_ref().and_then(|ended| ended.changed),
        "baseline": story.baseline,
        "limit": story.reached_limit(),
        "check_changed": story.ended.as_ref().map_or(&[][..], |ended| &ended.check_changed),
        "end": story.ended.as_ref().map(|ended| &ended.run),
        "turns": story.turns,
        "usage": story.meter.totals(),
        "diff": diff,
        "task": story.spec.task,
        "base": story.worktree.as_ref().map(|tree| &tree.start).or(story.head.as_ref()),
        "stat": ended.and_then(|ended| ended.stat),
        "files": ended.map(|ended| &*ended.files).unwrap_or_default(),
        "kept": ended.and_then(|ended| ended.kept.as_ref()),
    })
}

fn unattended_text(id: &SessionId, story: &AutoRunState, diff: &DisplayedDiff) -> String {
    let mut out = String::new();
    let mut fact = |name: &str, value: &str| {
        push_line!(out, "{name}: {value}");
    };
    fact("run", id.as_str());
    fact("task", first_words(&story.spec.task, 200).as_str());
    fact("agent", story.agent.name());
    fact("state", story.state_name());
    if let Some(ended) = &story.ended {
        fact("reason", ended.run.reason());
        let baseline = story.baseline.as_ref();
        fact("end", &end_headline(&ended.run, baseline, ended.limit, &ended.check_changed));
    }
    for check in story.baseline.iter().flat_map(|baseline| &baseline.checks) {
        fact("before the first turn", &format!("{}: `{}`", check.outcome.name(), check.command));
    }
    fact("directory", &story.working_directory().display().to_string());
    if let Some(tree) = &story.worktree {
        fact("branch", &tree.branch);
    }
    fact("began", &story.began.to_string());
    if let Some(ended) = &story.ended {
        fact("ended", &ended.at.to_string());
    }
    let used = story.meter.totals();
    fact("tokens", &count_tokens(&used).to_string());
    if let Some(cost) = used.cost_usd {
        fact("cost", &format!("${cost:.4}"));
    }
    if let Some(stat) = story.ended.as_ref().and_then(|ended| ended.stat) {
        fact("diff", &diff_size(stat));
    }
    // A worktree that was removed has no work to take in.
    if let Some(tree) = story.worktree.as_ref().filter(|tree| tree.path.is_dir()) {
        let kept = story.ended.as_ref().and_then(|ended| ended.kept.as_deref());
        fact("worktree", &tree.path.display().to_string());
        fact("kept", kept.unwrap_or("the run has not ended"));
        fact("take it in", &format!("amplihack sessions merge {id}"));
    }
    for turn in &story.turns {
        let how = turn_result(turn);
        let launch = turn.launches.last().map(String::as_str).unwrap_or_default();
        push_line!(out, "\nturn {}: {}, {} ({launch})", turn.turn, turn.agent, phase_name(turn.phase));
        push_line!(out, "  {}", how.trim_end().replace('\n', "\n  "));
        for denied in &turn.denied {
            push_line!(out, "  denied: {denied}");
        }
        if let Some(verdict) = &turn.verdict {
            push_line!(out, "  {}", verification_result_name(verdict.outcome));
            for check in &verdict.checks {
                let word = if check.passed { "passed" } else { "failed" };
                push_line!(out, "    {word}: {}", check.what);
                for line in check.found.trim_end().lines() {
                    push_line!(out, "      {line}");
                }
            }
        }
    }
    match diff {
        DisplayedDiff::Whole(diff) if diff.is_empty() => {}
        DisplayedDiff::Whole(diff) => {
            push_text!(out, "\n{diff}");
        }
        DisplayedDiff::Large(bytes) => {
            push_line!(out, "\nthe diff has {bytes} bytes: amplihack sessions diff {id}");
        }
    }
    out
}

/// The first words of a task, on one line of at most so many characters.
pub(crate) fn first_words(task: &str, most: usize) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let more = task.trim().lines().count() > 1;
    if line.chars().count() <= most && !more {
        return line.to_owned();
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Returns the result of a turn, in words.
pub(super) fn turn_result(turn: &TurnRecord) -> String {
    let Some(answer) = &turn.answer else { return "running, or was interrupted".to_owned() };
    match &answer.claim {
        _ if answer.cut => "cut".to_owned(),
        _ if answer.run.event.kind.is_some() => format!("failed: {}", answer.run.reason()),
        _ if !answer.run.is_success() => answer.run.reason().to_owned(),
        Some(claim) => {
            let status = serde_json::to_value(claim.status).unwrap_or_default();
            let summary = claim.summary.as_deref().unwrap_or_default();
            format!("reports {}: {summary}", status.as_str().unwrap_or_default())
        }
        None => "reports no status".to_owned(),
    }
}
