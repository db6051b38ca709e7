//! The checks of a driven run: once before the first turn, and wherever the machine asks whether the work is done.

use std::time::Duration;

use amplihack_agent::event::RunOutcome;
use tokio::time::Instant;

use super::Drive;
use crate::error::AutoError;
use crate::journal::Entry;
use crate::names::first_names;
use crate::progress::Progress;
use crate::turn::given_up;
use crate::turns::Stop;
use crate::verify::{
    AFTER_DEADLINE, Baseline, BaselineOutcome, CheckContext, Cut, Verification, baseline, verify,
};

impl Drive<'_> {
    /// Runs the checks before the first turn, and before the first one with other checks. What can never show that the work is done is refused, before the agent is asked.
    pub(super) async fn baseline(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let spec = &story.spec;
        let commands: Vec<&str> = spec.commands().collect();
        if commands.is_empty() || !story.is_baseline_due() {
            return Ok(());
        }
        if spec.strict_verify && self.snapshots.is_none() {
            let directory = story.directory().to_owned();
            return self.refuse(AutoError::StrictOutside { directory }).await;
        }
        if spec.no_baseline {
            let baseline = Baseline::skipped(&commands);
            return self.journal.write(Entry::Baseline { baseline });
        }
        let baseline = match self.run_baseline().await {
            Ok(Ok(baseline)) => baseline,
            Ok(Err(cut)) => return self.cut(cut),
            // What was done has an end, whatever became of the repository.
            Err(error @ AutoError::Git { .. }) if !self.journal.story.turns.is_empty() => {
                return self.broken(&error);
            }
            Err(error) => return Err(error),
        };
        self.journal.write(Entry::Baseline { baseline: baseline.clone() })?;
        self.tell(&Progress::Baseline { baseline: baseline.clone() });
        if !baseline.changed.is_empty() {
            let names = first_names(&baseline.changed);
            self.notice(if self.journal.story.base.is_none() {
                format!("the checks changed files before the first turn: {names}; the run begins after that")
            } else {
                format!("the checks changed files before the next turn: {names}")
            });
        }
        if let Some(check) = baseline.could_not_run() {
            let (command, found) = (check.command.clone(), check.found.clone());
            return self.refuse(AutoError::VerifyCannotRun { command, found }).await;
        }
        if self.journal.story.spec.strict_verify && baseline.outcome == BaselineOutcome::Green {
            return self.refuse(AutoError::VerifyGreen).await;
        }
        Ok(())
    }

    /// Checks whether the work is done.
    pub(super) async fn verify(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let turn = story.turns.last().map_or(0, |last| last.turn);
        let verdict = match self.run_checks(turn).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(cut)) => return self.cut(cut),
            Err(error @ AutoError::Git { .. }) => return self.broken(&error),
            Err(error) => return Err(error),
        };
        let tree = self.files().await?;
        self.journal.write(Entry::Checked { turn, verdict: verdict.clone(), tree })?;
        self.tell(&Progress::Checked { turn, verdict });
        Ok(())
    }

    async fn run_baseline(&self) -> Result<Result<Baseline, Cut>, AutoError> {
        let told = |command: &str, limit| self.tell_of_check(0, command, limit);
        let context = CheckContext { until: self.deadline, told: &told, ..self.check_context() };
        let mut lane = self.place.lane.clone();
        tokio::select! {
            found = baseline(&self.processes, &context) => found,
            why = given_up(&mut lane) => Ok(Err(Cut::GivenUp(why))),
        }
    }

    async fn run_checks(&self, turn: u32) -> Result<Result<Verification, Cut>, AutoError> {
        // A run that reached its deadline is verified for a short time more.
        let grace = AFTER_DEADLINE.min(self.journal.story.spec.verify_timeout);
        let until = self.deadline.map(|deadline| deadline.max(Instant::now()) + grace);
        let told = |command: &str, limit| self.tell_of_check(turn, command, limit);
        let context = CheckContext { until, told: &told, ..self.check_context() };
        let mut lane = self.place.lane.clone();
        tokio::select! {
            found = verify(&self.processes, &context) => found,
            why = given_up(&mut lane) => Ok(Err(Cut::GivenUp(why))),
        }
    }

    /// The state of the files, as git names it; `None` where it cannot be had.
    pub(super) async fn files(&self) -> Result<Option<String>, AutoError> {
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
            directory: story.directory(),
            commands: story.spec.commands().collect(),
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
        self.tell(&Progress::Checking { turn, command: command.to_owned(), limit_seconds: limit.as_secs() });
    }

    /// Writes down that the checks did not come to their end.
    fn cut(&mut self, cut: Cut) -> Result<(), AutoError> {
        let (why, reason) = match cut {
            Cut::GivenUp(why) => (Stop::Interrupted, why.to_owned()),
            Cut::Late => (Stop::Deadline, "the deadline passed before the first turn".to_owned()),
        };
        self.journal.write(Entry::Stopped { why, reason })
    }

    /// Writes down that the checks cannot be made, since the agent left no repository that git can read.
    fn broken(&mut self, error: &AutoError) -> Result<(), AutoError> {
        let reason = format!("the work cannot be checked: {error}");
        self.journal.write(Entry::Stopped { why: Stop::Failed, reason })
    }

    /// Ends the run before its next turn, for `error`.
    async fn refuse(&mut self, error: AutoError) -> Result<(), AutoError> {
        self.processes = self.processes.closing();
        self.close(RunOutcome::Failed, error.to_string()).await?;
        Err(error)
    }
}
