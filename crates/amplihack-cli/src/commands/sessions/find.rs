//! The run that a user means.

use std::path::Path;

use amplihack_session::journal::Recorded;
use amplihack_utils::error::ExitKind;

use super::all;
use crate::ui::Failure;

/// The run of this id, of this beginning of an id, or the latest one.
pub(super) fn one(home: &Path, wanted: &str) -> Result<Recorded, Failure> {
    let mut runs = all(home);
    if wanted == "latest" {
        return runs
            .pop()
            .ok_or_else(|| Failure::missing("no session is kept yet", "run an agent with --output json"));
    }
    if let Some(exact) = runs.iter().position(|run| run.id.as_str() == wanted) {
        return Ok(runs.swap_remove(exact));
    }
    runs.retain(|run| !wanted.is_empty() && run.id.as_str().starts_with(wanted));
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        (Some(_), false) => Err(Failure::usage(
            format!("{} sessions begin with {wanted:?}", runs.len() + 1),
            "write more of the id; `amplihack sessions list` shows them",
        )),
        (None, _) => Err(Failure::missing(
            format!("no session of the id {wanted:?} is kept"),
            "`amplihack sessions list` shows those that are",
        )),
    }
}

impl Failure {
    fn missing(message: impl Into<String>, hint: &str) -> Self {
        Self::of("not_found", message, hint, ExitKind::NotFound)
    }
}
