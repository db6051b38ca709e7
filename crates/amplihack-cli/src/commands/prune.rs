//! What is kept of runs that ended long ago goes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::cli::duration;
use crate::ui::Failure;

// Options of commands that prune.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// How long ago they must have ended, as in 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    older_than: Duration,
    /// Say what would be removed; remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// A run that is over.
pub(super) struct Over {
    /// Its name.
    pub id: String,
    /// What is kept of it.
    pub directory: PathBuf,
    /// When it ended. When one was killed is not known; it was not before its start.
    pub ended: Timestamp,
}

impl PruneArgs {
    /// Removes what is kept of those of `runs` that ended so long ago, and names them, one a line.
    pub(super) fn prune(&self, runs: impl IntoIterator<Item = Over>) -> Result<String, Failure> {
        let now = Timestamp::now();
        let age = SignedDuration::try_from(self.older_than).unwrap_or(SignedDuration::MAX);
        let mut out = String::new();
        for Over { id, directory, .. } in runs.into_iter().filter(|run| now.duration_since(run.ended) >= age)
        {
            if !self.dry_run {
                std::fs::remove_dir_all(&directory).map_err(|error| {
                    Failure::system(&format!("{} cannot be removed", directory.display()), &error)
                })?;
            }
            let _ = writeln!(out, "{id}");
        }
        Ok(out)
    }
}
