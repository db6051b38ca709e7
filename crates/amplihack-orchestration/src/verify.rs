//! Verification of the work: the user's commands, the repository's tests, and what the files show.

mod baseline;
mod copy;
mod own_files;

use std::path::Path;
use std::time::Duration;

use amplihack_sys::push_line;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::AutoError;
use crate::process::{RunCommandOutput, RunProcesses};
use crate::snapshots::SnapshotStore;
use crate::tree_diff::tree_diff;
use crate::turns::VerificationResult;

pub use baseline::{BaselineCheck, BaselineOutcome, CheckBaseline, run_baseline};

/// Longest time of a command where the user sets none.
pub const TIMEOUT: Duration = Duration::from_mins(10);
/// Time after its deadline in which a run may still be verified.
pub(crate) const AFTER_DEADLINE: Duration = Duration::from_mins(1);
/// The most that is kept of a command's output, in bytes.
const KEEP: usize = 16 * 1024;

/// Findings of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkVerification {
    /// In a word.
    pub outcome: VerificationResult,
    /// Check by check.
    pub checks: Vec<CheckResult>,
    /// True if files differed from the beginning, before the commands were run; `None` outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Files of the checks themselves that are other than at the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_changed: Vec<String>,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command in backticks, or what was looked at.
    pub what: String,
    /// True if it supports the claim.
    pub passed: bool,
    /// Findings, if it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

impl CheckResult {
    /// Reason why it failed, in one line: the command with the last line of its output, or what was found.
    pub fn failure_line(&self) -> String {
        let last = self.found.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if self.is_command() { format!("{}: {last}", self.what) } else { last.to_owned() }
    }

    fn is_command(&self) -> bool {
        self.what.starts_with('`')
    }
}

impl WorkVerification {
    /// Findings against the claim, in words for the agent.
    pub fn findings_text(&self) -> String {
        let mut out = String::new();
        for check in self.failed_checks() {
            if check.is_command() {
                push_line!(out, "{} failed:", check.what);
            }
            push_line!(out, "{}", check.found.trim_end());
        }
        out
    }

    /// The checks that failed.
    pub fn failed_checks(&self) -> impl Iterator<Item = &CheckResult> {
        self.checks.iter().filter(|check| !check.passed)
    }
}

/// Context of a verification: what is checked, and with what.
pub struct CheckContext<'a> {
    /// Directory in which the agent worked.
    pub directory: &'a Path,
    /// The commands: the user's, and the repository's own test command.
    pub commands: Vec<&'a str>,
    /// True if the task asks for changes to files, as the agent reported; `None` if it did not.
    pub changes: Option<bool>,
    /// True if the task asks for changes whatever the agent reports.
    pub expect_changes: bool,
    /// Outcome of the commands before the first turn.
    pub baseline: Option<BaselineOutcome>,
    /// Run the original's copy of a check that was changed, too.
    pub strict: bool,
    /// The files, and how they were at the beginning; `None` outside a repository.
    pub files: Option<(&'a SnapshotStore, &'a str)>,
    /// The most that one command may take.
    pub timeout: Duration,
    /// Time at which all of it must have ended.
    pub until: Option<Instant>,
    /// Hears which command is about to be run, and how long it may take.
    pub told: &'a dyn Fn(&str, Duration),
}

/// A verification that did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationCut {
    /// The run's deadline.
    Late,
    /// The run was given up; with the reason.
    GivenUp(&'static str),
}

impl CheckContext<'_> {
    /// Longest time for a command that begins now.
    fn time_limit(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.unwrap_or(self.timeout).min(self.timeout)
    }

    /// Runs one of the commands in `directory`.
    async fn run_command(
        &self,
        processes: &RunProcesses,
        text: &str,
        directory: &Path,
    ) -> Result<RunCommandOutput, AutoError> {
        let limit = self.time_limit();
        (self.told)(text, limit);
        processes.run_shell(text, directory, limit, &[], KEEP).await
    }

    /// Reports whether a change was asked for, if nothing but the claim was there to tell; with commands, it has to be said.
    fn asks_for_changes(&self) -> bool {
        let silent = self.commands.is_empty();
        self.expect_changes || self.changes.unwrap_or(silent)
    }
}

