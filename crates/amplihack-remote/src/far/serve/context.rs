//! Directories of sessions, and how their files are read and written.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use amplihack_config::env::Env;
use amplihack_session::leftovers;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use amplihack_sys::lock::{FileLock, LockError};
use amplihack_sys::{self as sys, ProcessEntry};
use rustix::fs::Mode;

use super::super::{SCRIPT, install};
use super::RunnerRequest;
use crate::session::is_session_id;

/// The reason that a verb was not served: an exit code of the protocol, and a text.
pub(super) struct RunnerFault {
    pub(super) code: u8,
    pub(super) text: String,
}

impl RunnerFault {
    pub(super) fn new(code: u8, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Makes the fault of a write to `place` that failed.
    pub(super) fn disk_fault(place: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::new(74, format!("{} cannot be written: {error}", place.display()))
    }
}

pub(super) type RunnerResult<T> = Result<T, RunnerFault>;

pub(super) fn fail_verb<T>(code: u8, text: impl Into<String>) -> RunnerResult<T> {
    Err(RunnerFault::new(code, text))
}

/// A word that is a number, of at most 15 digits.
pub(super) fn parse_number(word: &str) -> Option<u64> {
    let plain = (1..=15).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

/// Seconds since 1970.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Removes the secrets of a session's directory, wherever they are.
pub(super) fn drop_secret(directory: &Path) {
    let secret = directory.join("secret");
    if let Ok(place) = fs::read_link(&secret) {
        if place.to_string_lossy().starts_with("/dev/shm/amplihack-") {
            let _ = fs::remove_dir_all(place);
        }
        let _ = fs::remove_file(secret);
    } else {
        let _ = fs::remove_dir_all(secret);
    }
}

/// The directory that both implementations serve.
pub(super) struct RunnerContext {
    root: String,
    /// Environment of child processes.
    pub(super) env: Env,
    again: Vec<OsString>,
    /// The umask of the login.
    pub(super) umask: Mode,
    pub(super) boot: String,
    pub(super) host: String,
}

impl RunnerContext {
    pub(super) fn open(request: &RunnerRequest<'_>, umask: Mode) -> RunnerResult<Self> {
        let named = request.env.get("AMPLIHACK_REMOTE_ROOT").filter(|root| !root.is_empty());
        let home = request.env.get("HOME").unwrap_or_default();
        let root = match named {
            Some(root) => root.to_owned(),
            None => [home, "/.amplihack/remote".as_ref()].into_iter().collect(),
        };
        let root = root.into_string().ok().filter(|root| root.starts_with('/'));
        let Some(root) = root else { return fail_verb(64, "AMPLIHACK_REMOTE_ROOT is not absolute") };
        create_private_dir(root.as_ref()).map_err(RunnerFault::disk_fault(root.as_ref()))?;
        let boot = Some(sys::boot_id()).filter(|id| !id.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let again = request.again.to_vec();
        Ok(Self { root, env: own_env(request.env), again, umask, boot, host })
    }

    pub(super) fn root(&self) -> &Path {
        self.root.as_ref()
    }

    pub(super) fn objects_directory(&self) -> PathBuf {
        self.root().join("objects")
    }

    /// The session `id`, which must have the form of one. Not joined but put together: the mark must be the script's to the byte.
    pub(super) fn session_by_id(&self, id: &str) -> RunnerSession<'_> {
        RunnerSession { ground: self, id: id.to_owned(), mark: format!("{}/sessions/{id}", self.root) }
    }

    /// The session that the first word names.
    pub(super) fn session_from_words(&self, words: &[&str]) -> RunnerResult<RunnerSession<'_>> {
        match words.first().filter(|id| is_session_id(id)) {
            Some(id) => Ok(self.session_by_id(id)),
            None => fail_verb(64, "this is no session's id"),
        }
    }

    /// The session that the first word names, which must exist.
    pub(super) fn existing_session(&self, words: &[&str]) -> RunnerResult<RunnerSession<'_>> {
        let session = self.session_from_words(words)?;
        if session.directory().is_dir() {
            Ok(session)
        } else {
            fail_verb(66, format!("there is no session {}", session.id))
        }
    }

    /// The ids of all sessions, in order.
    pub(super) fn session_ids(&self) -> RunnerResult<Vec<String>> {
        let sessions = self.root().join("sessions");
        let listed = create_private_dir(&sessions).and_then(|()| fs::read_dir(&sessions));
        let mut found: Vec<String> = listed
            .map_err(RunnerFault::disk_fault(&sessions))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_session_id(name))
            .collect();
        found.sort_unstable();
        Ok(found)
    }

    /// The command that runs this program again as a runner.
    pub(super) fn runner_command(&self) -> Command {
        let (program, words) = self
            .again
            .split_first()
            .map_or(("".as_ref(), &[][..]), |(program, words)| (program.as_os_str(), words));
        let mut command = Command::new(program);
        command.args(words).env_clear().envs(self.env.iter());
        command
    }

    /// The script's file, which is made if it is missing.
    pub(super) fn script_file(&self) -> RunnerResult<PathBuf> {
        let path = self.root().join("bin").join(install::script_name());
        if !path.exists() {
            create_private_dir(&self.root().join("bin"))
                .and_then(|()| write_atomic(&path, SCRIPT.as_bytes(), 0o600, WriteDurability::Process))
                .map_err(RunnerFault::disk_fault(&path))?;
        }
        Ok(path)
    }

    /// The line of the file `pid` that describes this process.
    pub(super) fn process_line(&self) -> String {
        let pid = std::process::id();
        let start = sys::start_time(pid).unwrap_or_default();
        format!("{pid} {pid} {start} {} {}", self.boot, self.host)
    }
}

