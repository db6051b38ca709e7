//! The real binary: whatever is done to it, a guard's stdout is one deny, and every other event is silence.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use amplihack_testkit::{json, printed, programs, skip_test};
use serde_json::Value;

/// The program under test.
pub(crate) fn binary() -> PathBuf {
    programs::under_test(env!("CARGO_BIN_EXE_amplihack-hooks"))
}

/// The binary with `arguments`, an empty environment and pipes on all three streams.
fn start(arguments: &[&str]) -> Child {
    Command::new(binary())
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn run(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = start(arguments);
    let mut pipe = child.stdin.take().unwrap();
    // The binary may stop reading what is too long.
    let _ = pipe.write_all(stdin);
    drop(pipe);
    child.wait_with_output().unwrap()
}

/// Exactly one JSON object, denying in the shape that every host takes.
fn assert_denied(output: &Output, what: &str) {
    let object = json::parse(&output.stdout).unwrap();
    assert_eq!(printed::violations("hook", &object), None, "{what}");
    assert_eq!(object["hookSpecificOutput"]["permissionDecision"], "deny", "{what}: {output:?}");
    assert_eq!(object["decision"], "block", "{what}");
    assert_eq!(output.status.code(), Some(2), "{what}");
    let reason = object["reason"].as_str().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{what}: {output:?}");
}

const CALL: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

#[test]
fn what_is_wrong_with_the_command_line_or_the_payload_is_a_deny() {
    let forbidden = CALL.replace("\"ls\"", "\"git commit --no-verify\"");
    assert_denied(&run(&["pre-tool-use"], forbidden.as_bytes()), "a forbidden call");
    let engine = Command::new(binary())
        .arg("pre-tool-use")
        .env_clear()
        .env("AMPLIHACK_HOOK_ENGINE", "python")
        .stdin(Stdio::null())
        .output();
    assert_denied(&engine.unwrap(), "an engine that there is none of");
    assert_denied(&run(&[], CALL.as_bytes()), "no event");
    assert_denied(&run(&["PreToolUse"], CALL.as_bytes()), "unknown event");
    assert_denied(&run(&["pre-tool-use", "--wat"], CALL.as_bytes()), "unknown flag");
    assert_denied(&run(&["pre-tool-use"], b""), "no payload");
    assert_denied(&run(&["pre-tool-use"], b"{"), "torn payload");
    // Copilot's own dialect ignores the object, so that the code has to stop the call.
    assert_denied(&run(&["pre-tool-use", "--host", "copilot"], b"{"), "torn payload of Copilot");
}

#[test]
fn streams_that_are_closed_let_nothing_through_and_spoil_no_file() {
    let home = tempfile::tempdir().unwrap();
    let forbidden = CALL.replace("\"ls\"", "\"git commit --no-verify\"");
    let through_shell = |redirection: &str| {
        let mut child = Command::new("/bin/sh")
            .args(["-c", &format!("exec \"$0\" pre-tool-use {redirection}")])
            .arg(binary())
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(forbidden.as_bytes());
        child.wait_with_output().unwrap()
    };
    assert_denied(&through_shell("<&-"), "closed stdin");
    for redirection in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        assert_eq!(through_shell(redirection).status.code(), Some(2), "{redirection}");
    }
    // A file that is opened must not get the number of a closed stream, or answers would be written into it.
    let logs = std::fs::read_dir(home.path().join(".claude/logs/xpia")).unwrap();
    let text: String = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    assert_eq!(text.lines().count(), 5);
    for line in text.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["decision"], "deny", "{line}");
    }
}

