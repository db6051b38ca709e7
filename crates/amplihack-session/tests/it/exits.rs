//! How a child ends is how its run ends.

use std::process::Command;
use std::time::{Duration, Instant};

use amplihack_session::{ChildOutput, EndCause, ProcessExit, RunError, RunSpec, probe_program, run_blocking};
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use crate::support::{block_on, run, run_clean, sh, spec, text};

#[test]
fn codes_and_signals_of_the_child_are_the_runs() {
    let table = [
        ("exit 0", ProcessExit::Code(0), 0),
        ("exit 7", ProcessExit::Code(7), 7),
        ("exit 255", ProcessExit::Code(255), 255),
        ("kill -SEGV $$", ProcessExit::Signal(11), 139),
        ("kill -KILL $$", ProcessExit::Signal(9), 137),
        ("kill -TERM $$", ProcessExit::Signal(15), 143),
    ];
    for (script, exit, code) in table {
        let outcome = run_clean(spec(script));
        assert_eq!((outcome.exit, outcome.cause, outcome.code()), (exit, EndCause::Ended, code), "{script}");
        assert_eq!(outcome.background, [], "{script}");
    }
}

#[test]
fn a_missing_program_is_not_found_and_names_itself() {
    let error = block_on(amplihack_session::AgentRun::start(RunSpec::new(Command::new("no-such-agent"))));
    let error = error.err().unwrap();
    assert!(error.to_string().starts_with("start no-such-agent: "), "{error}");
    assert_eq!(error.exit_kind(), ExitKind::NotFound);
}

#[test]
fn too_long_an_argument_says_what_to_do() {
    let mut command = Command::new("true");
    command.arg("x".repeat(200_000));
    let error = block_on(amplihack_session::AgentRun::start(RunSpec::new(command))).err().unwrap();
    assert!(error.to_string().contains("deliver the prompt on stdin"), "{error}");
}

#[test]
fn the_child_starts_with_no_signal_ignored_or_blocked() {
    // Rust programs, and so this one, ignore SIGPIPE.
    let outcome = run(spec("trap '' INT HUP; grep -E '^Sig(Ign|Blk):' /proc/$PPID/status /proc/self/status"));
    let shown = text(&outcome.stdout.bytes);
    assert!(shown.contains("/proc/self/status:SigIgn"), "{shown}");
    let outcome = run(spec("grep -E '^Sig(Ign|Blk):' /proc/self/status"));
    for line in text(&outcome.stdout.bytes).lines() {
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask & 0x7fff_ffff, 0, "{line}");
    }
}

#[test]
fn the_child_carries_the_session_id() {
    let spec = spec("printf %s \"$AMPLIHACK_SESSION_ID\"");
    let tag = spec.tag.clone();
    assert_eq!(text(&run(spec).stdout.bytes), tag);
}

#[test]
fn what_is_kept_for_the_child_lives_as_long_as_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_owned();
    let script = format!("sleep 0.2; test -e {}", path.display());
    let outcome = run(RunSpec { keep: Box::new(file), ..spec(&script) });
    assert_eq!(outcome.exit, ProcessExit::Code(0));
    assert!(!path.exists());
}

#[test]
fn a_probe_returns_both_outputs_at_most_64_kib_each() {
    let output = probe_program(sh("echo out; echo err >&2; exit 3"), Duration::from_secs(5)).unwrap();
    assert_eq!(
        (output.exit, text(&output.stdout), text(&output.stderr)),
        (ProcessExit::Code(3), "out\n".into(), "err\n".into())
    );
    let output = probe_program(sh("head -c 1000000 /dev/zero"), Duration::from_secs(5)).unwrap();
    assert_eq!((output.exit, output.stdout.len()), (ProcessExit::Code(0), 64 << 10));
}

#[test]
fn a_probe_that_hangs_is_ended_in_time() {
    let start = Instant::now();
    let error =
        probe_program(sh("trap '' INT TERM; cat /dev/zero >/dev/null & wait"), Duration::from_millis(100))
            .unwrap_err();
    assert!(matches!(error, RunError::TimedOut { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_run_may_block_inside_a_runtime() {
    let outcome =
        block_on(async { run_blocking(RunSpec { stdout: ChildOutput::Null, ..spec("exit 4") }) }).unwrap();
    assert_eq!(outcome.code(), 4);
}
