//! A session is claimed and started.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use amplihack_session::detach;
use amplihack_utils::fs::create_private_dir;
use amplihack_utils::lock::FileLock;
use amplihack_utils::sys;
use tempfile::TempDir;

use super::ground::{Done, Fault, Ground, Session, drop_secret, fail};
use super::receive::Received;

/// How often a claim is tried that others undo.
const TRIES: u32 = 20;
/// For what a runner that died had begun.
const GRACE: Duration = Duration::from_secs(2);
/// How long a runner may take to say who it is, and how often it is looked.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(1);
/// What a session was received as.
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
pub(super) fn begin(ground: &Ground, words: &[&str], start: bool, stdin: &mut dyn Read) -> Done<String> {
    let session = ground.session(words)?;
    // Said before anything is read, so that it can be asked another way.
    let path = ground.env.get("PATH").unwrap_or_default();
    for program in ["git", "tar", "gzip"] {
        if !std::env::split_paths(path).any(|place| place.join(program).is_file()) {
            return fail(127, format!("{program} is missing"));
        }
    }
    let mut bytes = Vec::new();
    if let Err(error) = stdin.read_to_end(&mut bytes) {
        return fail(64, format!("the session cannot be read: {error}"));
    }
    let received = Received::read(&bytes)?;
    received.check(ground)?;
    let staged = Staged::new(ground, start)?;
    received.store(staged.path()).map_err(Fault::disk(ground.root()))?;
    let sessions = ground.root().join("sessions");
    create_private_dir(&sessions).map_err(Fault::disk(&sessions))?;
    let mut tries = 0;
    loop {
        tries += 1;
        let made = fs::create_dir(session.directory()).is_ok();
        let launched = session.locked(|lock| launch(&session, &staged, start, lock));
        if launched.is_err() && made && !session.has("ready") && !session.has("killed") {
            let _ = fs::remove_dir_all(session.directory());
        }
        return match launched {
            // Whoever had the lock before may have undone the claim.
            Err(Fault { code: 75, .. }) if tries < TRIES => continue,
            Err(Fault { code: 75, .. }) if !session.directory().is_dir() => {
                fail(74, format!("{} cannot be made", session.mark))
            }
            Err(fault) => Err(fault),
            Ok(false) => Ok("already\n".to_owned()),
            Ok(true) if start => Ok("started\n".to_owned()),
            Ok(true) => Ok("prepared\n".to_owned()),
        };
    }
}

/// A private directory for a session that was received. It goes with this value, its secrets too.
struct Staged {
    directory: TempDir,
    /// Says to others that this is no orphan's.
    _held: FileLock,
}

impl Staged {
    /// Secrets go to memory, but where another machine is to read them.
    fn new(ground: &Ground, memory: bool) -> Done<Self> {
        let incoming = ground.root().join("incoming");
        let disk = Fault::disk(&incoming);
        create_private_dir(&incoming).map_err(&disk)?;
        sweep(ground);
        let prefix = format!("{}.{}.", ground.host, std::process::id());
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&incoming).map_err(&disk)?;
        let held = FileLock::acquire(&directory.path().join(".held"), Duration::ZERO)
            .map_err(|error| Fault::new(74, error.to_string()))?;
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

impl Drop for Staged {
    fn drop(&mut self) {
        drop_secret(self.path());
    }
}

/// Removes what others left that were killed while they received.
pub(super) fn sweep(ground: &Ground) {
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
fn launch(session: &Session<'_>, staged: &Staged, start: bool, lock: &FileLock) -> Done<bool> {
    if ["exit", "killed", "started", "job"].iter().any(|name| session.has(name)) || session.lives() {
        return Ok(false);
    }
    if session.has("pid") {
        // A runner died, and what it had begun may not have: it must not come to the program beside the next.
        session.end_members(GRACE)?;
        if session.has("started") {
            return Ok(false);
        }
        for name in ["pid", "group"] {
            let _ = fs::remove_file(session.path(name));
        }
    }
    if let Err(error) = install(session, staged) {
        drop_secret(session.directory());
        let _ = fs::remove_dir_all(session.directory());
        return Err(Fault::disk(session.directory())(error));
    }
    if start {
        spawn(session, lock)?;
    }
    Ok(true)
}

/// What is staged becomes the session's.
fn install(session: &Session<'_>, staged: &Staged) -> std::io::Result<()> {
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
    session.put("state", "waiting")?;
    File::create(session.path("ready")).map(drop)
}

/// Starts the session's runner, and waits until it has said who it is. The lock is the runner's too until then, also if this process is
/// killed here: it is its stdin.
fn spawn(session: &Session<'_>, lock: &FileLock) -> Done<()> {
    let said = session.path("runner.log");
    let streams = lock.shared().and_then(|lock| Ok((lock, File::create(&said)?)));
    let (lock, log) = streams.map_err(Fault::disk(session.directory()))?;
    let mut command = session.ground.again();
    command.args(["run", &session.id, &format!("{:o}", session.ground.umask.bits())]);
    command.current_dir(session.directory()).stdin(lock).stdout(Stdio::null()).stderr(log);
    let begun = Instant::now();
    let failed = match detach(command) {
        Ok(pid) => {
            while !session.has("pid") && begun.elapsed() < PATIENCE && sys::living(pid).is_some() {
                std::thread::sleep(NAP);
            }
            if session.has("pid") {
                return Ok(());
            }
            session.line("runner.log").unwrap_or_default()
        }
        Err(error) => error.to_string(),
    };
    drop_secret(session.directory());
    fail(74, format!("the session's runner does not start: {failed}"))
}
