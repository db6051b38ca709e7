//! A session is claimed and started.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use amplihack_session::spawn_detached;
use amplihack_sys as sys;
use amplihack_sys::fs::create_private_dir;
use amplihack_sys::lock::FileLock;
use tempfile::TempDir;

use super::context::{RunnerContext, RunnerFault, RunnerResult, RunnerSession, drop_secret, fail_verb};
use super::receive::ReceivedSession;

/// Number of tries of a claim that others undo.
const TRIES: u32 = 20;
/// For what a runner that died had begun.
const GRACE: Duration = Duration::from_secs(2);
/// Time for a runner to record its process, and the pause between looks for that.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(1);
/// Names of the files of a received session.
const FILES: &[&str] = &[
    "argv",
    "bundle",
    "extra",
    "base",
    "branch",
    "timeout",
    "key_name",
    "prompt",
    "log",
    "setup.log",
    "ready",
];

/// `start ID`, or `prepare ID`
pub(super) fn claim_session(
    ground: &RunnerContext,
    words: &[&str],
    start: bool,
    stdin: &mut dyn Read,
) -> RunnerResult<String> {
    let session = ground.session_from_words(words)?;
    // Said before anything is read, so that it can be asked another way.
    let path = ground.env.get("PATH").unwrap_or_default();
    for program in ["git", "tar", "gzip"] {
        if !std::env::split_paths(path).any(|place| place.join(program).is_file()) {
            return fail_verb(127, format!("{program} is missing"));
        }
    }
    let mut bytes = Vec::new();
    if let Err(error) = stdin.read_to_end(&mut bytes) {
        return fail_verb(64, format!("the session cannot be read: {error}"));
    }
    let received = ReceivedSession::from_bytes(&bytes)?;
    received.check_inputs(ground)?;
    let staged = StagedSession::new(ground, start)?;
    received.write_files(staged.path()).map_err(RunnerFault::disk_fault(ground.root()))?;
    let sessions = ground.root().join("sessions");
    create_private_dir(&sessions).map_err(RunnerFault::disk_fault(&sessions))?;
    let mut tries = 0;
    loop {
        tries += 1;
        let made = fs::create_dir(session.directory()).is_ok();
        let launched = session.run_locked(|lock| launch_session(&session, &staged, start, lock));
        if launched.is_err() && made && !session.has_file("ready") && !session.has_file("killed") {
            let _ = fs::remove_dir_all(session.directory());
        }
        return match launched {
            // Whoever had the lock before may have undone the claim.
            Err(RunnerFault { code: 75, .. }) if tries < TRIES => continue,
            Err(RunnerFault { code: 75, .. }) if !session.directory().is_dir() => {
                fail_verb(74, format!("{} cannot be made", session.mark))
            }
            Err(fault) => Err(fault),
            Ok(false) => Ok("already\n".to_owned()),
            Ok(true) if start => Ok("started\n".to_owned()),
            Ok(true) => Ok("prepared\n".to_owned()),
        };
    }
}

/// A private directory for a session that was received. It goes with this value, its secrets too.
struct StagedSession {
    directory: TempDir,
    /// Says to others that this is no orphan's.
    _held: FileLock,
}

