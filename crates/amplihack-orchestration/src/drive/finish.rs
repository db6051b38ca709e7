//! The end of a run: its diff, its worktree, its last entry, and the command that tells it.

use std::time::Duration;

use amplihack_agent::event::RunOutcome;
use amplihack_session::{Denials, Evidence, RunEnd};
use amplihack_utils::fs::{Durability, write_atomic};
use amplihack_utils::sys::Signal;
use jiff::Timestamp;

use super::turn::{STDERR, live_path};
use super::{Drive, Summary, diff_path};
use crate::error::AutoError;
use crate::journal::Entry;
use crate::progress::Progress;
use crate::race::Lane;
use crate::worktree::{Fate, Tree};

/// How long the command that tells the end may take.
const NOTIFY_TIMEOUT: Duration = Duration::from_mins(1);

impl Drive<'_> {
    pub(super) async fn finish(mut self, end: RunOutcome, reason: String) -> Result<Summary, AutoError> {
        // What is left to do keeps the results, whatever ended the run.
        self.processes = self.processes.closing();
        let kept = match self.journal.story.ended {
            None => self.close(end, reason.clone()).await?,
            Some(_) => self.journal.story.worktree.clone().filter(|tree| tree.path.is_dir()),
        };
        let story = &self.journal.story;
        let run = story.ended.as_ref().map_or_else(|| self.run_end(end, reason), |ended| ended.run.clone());
        let summary = Summary {
            id: self.id.clone(),
            end: run,
            agent: story.agent,
            turns: story.turns.last().map_or(0, |last| last.turn),
            changed: story.ended.as_ref().and_then(|ended| ended.changed),
            baseline: story.baseline.clone(),
            limit: story.ended.as_ref().and_then(|ended| ended.limit),
            check_changed: story.ended.as_ref().map_or_else(Vec::new, |ended| ended.check_changed.clone()),
            worktree: kept,
        };
        if let Some(shared) = self.place.shared {
            shared.ended(self.id.as_str(), &summary.end.usage);
        }
        self.notify(&summary).await?;
        self.tell(&Progress::Ended {
            end: summary.end.outcome(),
            reason: summary.end.reason().to_owned(),
            evidence: summary.end.evidence,
            turns: summary.turns,
            used: summary.end.usage,
            denied: summary.end.denials.rules().to_vec(),
            changed: summary.changed,
            baseline: summary.baseline.as_ref().map(|baseline| baseline.outcome),
            limit: summary.limit,
            check_changed: summary.check_changed.clone(),
            headline: summary.headline(),
        });
        Ok(summary)
    }

    /// The end of the run with what is known of it by now.
    pub(super) fn run_end(&self, outcome: RunOutcome, reason: String) -> RunEnd {
        let story = &self.journal.story;
        let answers = || story.turns.iter().filter_map(|turn| turn.answer.as_ref());
        let last = answers().next_back().map(|answer| answer.run.evidence);
        let signal = self.place.interrupts.heard().filter(|_| outcome == RunOutcome::Interrupted);
        let evidence = match outcome {
            RunOutcome::Verified => Evidence::Verification,
            RunOutcome::Claimed | RunOutcome::NothingDone => Evidence::Claim,
            RunOutcome::Budget => Evidence::Usage,
            RunOutcome::Deadline => Evidence::Clock,
            RunOutcome::Interrupted if signal.is_some() => Evidence::Signal,
            _ => last.unwrap_or_default(),
        };
        let mut run = RunEnd::of(outcome, reason, evidence);
        run.signal = signal.map(Signal::as_raw);
        run.usage = story.meter.totals();
        let mut denied: Vec<String> =
            story.turns.iter().flat_map(|turn| turn.denied.iter().cloned()).collect();
        denied.dedup();
        if !denied.is_empty() || answers().all(|answer| answer.run.denials != Denials::Unknown) {
            run.denials = Denials::Known(denied);
        }
        run
    }

    /// Keeps the diff, lets the worktree go or stay, and writes down the end.
    pub(super) async fn close(&mut self, end: RunOutcome, reason: String) -> Result<Option<Tree>, AutoError> {
        let changed = match self.keep_diff().await {
            Err(AutoError::Interrupted { signal }) => {
                self.notice(format!("no diff is kept: signal {} came again", signal.as_raw()));
                None
            }
            changed => changed?,
        };
        let kept = self.end_worktree().await?;
        // The last look: what comes after this moment finds the run ended.
        let at = Timestamp::now();
        let run = match self.place.interrupts.heard() {
            Some(signal) if end != RunOutcome::Interrupted => {
                let number = signal.as_raw();
                let reason = format!("ended by signal {number} before its end was recorded: {reason}");
                self.run_end(RunOutcome::Interrupted, reason)
            }
            _ => self.run_end(end, reason),
        };
        let is_complete = run.is_success();
        let verified = run.outcome() == RunOutcome::Verified;
        let check_changed = if verified { self.journal.story.check_changed().to_vec() } else { Vec::new() };
        let limit = self.journal.story.limit().filter(|_| verified);
        self.journal.write_at(at, Entry::Ended { run, changed, limit, check_changed })?;
        // A resume compares with the files as they were at the beginning.
        if let Some(snapshots) = self.snapshots.as_ref().filter(|_| is_complete) {
            snapshots.forget();
        }
        // There need not be one.
        let _ = std::fs::remove_file(live_path(&self.journal.directory));
        Ok(kept)
    }

    /// Keeps the diff; whether files are other than at the beginning, where that can be seen.
    async fn keep_diff(&self) -> Result<Option<bool>, AutoError> {
        let (Some(snapshots), Some(base)) = (&self.snapshots, self.journal.story.base.as_deref()) else {
            return Ok(None);
        };
        let now = snapshots.capture(&self.processes).await?;
        match snapshots.diff(&self.processes, base, &now).await {
            Ok(diff) => {
                let path = diff_path(&self.journal.directory);
                write_atomic(&path, &diff, 0o600, Durability::Process).map_err(AutoError::file(&path))?;
            }
            // The agent may have pruned what the files were at the beginning.
            Err(error @ AutoError::Git { .. }) => self.notice(format!("there is no diff: {error}")),
            Err(error) => return Err(error),
        }
        Ok(Some(now != base))
    }

    /// Lets the worktree go, or keeps it.
    async fn end_worktree(&self) -> Result<Option<Tree>, AutoError> {
        let Some(tree) = self.journal.story.worktree.clone() else { return Ok(None) };
        let keep = *self.place.lane.borrow() == Lane::Lost;
        let why = match tree.end(&self.processes, keep).await {
            Ok(Fate::Removed) => return Ok(None),
            Ok(Fate::Kept(why)) => why,
            Err(AutoError::Interrupted { signal }) => format!("signal {} came again", signal.as_raw()),
            Err(error) => return Err(error),
        };
        self.notice(format!("the worktree {} is kept: {why}", tree.path.display()));
        Ok(Some(tree))
    }

    /// Runs the command that tells the end, once: it is written down before.
    async fn notify(&mut self, summary: &Summary) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let Some(command) = story.spec.notify.clone() else { return Ok(()) };
        if story.ended.as_ref().is_none_or(|ended| ended.notified) {
            return Ok(());
        }
        let directory =
            if story.directory().is_dir() { story.directory().to_owned() } else { story.spec.cwd.clone() };
        self.journal.write(Entry::Notified)?;
        let outcome = [
            ("AMPLIHACK_RUN_ID", summary.id.to_string()),
            ("AMPLIHACK_RUN_OUTCOME", summary.end.name().to_owned()),
            ("AMPLIHACK_RUN_REASON", summary.end.reason().to_owned()),
            ("AMPLIHACK_RUN_AGENT", summary.agent.to_string()),
            ("AMPLIHACK_RUN_TURNS", summary.turns.to_string()),
            ("AMPLIHACK_RUN_TOKENS", crate::budget::tokens(&summary.end.usage).to_string()),
            (
                "AMPLIHACK_RUN_COST_USD",
                summary.end.usage.cost_usd.map_or_else(String::new, |cost| cost.to_string()),
            ),
        ];
        match self.processes.from_now().shell(&command, &directory, NOTIFY_TIMEOUT, &outcome, STDERR).await {
            Ok(output) if output.exit.success() => {}
            Ok(output) => self.notice(format!("the command of --notify ended with {}", output.exit)),
            Err(error) => self.notice(format!("the command of --notify could not be run: {error}")),
        }
        Ok(())
    }
}
