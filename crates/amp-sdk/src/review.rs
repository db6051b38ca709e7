//! Reviews by the CLI's review agent.

use std::path::PathBuf;
use std::time::Duration;

use crate::capability::CliFeature;
use crate::manage::{CommandWords, ManagementCall, calls};
use crate::setters::setters;

/// Time that a review may take.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// The subject and manner of a [`review`](fn@review).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReviewOptions {
    /// The changes in words, or a range of git. Default: what is not committed.
    pub diff: Option<String>,
    /// Only these files.
    pub files: Vec<PathBuf>,
    /// Further information for the reviewer. It is on the command line: no place for secrets.
    pub instructions: Option<String>,
    /// Directory in which checks are looked for.
    pub check_scope: Option<PathBuf>,
    /// Only the checks of these names.
    pub check_filter: Vec<String>,
    /// Only checks, no findings of its own.
    pub checks_only: bool,
    /// As JSON.
    pub json: bool,
    /// `low` or `high`.
    pub thinking: Option<String>,
    /// Only a summary; older CLIs only.
    pub summary_only: bool,
    /// Every tool runs without a question.
    pub dangerously_allow_all: bool,
}

setters! {
    ReviewOptions {
        into(String) with_diff = diff,
        list(PathBuf) with_files = files,
        into(String) with_instructions = instructions,
        into(PathBuf) with_check_scope = check_scope,
        list(String) with_check_filter = check_filter,
        plain(bool) with_checks_only = checks_only,
        plain(bool) with_json = json,
        into(String) with_thinking = thinking,
        plain(bool) with_summary_only = summary_only,
        plain(bool) with_dangerously_allow_all = dangerously_allow_all,
    }
}

calls! {
    amp;

    /// Reviews changes; returns what the CLI prints. It may take 300 s unless [`Amp::timeout`](crate::AmpContext::timeout) says otherwise.
    ///
    /// In governed execution `dangerously_allow_all` is refused.
    review(what: &ReviewOptions) -> String {
        let mut needs = vec![CliFeature::Review];
        if what.summary_only {
            needs.push(CliFeature::ReviewSummaryOnly);
        }
        let mut words = CommandWords::new(&["review"]);
        if let Some(diff) = &what.diff {
            words = words.with_positional("diff", diff);
        }
        let words = words
            .with_each("--files", &what.files)
            .with_option("--instructions", what.instructions.as_ref())
            .with_option("--check-scope", what.check_scope.as_ref())
            .with_each("--check-filter", &what.check_filter)
            .with_switch("--checks-only", what.checks_only)
            .with_switch("--summary-only", what.summary_only)
            .with_switch("--json", what.json)
            .with_option("--thinking", what.thinking.as_ref())
            .with_switch("--dangerously-allow-all", what.dangerously_allow_all);
        let call = ManagementCall::new_text(words, &needs).with_timeout(DEFAULT_TIMEOUT);
        Ok(if what.dangerously_allow_all { call.refuse_governed() } else { call })
    }
}
