//! The checks of a driven run: once before the first turn, and wherever the machine asks whether the work is done.

use std::time::Duration;

use amplihack_agent::event::RunOutcome;
use tokio::time::Instant;

use super::AutoRunDriver;
use crate::error::AutoError;
use crate::journal::AutoJournalEntry;
use crate::names::first_names;
use crate::progress::AutoProgress;
use crate::turn::wait_given_up;
use crate::turns::RunStopCause;
use crate::verify::{
    AFTER_DEADLINE, BaselineOutcome, CheckBaseline, CheckContext, VerificationCut, WorkVerification,
    run_baseline, verify_work,
};

impl AutoRunDriver<'_> {
    /// Runs the checks before the first turn, and before the first one with other checks. What can never show that the work is done is refused, before the agent is asked.
    pub(super) async fn check_baseline(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let spec = &story.spec;
        let commands: Vec<&str> = spec.check_commands().collect();
        if commands.is_empty() || !story.is_baseline_due() {
            return Ok(());
        }
        if spec.strict_verify && self.snapshots.is_none() {
            let directory = story.working_directory().to_owned();
            return self.refuse_run(AutoError::StrictOutside { directory }).await;
        }
        if spec.no_baseline {
            let baseline = CheckBaseline::from_skipped(&commands);
            return self.journal.write(AutoJournalEntry::Baseline { baseline });
        }
        let baseline = match self.run_baseline().await {
            Ok(Ok(baseline)) => baseline,
            Ok(Err(cut)) => return self.record_cut(cut),
            // What was done has an end, whatever became of the repository.
            Err(error @ AutoError::Git { .. }) if !self.journal.story.turns.is_empty() => {
                return self.record_failure(&error);
            }
            Err(error) => return Err(error),
        };
        self.journal.write(AutoJournalEntry::Baseline { baseline: baseline.clone() })?;
        self.report_progress(&AutoProgress::Baseline { baseline: baseline.clone() });
        if !baseline.changed.is_empty() {
            let names = first_names(&baseline.changed);
            self.report_notice(if self.journal.story.base.is_none() {
                format!("the checks changed files before the first turn: {names}; the run begins after that")
            } else {
                format!("the checks changed files before the next turn: {names}")
            });
        }
        if let Some(check) = baseline.could_not_run() {
            let (command, found) = (check.command.clone(), check.found.clone());
            return self.refuse_run(AutoError::VerifyCannotRun { command, found }).await;
        }
        if self.journal.story.spec.strict_verify && baseline.outcome == BaselineOutcome::Green {
            return self.refuse_run(AutoError::VerifyGreen).await;
        }
        Ok(())
    }

    /// Checks whether the work is done.
    pub(super) async fn verify_work(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let turn = story.turns.last().map_or(0, |last| last.turn);
        let verdict = match self.run_checks(turn).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(cut)) => return self.record_cut(cut),
            Err(error @ AutoError::Git { .. }) => return self.record_failure(&error),
            Err(error) => return Err(error),
        };
        let tree = self.capture_files().await?;
        self.journal.write(AutoJournalEntry::Checked { turn, verdict: verdict.clone(), tree })?;
        self.report_progress(&AutoProgress::Checked { turn, verdict });
        Ok(())
    }

    async fn run_baseline(&self) -> Result<Result<CheckBaseline, VerificationCut>, AutoError> {
        let told = |command: &str, limit| self.tell_of_check(0, command, limit);
        let context = CheckContext { until: self.deadline, told: &told, ..self.check_context() };
        let mut lane = self.place.lane.clone();
        tokio::select! {
            found = run_baseline(&self.processes, &context) => found,
            why = wait_given_up(&mut lane) => Ok(Err(VerificationCut::GivenUp(why))),
        }
    }

    async fn run_checks(&self, turn: u32) -> Result<Result<WorkVerification, VerificationCut>, AutoError> {
        // A run that reached its deadline is verified for a short time more.
        let grace = AFTER_DEADLINE.min(self.journal.story.spec.verify_timeout);
        let until = self.deadline.map(|deadline| deadline.max(Instant::now()) + grace);
        let told = |command: &str, limit| self.tell_of_check(turn, command, limit);
        let context = CheckContext { until, told: &told, ..self.check_context() };
        let mut lane = self.place.lane.clone();
        tokio::select! {
            found = verify_work(&self.processes, &context) => found,
            why = wait_given_up(&mut lane) => Ok(Err(VerificationCut::GivenUp(why))),
        }
    }

    /// The state of the files, as git names it; `None` where it cannot be had.
    pub(super) async fn capture_files(&self) -> Result<Option<String>, AutoError> {
        let Some(snapshots) = &self.snapshots else { return Ok(None) };
        match snapshots.capture(&self.processes).await {
            Ok(tree) => Ok(Some(tree)),
            // A signal is looked at before anything else is done.
            Err(AutoError::Git { .. } | AutoError::Interrupted { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_context(&self) -> CheckContext<'_> {
        let story = &self.journal.story;
        CheckContext {
            directory: story.working_directory(),
            commands: story.spec.check_commands().collect(),
            changes: story.changes,
            expect_changes: story.spec.expect_changes,
            baseline: story.baseline.as_ref().map(|baseline| baseline.outcome),
            strict: story.spec.strict_verify,
            files: self
                .snapshots
                .as_ref()
                .map(|snapshots| (snapshots, story.base.as_deref().unwrap_or_default())),
            timeout: story.spec.verify_timeout,
            until: None,
            told: &|_, _| {},
        }
    }

    fn tell_of_check(&self, turn: u32, command: &str, limit: Duration) {
        self.report_progress(&AutoProgress::Checking {
            turn,
            command: command.to_owned(),
            limit_seconds: limit.as_secs(),
        });
    }

    /// Writes down that the checks did not come to their end.
    fn record_cut(&mut self, cut: VerificationCut) -> Result<(), AutoError> {
        let (why, reason) = match cut {
            VerificationCut::GivenUp(why) => (RunStopCause::Interrupted, why.to_owned()),
            VerificationCut::Late => {
                (RunStopCause::Deadline, "the deadline passed before the first turn".to_owned())
            }
        };
        self.journal.write(AutoJournalEntry::Stopped { why, reason })
    }

    /// Writes down that the checks cannot be made, since the agent left no repository that git can read.
    fn record_failure(&mut self, error: &AutoError) -> Result<(), AutoError> {
        let reason = format!("the work cannot be checked: {error}");
        self.journal.write(AutoJournalEntry::Stopped { why: RunStopCause::Failed, reason })
    }

    /// Ends the run before its next turn, for `error`.
    async fn refuse_run(&mut self, error: AutoError) -> Result<(), AutoError> {
        self.processes = self.processes.for_closing();
        self.close_run(RunOutcome::Failed, error.to_string()).await?;
        Err(error)
    }
}
