//! The run that a user means.

use std::path::Path;

use amplihack_config::launcher_context::pick_by_prefix;
use amplihack_session::journal::JournaledRun;
use amplihack_sys::error::ExitKind;

use super::recorded_sessions;
use crate::ui::CommandFailure;

/// The run of this id, of this beginning of an id, or the latest one.
pub(super) fn find_session(home: &Path, wanted: &str) -> Result<JournaledRun, CommandFailure> {
    let mut runs = recorded_sessions(home);
    if wanted == "latest" {
        return runs.pop().ok_or_else(|| {
            CommandFailure::not_found("no run has been recorded yet", "run an agent with --output json")
        });
    }
    pick_by_prefix(runs, wanted, |run| run.id.as_str()).map_err(|many| match many {
        0 => CommandFailure::not_found(
            format!("no session with the id {wanted:?} is kept"),
            "`amplihack sessions list` shows those that are",
        ),
        _ => CommandFailure::bad_usage(
            format!("{many} sessions begin with {wanted:?}"),
            "write more of the id; `amplihack sessions list` shows them",
        ),
    })
}

impl CommandFailure {
    fn not_found(message: impl Into<String>, hint: &str) -> Self {
        Self::new("not_found", message, hint, ExitKind::NotFound)
    }
}
