//! Reviews by the CLI's review agent.

use std::path::PathBuf;
use std::time::Duration;

use crate::capability::Feature;
use crate::manage::{Call, Words, calls};

/// How long a review may take.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// What [`review`](fn@review) looks at, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The changes in words, or a range of git. Default: what is not committed.
    pub diff: Option<String>,
    /// Only these files.
    pub files: Vec<PathBuf>,
    /// What else the reviewer should know. It is on the command line: no place for secrets.
    pub instructions: Option<String>,
    /// Where checks are looked for.
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

calls! {
    amp;

    /// Reviews changes; returns what the CLI prints. It may take 300 s unless [`Amp::timeout`](crate::Amp::timeout) says otherwise.
    ///
    /// In governed execution `dangerously_allow_all` is refused.
    review(what: &Review) -> String {
        let mut needs = vec![Feature::Review];
        if what.summary_only {
            needs.push(Feature::ReviewSummaryOnly);
        }
        let mut words = Words::new(&["review"]);
        if let Some(diff) = &what.diff {
            words = words.place("diff", diff);
        }
        let words = words
            .each("--files", &what.files)
            .option("--instructions", what.instructions.as_ref())
            .option("--check-scope", what.check_scope.as_ref())
            .each("--check-filter", &what.check_filter)
            .switch("--checks-only", what.checks_only)
            .switch("--summary-only", what.summary_only)
            .switch("--json", what.json)
            .option("--thinking", what.thinking.as_ref())
            .switch("--dangerously-allow-all", what.dangerously_allow_all);
        let call = Call::text(words, &needs).within(DEFAULT_TIMEOUT);
        Ok(if what.dangerously_allow_all { call.ungoverned() } else { call })
    }
}
