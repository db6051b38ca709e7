//! Whether a claim holds: the user's commands, the repository's tests, and what the files say.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::error::AutoError;
use crate::process::{CommandOutput, Processes};
use crate::snapshots::Snapshots;
use crate::turns::Checked;

/// How long a command may take where no deadline says less.
const TIMEOUT: Duration = Duration::from_mins(30);
/// The most that is kept of what a command says, in bytes.
const KEEP: usize = 16 * 1024;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// In a word.
    pub outcome: Checked,
    /// Check by check.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command, or what was looked at.
    pub what: String,
    /// Whether it speaks for the claim.
    pub passed: bool,
    /// What was found, where it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
}

impl Verification {
    /// What speaks against the claim, in words for the agent.
    pub fn findings(&self) -> String {
        let mut out = String::new();
        for check in self.checks.iter().filter(|check| !check.passed) {
            let _ = write!(out, "{} failed:\n{}\n", check.what, check.found.trim_end());
        }
        out
    }
}

/// What is checked.
#[derive(Debug)]
pub struct Claimed<'a> {
    /// Where the agent worked.
    pub directory: &'a Path,
    /// The user's commands.
    pub verify: &'a [String],
    /// The repository's own test command.
    pub test_command: Option<&'a str>,
    /// Whether the task asks for changes to files.
    pub changes: bool,
    /// The files, and how they were at the beginning; `None` outside a repository.
    pub files: Option<(&'a Snapshots, &'a str)>,
    /// The most that it may take.
    pub timeout: Option<Duration>,
}

/// A verification that did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The run's deadline.
    Late,
    /// It was given up, and why.
    GivenUp(&'static str),
}

/// Checks a claim. The first check that fails is the last: what follows stands on it.
///
/// A command that passes and changes files is run once more, on what it left: that is what the user will find.
pub async fn verify(
    processes: &Processes,
    claimed: &Claimed<'_>,
) -> Result<Result<Verification, Cut>, AutoError> {
    let until = claimed.timeout.map(|timeout| Instant::now() + timeout);
    let first = once(processes, claimed, until).await?;
    if let (Ok((found, Some(before))), Some((snapshots, _))) = (&first, claimed.files)
        && found.outcome == Checked::Passed
        && snapshots.capture(processes).await? != *before
    {
        return Ok(once(processes, claimed, until).await?.map(|(found, _)| found));
    }
    Ok(first.map(|(found, _)| found))
}

/// One look at everything, and the files before the commands.
async fn once(
    processes: &Processes,
    claimed: &Claimed<'_>,
    until: Option<Instant>,
) -> Result<Result<(Verification, Option<String>), Cut>, AutoError> {
    let mut checks = Vec::new();
    let mut before = None;
    if let Some((snapshots, base)) = claimed.files {
        let now = snapshots.capture(processes).await?;
        if claimed.changes {
            let found = if now == base { "no file is other than at the beginning" } else { "" };
            checks.push(looked("the files changed", found.to_owned()));
        }
        let markers = snapshots.markers(processes, base, &now).await?;
        checks.push(looked("no conflict markers", markers.join("\n")));
        before = Some(now);
    }
    let commands = claimed.verify.iter().map(String::as_str).chain(claimed.test_command);
    let mut commanded = false;
    for text in commands {
        if checks.iter().any(|check| !check.passed) {
            break;
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.unwrap_or(TIMEOUT).min(TIMEOUT);
        let output = processes.shell(text, claimed.directory, timeout, &[], KEEP).await?;
        if output.late && left.is_some_and(|left| left <= TIMEOUT) {
            return Ok(Err(Cut::Late));
        }
        commanded = true;
        checks.push(judged(text, &output));
    }
    let outcome = match (checks.iter().all(|check| check.passed), commanded) {
        (false, _) => Checked::Refuted,
        (true, true) => Checked::Passed,
        (true, false) => Checked::Unproved,
    };
    Ok(Ok((Verification { outcome, checks }, before)))
}

fn looked(what: &str, found: String) -> Check {
    Check { what: what.to_owned(), passed: found.is_empty(), found }
}

fn judged(text: &str, output: &CommandOutput) -> Check {
    let what = format!("`{text}`");
    if output.exit.success() && !output.late {
        return Check { what, passed: true, found: String::new() };
    }
    let end = if output.late { "took too long".to_owned() } else { format!("ended with {}", output.exit) };
    let found = format!(
        "it {end}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Check { what, passed: false, found }
}
