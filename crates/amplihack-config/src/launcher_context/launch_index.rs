//! Running launches by their launcher's process: the index by which a descendant finds the launch above it without a search.
//!
//! An empty file `sessions/.living/<pid>-<start time>/<session>` for each launch. The session's own file is what counts: an
//! entry without one is a launch that has ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::session::{SessionContext, SessionId, sessions_directory};
use amplihack_sys::fs::create_private_dir;

/// No session is called so: their ids do not begin with a dot.
const DIRECTORY: &str = ".living";

fn index_directory(home: &Path) -> PathBuf {
    sessions_directory(home).join(DIRECTORY)
}

fn launcher_directory(home: &Path, pid: u32, start_time: u64) -> PathBuf {
    index_directory(home).join(format!("{pid}-{start_time}"))
}

/// Enters the launch `id`, and removes the entries of launches that have no file any more.
pub(super) fn enter_launch(home: &Path, id: &SessionId, context: &SessionContext) -> io::Result<()> {
    sweep_index(home);
    let launcher_directory = launcher_directory(home, context.pid, context.start_time);
    // A directory that goes between two looks at it is reported as there already.
    let gone =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists);
    let mut tries = 0;
    loop {
        match create_private_dir(&launcher_directory)
            .and_then(|()| File::create(launcher_directory.join(id.as_str())))
        {
            // The end of another launch took the directory away in between.
            Err(error) if gone(&error) && tries < 100 => tries += 1,
            entered => return entered.map(drop),
        }
    }
}

/// Removes the launch `id`, and what is empty after it.
pub(super) fn remove_launch(home: &Path, id: &SessionId, context: &SessionContext) {
    let launcher_directory = launcher_directory(home, context.pid, context.start_time);
    // One that stays is swept, since its launch has no file.
    let _ = fs::remove_file(launcher_directory.join(id.as_str()));
    // Gone only if they are empty.
    let _ = fs::remove_dir(&launcher_directory).and_then(|()| fs::remove_dir(index_directory(home)));
}

/// Removes the entries of launches below `home` that have no file any more: one that was killed leaves its entry.
pub fn sweep_index(home: &Path) {
    for launcher in list_entries(&index_directory(home)) {
        for entry in list_entries(&launcher) {
            let id = entry.file_name().and_then(|name| SessionId::parse(name.to_str()?).ok());
            if id.is_none_or(|id| !SessionContext::path(home, &id).exists()) {
                // One that stays is swept the next time.
                let _ = fs::remove_file(&entry);
            }
        }
        // Gone only if it is empty, as the index itself.
        let _ = fs::remove_dir(&launcher);
    }
    // As above.
    let _ = fs::remove_dir(index_directory(home));
}

fn list_entries(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory);
    found.map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Reports whether there can be a running launch below `home`; false without a search.
pub fn may_have_launches(home: &Path) -> bool {
    index_directory(home).exists()
}

/// The running launches of the process `pid` that started at `start_time`.
pub fn launches_of(home: &Path, pid: u32, start_time: u64) -> Vec<(SessionId, SessionContext)> {
    let launch = |entry: PathBuf| {
        let id = SessionId::parse(entry.file_name()?.to_str()?).ok()?;
        let context = SessionContext::read(home, &id).ok()??;
        (context.pid == pid && context.start_time == start_time).then_some((id, context))
    };
    list_entries(&launcher_directory(home, pid, start_time)).into_iter().filter_map(launch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_binary::AgentBinary;

    fn context(agent: AgentBinary) -> SessionContext {
        SessionContext::of_this_process(agent, Path::new("/repo"))
    }

    fn id(text: &str) -> SessionId {
        SessionId::parse(text).unwrap()
    }

    fn found(home: &Path, context: &SessionContext) -> Vec<String> {
        let launches = launches_of(home, context.pid, context.start_time);
        let mut names: Vec<_> = launches.into_iter().map(|(id, _)| id.to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_launch_is_in_the_index_while_it_runs_and_nothing_stays() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let ours = context(AgentBinary::Codex);
        assert!(!may_have_launches(home) && found(home, &ours).is_empty());
        ours.write(home, &id("s1")).unwrap();
        ours.write(home, &id("s2")).unwrap();
        assert!(may_have_launches(home));
        assert_eq!(found(home, &ours), ["s1", "s2"]);
        assert!(launches_of(home, ours.pid, ours.start_time + 1).is_empty(), "another process of that id");
        SessionContext::remove(home, &id("s1")).unwrap();
        assert_eq!(found(home, &ours), ["s2"]);
        SessionContext::remove(home, &id("s2")).unwrap();
        assert_eq!(fs::read_dir(sessions_directory(home)).unwrap().count(), 0);
    }

    #[test]
    fn an_entry_counts_only_with_its_session_and_goes_with_the_next_launch() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let killed = SessionContext { pid: 1, start_time: 2, ..context(AgentBinary::Amp) };
        killed.write(home, &id("killed")).unwrap();
        let ours = context(AgentBinary::Codex);
        ours.write(home, &id("s1")).unwrap();
        assert_eq!(found(home, &killed), ["killed"], "its process may be in another namespace");
        fs::remove_dir_all(id("killed").directory(home)).unwrap();
        assert!(found(home, &killed).is_empty());
        fs::write(launcher_directory(home, ours.pid, ours.start_time).join("killed"), "").unwrap();
        assert_eq!(found(home, &ours), ["s1"]);
        ours.write(home, &id("s2")).unwrap();
        assert!(!launcher_directory(home, 1, 2).exists());
        assert_eq!(fs::read_dir(launcher_directory(home, ours.pid, ours.start_time)).unwrap().count(), 2);
    }

    #[test]
    fn many_launches_of_one_process_come_and_go_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for round in 0..50 {
                        let ours = context(AgentBinary::Codex);
                        let id = id(&format!("s{thread}-{round}"));
                        ours.write(home, &id).unwrap();
                        assert!(found(home, &ours).contains(&id.to_string()));
                        SessionContext::remove(home, &id).unwrap();
                    }
                });
            }
        });
        assert!(!may_have_launches(home));
    }
}
