//! The scripted agent's shell tool: runs a command for real, with a deadline, and tells what it printed.

use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use amplihack_utils::env::Env;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// As long as Claude Code gives a command.
const DEADLINE: Duration = Duration::from_mins(2);
/// As much as Claude Code shows its model of a command's output.
const MAX_OUTPUT: u64 = 30_000;

/// Runs `command` with bash, or sh where there is none: its output, and whether it failed.
pub(crate) fn run(command: &str, env: &Env) -> (String, bool) {
    match run_within(command, env, DEADLINE) {
        Ok((Some(status), output)) if status.success() => (output, false),
        Ok((Some(status), output)) => (format!("{}\n{output}", describe(status)), true),
        Ok((None, output)) => (format!("Command timed out after {DEADLINE:?}\n{output}"), true),
        Err(error) => (format!("failed to run the command: {error}"), true),
    }
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("Exit code {code}"))
}

/// The exit status, `None` if the deadline came first, and the output so far.
///
/// The output goes to files: a background process that keeps a pipe open would keep the agent waiting.
fn run_within(command: &str, env: &Env, deadline: Duration) -> io::Result<(Option<ExitStatus>, String)> {
    let mut output = tempfile::tempfile()?;
    let spawn = |shell: &str| {
        Command::new(shell)
            .args(["-c", command])
            .env_clear()
            .envs(env.iter())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .process_group(0)
            .spawn()
    };
    let child = match spawn("bash") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => spawn("/bin/sh")?,
        spawned => spawned?,
    };
    let status = wait(child, deadline)?;
    output.rewind()?;
    let mut bytes = Vec::new();
    output.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok((status, String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// Waits for the child; at the deadline its whole group is killed.
fn wait(mut child: Child, deadline: Duration) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    // The thread looks without reaping, so that the group's number stays taken until we are done with it.
    let watcher = std::thread::Builder::new().spawn(move || {
        let seen = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        // Nobody listens after the deadline.
        let _ = ended.send(seen.is_ok());
    })?;
    let in_time = end.recv_timeout(deadline).is_ok();
    if !in_time {
        kill_process_group(pid, Signal::KILL)?;
    }
    // The watcher must be done before the number is free for another process.
    let _ = watcher.join();
    let status = child.wait()?;
    Ok(in_time.then_some(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn env() -> Env {
        Env::from_iter([("PATH", "/usr/bin:/bin"), ("WORD", "it's")])
    }

    #[test]
    fn output_and_exit_code_are_told() {
        assert_eq!(run("echo \"$WORD\"; echo two >&2", &env()), ("it's\ntwo".to_owned(), false));
        assert_eq!(run("echo no; exit 7", &env()), ("Exit code 7\nno".to_owned(), true));
        assert!(run("kill -9 $$", &env()).0.contains("signal: 9"));
        assert_eq!(run("cat", &env()), (String::new(), false), "stdin is empty");
    }

    #[test]
    fn a_command_ends_at_its_deadline_with_its_children() {
        let begin = Instant::now();
        let (status, output) =
            run_within("echo started; tail -f /dev/null & wait", &env(), Duration::from_millis(300)).unwrap();
        assert_eq!((status, output.as_str()), (None, "started"));
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_background_child_does_not_hold_the_answer() {
        let begin = Instant::now();
        let (output, _) = run("timeout 20 tail -f /dev/null & echo $!", &env());
        assert!(begin.elapsed() < Duration::from_secs(10));
        let left: i32 = output.trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(left).unwrap(), Signal::TERM).unwrap();
    }

    #[test]
    fn long_output_is_cut() {
        assert_eq!(run("head -c 100000 /dev/zero | tr '\\0' x", &env()).0.len() as u64, MAX_OUTPUT);
    }
}
