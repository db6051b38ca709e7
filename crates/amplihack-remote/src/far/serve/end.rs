//! A session is ended, and removed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_sys::fs::create_private_dir;

use super::context::{RunnerFault, RunnerResult, RunnerSession, drop_secret, fail_verb, parse_number};

/// Pause between looks for the recorded end of a session.
const NAP: Duration = Duration::from_millis(50);
/// Time for the runner to record the end, after the grace.
const PATIENCE: Duration = Duration::from_secs(15);
/// For what was started while the rest was ended.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// `end ID GRACE`
pub(super) fn end_session(session: &RunnerSession<'_>, words: &[&str]) -> RunnerResult<String> {
    let Some(grace) = words.get(1).and_then(|word| parse_number(word)).map(Duration::from_secs) else {
        return fail_verb(64, "end needs a number of seconds");
    };
    let unsaid = |error: &dyn std::fmt::Display| {
        RunnerFault::new(74, format!("it cannot be written down that {} is ended: {error}", session.id))
    };
    // What is not here yet may be on its way: it must find that it was ended.
    create_private_dir(session.directory()).map_err(|error| unsaid(&error))?;
    session.run_locked(|_| {
        if session.has_file("exit") {
            return Ok(());
        }
        File::create(session.path("killed")).map(drop).map_err(|error| unsaid(&error))
    })?;
    session.end_members(grace)?;
    let begun = Instant::now();
    let mut survivors = 0;
    while !session.has_file("exit") {
        // Under the lock: nobody starts the session meanwhile. A runner that lives writes its end itself.
        session.run_locked(|_| {
            if session.has_file("exit") || session.is_runner_alive() {
                return Ok(());
            }
            let code = if session.has_file("started") { 137 } else { 143 };
            let marked = File::create(session.path("killed")).map(drop);
            marked.and_then(|()| session.record_exit(code)).map_err(|error| unsaid(&error))
        })?;
        if begun.elapsed() > grace + PATIENCE {
            survivors = 1;
            break;
        }
        if !session.has_file("exit") {
            std::thread::sleep(NAP);
        }
    }
    survivors += session.end_members(LAST_GRACE)?;
    Ok(format!("ended {survivors}\n"))
}

/// `remove ID`
pub(super) fn remove_session(session: &RunnerSession<'_>) -> RunnerResult<String> {
    let gone = session.ground.root().join("gone");
    session.run_locked(|_| {
        if session.is_runner_alive() {
            return fail_verb(75, format!("{} runs: end it first", session.id));
        }
        drop_secret(session.directory());
        // At once out of sight, so that nobody sees a half.
        let aside = gone.join(format!("{}.{}", session.id, std::process::id()));
        create_private_dir(&gone)
            .and_then(|()| fs::rename(session.directory(), aside))
            .map_err(RunnerFault::disk_fault(&gone))
    })?;
    for entry in fs::read_dir(&gone).map_err(RunnerFault::disk_fault(&gone))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&session.id) {
            drop_tree(&entry.path(), &session.id).map_err(RunnerFault::disk_fault(&entry.path()))?;
            clear_away(&entry.path()).map_err(RunnerFault::disk_fault(&gone))?;
        }
    }
    Ok("removed\n".to_owned())
}

/// Removes the work tree of the session `id`, whose state is in `directory`, where that leads to it by a link. Earlier versions kept the
/// tree itself in there.
fn drop_tree(directory: &Path, id: &str) -> io::Result<()> {
    let Ok(tree) = fs::read_link(directory.join("repo")) else { return Ok(()) };
    // Whoever changes the link does not have another directory removed.
    match tree.parent() {
        Some(place) if tree.is_absolute() && place.ends_with(id) && tree.ends_with("repo") => {
            clear_away(place)
        }
        _ => Ok(()),
    }
}

/// Removes a directory, also one that holds directories which are not writable. Another may be at it too.
fn clear_away(path: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(path).or_else(|_| {
        open_up(path);
        fs::remove_dir_all(path)
    });
    removed.or_else(|error| if path.exists() { Err(error) } else { Ok(()) })
}

/// Makes directories writable, as far as that can be.
fn open_up(directory: &Path) {
    let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_are_not_writable_go_too() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/c"), "x").unwrap();
        for name in ["a/b", "a"] {
            fs::set_permissions(top.join(name), fs::Permissions::from_mode(0o500)).unwrap();
        }
        open_up(&top);
        for name in ["a", "a/b"] {
            let mode = fs::metadata(top.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        clear_away(&top).unwrap();
        assert!(!top.exists());
        clear_away(&top).unwrap();
    }
}
