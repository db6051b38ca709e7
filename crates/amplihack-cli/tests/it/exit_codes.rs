//! Exit codes, signals, and what is left of a run: nothing.

use std::time::Duration;

use amplihack_sys::Signal;
use amplihack_testkit::{Child, Kind, Run, Running, Sandbox, Script, procs};

use crate::fakes::{fakes, launch, refused, warnings};
use crate::world::prepare;

/// How long a busy machine may take; what these agents leave behind would stay for a minute.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nothing that was started in `sandbox` runs any more: each such process has its path in the environment.
#[track_caller]
fn assert_nothing_left(sandbox: &Sandbox) {
    procs::assert_none(&sandbox.root().to_string_lossy());
}

#[test]
fn the_exit_code_is_the_agents() {
    let mut sandbox = fakes();
    for (script, code) in [
        (Script::new(), 0),
        (Script::new().exit(7), 7),
        (Script::new().exit(255), 255),
        (Script::new().die("SEGV"), 139),
        (Script::new().die("KILL"), 137),
        (Script::new().die("TERM"), 143),
    ] {
        sandbox.script(&script);
        let output = prepare(&sandbox, &["codex", "hi"]).output();
        output.assert_code(code).assert_stdout("").assert_stderr("");
        // The same for an agent's own command.
        prepare(&sandbox, &["codex", "--", "login"]).output().assert_code(code);
        assert_nothing_left(&sandbox);
    }
}

#[test]
fn stdout_is_the_agents_bytes_only() {
    let mut sandbox = fakes();
    // A degradation, an unproved version and a background process, each of which has something to say.
    sandbox.set("AMPLIHACK_PROMPT_DELIVERY", "tempfile");
    let child = Child::new(Kind::Plain, &sandbox.marker("left")).holding_output();
    let script =
        Script::new().version("9.9.9").print("ans\u{0}wer").print_error("agent's own\n").leave(child);
    sandbox.script(&script);
    let (output, _) = launch(&sandbox, &["claude", "hi"]);
    output.assert_stdout("ans\u{0}wer").assert_stderr_has("agent's own\n");
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 3, "{output}");
    let left = warnings.last().unwrap();
    assert!(left.starts_with("ended what the agent left in the background: fake-agent ("), "{left}");
    assert!(!output.held_open && output.took < PATIENCE, "{output}");
    assert_nothing_left(&sandbox);
}

#[test]
fn what_an_agent_leaves_behind_is_ended_and_named() {
    let mut sandbox = fakes();
    for (kind, ignores) in [(Kind::Plain, false), (Kind::Session, false), (Kind::Daemon, true)] {
        let mut child = Child::new(kind, &sandbox.marker("left")).holding_output();
        if ignores {
            child = child.ignoring("TERM");
        }
        sandbox.script(&Script::new().print("done\n").leave(child).exit(7));
        let output = prepare(&sandbox, &["claude", "hi"]).output();
        output.assert_code(7).assert_stdout("done\n");
        assert_eq!(warnings(&output).len(), 1, "{kind:?}: {output}");
        output.assert_stderr_has("ended what the agent left in the background: fake-agent (");
        assert!(!output.held_open && output.took < PATIENCE, "{kind:?}: {output}");
        assert_nothing_left(&sandbox);
    }
}

/// A launch whose agent has a child in its group, one in a session of its own and a daemon, and waits.
fn waiting(sandbox: &mut Sandbox, script: Script) -> Running {
    let marker = sandbox.marker("tool");
    let script = script
        .leave(Child::new(Kind::Plain, &marker))
        .leave(Child::new(Kind::Session, &marker))
        .leave(Child::new(Kind::Daemon, &marker))
        .print("ready\n")
        .sleep_ms(60_000);
    sandbox.script(&script);
    let mut running = prepare(sandbox, &["claude", "hi"]).timeout(2 * PATIENCE).spawn();
    running.until_stdout_has("ready");
    assert!(procs::with_marker(&marker).len() >= 3);
    running
}