#[test]
fn a_host_that_does_not_listen_any_more_sees_the_code() {
    let mut child = start(&["pre-tool-use"]);
    drop((child.stdout.take(), child.stderr.take()));
    let forbidden = CALL.replace("\"ls\"", "\"git commit --no-verify\"");
    child.stdin.take().unwrap().write_all(forbidden.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn ten_megabytes_are_answered_in_time() {
    let begin = Instant::now();
    let filler = "x".repeat(10_000_000);
    let fits = CALL.replace("\"ls\"", &format!("\"git commit --no-verify -m {filler}\""));
    assert_denied(&run(&["pre-tool-use"], fits.as_bytes()), "ten megabytes");
    let endless = vec![b'['; 11 << 20];
    assert_denied(&run(&["pre-tool-use"], &endless), "too long");
    assert!(begin.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_host_that_sends_nothing_and_waits_is_answered_at_the_deadline() {
    let begin = Instant::now();
    let mut child = start(&["pre-tool-use"]);
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    assert_denied(&output, "no end of stdin");
    assert!(begin.elapsed() >= Duration::from_secs(4) && begin.elapsed() < Duration::from_secs(40));
}

#[test]
fn the_deadline_comes_before_everything_that_could_wait() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("calls");
    let traced = Command::new("strace")
        .args(["-qq", "-o"])
        .arg(&log)
        .arg(binary())
        .arg("pre-tool-use")
        .env_clear()
        .stdin(Stdio::null())
        .output();
    if !traced.is_ok_and(|output| output.status.code() == Some(2)) {
        skip_test("strace does not run here");
        return;
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let (before, _) = text.split_once("setitimer(ITIMER_REAL").unwrap();
    // A program that is not static is loaded first.
    let own = before.rsplit("munmap(").next().unwrap();
    let allowed = ["rt_sigaction(", "rt_sigprocmask(", "execve(", "arch_prctl(", "set_tid_address(", "0x"];
    // A C library's memory of the main thread, less than a page; the allocator's first is more.
    let is_small = |line: &str| {
        let size =
            line.strip_prefix("mmap(NULL, ").and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
        size.is_some_and(|size| size < 4096)
    };
    let others: Vec<&str> = own
        .lines()
        .filter(|line| !allowed.iter().any(|call| line.starts_with(call)) && !is_small(line))
        .collect();
    assert!(others.is_empty(), "before the deadline: {others:#?}");
}

#[test]
fn a_crash_from_outside_is_a_deny_too() {
    for signal in ["SEGV", "BUS", "ABRT", "ALRM"] {
        let mut child = start(&["pre-tool-use"]);
        let open = child.stdin.take();
        // Long enough for the handlers to be in place, which is the first thing that it does.
        std::thread::sleep(Duration::from_millis(300));
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(open);
        assert_denied(&output, signal);
    }
}

#[test]
fn other_events_are_silent_also_when_something_is_wrong() {
    for event in [
        "session-start",
        "session-end",
        "stop",
        "agent-stop",
        "subagent-stop",
        "pre-compact",
        "post-tool-use",
    ] {
        for payload in ["", "{", "{}", CALL] {
            let output = run(&[event], payload.as_bytes());
            assert_eq!(
                (output.stdout.as_slice(), output.status.code()),
                (&b""[..], Some(0)),
                "{event} {payload}"
            );
        }
    }
}

#[test]
fn the_flat_actions_answer_flat_and_end_with_0() {
    for (arguments, stdin) in [(&["xpia"][..], ""), (&["xpia", "nope"], CALL), (&["aggregate"], "{}")] {
        let output = run(arguments, stdin.as_bytes());
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((object["permissionDecision"].as_str(), output.status.code()), (Some("deny"), Some(0)));
    }
}

#[test]
fn a_person_who_asks_for_help_gets_it() {
    for flag in ["--help", "-h", "help"] {
        let output = run(&[flag], b"");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("Usage: amplihack-hooks <event>") && text.contains("\n  pre-tool-use\n"),
            "{text}"
        );
        assert_eq!(output.status.code(), Some(0));
    }
    let output = run(&["--version"], b"");
    assert_eq!(output.stdout, format!("amplihack-hooks {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    // Beside an event they are no such flags.
    assert_denied(&run(&["pre-tool-use", "--help"], CALL.as_bytes()), "a flag of no registration");
}
