//! The end of a run: its diff, its worktree, its last entry, and the command that tells it.

use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::event::RunOutcome;
use amplihack_config::launcher_context::SessionId;
use amplihack_session::{EndEvidence, GuardDenials, RunEnd};
use amplihack_sys::Signal;
use jiff::Timestamp;

use super::turn::{STDERR, live_usage_path};
use super::{AutoRunDriver, AutoRunSummary, diff_path};
use crate::changes::{RepositoryDifference, RepositoryState, describe_differences};
use crate::error::AutoError;
use crate::journal::{AutoJournalEntry, AutoRunState};
use crate::progress::AutoProgress;
use crate::race::RaceStatus;
use crate::results::{CommitMade, ResultSource, RunResults, commit_message};
use crate::snapshots::DiffStat;
use crate::worktree::{RunWorktree, WorktreeRemoval};

/// Changes that a run made.
struct RunChanges {
    differences: Vec<RepositoryDifference>,
    stat: DiffStat,
    files: Vec<PathBuf>,
    /// State of the repository at the end, from which the differences were found.
    now: RepositoryState,
    /// The commit that the worktree's branch named just before.
    tip: Option<String>,
}

/// Longest time that the command that tells the end may take.
const NOTIFY_TIMEOUT: Duration = Duration::from_mins(1);

/// The summary of the run `id`, of which `story` tells, with its end and its worktree if that is kept.
pub(super) fn summarize_run(
    id: &SessionId,
    story: &AutoRunState,
    end: RunEnd,
    worktree: Option<RunWorktree>,
) -> AutoRunSummary {
    AutoRunSummary {
        id: id.clone(),
        end,
        agent: story.agent,
        turns: story.turns.last().map_or(0, |last| last.turn),
        changed: story.ended.as_ref().and_then(|ended| ended.changed),
        baseline: story.baseline.clone(),
        limit: story.ended.as_ref().and_then(|ended| ended.limit),
        check_changed: story.ended.as_ref().map_or_else(Vec::new, |ended| ended.check_changed.clone()),
        check: story.turns.iter().rev().find_map(|turn| turn.verdict.as_ref()).map(|verdict| verdict.outcome),
        stat: story.ended.as_ref().and_then(|ended| ended.stat),
        files: story.ended.as_ref().map(|ended| ended.files.clone()).unwrap_or_default(),
        kept: story.ended.as_ref().and_then(|ended| ended.kept.clone()),
        worktree,
    }
}