/// Checks the work. The first check that fails is the last: what follows stands on it.
///
/// A command that passes and changes files is run once more, on what it left: that is what the user will find.
pub async fn verify_work(
    processes: &RunProcesses,
    context: &CheckContext<'_>,
) -> Result<Result<WorkVerification, VerificationCut>, AutoError> {
    let found = match check_once(processes, context).await? {
        Ok((found, Some(before))) if found.outcome == VerificationResult::Passed => {
            let moved = match context.files {
                Some((snapshots, _)) => snapshots.capture(processes).await? != before,
                None => false,
            };
            if moved { check_once(processes, context).await? } else { Ok((found, Some(before))) }
        }
        other => other,
    };
    let (mut found, now) = match found {
        Ok(found) => found,
        Err(cut) => return Ok(Err(cut)),
    };
    if let (VerificationResult::Passed, Some((snapshots, base)), Some(now)) =
        (found.outcome, context.files, now.as_deref())
    {
        match tree_diff(processes, snapshots.root(), &snapshots.git_env(), base, now).await {
            Ok(changed) => {
                let own = own_files::find_own_files(
                    &context.commands,
                    context.directory,
                    snapshots.root(),
                    &changed,
                );
                found.check_changed = own.iter().map(|change| change.path.clone()).collect();
                if context.strict && !own.is_empty() {
                    match copy::run_originals(processes, context, now, &own).await? {
                        Ok(checks) => found.checks.extend(checks),
                        Err(cut) => return Ok(Err(cut)),
                    }
                }
            }
            // The agent may have pruned what the files were at the beginning.
            Err(AutoError::Git { said, .. }) if context.strict => {
                let found_here = format!("whether a check was changed could not be determined: {said}");
                found.checks.push(observation_result("the checks are the original ones", found_here));
            }
            Err(AutoError::Git { .. }) => {}
            Err(error) => return Err(error),
        }
        if found.failed_checks().next().is_some() {
            found.outcome = VerificationResult::Refuted;
        }
    }
    Ok(Ok(found))
}

/// Looks at everything once; returns the files before the commands too.
async fn check_once(
    processes: &RunProcesses,
    context: &CheckContext<'_>,
) -> Result<Result<(WorkVerification, Option<String>), VerificationCut>, AutoError> {
    let mut checks = Vec::new();
    let mut before = None;
    let mut changed = None;
    if let Some((snapshots, base)) = context.files {
        let now = snapshots.capture(processes).await?;
        changed = Some(now != base);
        let markers = snapshots.conflict_markers(processes, base, &now).await?;
        checks.push(observation_result("no conflict markers", markers.join("\n")));
        before = Some(now);
    }
    for text in &context.commands {
        if checks.iter().any(|check: &CheckResult| !check.passed) {
            break;
        }
        let output = context.run_command(processes, text, context.directory).await?;
        checks.push(command_result(text, &output, context.timeout));
    }
    let refuted = checks.iter().any(|check| !check.passed);
    // A check that turned shows more than what git sees of the files.
    let turned = !context.commands.is_empty() && context.baseline == Some(BaselineOutcome::Red);
    let outcome = if refuted {
        VerificationResult::Refuted
    } else if changed == Some(false) && !turned && context.asks_for_changes() {
        checks.push(observation_result(
            "a file changed",
            "no file changed since the beginning of the run".to_owned(),
        ));
        VerificationResult::Unchanged
    } else if context.commands.is_empty() {
        VerificationResult::Unproved
    } else {
        VerificationResult::Passed
    };
    Ok(Ok((WorkVerification { outcome, checks, changed, check_changed: Vec::new() }, before)))
}

fn observation_result(what: &str, found: String) -> CheckResult {
    CheckResult { what: what.to_owned(), passed: found.is_empty(), found }
}

fn command_result(text: &str, output: &RunCommandOutput, timeout: Duration) -> CheckResult {
    let what = format!("`{text}`");
    if output.exit.is_success() && !output.late {
        return CheckResult { what, passed: true, found: String::new() };
    }
    CheckResult { what, passed: false, found: describe_output(output, timeout) }
}

/// Describes the end of a command and its output. The last line is what a person is shown, so the reason comes last.
fn describe_output(output: &RunCommandOutput, timeout: Duration) -> String {
    let printed =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
    let end = if output.late {
        format!("it took too long and was ended; --verify-timeout is {timeout:?}")
    } else {
        format!("it ended with {}", output.exit)
    };
    let [stdout, stderr] = printed;
    // What was printed before it was ended does not tell why it failed.
    let parts = if output.late { [stdout, stderr, end] } else { [end, stdout, stderr] };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}
