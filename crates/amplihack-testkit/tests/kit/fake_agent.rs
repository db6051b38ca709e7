//! The fake agent records exactly how it was called, and plays its script.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use amplihack_testkit::script::{StdinPlan, Step};
use amplihack_testkit::{Bytes, Child, Kind, Run, Sandbox, Script, StdinKind, procs};

#[test]
fn argv_environment_and_stdin_are_recorded_exactly() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    let odd = OsStr::from_bytes(b"not-\xff-utf8");
    sandbox.set("ODD", odd);
    let prompt = "it's \"$HOME\" `x` $(y) 漢字 🦀\n\n".repeat(3000);
    let run = Run::new(sandbox.command("claude")).arg("-p").arg(odd).stdin(prompt.clone());
    run.output().assert_code(0).assert_stdout("").assert_stderr("");

    let record = sandbox.only_run();
    assert_eq!(record.name, "claude");
    assert_eq!(record.args(), [Bytes::from("-p"), Bytes::from(odd)]);
    assert_eq!(record.variable("ODD"), Some(&Bytes::from(odd)));
    assert_eq!(record.env.len(), sandbox.env().iter().count());
    assert_eq!(record.stdin, Some(Bytes::from(prompt.as_str())));
    assert_eq!(record.stdin_kind, StdinKind::Pipe);
    assert_eq!(record.cwd, Bytes::from(sandbox.work().canonicalize().unwrap().into_os_string()));
    assert_eq!(record.pgid, record.pid);
}

#[test]
fn kinds_of_stdin_are_told_apart() {
    let sandbox = Sandbox::new();
    sandbox.fake("codex");
    sandbox.run("codex", ["exec"]).assert_code(0);
    Run::new(sandbox.command("codex")).stdin("x").output().assert_code(0);
    let mut command = sandbox.command("codex");
    command.stdin(std::fs::File::open(sandbox.write("work/in", "from a file")).unwrap());
    Run::new(command).stdin_as_given().output().assert_code(0);
    let kinds: Vec<_> = sandbox.runs().into_iter().map(|record| (record.stdin_kind, record.stdin)).collect();
    let expected = [
        (StdinKind::Null, Some(Bytes::from(""))),
        (StdinKind::Pipe, Some(Bytes::from("x"))),
        (StdinKind::File, Some(Bytes::from("from a file"))),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn version_lines_are_the_real_ones_and_can_be_changed() {
    let mut sandbox = Sandbox::new();
    for (name, line) in [
        ("claude", "2.1.332 (Claude Code)\n"),
        ("codex", "codex-cli 0.171.0\n"),
        ("copilot", "GitHub Copilot CLI 1.0.102.\n"),
        ("amplifier", "amplifier, version 0.1.0\n"),
    ] {
        sandbox.fake(name);
        sandbox.run(name, ["--version"]).assert_code(0).assert_stdout(line);
    }
    sandbox.script_for("codex", &Script { version_exit: 3, ..Script::new().version("codex-cli 9.0.0") });
    sandbox.run("codex", ["--version"]).assert_code(3).assert_stdout("codex-cli 9.0.0\n");
    sandbox.run("claude", ["--version"]).assert_stdout("2.1.332 (Claude Code)\n");
    assert_eq!(sandbox.starts().len(), 6);
    assert!(sandbox.runs().is_empty());
}

#[test]
fn output_and_exit_codes_follow_the_script() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    let script = Script::new()
        .print("out\n")
        .print_error("err\n")
        .then(Step::EchoStdin)
        .shell("echo sh; exit 3")
        .exit(7);
    sandbox.script(&script);
    let output = Run::new(sandbox.command("claude")).stdin("in\n").output();
    output.assert_code(7).assert_stdout("out\nin\nsh\n").assert_stderr("err\n");

    sandbox.script(&Script::new().then(Step::PrintBytes(300_000)).then(Step::PrintErrorBytes(1)));
    let output = sandbox.run("claude", [""; 0]);
    assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 1));
}