/// The variables of a login, without what says that this belongs to another session or repository, and with the places where people
/// put their programs.
fn own_env(env: &Env) -> Env {
    let mut own = env.clone();
    for name in
        ["AMPLIHACK_SESSION_ID", "AMPLIHACK_REMOTE_SESSION", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]
    {
        own.remove(name);
    }
    for name in ["GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX"] {
        own.remove(name);
    }
    let mut path = own.get("PATH").unwrap_or_default().to_owned();
    let home = own.get("HOME").unwrap_or_default().to_owned();
    for place in [".local/bin", "bin", ".cargo/bin", "/usr/local/bin"] {
        let place = Path::new(&home).join(place);
        if !std::env::split_paths(&path).any(|known| known == place) {
            path.push(":");
            path.push(place);
        }
    }
    own.set_variable("PATH", path);
    own
}

/// A session's directory.
pub(super) struct RunnerSession<'a> {
    pub(super) ground: &'a RunnerContext,
    pub(super) id: String,
    /// Path of the session's directory, the mark of its processes.
    pub(super) mark: String,
}

impl RunnerSession<'_> {
    pub(super) fn directory(&self) -> &Path {
        self.mark.as_ref()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    pub(super) fn has_file(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The first line of a file, if it is whole.
    pub(super) fn read_line(&self, name: &str) -> Option<String> {
        let mut line = Vec::new();
        BufReader::new(File::open(self.path(name)).ok()?).read_until(b'\n', &mut line).ok()?;
        Some(String::from_utf8_lossy(line.strip_suffix(b"\n")?).into_owned())
    }

    /// Writes a file of one line, whole or not at all.
    pub(super) fn write_line(&self, name: &str, line: &str) -> io::Result<()> {
        write_atomic(&self.path(name), format!("{line}\n").as_bytes(), 0o600, WriteDurability::Process)
    }

    /// The process that a file tells of, if it is of this machine and this start of it.
    fn recorded_process(&self, name: &str) -> Option<ProcessEntry> {
        let line = self.read_line(name)?;
        let [number, group, ticks, boot, host] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let group = group.parse().ok()?;
        let (pid, start_time) = (number.parse().ok()?, ticks.parse().ok()?);
        let here = boot == self.ground.boot && host == self.ground.host;
        here.then(|| ProcessEntry {
            pid,
            ppid: 0,
            pgid: group,
            sid: group,
            terminal: 0,
            start_time,
            name: name.to_owned(),
            dead: false,
        })
    }

    /// Reports whether the session's runner lives.
    pub(super) fn is_runner_alive(&self) -> bool {
        self.recorded_process("pid").is_some_and(|runner| sys::process_alive(runner.pid, runner.start_time))
    }

    /// Reports whether a scheduler may have to be asked for the session's state.
    pub(super) fn is_scheduled(&self) -> bool {
        self.has_file("job") && !self.has_file("exit")
    }

    /// Does `work` while this process alone holds the session's lock. 75: the directory is gone.
    pub(super) fn run_locked<T>(&self, work: impl FnOnce(&FileLock) -> RunnerResult<T>) -> RunnerResult<T> {
        let lock = FileLock::acquire(&self.path("lock"), Duration::MAX).map_err(|error| match error {
            LockError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                RunnerFault::new(75, format!("{} is gone", self.mark))
            }
            other => RunnerFault::new(74, other.to_string()),
        })?;
        work(&lock)
    }

    /// Ends everything of the session but its runner. How many processes are left.
    pub(super) fn end_members(&self, grace: Duration) -> RunnerResult<usize> {
        let mut listed: Vec<ProcessEntry> = self.recorded_process("group").into_iter().collect();
        if !self.is_runner_alive() {
            listed.extend(self.recorded_process("pid"));
        }
        let mark = format!("AMPLIHACK_REMOTE_SESSION={}", self.mark);
        match leftovers::end_leftovers(&listed, &[mark], grace) {
            Ok(left) => Ok(left.len()),
            Err(error) => fail_verb(74, format!("the processes of {} cannot be seen: {error}", self.id)),
        }
    }

    /// Writes down how the session ended, once: the first that writes it has said it.
    pub(super) fn record_exit(&self, code: i32) -> io::Result<()> {
        let (exit, new) = (self.path("exit"), self.path(&format!(".exit.{}", std::process::id())));
        if !exit.exists() {
            let written = File::create(&new)
                .and_then(|mut file| writeln!(file, "{code} {}", unix_seconds()))
                // Links are made only where there is nothing yet; some file systems have none.
                .and_then(|()| match fs::hard_link(&new, &exit) {
                    Err(_) if !exit.exists() => fs::rename(&new, &exit),
                    _ => Ok(()),
                });
            let _ = fs::remove_file(&new);
            written?;
        }
        drop_secret(self.directory());
        self.write_line("state", "ended")
    }
}
