//! Whether the work is done: the user's commands, the repository's tests, and what the files show.

mod baseline;
mod copy;
mod own_files;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::AutoError;
use crate::process::{CommandOutput, Processes};
use crate::snapshots::Snapshots;
use crate::tree_diff::tree_diff;
use crate::turns::Checked;

pub use baseline::{Baseline, BaselineCheck, BaselineOutcome, baseline};

/// How long a command may take where the user does not say.
pub const TIMEOUT: Duration = Duration::from_mins(10);
/// How long after its deadline a run may still be verified.
pub(crate) const AFTER_DEADLINE: Duration = Duration::from_mins(1);
/// The most that is kept of a command's output, in bytes.
const KEEP: usize = 16 * 1024;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// In a word.
    pub outcome: Checked,
    /// Check by check.
    pub checks: Vec<Check>,
    /// Whether files were other than at the beginning, before the commands were run; `None` outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Files of the checks themselves that are other than at the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_changed: Vec<String>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command in backticks, or what was looked at.
    pub what: String,
    /// Whether it supports the claim.
    pub passed: bool,
    /// What was found, if it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

impl Check {
    /// Why it failed, in one line: the command with the last line of its output, or what was found.
    pub fn failure(&self) -> String {
        let last = self.found.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if self.is_command() { format!("{}: {last}", self.what) } else { last.to_owned() }
    }

    fn is_command(&self) -> bool {
        self.what.starts_with('`')
    }
}

impl Verification {
    /// What speaks against the claim, in words for the agent.
    pub fn findings(&self) -> String {
        let mut out = String::new();
        for check in self.failed() {
            if check.is_command() {
                let _ = writeln!(out, "{} failed:", check.what);
            }
            let _ = writeln!(out, "{}", check.found.trim_end());
        }
        out
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| !check.passed)
    }
}

/// What is checked, and with what.
pub struct CheckContext<'a> {
    /// Where the agent worked.
    pub directory: &'a Path,
    /// The commands: the user's, and the repository's own test command.
    pub commands: Vec<&'a str>,
    /// Whether the task asks for changes to files, as the agent reported.
    pub changes: Option<bool>,
    /// Whether it asks for them whatever the agent reports.
    pub expect_changes: bool,
    /// What the commands showed before the first turn.
    pub baseline: Option<BaselineOutcome>,
    /// Run the original's copy of a check that was changed, too.
    pub strict: bool,
    /// The files, and how they were at the beginning; `None` outside a repository.
    pub files: Option<(&'a Snapshots, &'a str)>,
    /// The most that one command may take.
    pub timeout: Duration,
    /// When all of it must have ended.
    pub until: Option<Instant>,
    /// Hears which command is about to be run, and how long it may take.
    pub told: &'a dyn Fn(&str, Duration),
}

/// A verification that did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The run's deadline.
    Late,
    /// It was given up, and why.
    GivenUp(&'static str),
}

impl CheckContext<'_> {
    /// How long a command may take that begins now.
    fn limit(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.unwrap_or(self.timeout).min(self.timeout)
    }

    /// Runs one of the commands in `directory`.
    async fn run(
        &self,
        processes: &Processes,
        text: &str,
        directory: &Path,
    ) -> Result<CommandOutput, AutoError> {
        let limit = self.limit();
        (self.told)(text, limit);
        processes.shell(text, directory, limit, &[], KEEP).await
    }

    /// Whether a change was asked for, if nothing but the claim was there to tell; with commands, it has to be said.
    fn asks_for_changes(&self) -> bool {
        let silent = self.commands.is_empty();
        self.expect_changes || self.changes.unwrap_or(silent)
    }
}

/// Checks the work. The first check that fails is the last: what follows stands on it.
///
/// A command that passes and changes files is run once more, on what it left: that is what the user will find.
pub async fn verify(
    processes: &Processes,
    context: &CheckContext<'_>,
) -> Result<Result<Verification, Cut>, AutoError> {
    let found = match once(processes, context).await? {
        Ok((found, Some(before))) if found.outcome == Checked::Passed => {
            let moved = match context.files {
                Some((snapshots, _)) => snapshots.capture(processes).await? != before,
                None => false,
            };
            if moved { once(processes, context).await? } else { Ok((found, Some(before))) }
        }
        other => other,
    };
    let (mut found, now) = match found {
        Ok(found) => found,
        Err(cut) => return Ok(Err(cut)),
    };
    if let (Checked::Passed, Some((snapshots, base)), Some(now)) =
        (found.outcome, context.files, now.as_deref())
    {
        match tree_diff(processes, snapshots.root(), &snapshots.env(), base, now).await {
            Ok(changed) => {
                let own = own_files::of(&context.commands, context.directory, snapshots.root(), &changed);
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
                let found_here = format!("whether a check was changed cannot be told: {said}");
                found.checks.push(looked("the checks are the original ones", found_here));
            }
            Err(AutoError::Git { .. }) => {}
            Err(error) => return Err(error),
        }
        if found.failed().next().is_some() {
            found.outcome = Checked::Refuted;
        }
    }
    Ok(Ok(found))
}

/// One look at everything, and the files before the commands.
async fn once(
    processes: &Processes,
    context: &CheckContext<'_>,
) -> Result<Result<(Verification, Option<String>), Cut>, AutoError> {
    let mut checks = Vec::new();
    let mut before = None;
    let mut changed = None;
    if let Some((snapshots, base)) = context.files {
        let now = snapshots.capture(processes).await?;
        changed = Some(now != base);
        let markers = snapshots.markers(processes, base, &now).await?;
        checks.push(looked("no conflict markers", markers.join("\n")));
        before = Some(now);
    }
    for text in &context.commands {
        if checks.iter().any(|check: &Check| !check.passed) {
            break;
        }
        let output = context.run(processes, text, context.directory).await?;
        checks.push(judged(text, &output, context.timeout));
    }
    let refuted = checks.iter().any(|check| !check.passed);
    // A check that turned shows more than what git sees of the files.
    let turned = !context.commands.is_empty() && context.baseline == Some(BaselineOutcome::Red);
    let outcome = if refuted {
        Checked::Refuted
    } else if changed == Some(false) && !turned && context.asks_for_changes() {
        checks.push(looked("a file changed", "no file changed since the beginning of the run".to_owned()));
        Checked::Unchanged
    } else if context.commands.is_empty() {
        Checked::Unproved
    } else {
        Checked::Passed
    };
    Ok(Ok((Verification { outcome, checks, changed, check_changed: Vec::new() }, before)))
}

fn looked(what: &str, found: String) -> Check {
    Check { what: what.to_owned(), passed: found.is_empty(), found }
}

fn judged(text: &str, output: &CommandOutput, timeout: Duration) -> Check {
    let what = format!("`{text}`");
    if output.exit.success() && !output.late {
        return Check { what, passed: true, found: String::new() };
    }
    Check { what, passed: false, found: told(output, timeout) }
}

/// How a command ended, and what it printed. The last line is what a person is shown, so the reason comes last.
fn told(output: &CommandOutput, timeout: Duration) -> String {
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
