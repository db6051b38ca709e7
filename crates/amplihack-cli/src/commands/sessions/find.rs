//! The run that a user means.

use std::path::Path;

use amplihack_session::journal::Recorded;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::meant;

use super::all;
use crate::ui::Failure;

/// The run of this id, of this beginning of an id, or the latest one.
pub(super) fn one(home: &Path, wanted: &str) -> Result<Recorded, Failure> {
    let mut runs = all(home);
    if wanted == "latest" {
        return runs.pop().ok_or_else(|| {
            Failure::missing("no run has been recorded yet", "run an agent with --output json")
        });
    }
    meant(runs, wanted, |run| run.id.as_str()).map_err(|many| match many {
        0 => Failure::missing(
            format!("no session with the id {wanted:?} is kept"),
            "`amplihack sessions list` shows those that are",
        ),
        _ => Failure::usage(
            format!("{many} sessions begin with {wanted:?}"),
            "write more of the id; `amplihack sessions list` shows them",
        ),
    })
}

impl Failure {
    fn missing(message: impl Into<String>, hint: &str) -> Self {
        Self::of("not_found", message, hint, ExitKind::NotFound)
    }
}
