//! Running launches by their launcher's process: the index by which a descendant finds the launch above it without a search.
//!
//! An entry `.launches/<pid>-<start time>-<session>` for each launch: another name of the session's file, since a new file costs
//! a launch more than a second name. The file at its own place is what counts: an entry without one is a launch that has ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::session::{SessionContext, SessionId};
use amplihack_sys::fs::create_private_dir;

/// Below the home, which may be a directory of other things too.
const DIRECTORY: &str = ".launches";

fn index_directory(home: &Path) -> PathBuf {
    home.join(DIRECTORY)
}

/// A launch as the name of its entry tells it.
#[derive(Debug)]
struct LaunchEntry {
    pid: u32,
    start_time: u64,
    session: SessionId,
}

impl LaunchEntry {
    fn new(session: &SessionId, context: &SessionContext) -> Self {
        Self { pid: context.pid, start_time: context.start_time, session: session.clone() }
    }

    /// Reads the name of an entry; `None` of a file that is none.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.splitn(3, '-');
        let pid = parts.next()?.parse().ok()?;
        let start_time = parts.next()?.parse().ok()?;
        Some(Self { pid, start_time, session: SessionId::parse(parts.next()?).ok()? })
    }

    fn path(&self, home: &Path) -> PathBuf {
        index_directory(home).join(format!("{}-{}-{}", self.pid, self.start_time, self.session))
    }
}

/// Enters the launch `id`, whose file is written, and removes the entries of launches that have no file any more.
pub(super) fn enter_launch(home: &Path, id: &SessionId, context: &SessionContext) -> io::Result<()> {
    sweep_index(home);
    create_private_dir(&index_directory(home))?;
    let entry = LaunchEntry::new(id, context).path(home);
    match fs::hard_link(SessionContext::path(home, id), &entry) {
        // A launch that is written again.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems give a file only one name.
        Err(_) => File::create(entry).map(drop),
        Ok(()) => Ok(()),
    }
}

/// Removes the launch `id`.
pub(super) fn remove_launch(home: &Path, id: &SessionId, context: &SessionContext) {
    // An entry that stays is swept by the next launch.
    let _ = fs::remove_file(LaunchEntry::new(id, context).path(home));
}

/// Removes the entries of launches below `home` that have no file any more: one that was killed leaves its entry.
pub fn sweep_index(home: &Path) {
    // An index that cannot be listed now is swept by a later launch.
    for entry in list_entries(home).unwrap_or_default() {
        if !SessionContext::path(home, &entry.session).exists() {
            // Another launch may have swept it.
            let _ = fs::remove_file(entry.path(home));
        }
    }
}

/// The entries below `home`; none where there is no index, or nobody could have entered a launch.
fn list_entries(home: &Path) -> io::Result<Vec<LaunchEntry>> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    let found = match fs::read_dir(index_directory(home)) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | PermissionDenied) => {
            return Ok(Vec::new());
        }
        found => found?,
    };
    let entry = |file: io::Result<fs::DirEntry>| {
        file.map(|file| LaunchEntry::parse(file.file_name().to_str()?)).transpose()
    };
    found.filter_map(entry).collect()
}

/// The index below one home, as of one moment.
#[derive(Debug, Default)]
pub struct LaunchIndex {
    home: PathBuf,
    entries: Vec<LaunchEntry>,
}

impl LaunchIndex {
    /// Reads the index below `home`. A home without one has no launches.
    ///
    /// # Errors
    /// The system's error, if there is an index that cannot be read: whether a launch runs is not known then.
    pub fn read(home: &Path) -> io::Result<Self> {
        Ok(Self { home: home.to_owned(), entries: list_entries(home)? })
    }