impl StagedSession {
    /// Secrets go to memory, but where another machine is to read them.
    fn new(ground: &RunnerContext, memory: bool) -> RunnerResult<Self> {
        let incoming = ground.root().join("incoming");
        let disk = RunnerFault::disk_fault(&incoming);
        create_private_dir(&incoming).map_err(&disk)?;
        sweep_incoming(ground);
        let prefix = format!("{}.{}.", ground.host, std::process::id());
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&incoming).map_err(&disk)?;
        let held = FileLock::acquire(&directory.path().join(".held"), Duration::ZERO)
            .map_err(|error| RunnerFault::new(74, error.to_string()))?;
        let staged = Self { directory, _held: held };
        let secret = staged.path().join("secret");
        let shared = tempfile::Builder::new().prefix("amplihack-").rand_bytes(12).tempdir_in("/dev/shm");
        match shared.ok().filter(|_| memory) {
            Some(shared) => symlink(shared.path(), &secret).map(|()| drop(shared.keep())),
            None => fs::create_dir(&secret),
        }
        .map_err(&disk)?;
        Ok(staged)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for StagedSession {
    fn drop(&mut self) {
        drop_secret(self.path());
    }
}

/// Removes what others left that were killed while they received.
pub(super) fn sweep_incoming(ground: &RunnerContext) {
    for entry in fs::read_dir(ground.root().join("incoming")).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let owner = name.strip_prefix(ground.host.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let owner = owner.and_then(|rest| rest.split('.').next()?.parse().ok());
        if owner.is_none_or(|pid| sys::start_time(pid).is_some()) {
            continue;
        }
        // What it had begun may go on without it.
        let held = path.join(".held");
        if held.exists() && FileLock::acquire(&held, Duration::ZERO).is_err() {
            continue;
        }
        drop_secret(&path);
        let _ = fs::remove_dir_all(path);
    }
}

/// Under the session's lock: whether this started it, or somebody else did before.
fn launch_session(
    session: &RunnerSession<'_>,
    staged: &StagedSession,
    start: bool,
    lock: &FileLock,
) -> RunnerResult<bool> {
    if ["exit", "killed", "started", "job"].iter().any(|name| session.has_file(name))
        || session.is_runner_alive()
    {
        return Ok(false);
    }
    if session.has_file("pid") {
        // A runner died, and what it had begun may not have: it must not come to the program beside the next.
        session.end_members(GRACE)?;
        if session.has_file("started") {
            return Ok(false);
        }
        for name in ["pid", "group"] {
            let _ = fs::remove_file(session.path(name));
        }
    }
    if let Err(error) = install_staged(session, staged) {
        drop_secret(session.directory());
        let _ = fs::remove_dir_all(session.directory());
        return Err(RunnerFault::disk_fault(session.directory())(error));
    }
    if start {
        spawn_runner(session, lock)?;
    }
    Ok(true)
}

/// Moves the staged files into the session's directory.
fn install_staged(session: &RunnerSession<'_>, staged: &StagedSession) -> std::io::Result<()> {
    for name in FILES {
        let path = session.path(name);
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    drop_secret(session.directory());
    for entry in fs::read_dir(staged.path())? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            fs::rename(entry.path(), session.directory().join(entry.file_name()))?;
        }
    }
    session.write_line("state", "waiting")?;
    File::create(session.path("ready")).map(drop)
}

/// Starts the session's runner, and waits until it has said who it is. The lock is the runner's too until then, also if this process is
/// killed here: it is its stdin.
fn spawn_runner(session: &RunnerSession<'_>, lock: &FileLock) -> RunnerResult<()> {
    let said = session.path("runner.log");
    let streams = lock.share_file().and_then(|lock| Ok((lock, File::create(&said)?)));
    let (lock, log) = streams.map_err(RunnerFault::disk_fault(session.directory()))?;
    let mut command = session.ground.runner_command();
    command.args(["run", &session.id, &format!("{:o}", session.ground.umask.bits())]);
    command.current_dir(session.directory()).stdin(lock).stdout(Stdio::null()).stderr(log);
    let begun = Instant::now();
    let failed = match spawn_detached(command) {
        Ok(pid) => {
            while !session.has_file("pid") && begun.elapsed() < PATIENCE && sys::living_process(pid).is_some()
            {
                std::thread::sleep(NAP);
            }
            if session.has_file("pid") {
                return Ok(());
            }
            session.read_line("runner.log").unwrap_or_default()
        }
        Err(error) => error.to_string(),
    };
    drop_secret(session.directory());
    fail_verb(74, format!("the session's runner does not start: {failed}"))
}
