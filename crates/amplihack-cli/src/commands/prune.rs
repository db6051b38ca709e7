//! Removal of the records of runs that ended long ago.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_sys::lock::{FileLock, LockError};
use amplihack_sys::push_line;
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::cli::parse_duration;
use crate::ui::{CommandFailure, print_note, print_visible};

// Options of commands that prune.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Time since the end of a run, as in 30d
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    older_than: Duration,
    /// Say what would be removed; remove nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// A run that is over.
pub(super) struct EndedRun {
    /// Id of the run.
    pub id: String,
    /// Directory with the records of the run.
    pub directory: PathBuf,
    /// Time of the end. For a run that was killed it is not known; it was not before the start.
    pub ended: Timestamp,
}

impl PruneArgs {
    /// Removes what is kept of those of `runs` that ended so long ago, and names them, one a line. One that cannot be removed does not
    /// hold up the others.
    ///
    /// `release_worktree` removes what a run has elsewhere, or refuses: then its record stays.
    pub(super) fn prune_runs(
        &self,
        runs: impl IntoIterator<Item = EndedRun>,
        release_worktree: &dyn Fn(&EndedRun) -> Result<(), CommandFailure>,
    ) -> Result<u8, CommandFailure> {
        let now = Timestamp::now();
        let age = SignedDuration::try_from(self.older_than).unwrap_or(SignedDuration::MAX);
        let (mut out, mut failed) = (String::new(), None);
        for run in runs.into_iter().filter(|run| now.duration_since(run.ended) >= age) {
            if let Err(refusal) = release_worktree(&run) {
                if let Some(earlier) = failed.replace(refusal) {
                    print_note("warning", earlier.message());
                }
                continue;
            }
            let EndedRun { id, directory, .. } = run;
            match if self.dry_run { Ok(true) } else { remove_record(&directory) } {
                Ok(true) => {
                    push_line!(out, "{id}");
                }
                Ok(false) => {}
                Err(error) => {
                    let what = format!("{} cannot be removed", directory.display());
                    if let Some(earlier) = failed.replace(CommandFailure::from_io_error(&what, &error)) {
                        print_note("warning", earlier.message());
                    }
                }
            }
        }
        print_visible(&out)?;
        failed.map_or(Ok(0), Err)
    }
}

/// Removes the directory of a run, unless somebody went on with it meanwhile, or removed it.
fn remove_record(directory: &Path) -> io::Result<bool> {
    let lock = directory.join("lock");
    let _held = match lock.exists().then(|| FileLock::acquire(&lock, Duration::ZERO)).transpose() {
        Err(LockError::Busy { .. }) => return Ok(false),
        // What cannot be locked can neither be gone on with.
        other => other.ok(),
    };
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is gone already is somebody else's work; one that stays is an error, and the others go all the same.
    #[test]
    fn what_cannot_be_removed_does_not_hold_up_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let run = |id: &str| {
            let directory = dir.path().join(id);
            EndedRun { id: id.to_owned(), directory, ended: Timestamp::UNIX_EPOCH }
        };
        std::fs::write(dir.path().join("file"), "").unwrap();
        std::fs::create_dir(dir.path().join("old")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("link")).unwrap();
        let args = PruneArgs { older_than: Duration::from_secs(1), dry_run: false };
        assert_eq!(args.prune_runs([run("gone")], &|_| Ok(())).unwrap(), 0);
        let error =
            args.prune_runs([run("gone"), run("file"), run("old"), run("link")], &|_| Ok(())).unwrap_err();
        assert!(error.message().contains("file cannot be removed"), "{}", error.message());
        assert!(!dir.path().join("old").exists() && !dir.path().join("link").is_symlink());
        assert!(dir.path().join("file").exists(), "what a link leads to is not removed");
    }
}
