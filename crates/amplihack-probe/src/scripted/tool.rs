//! The scripted agent's shell tool: runs a command for real, with a deadline, and tells what it printed.

use std::io;
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::{ChildOutput, Deadlines, EndCause, ProcessExit, RunError, RunSpec, run_blocking};

/// As long as Claude Code gives a command.
const DEADLINE: Duration = Duration::from_mins(2);
/// As much as Claude Code shows its model of a command's output.
const MAX_OUTPUT: usize = 30_000;
/// The time that a command has to end when it must.
const GRACE: Duration = Duration::from_millis(500);

/// Runs `command` with bash, or sh where there is none: its output, and whether it failed.
///
/// What it leaves in its process group is ended with it; what leaves the group is the launch's to end.
pub(crate) fn run_command(command: &str, env: &Env) -> (String, bool) {
    match run_within(command, env, DEADLINE) {
        Ok((Some(ProcessExit::Code(0)), output)) => (output, false),
        Ok((Some(ProcessExit::Code(code)), output)) => (format!("Exit code {code}\n{output}"), true),
        Ok((Some(ProcessExit::Signal(signal)), output)) => {
            (format!("Ended by signal {signal}\n{output}"), true)
        }
        Ok((None, output)) => (format!("Command timed out after {DEADLINE:?}\n{output}"), true),
        Err(error) => (format!("failed to run the command: {error}"), true),
    }
}

/// The exit, `None` if the deadline came first, and the end of the output.
fn run_within(
    command: &str,
    env: &Env,
    deadline: Duration,
) -> Result<(Option<ProcessExit>, String), RunError> {
    let spec = |shell: &str| {
        let mut run = Command::new(shell);
        // One stream, so that lines stay in the order in which they were printed.
        run.arg("-c").arg(format!("exec 2>&1\n{command}")).env_clear().envs(env.iter());
        RunSpec {
            stdout: ChildOutput::Tail(MAX_OUTPUT),
            deadlines: Deadlines { total: Some(deadline), ..Deadlines::default() },
            grace: GRACE,
            ..RunSpec::new(run)
        }
    };
    let outcome = match run_blocking(spec("bash")) {
        Err(RunError::Spawn { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            run_blocking(spec("/bin/sh"))?
        }
        ended => ended?,
    };
    let in_time = !matches!(outcome.cause, EndCause::Deadline(_));
    let output = String::from_utf8_lossy(&outcome.stdout.bytes).trim_end().to_owned();
    Ok((in_time.then_some(outcome.exit), output))
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
        assert_eq!(run_command("echo \"$WORD\"; echo two >&2; echo three", &env()).0, "it's\ntwo\nthree");
        assert_eq!(run_command("echo no; exit 7", &env()), ("Exit code 7\nno".to_owned(), true));
        assert_eq!(run_command("kill -9 $$", &env()), ("Ended by signal 9\n".to_owned(), true));
        assert_eq!(run_command("cat", &env()), (String::new(), false), "stdin is empty");
        assert_eq!(run_command("# nothing", &env()), (String::new(), false));
    }

    #[test]
    fn the_environment_is_the_agents_own() {
        let env = env().with_variable("AMPLIHACK_SESSION_ID", "the-launch");
        assert_eq!(run_command("echo $AMPLIHACK_SESSION_ID", &env).0, "the-launch");
    }

    #[test]
    fn a_command_ends_at_its_deadline_with_its_children() {
        let begin = Instant::now();
        let (exit, output) =
            run_within("echo started; tail -f /dev/null & wait", &env(), Duration::from_millis(300)).unwrap();
        assert_eq!((exit, output.as_str()), (None, "started"));
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_background_child_neither_holds_the_answer_nor_outlives_it() {
        let begin = Instant::now();
        let (output, failed) = run_command("tail -f /dev/null & echo $!", &env());
        assert!(begin.elapsed() < Duration::from_secs(10));
        let pid: u32 = output.trim().parse().unwrap();
        // Whoever inherits it may take its time to reap it.
        let lives = |proc: &amplihack_sys::ProcessEntry| proc.pid == pid && !proc.dead;
        let left: Vec<_> = amplihack_sys::list_processes().unwrap().into_iter().filter(lives).collect();
        assert!(!failed && left.is_empty(), "{left:?} {:?}", begin.elapsed());
    }

    #[test]
    fn of_long_output_the_end_is_kept() {
        let (output, _) = run_command("head -c 100000 /dev/zero | tr '\\0' x; printf END", &env());
        assert!(output.len() == MAX_OUTPUT && output.ends_with("xEND"), "{} bytes", output.len());
    }
}