impl AutoRunDriver<'_> {
    pub(super) async fn finish_run(
        mut self,
        end: RunOutcome,
        reason: String,
    ) -> Result<AutoRunSummary, AutoError> {
        // What is left to do keeps the results, whatever ended the run.
        self.processes = self.processes.for_closing();
        let kept = match self.journal.story.ended {
            None => self.close_run(end, reason.clone()).await?,
            Some(_) => self.journal.story.worktree.clone().filter(|tree| tree.path.is_dir()),
        };
        let story = &self.journal.story;
        let run = story.ended.as_ref().map_or_else(|| self.run_end(end, reason), |ended| ended.run.clone());
        let summary = summarize_run(&self.id, story, run, kept);
        if let Some(shared) = self.place.shared {
            shared.end_run(self.id.as_str(), &summary.end.usage);
        }
        self.run_notify_command(&summary).await?;
        self.report_progress(&AutoProgress::from_summary(&summary));
        Ok(summary)
    }

    /// The end of the run with what is known of it by now.
    pub(super) fn run_end(&self, outcome: RunOutcome, reason: String) -> RunEnd {
        let story = &self.journal.story;
        let answers = || story.turns.iter().filter_map(|turn| turn.answer.as_ref());
        let last = answers().next_back().map(|answer| answer.run.evidence);
        let signal = self.place.interrupts.pending_signal().filter(|_| outcome == RunOutcome::Interrupted);
        let evidence = match outcome {
            RunOutcome::Verified => EndEvidence::Verification,
            RunOutcome::Claimed | RunOutcome::NothingDone => EndEvidence::Claim,
            RunOutcome::Budget => EndEvidence::Usage,
            RunOutcome::Deadline => EndEvidence::Clock,
            RunOutcome::Interrupted if signal.is_some() => EndEvidence::Signal,
            _ => last.unwrap_or_default(),
        };
        let mut run = RunEnd::from_outcome(outcome, reason, evidence);
        run.signal = signal.map(Signal::as_raw);
        run.usage = story.meter.totals();
        let mut denied: Vec<String> =
            story.turns.iter().flat_map(|turn| turn.denied.iter().cloned()).collect();
        denied.dedup();
        if !denied.is_empty() || answers().all(|answer| answer.run.denials != GuardDenials::Unknown) {
            run.denials = GuardDenials::Known(denied);
        }
        run
    }

    /// Keeps the diff, lets the worktree go or stay, and writes down the end.
    pub(super) async fn close_run(
        &mut self,
        mut end: RunOutcome,
        mut reason: String,
    ) -> Result<Option<RunWorktree>, AutoError> {
        let changes = match self.find_changes().await {
            Err(AutoError::Interrupted { signal }) => {
                self.report_notice(format!(
                    "no diff was recorded: signal {} arrived a second time",
                    signal.as_raw()
                ));
                None
            }
            Err(error @ AutoError::Git { .. }) => {
                self.report_notice(format!("the run's changes could not be determined: {error}"));
                if end.is_success() && self.journal.story.worktree.is_some() {
                    // Nobody could take it in.
                    reason = format!(
                        "what the run changed could not be determined: {error} ({}: {reason})",
                        end.name()
                    );
                    end = RunOutcome::Failed;
                }
                None
            }
            changes => changes?,
        };
        let (kept, why) = self.end_worktree(changes.as_ref()).await?;
        // The verification that found nothing done does not see what git ignores, where checks write, too.
        let sees_all = end != RunOutcome::NothingDone;
        let is_work = |difference: &RepositoryDifference| {
            sees_all || !matches!(difference, RepositoryDifference::Ignored(_))
        };
        let is_other = changes.as_ref().map(|changes| changes.differences.iter().any(is_work));
        let (stat, files) = changes.map(|changes| (changes.stat, changes.files)).unzip();
        let files = files.unwrap_or_default();
        let keep = self.has_uncommitted_base().await;
        // The last look: what comes after this moment finds the run ended.
        let at = Timestamp::now();
        let run = match self.place.interrupts.pending_signal() {
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
        let limit = self.journal.story.reached_limit().filter(|_| verified);
        let run = Box::new(run);
        let ended =
            AutoJournalEntry::Ended { run, changed: is_other, limit, check_changed, stat, files, kept: why };
        self.journal.write_at(at, ended)?;
        // A resume compares with the files as they were at the beginning.
        if let Some(snapshots) = self.snapshots.as_ref().filter(|_| is_complete) {
            snapshots.remove_data(keep);
        }
        // There need not be one.
        let _ = std::fs::remove_file(live_usage_path(&self.journal.directory));
        Ok(kept)
    }

    /// Finds the differences from the beginning, and writes the diff to its file; `None` outside a repository.
    async fn find_changes(&self) -> Result<Option<RunChanges>, AutoError> {
        let story = &self.journal.story;
        let Some(snapshots) = &self.snapshots else {
            let Some(tree) = story.worktree.as_ref().filter(|_| story.base.is_some()) else {
                return Ok(None);
            };
            let said = format!("{} is no working tree of git any more", tree.path.display());
            return Err(AutoError::Git { what: "look at the files", said });
        };
        let begun = match (&story.base, &story.worktree) {
            (Some(base), _) => Some(base.clone()),
            // It ended before anybody worked in it.
            (None, Some(tree)) if story.turns.is_empty() => Some(self.start_tree(tree).await?),
            (None, _) => None,
        };
        let Some(base) = begun.as_deref() else { return Ok(None) };
        // Before the look: what is committed after it moves the branch away from this.
        let tip = match &story.worktree {
            Some(tree) => tree.branch_tip(&self.processes).await?,
            None => None,
        };
        let now = RepositoryState::capture(&self.processes, snapshots, story.worktree.as_ref()).await?;
        let before = match RepositoryState::load(&self.journal.directory) {
            Some(before) => before,
            // What lies there that git ignores is of its setup, and of checks.
            None if story.base.is_none() => now.with_files(base),
            None => now.with_tree(base),
        };
        let differences = before.find_differences(&now);
        for difference in &differences {
            if let RepositoryDifference::Inner(_) = difference {
                self.report_notice(format!("the diff is incomplete: it leaves out {difference}"));
            }
        }
        let patch = diff_path(&self.journal.directory);
        let (stat, files) = match snapshots.write_diff(&self.processes, base, &now.tree, &patch).await {
            Ok(()) => snapshots.diff_stat(&self.processes, base, &now.tree).await?,
            // The agent may have pruned what the files were at the beginning.
            Err(error @ AutoError::Git { .. }) => {
                self.report_notice(format!("there is no diff: {error}"));
                Default::default()
            }
            Err(error) => return Err(error),
        };
        Ok(Some(RunChanges { differences, stat, files, now, tip }))
    }

    /// Lets the worktree go if it holds nothing that the run made, and says where it is if it stays.
    async fn end_worktree(
        &mut self,
        changes: Option<&RunChanges>,
    ) -> Result<(Option<RunWorktree>, Option<String>), AutoError> {
        let Some(tree) = self.journal.story.worktree.clone() else { return Ok((None, None)) };
        let again = |signal: Signal| format!("signal {} came again", signal.as_raw());
        let mut why = match self.try_removal(&tree, changes).await {
            Ok(WorktreeRemoval::Removed) => return Ok((None, None)),
            Ok(WorktreeRemoval::Kept(why)) => why,
            Err(AutoError::Interrupted { signal }) => again(signal),
            // Whatever hinders the removal, the run has an end.
            Err(error) => format!("it cannot be removed: {error}"),
        };
        match self.commit_work(&tree).await {
            Ok(Some(made)) => {
                let commit = made.commit.get(..9).unwrap_or(&made.commit);
                why = format!("its work is committed ({commit})");
            }
            Ok(None) => {}
            Err(error @ (AutoError::Git { .. } | AutoError::Refused { .. })) => {
                self.report_notice(format!("not committed: {error}"));
            }
            Err(AutoError::Interrupted { signal }) => why = again(signal),
            Err(error) => return Err(error),
        }
        self.report_progress(&AutoProgress::Kept {
            worktree: tree.path.display().to_string(),
            reason: why.clone(),
        });
        Ok((Some(tree), Some(why)))
    }

    /// Removes the worktree if it holds nothing that the run made.
    async fn try_removal(
        &mut self,
        tree: &RunWorktree,
        changes: Option<&RunChanges>,
    ) -> Result<WorktreeRemoval, AutoError> {
        tree.unlock(&self.processes).await?;
        let kept = |why: &str| Ok(WorktreeRemoval::Kept(why.to_owned()));
        if !tree.path.is_dir() {
            // A run that was killed after the removal.
            if self.journal.story.worktree_removed {
                return Ok(WorktreeRemoval::Removed);
            }
            return kept("its directory is gone");
        }
        if *self.place.lane.borrow() == RaceStatus::Lost {
            return kept("the run was given up");
        }
        let Some(changes) = changes else { return kept("its contents could not be determined") };
        if !changes.differences.is_empty() {
            return kept(&describe_differences(&changes.differences));
        }
        // Before it is done: a run that is killed meanwhile has lost nothing, and may begin anew.
        self.journal.write(AutoJournalEntry::WorktreeRemoved)?;
        let (processes, snapshots) = (&self.processes, self.snapshots.as_ref());
        let why_not = async || {
            let Some(snapshots) = snapshots else {
                return Ok(Some("its contents could not be determined".to_owned()));
            };
            let again = RepositoryState::capture(processes, snapshots, Some(tree)).await?;
            let since = changes.now.find_differences(&again);
            Ok((!since.is_empty()).then(|| describe_differences(&since)))
        };
        tree.remove_if(processes, changes.tip.as_deref(), why_not).await
    }

    /// The files of the commit that the worktree began with.
    pub(super) async fn start_tree(&self, tree: &RunWorktree) -> Result<String, AutoError> {
        let args = ["rev-parse".to_owned(), format!("{}^{{tree}}", tree.start)];
        let start = self.processes.run_git("look at the commit", &tree.path, &[], args).await?;
        Ok(String::from_utf8_lossy(&start).trim().to_owned())
    }

    /// Reports whether the files at the beginning differed from the commit: then their objects are nowhere else.
    async fn has_uncommitted_base(&self) -> bool {
        let story = &self.journal.story;
        let (Some(snapshots), Some(base), Some(head)) = (&self.snapshots, &story.base, &story.head) else {
            return true;
        };
        let args = ["rev-parse".to_owned(), format!("{head}^{{tree}}")];
        let tree = self.processes.run_git("look at the commit", snapshots.root(), &[], args).await;
        tree.map_or(true, |tree| String::from_utf8_lossy(&tree).trim() != base)
    }

    /// Commits what is not committed in the worktree, if that was asked for.
    async fn commit_work(&self, tree: &RunWorktree) -> Result<Option<CommitMade>, AutoError> {
        let story = &self.journal.story;
        if !story.spec.commit || !tree.path.is_dir() {
            return Ok(None);
        }
        let scratch = self.journal.directory.join("commit");
        std::fs::create_dir_all(&scratch).map_err(AutoError::for_path(&scratch))?;
        let results = RunResults {
            processes: &self.processes,
            id: self.id.to_string(),
            task: story.spec.task.clone(),
            base: Some(tree.start.clone()),
            base_tree: story.base.clone(),
            source: ResultSource::Worktree(tree.clone()),
            target: tree.repository.clone(),
            scratch: scratch.clone(),
            objects: Some(self.journal.directory.join("objects")),
        };
        let made = results.commit_worktree(&commit_message(&story.spec.task, self.id.as_str())).await;
        // What stays costs room and nothing else.
        let _ = std::fs::remove_dir_all(&scratch);
        made
    }

    /// Runs the command that tells the end, once: it is written down before.
    async fn run_notify_command(&mut self, summary: &AutoRunSummary) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let Some(command) = story.spec.notify.clone() else { return Ok(()) };
        if story.ended.as_ref().is_none_or(|ended| ended.notified) {
            return Ok(());
        }
        let directory = if story.working_directory().is_dir() {
            story.working_directory().to_owned()
        } else {
            story.spec.cwd.clone()
        };
        self.journal.write(AutoJournalEntry::Notified)?;
        let outcome = [
            ("AMPLIHACK_RUN_ID", summary.id.to_string()),
            ("AMPLIHACK_RUN_OUTCOME", summary.end.name().to_owned()),
            ("AMPLIHACK_RUN_REASON", summary.end.reason().to_owned()),
            ("AMPLIHACK_RUN_AGENT", summary.agent.to_string()),
            ("AMPLIHACK_RUN_TURNS", summary.turns.to_string()),
            ("AMPLIHACK_RUN_TOKENS", crate::budget::count_tokens(&summary.end.usage).to_string()),
            (
                "AMPLIHACK_RUN_COST_USD",
                summary.end.usage.cost_usd.map_or_else(String::new, |cost| cost.to_string()),
            ),
        ];
        match self
            .processes
            .from_now()
            .run_shell(&command, &directory, NOTIFY_TIMEOUT, &outcome, STDERR)
            .await
        {
            Ok(output) if output.exit.is_success() => {}
            Ok(output) => self.report_notice(format!("the command of --notify ended with {}", output.exit)),
            Err(error) => self.report_notice(format!("the command of --notify could not be run: {error}")),
        }
        Ok(())
    }
}