#[test]
fn it_dies_by_the_signal_that_the_script_names() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15), ("INT", 2), ("ABRT", 6)] {
        sandbox.script(&Script::new().print("before\n").die(name));
        sandbox.run("claude", [""; 0]).assert_signal(number).assert_stdout("before\n");
    }
}

#[test]
fn ignored_signals_change_nothing_else() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    sandbox.script(
        &Script::new().ignoring("TERM").ignoring("INT").print("ready\n").sleep_ms(300).print("alive\n"),
    );
    let mut running = Run::new(sandbox.command("claude")).arg("a b").stdin("prompt").spawn();
    let pid = running.pid().as_raw_nonzero().get();
    running.until_stdout_has("ready");
    running.signal(rustix::process::Signal::TERM);
    running.signal_group(rustix::process::Signal::INT);
    running.wait().assert_code(0).assert_stdout("ready\nalive\n");
    let record = sandbox.only_run();
    assert_eq!(record.pid, pid);
    assert_eq!((record.name.as_str(), record.args()), ("claude", &[Bytes::from("a b")][..]));
    assert_eq!(record.stdin, Some(Bytes::from("prompt")));
    assert_eq!(record.env.len(), sandbox.env().iter().count());
}

#[test]
fn stdin_can_be_read_late_in_part_or_never() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    let long = "y".repeat(200_000);
    for (plan, expected) in [
        (StdinPlan::LateMs(200), Some(long.as_str())),
        (StdinPlan::First(10), Some("yyyyyyyyyy")),
        (StdinPlan::Never, None),
    ] {
        sandbox.script(&Script::new().stdin(plan));
        Run::new(sandbox.command("claude")).stdin(long.clone()).output().assert_code(0);
        let record = sandbox.runs().pop().unwrap();
        assert_eq!(record.stdin, expected.map(Bytes::from), "{plan:?}");
    }
}

#[test]
fn left_behind_processes_stand_where_the_script_says() {
    for kind in [Kind::Plain, Kind::Session, Kind::Daemon] {
        let mut sandbox = Sandbox::new();
        sandbox.fake("claude");
        let marker = sandbox.marker("left");
        sandbox.script(&Script::new().leave(Child { sleep_ms: 1500, ..Child::new(kind, &marker) }));
        sandbox.run("claude", [""; 0]).assert_code(0);
        let agent = sandbox.only_run();
        let left: Vec<_> = procs::with_marker(&marker)
            .into_iter()
            .filter(|process| process.argv.last().is_some_and(|last| *last == marker.as_str()))
            .collect();
        assert_eq!(left.len(), 1, "{kind:?}: {left:#?}");
        match kind {
            Kind::Plain => assert_eq!((left[0].pgid, left[0].sid), (agent.pgid, agent.sid)),
            Kind::Session => assert_eq!((left[0].pgid, left[0].sid), (left[0].pid, left[0].pid)),
            Kind::Daemon => {
                assert_ne!(left[0].sid, agent.sid);
                assert_ne!(left[0].sid, left[0].pid);
            }
        }
        procs::assert_none_soon(&marker, Duration::from_secs(10));
    }
}

#[test]
fn a_child_that_holds_the_output_is_noticed() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    let child =
        Child { sleep_ms: 2000, ..Child::new(Kind::Session, &sandbox.marker("holds")).ignoring("TERM") };
    sandbox.script(&Script::new().leave(child.clone()));
    assert!(!sandbox.run("claude", [""; 0]).held_open);
    sandbox.script(&Script::new().leave(child.holding_output()));
    assert!(sandbox.run("claude", [""; 0]).held_open);
}

#[test]
fn a_broken_script_is_an_error_that_names_its_variable() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    sandbox.set("FAKE_AGENT_SCRIPT_CLAUDE", "{\"exit\": 7}");
    sandbox.run("claude", [""; 0]).assert_code(97).assert_stderr_has("FAKE_AGENT_SCRIPT_CLAUDE is no script");
    assert!(sandbox.starts().is_empty());
}
