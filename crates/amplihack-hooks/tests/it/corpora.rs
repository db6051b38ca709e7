//! The binary judges as the library does, whatever it was built with: each row of the policy's corpora through both.

use std::io::Write;
use std::process::{Command, Stdio};

use amplihack_config::env::Env;
use amplihack_hooks::HookJudge;
use amplihack_hooks::guard::PolicyGuard;
use amplihack_policy::Event;
use amplihack_testkit::programs;
use amplihack_verdict::Decision;
use serde_json::{Value, json};

use crate::binary::binary;

/// Of the build that is not shipped, one row in so many.
const SAMPLE: usize = 40;

#[test]
fn the_binary_and_the_library_agree_on_the_corpora() {
    let home = tempfile::tempdir().unwrap();
    let env = Env::empty().with_variable("HOME", home.path());
    let guard = PolicyGuard::new(&env, Some("standard"));
    let step = if programs::as_shipped().is_some() { 1 } else { SAMPLE };
    let mut differing = Vec::new();
    let mut compared = 0;
    for corpus in ["harmful", "benign"] {
        let path = format!("{}/../amplihack-policy/tests/corpus/{corpus}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines().step_by(step) {
            let row: Value = serde_json::from_str(line).unwrap();
            let command = row["command"].as_str().unwrap();
            let event = Event::Shell { script: command.as_bytes(), cwd: home.path() };
            let (library, binary) = (guard.judge(&event).decision, decision(&env, command));
            compared += 1;
            if library != binary {
                differing.push(format!("{command}: {library:?} by the library, {binary:?} by the binary"));
            }
        }
    }
    assert!(differing.is_empty() && compared > 1800 / step, "{compared} compared: {differing:#?}");
}

/// What the binary says of a command to Claude Code with a person in front of it.
fn decision(env: &Env, command: &str) -> Decision {
    let home = env.path("HOME").unwrap();
    let payload = json!({"cwd": home, "tool_name": "Bash", "tool_input": {"command": command}});
    let mut child = Command::new(binary())
        .args(["pre-tool-use", "--host", "claude", "--policy", "standard"])
        .env_clear()
        .env("HOME", &home)
        .current_dir(&home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.stdout.is_empty() && output.status.success() {
        return Decision::None;
    }
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    match object["hookSpecificOutput"]["permissionDecision"].as_str() {
        Some("deny") => Decision::Deny,
        Some("ask") => Decision::Ask,
        other => panic!("{command}: {other:?}"),
    }
}
