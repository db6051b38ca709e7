//! Going on with a run whose runner is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use amplihack_config::launcher_context::SessionId;
use amplihack_session::journal::JournaledRun as Session;
use amplihack_session::step::{PROCESSES, StepSpool};
use amplihack_session::{NamedProcess, leftovers};
use amplihack_sys::ProcessExit;
use amplihack_sys::lock::{FileLock, LockError};

use crate::journal::{RUN_ID, RecipeRunEntry, RecordedRecipeRun};
use crate::run::CompletedRecipeWork;

/// Takes the run in `directory` for this process, if no other has it. A resume takes it before it looks at what the run has done, or
/// ends anything: what another resume does meanwhile is not a dead runner's.
pub fn lock_run(directory: &Path) -> Result<FileLock, LockError> {
    FileLock::acquire(&directory.join("lock"), Duration::ZERO)
}

/// Ends what the dead runner of `run` left running. Returns what would not end.
///
/// Blocks, at most for about the grace: what watches over a step is waited for, so that an end that it is writing down is seen.
pub fn end_leftovers(run: &RecordedRecipeRun, grace: Duration) -> io::Result<Vec<NamedProcess>> {
    let listed = leftovers::listed_processes(&run.directory.join("steps").join(PROCESSES))?;
    leftovers::end_leftovers(
        &listed,
        &[format!("{RUN_ID}={}", run.header.run_id)],
        grace + Duration::from_secs(1),
    )
}

/// Collects the work that `run` has done. To be called when nothing of it is left running.
///
/// Of a run that came to its end and failed, the steps that failed are not done, nor the recipes that they are in.
pub fn completed_work(
    run: &RecordedRecipeRun,
    spool: &StepSpool,
    home: Option<&Path>,
) -> CompletedRecipeWork {
    let mut done = CompletedRecipeWork::default();
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    let mut sessions: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in &run.entries {
        match entry {
            RecipeRunEntry::Launch { path, name, what, .. } => {
                let number: u32 =
                    name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or_default();
                let known = done.launches.entry(path.clone()).or_default();
                *known = number.max(*known);
                if what == "step" {
                    open.insert(path, name);
                    sessions.remove(path.as_str());
                }
            }
            RecipeRunEntry::Session { path, session, .. } => {
                sessions.insert(path, session);
            }
            RecipeRunEntry::End { path, result, fatal, .. } => {
                if *fatal {
                    failed.insert(path);
                } else {
                    failed.remove(path.as_str());
                }
                if let Some(agent) = &result.agent {
                    done.used.add_amounts(&agent.usage);
                }
                done.ended.insert(path.clone(), result.clone());
                open.remove(path.as_str());
                sessions.remove(path.as_str());
            }
            _ => {}
        }
    }
    for (path, name) in open {
        // A program that was ended, by whomever, has not done its work.
        let ended = spool.read_record(name).is_some_and(|record| {
            !record.ended_by_us && !record.lost && matches!(record.exit, ProcessExit::Code(_))
        });
        if ended {
            done.adopt.insert(path.to_owned(), name.to_owned());
        }
    }
    for (path, session) in sessions {
        let ended =
            home.zip(SessionId::parse(session).ok()).and_then(|(home, id)| Session::read(home, &id).ok()?);
        if ended.and_then(|found| found.record.end).is_some_and(|end| end.is_success()) {
            done.adopt.insert(path.to_owned(), session.to_owned());
        }
    }
    if run.has_failed() {
        // A failure that something above did not mind is done.
        let ended_the_run = |path: &str| {
            let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
            ends.map(|end| &path[..end]).all(|above| failed.contains(above))
        };
        done.ended.retain(|path, _| !ended_the_run(path));
    }
    done
}
