//! A throw-away machine for agents: a room for each run, one model server and one cache for all of them.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::drive::DriveError;
use crate::model::ModelServer;

/// An agent that has not ended by then is stuck, or the machine is too slow to tell: a first start may unpack hundreds of megabytes, and
/// a session may make fifty calls.
const DEADLINE: Duration = Duration::from_mins(3);

/// A throw-away machine for agents. Several runs may be on it at once, as many as the machine has processors, and at least two.
#[derive(Debug)]
pub struct ProbeBench {
    directory: tempfile::TempDir,
    path: OsString,
    server: ModelServer,
    count: AtomicU32,
    places: Semaphore,
    deadline: Duration,
}

/// The directories of one run.
#[derive(Debug)]
pub struct RunDirectories {
    root: PathBuf,
}

impl ProbeBench {
    /// An empty bench; agents find their programs on `path` and the model at `server`.
    pub fn new(path: Option<&OsStr>, server: ModelServer) -> Result<Self, DriveError> {
        let directory = tempfile::Builder::new()
            .prefix("amplihack-probe-")
            .tempdir()
            .map_err(DriveError::io_error("the throw-away directory could not be made"))?;
        let path = path.map_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"), ToOwned::to_owned);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let places = Semaphore::new(processors.max(2));
        Ok(Self { directory, path, server, count: AtomicU32::new(0), places, deadline: DEADLINE })
    }

    /// Returns the bench with `deadline` as the time after which an agent that has not ended is ended.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The directory that holds everything.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The model server that agents talk to.
    pub fn server(&self) -> &ModelServer {
        &self.server
    }

    /// The directories of a new run. What is put there before it is found there.
    pub fn next_run_directories(&self) -> RunDirectories {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        RunDirectories { root: self.directory().join(format!("run-{number}")) }
    }

    /// The longest time that an agent may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The PATH of every run.
    pub(crate) fn search_path(&self) -> &OsStr {
        &self.path
    }

    /// The directory in which agents keep what they unpack.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.directory().join("cache")
    }

    /// Waits for a place for one run; it is free again when the value is dropped.
    pub(crate) async fn acquire_slot(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes it.
        self.places.acquire().await.ok()
    }
}

impl RunDirectories {
    /// The agent's home.
    pub fn home_dir(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The directory that the agent works in, a repository with one commit.
    pub fn work_dir(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn tmp_dir(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A file that is not there.
    pub(crate) fn no_file(&self) -> PathBuf {
        self.root.join("no-system-file.toml")
    }

    /// Makes all directories.
    pub(crate) fn create_directories(&self) -> io::Result<()> {
        for directory in [self.home_dir(), self.work_dir(), self.tmp_dir(), self.root.with_file_name("cache")]
        {
            create_private_dir(&directory)?;
        }
        create_repository(&self.work_dir())
    }
}

/// The objects of a repository with one commit: name, kind and text.
const OBJECTS: [(&str, &str, &str); 2] = [
    ("4b825dc642cb6eb9a060e54bf8d69288fbee4904", "tree", ""),
    (
        "c1ba52c33693c2e44a08ae15ca21535719b7276c",
        "commit",
        "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor probe <probe@localhost> 0 +0000\n\
         committer probe <probe@localhost> 0 +0000\n\nnothing yet\n",
    ),
];

/// A repository with one commit: some agents work in nothing else, some make worktrees of a commit only, and what must not happen happens
/// to no other.
fn create_repository(work: &Path) -> io::Result<()> {
    let write = |path: &Path, bytes: &[u8]| {
        create_private_dir(path.parent().unwrap_or(work))?;
        write_atomic(path, bytes, 0o600, WriteDurability::Process)
    };
    let git = work.join(".git");
    for (id, kind, text) in OBJECTS {
        let (directory, name) = id.split_at(2);
        let mut object = ZlibEncoder::new(Vec::new(), Compression::fast());
        write!(object, "{kind} {}\0{text}", text.len())?;
        write(&git.join("objects").join(directory).join(name), &object.finish()?)?;
    }
    let [_, (commit, ..)] = OBJECTS;
    write(&git.join("refs/heads/probe"), format!("{commit}\n").as_bytes())?;
    write(&git.join("HEAD"), b"ref: refs/heads/probe\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_repository_has_a_commit_that_git_can_check_out() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        create_repository(&work).unwrap();
        let git = |words: &[&str]| {
            let output = Command::new("git").args(words).current_dir(&work).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(git(&["log", "--format=%H %s"]), format!("{} nothing yet\n", OBJECTS[1].0));
        git(&["worktree", "add", "-b", "other", "../other"]);
        assert_eq!(git(&["status", "--porcelain"]), "");
        git(&["fsck", "--strict"]);
    }
}
