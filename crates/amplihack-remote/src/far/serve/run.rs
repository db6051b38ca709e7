//! A session runs: its runner, which outlives the program, and what becomes the program.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_session::{
    Deadlines, EndCause, InterruptSignals, RunError, RunSpec, TerminalMode, become_program, run_blocking,
};
use amplihack_sys::Signal;
use rustix::fs::{FlockOperation, Mode, flock};

use super::context::{RunnerFault, RunnerResult, RunnerSession, drop_secret, fail_verb, unix_seconds};

/// The code of a session whose work tree could not be made.
const NO_TREE: u8 = 125;
/// For what the program left in the background.
const GRACE: Duration = Duration::from_secs(5);
/// Pause between tries to record an end while the disk has no room.
const NO_ROOM: Duration = Duration::from_secs(1);
/// For agents that are programs of Node.
const NODE_OPTIONS: &str = "--max-old-space-size=32768";

/// `run ID UMASK`: the session's runner.
pub(super) fn run_session(session: &RunnerSession<'_>, umask: &str) -> RunnerResult<u8> {
    let own = session.ground.process_line();
    session.write_line("pid", &own).map_err(RunnerFault::disk_fault(session.directory()))?;
    // What started this waits for that, and the lock is needed no more.
    let _ = flock(rustix::stdio::stdin(), FlockOperation::Unlock);
    let log = OpenOptions::new().append(true).create(true).open(session.path("log"));
    log.and_then(|log| {
        rustix::stdio::dup2_stdout(&log)?;
        Ok(rustix::stdio::dup2_stderr(&log)?)
    })
    .map_err(RunnerFault::disk_fault(session.directory()))?;
    let limit: Option<u64> = session.read_line("timeout").and_then(|line| line.parse().ok());
    let mut command = session.ground.runner_command();
    command.args(["program", &session.id, umask, &own]).current_dir(session.directory());
    let ended = run_blocking(RunSpec {
        session: true,
        interrupts: InterruptSignals::listen_from_now(),
        deadlines: Deadlines { total: limit.map(Duration::from_secs), ..Deadlines::default() },
        ..RunSpec::new(command)
    });
    let (code, said) = match ended {
        Ok(outcome) => match outcome.cause {
            EndCause::Deadline(_) => {
                let seconds = limit.unwrap_or_default();
                (124, Some(format!("the session took its {seconds} seconds, and was ended")))
            }
            EndCause::Interrupted(Signal::TERM) => {
                (143, Some("the runner got SIGTERM, and ended the session".to_owned()))
            }
            EndCause::Interrupted(signal) => {
                let number = signal.as_raw();
                (128 + number, Some(format!("the runner got the signal {number}, and ended the session")))
            }
            EndCause::Ended | EndCause::Lingered | EndCause::Unguarded => (outcome.exit.code(), None),
        },
        Err(error) => (NO_TREE.into(), Some(error.to_string())),
    };
    if let Some(said) = said {
        // Nobody reads it if there is no room.
        let _ = writeln!(io::stdout(), "\namplihack: {said}");
    }
    // What left its group and its parents; without a table of processes there is nothing more to do.
    let _ = session.end_members(GRACE);
    // Without room on the disk the end is written as soon as there is some.
    while session.record_exit(code).is_err() && session.directory().is_dir() {
        std::thread::sleep(NO_ROOM);
    }
    Ok(0)
}

