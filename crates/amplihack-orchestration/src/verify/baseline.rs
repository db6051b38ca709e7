//! Baseline of the checks, before anything is done: a check that passes already proves nothing, and one that cannot run never will.

use amplihack_sys::ProcessExit;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{CheckContext, VerificationCut, describe_output};
use crate::error::AutoError;
use crate::process::{RunCommandOutput, RunProcesses};
use crate::tree_diff::tree_diff;

/// Results of the checks before the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckBaseline {
    /// In a word: of several checks, one that could not run before one that failed, and that before one that passed.
    pub outcome: BaselineOutcome,
    /// Check by check.
    #[serde(default)]
    pub checks: Vec<BaselineCheck>,
    /// Files that the checks changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// Result of a check before the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    /// The command.
    pub command: String,
    /// Outcome of the check.
    pub outcome: BaselineOutcome,
    /// End and output of the command, unless it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

/// Outcome of a check before the first turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineOutcome {
    /// The check failed, as a check of work that is not done should.
    Red,
    /// The check passed.
    Green,
    /// There is no such program, it cannot be executed, or it did not end in time.
    CouldNotRun,
    /// The check was not run.
    Skipped,
}

impl BaselineOutcome {
    /// The word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
            Self::CouldNotRun => "could_not_run",
            Self::Skipped => "skipped",
        }
    }
}

impl CheckBaseline {
    /// The record of checks that are not run.
    pub fn from_skipped(commands: &[&str]) -> Self {
        let outcome = BaselineOutcome::Skipped;
        let check =
            |command: &&str| BaselineCheck { command: (*command).to_owned(), outcome, found: String::new() };
        Self { outcome, checks: commands.iter().map(check).collect(), changed: Vec::new() }
    }

    /// Describes what a pass of every check shows beyond this; `None` if no check failed before.
    pub fn describe_change(&self) -> Option<String> {
        let red = self.checks.iter().filter(|check| check.outcome == BaselineOutcome::Red).count();
        (self.outcome == BaselineOutcome::Red).then(|| match self.checks.len() {
            all if red < all => format!("red → green: {red} of {all} checks"),
            _ => "red → green".to_owned(),
        })
    }

    /// The first check that could not run.
    pub fn could_not_run(&self) -> Option<&BaselineCheck> {
        self.checks.iter().find(|check| check.outcome == BaselineOutcome::CouldNotRun)
    }
}

/// Runs each command once. The files as the commands leave them are where the run begins.
pub async fn run_baseline(
    processes: &RunProcesses,
    context: &CheckContext<'_>,
) -> Result<Result<CheckBaseline, VerificationCut>, AutoError> {
    let before = match context.files {
        Some((snapshots, _)) => Some(snapshots.capture(processes).await?),
        None => None,
    };
    let mut checks = Vec::new();
    for text in &context.commands {
        let output = context.run_command(processes, text, context.directory).await?;
        if output.late && context.until.is_some_and(|until| until <= Instant::now()) {
            return Ok(Err(VerificationCut::Late));
        }
        let outcome = classify_output(&output);
        let found = if outcome == BaselineOutcome::Green {
            String::new()
        } else {
            describe_output(&output, context.timeout)
        };
        checks.push(BaselineCheck { command: (*text).to_owned(), outcome, found });
        if outcome == BaselineOutcome::CouldNotRun {
            break;
        }
    }
    let has = |wanted| checks.iter().any(|check: &BaselineCheck| check.outcome == wanted);
    let outcome = [BaselineOutcome::CouldNotRun, BaselineOutcome::Red].into_iter().find(|one| has(*one));
    let mut changed = Vec::new();
    if let (Some((snapshots, _)), Some(before)) = (context.files, before) {
        let after = snapshots.capture(processes).await?;
        let all = tree_diff(processes, snapshots.root(), &snapshots.git_env(), &before, &after).await?;
        changed.extend(all.into_iter().map(|change| change.path));
    }
    Ok(Ok(CheckBaseline { outcome: outcome.unwrap_or(BaselineOutcome::Green), checks, changed }))
}

/// Classifies the end of a command. A shell ends with 126 for what cannot be executed, and with 127 for what is not there.
fn classify_output(output: &RunCommandOutput) -> BaselineOutcome {
    match output.exit {
        _ if output.late => BaselineOutcome::CouldNotRun,
        ProcessExit::Code(126 | 127) => BaselineOutcome::CouldNotRun,
        exit if exit.is_success() => BaselineOutcome::Green,
        _ => BaselineOutcome::Red,
    }
}