    /// Reports that no launch runs below the home.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The running launches of the process `pid` that started at `start_time`.
    pub fn launches_of(&self, pid: u32, start_time: u64) -> Vec<(SessionId, SessionContext)> {
        let launch = |entry: &LaunchEntry| {
            let context = SessionContext::read(&self.home, &entry.session).ok()??;
            (context.pid == pid && context.start_time == start_time).then(|| (entry.session.clone(), context))
        };
        let own = self.entries.iter().filter(|entry| entry.pid == pid && entry.start_time == start_time);
        own.filter_map(launch).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::agent_binary::AgentBinary;

    fn context(agent: AgentBinary) -> SessionContext {
        SessionContext::of_this_process(agent, Path::new("/repo"))
    }

    fn id(text: &str) -> SessionId {
        SessionId::parse(text).unwrap()
    }

    fn found(home: &Path, context: &SessionContext) -> Vec<String> {
        let launches = LaunchIndex::read(home).unwrap().launches_of(context.pid, context.start_time);
        let mut names: Vec<_> = launches.into_iter().map(|(id, _)| id.to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_launch_is_in_the_index_while_it_runs_and_nothing_stays() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let ours = context(AgentBinary::Codex);
        assert!(LaunchIndex::read(home).unwrap().is_empty() && found(home, &ours).is_empty());
        ours.write(home, &id("s1")).unwrap();
        ours.write(home, &id("s2")).unwrap();
        assert!(!LaunchIndex::read(home).unwrap().is_empty());
        assert_eq!(found(home, &ours), ["s1", "s2"]);
        let of_another = LaunchIndex::read(home).unwrap().launches_of(ours.pid, ours.start_time + 1);
        assert!(of_another.is_empty(), "another process of that id");
        SessionContext::remove(home, &id("s1")).unwrap();
        assert_eq!(found(home, &ours), ["s2"]);
        SessionContext::remove(home, &id("s2")).unwrap();
        assert!(LaunchIndex::read(home).unwrap().is_empty());
        assert_eq!(fs::read_dir(home.join("sessions")).unwrap().count(), 0);
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
        fs::write(LaunchEntry::new(&id("killed"), &ours).path(home), "").unwrap();
        assert_eq!(found(home, &ours), ["s1"]);
        ours.write(home, &id("s2")).unwrap();
        assert!(!LaunchEntry::new(&id("killed"), &killed).path(home).exists());
        assert_eq!(list_entries(home).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_entry_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let index = index_directory(dir.path());
        fs::create_dir(&index).unwrap();
        let foreign = ["notes.txt", "2026-product.md", "1-2-", "-1-2-s1", "1-2-.s1"];
        for name in foreign {
            fs::write(index.join(name), "").unwrap();
        }
        fs::write(index.join("1-2-s1"), "").unwrap();
        let paths: Vec<PathBuf> =
            list_entries(dir.path()).unwrap().iter().map(|entry| entry.path(dir.path())).collect();
        assert_eq!(paths, [index.join("1-2-s1")]);
        sweep_index(dir.path());
        assert_eq!(fs::read_dir(&index).unwrap().count(), foreign.len());
        fs::remove_dir_all(&index).unwrap();
        std::os::unix::fs::symlink(&index, &index).unwrap();
        assert!(LaunchIndex::read(dir.path()).is_err(), "an index that cannot be read is not an empty one");
        assert!(LaunchIndex::read(&index.join("home")).is_err());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(LaunchIndex::read(&file.join("home")).unwrap().is_empty(), "no home can be there");
    }

    #[test]
    fn an_entry_is_another_name_of_the_sessions_file() {
        let dir = tempfile::tempdir().unwrap();
        let ours = context(AgentBinary::Codex);
        let path = ours.write(dir.path(), &id("s1")).unwrap();
        assert_eq!(fs::metadata(path).unwrap().nlink(), 2);
        ours.write(dir.path(), &id("s1")).unwrap();
        assert_eq!(found(dir.path(), &ours), ["s1"], "written again, it is entered once");
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
        assert!(LaunchIndex::read(home).unwrap().is_empty());
    }
}