/// `program ID UMASK RUNNER`: makes the work tree and becomes the program. What runs in here is the session's process group.
pub(super) fn run_program(session: &RunnerSession<'_>, words: &[&str]) -> RunnerResult<u8> {
    let Some([umask, runner]) = words.get(1..) else { return fail_verb(NO_TREE, "a runner calls this") };
    let disk = |error: io::Error| RunnerFault {
        code: NO_TREE,
        ..RunnerFault::disk_fault(session.directory())(error)
    };
    // Whose runner is gone does not go on: the session may have another by now.
    let is_ours = || session.read_line("pid").as_deref() == Some(*runner);
    if !is_ours() {
        return fail_verb(NO_TREE, "the session has another runner");
    }
    session.write_line("group", &session.ground.process_line()).map_err(disk)?;
    if session.has_file("killed") {
        return Ok(143);
    }
    let secrets = SessionSecrets::read_and_remove(session.directory()).map_err(disk)?;
    rustix::process::umask(Mode::from_raw_mode(u32::from_str_radix(umask, 8).unwrap_or(0o077)));
    if let Some(said) = make_work_tree(session)? {
        let _ = write!(io::stdout(), "amplihack: the work tree could not be made:\n{said}");
        return Ok(NO_TREE);
    }
    let mut command = build_command(session, secrets).map_err(disk)?;
    if !is_ours() || !session.is_runner_alive() {
        return fail_verb(NO_TREE, "the session's runner is gone");
    }
    session
        .write_line("started", &unix_seconds().to_string())
        .and_then(|()| session.write_line("state", "running"))
        .map_err(disk)?;
    // `end` marks first and looks then; this is the other way round.
    if session.has_file("killed") {
        return Ok(143);
    }
    // By its own name, not by the link's: that one lies in the state.
    let tree = fs::canonicalize(session.path("repo")).map_err(disk)?;
    command.env("PWD", &tree).current_dir(tree);
    let error = become_program(command);
    let missing =
        matches!(&error, RunError::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound);
    fail_verb(if missing { 127 } else { 126 }, error.to_string())
}

/// Makes the work tree, by the script. What it said last if that failed.
fn make_work_tree(session: &RunnerSession<'_>) -> RunnerResult<Option<String>> {
    let mut command = Command::new("sh");
    command.arg(session.ground.script_file()?).args(["tree", &session.id]);
    command.env_clear().envs(session.ground.env.iter());
    let log = session.path("setup.log");
    let file =
        OpenOptions::new().append(true).create(true).open(&log).map_err(RunnerFault::disk_fault(&log))?;
    // Within the session's group.
    let spec = RunSpec { stdout_file: Some(file), terminal: TerminalMode::Owned, ..RunSpec::new(command) };
    match run_blocking(spec) {
        Ok(outcome) if outcome.exit.is_success() => Ok(None),
        Ok(_) => {
            let said = fs::read(&log).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default();
            Ok(Some(last.join("\n") + "\n"))
        }
        Err(error) => Ok(Some(format!("{error}\n"))),
    }
}

/// The key and the variables of a session.
struct SessionSecrets {
    key: OsString,
    env: Vec<(OsString, OsString)>,
}

impl SessionSecrets {
    /// Reads them, and removes them.
    fn read_and_remove(directory: &Path) -> io::Result<Self> {
        let read = |path: &Path| fs::read(path).map(OsString::from_vec);
        let secret = directory.join("secret");
        let key = read(&secret.join("key"))?;
        let mut env = Vec::new();
        for entry in fs::read_dir(secret.join("env"))? {
            let entry = entry?;
            env.push((entry.file_name(), read(&entry.path())?));
        }
        drop_secret(directory);
        Ok(Self { key, env })
    }
}

/// The session's program, with what it is to find in its environment.
fn build_command(session: &RunnerSession<'_>, secrets: SessionSecrets) -> io::Result<Command> {
    let mut names: Vec<_> = fs::read_dir(session.path("argv"))?.collect::<io::Result<_>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    let mut words = Vec::new();
    for name in names {
        words.push(OsString::from_vec(fs::read(name.path())?));
    }
    let mut env = session.ground.env.clone();
    let mut node = env.get("NODE_OPTIONS").unwrap_or_default().to_owned();
    if !node.is_empty() {
        node.push(" ");
    }
    node.push(NODE_OPTIONS);
    env.set_variable("NODE_OPTIONS", node);
    for (name, value) in secrets.env {
        env.set_variable(name, value);
    }
    if let Some(name) = session.read_line("key_name").filter(|_| !secrets.key.is_empty()) {
        env.set_variable(name, secrets.key);
    }
    env.set_variable("AMPLIHACK_SESSION_ID", &session.id);
    env.set_variable("AMPLIHACK_REMOTE_SESSION", &session.mark);
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new::<&OsStr>(&program);
    command.args(words).env_clear().envs(env.iter());
    Ok(command)
}
