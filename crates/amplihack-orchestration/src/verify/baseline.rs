//! What the checks show before anything is done: a check that passes already proves nothing, and one that cannot run never will.

use amplihack_utils::sys::Exit;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{CheckContext, Cut, told};
use crate::error::AutoError;
use crate::process::{CommandOutput, Processes};
use crate::tree_diff::tree_diff;

/// What the checks showed before the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// In a word: of several checks, one that could not run before one that failed, and that before one that passed.
    pub outcome: BaselineOutcome,
    /// Check by check.
    #[serde(default)]
    pub checks: Vec<BaselineCheck>,
    /// Files that the checks changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// One check before the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    /// The command.
    pub command: String,
    /// What it showed.
    pub outcome: BaselineOutcome,
    /// How it ended and what it printed, unless it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

/// What a check showed before the first turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineOutcome {
    /// It failed, as a check of work that is not done should.
    Red,
    /// It passed.
    Green,
    /// There is no such program, it cannot be executed, or it did not end in time.
    CouldNotRun,
    /// It was not run.
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

impl Baseline {
    /// The record of checks that are not run.
    pub fn skipped(commands: &[&str]) -> Self {
        let outcome = BaselineOutcome::Skipped;
        let check =
            |command: &&str| BaselineCheck { command: (*command).to_owned(), outcome, found: String::new() };
        Self { outcome, checks: commands.iter().map(check).collect(), changed: Vec::new() }
    }

    /// What a pass of every check shows beyond this, in words; `None` if no check failed before.
    pub fn turned(&self) -> Option<String> {
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
pub async fn baseline(
    processes: &Processes,
    context: &CheckContext<'_>,
) -> Result<Result<Baseline, Cut>, AutoError> {
    let before = match context.files {
        Some((snapshots, _)) => Some(snapshots.capture(processes).await?),
        None => None,
    };
    let mut checks = Vec::new();
    for text in &context.commands {
        let output = context.run(processes, text, context.directory).await?;
        if output.late && context.until.is_some_and(|until| until <= Instant::now()) {
            return Ok(Err(Cut::Late));
        }
        let outcome = outcome(&output);
        let found =
            if outcome == BaselineOutcome::Green { String::new() } else { told(&output, context.timeout) };
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
        let all = tree_diff(processes, snapshots.root(), &snapshots.env(), &before, &after).await?;
        changed.extend(all.into_iter().map(|change| change.path));
    }
    Ok(Ok(Baseline { outcome: outcome.unwrap_or(BaselineOutcome::Green), checks, changed }))
}

/// What the end of a command shows. A shell ends with 126 for what cannot be executed, and with 127 for what is not there.
fn outcome(output: &CommandOutput) -> BaselineOutcome {
    match output.exit {
        _ if output.late => BaselineOutcome::CouldNotRun,
        Exit::Code(126 | 127) => BaselineOutcome::CouldNotRun,
        exit if exit.success() => BaselineOutcome::Green,
        _ => BaselineOutcome::Red,
    }
}
