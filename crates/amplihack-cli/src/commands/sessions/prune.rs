//! `sessions prune`: what is kept of runs that ended long ago goes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use amplihack_session::journal::Recorded;
use jiff::{SignedDuration, Timestamp};

use crate::ui::{self, Failure};

/// Removes the journals of `runs` that ended, or were killed, more than `age` ago, and names them.
pub(super) fn run(home: &Path, runs: &[Recorded], age: Duration, dry_run: bool) -> Result<u8, Failure> {
    let now = Timestamp::now();
    let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
    let mut out = String::new();
    for run in runs.iter().filter(|run| !run.record.is_running()) {
        // When one was killed is not known; it was not before its start.
        let ended = run.record.ended_at.unwrap_or(run.record.started_at);
        if now.duration_since(ended) < age {
            continue;
        }
        if !dry_run {
            std::fs::remove_dir_all(&run.directory).map_err(|error| {
                Failure::system(&format!("{} cannot be removed", run.directory.display()), &error)
            })?;
        }
        let _ = writeln!(out, "{}", run.id);
    }
    out += &super::auto::prune(home, age, dry_run)?;
    ui::data(&out)?;
    Ok(0)
}