#[test]
fn a_signal_to_the_launcher_ends_the_tree() {
    let mut sandbox = fakes();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let running = waiting(&mut sandbox, Script::new());
        running.signal(signal);
        let output = running.wait();
        output.assert_code(code).assert_stdout("ready\n");
        assert!(output.took < PATIENCE, "{output}");
        assert_nothing_left(&sandbox);
    }
}

#[test]
fn a_terminals_ctrl_c_is_passed_on_once_and_ends_the_tree() {
    let mut sandbox = fakes();
    let running = waiting(&mut sandbox, Script::new());
    running.signal_group(Signal::INT);
    running.wait().assert_code(130);
    assert_nothing_left(&sandbox);
}

#[test]
fn an_agent_that_ignores_signals_is_killed_after_the_grace() {
    let mut sandbox = fakes();
    sandbox.set("AMPLIHACK_STOP_GRACE_SECONDS", "1");
    let running = waiting(&mut sandbox, Script::new().ignoring("TERM").ignoring("INT"));
    let start = std::time::Instant::now();
    running.signal(Signal::TERM);
    running.wait().assert_code(143);
    assert!(start.elapsed() > Duration::from_millis(900), "{:?}", start.elapsed());
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert_nothing_left(&sandbox);
}

#[test]
fn an_agents_own_command_is_ended_as_well() {
    let mut sandbox = fakes();
    sandbox.script(&Script::new().print("ready\n").sleep_ms(60_000));
    let mut running = prepare(&sandbox, &["codex", "--", "login"]).spawn();
    running.until_stdout_has("ready");
    running.signal(Signal::TERM);
    running.wait().assert_code(143);
    assert_nothing_left(&sandbox);
}

#[test]
fn a_launcher_that_is_killed_takes_its_agent_with_it() {
    let mut sandbox = fakes();
    sandbox.script(&Script::new().print("ready\n").sleep_ms(60_000));
    let mut running = prepare(&sandbox, &["claude", "hi"]).spawn();
    running.until_stdout_has("ready");
    running.signal(Signal::KILL);
    running.wait().assert_signal(9);
    procs::assert_none_soon(&sandbox.root().to_string_lossy(), PATIENCE);
}

#[test]
fn the_session_is_forgotten_when_the_launch_ends() {
    let mut sandbox = fakes();
    let sessions = sandbox.home().join(".amplihack/sessions");
    sandbox.script(&Script::new().shell("echo \"$HOME\"/.amplihack/sessions/*/context.json"));
    let (output, record) = launch(&sandbox, &["claude", "hi"]);
    let session = record.variable("AMPLIHACK_SESSION_ID").unwrap().lossy();
    let file = sessions.join(session).join("context.json");
    output.assert_stdout(format!("{}\n", file.display()));
    assert!(!file.exists());
    assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), 0, "nothing stays of it");
}

fn at_depth(sandbox: &Sandbox, depth: &str, most: Option<&str>) -> Run {
    let run = prepare(sandbox, &["claude", "hi"]).env("AMPLIHACK_SESSION_DEPTH", depth);
    match most {
        Some(most) => run.env("AMPLIHACK_MAX_DEPTH", most),
        None => run,
    }
}

#[test]
fn launches_nest_six_deep_unless_told_otherwise() {
    let sandbox = fakes();
    for (depth, most) in [("5", None), ("", None), ("6", Some("7"))] {
        at_depth(&sandbox, depth, most).output().assert_code(0);
    }
    for (depth, most) in [("6", None), ("18446744073709551615", None), ("2", Some("2"))] {
        let output = refused(&sandbox, at_depth(&sandbox, depth, most), 1);
        output.assert_stderr_has("inside another, the limit is").assert_stderr_has("AMPLIHACK_MAX_DEPTH");
    }
    for depth in ["six", "-1", "1.5", "18446744073709551616"] {
        let output = refused(&sandbox, at_depth(&sandbox, depth, None), 1);
        output
            .assert_stderr_has("AMPLIHACK_SESSION_DEPTH does not hold a number")
            .assert_stderr_has("hint: ");
        assert_eq!(sandbox.starts(), []);
    }
}
