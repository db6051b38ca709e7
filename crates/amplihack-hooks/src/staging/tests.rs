//! Wrappers and entry points as real processes: what they hand over, and what they say when they cannot.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// Runs `program` in a place where only `programs` are found, by name and by what they do.
fn run(program: &[&str], text: &str, programs: &[(&str, &str)], stdin: &str) -> (Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("hook", text);
    // A module beside the hook is not taken for the interpreter's own.
    write("json.py", "raise SystemExit(0)");
    write("subprocess.py", "raise SystemExit(0)");
    for (path, body) in programs {
        write(path, &format!("#!/bin/sh\necho \"$*\" >> '{}/calls'\n{body}\n", dir.path().display()));
    }
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).arg(dir.path().join("hook")).env_clear();
    command.env("HOME", dir.path()).env("PATH", format!(".:{}/path:/usr/bin:/bin", dir.path().display()));
    let mut child = command
        .current_dir(dir.path().join(Path::new("")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A hook that answers without reading closes its end.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "one object: {text:?}");
    let calls = std::fs::read_to_string(dir.path().join("calls")).unwrap_or_default();
    (serde_json::from_str(&text).unwrap(), calls)
}

fn wrapper_says(event: HookEvent, programs: &[(&str, &str)]) -> (Value, String) {
    run(&["/bin/sh"], &wrapper_text(event, false), programs, "{\"toolName\":\"bash\"}")
}

const ECHO: &str = "printf '{\"heard\":'; cat; echo '}'";

/// A guard's program: its token, then what `body` prints.
fn signed(body: &str) -> String {
    format!("printf {}; {body}", token::TOKEN)
}

#[test]
fn a_wrapper_hands_standard_input_to_one_process_and_its_answer_back() {
    for (event, _) in WRAPPERS {
        let (body, sign) = if event.is_guard() { (signed(ECHO), " --sign") } else { (ECHO.to_owned(), "") };
        let (answer, calls) = wrapper_says(*event, &[("path/amplihack-hooks", &body)]);
        assert_eq!(answer, json!({"heard": {"toolName": "bash"}}), "{event}");
        assert_eq!(calls, format!("{event} --host copilot{sign}\n"));
    }
}

#[test]
fn a_wrapper_finds_the_binary_in_the_contracts_order() {
    let places = ["path", ".amplihack/bin", ".local/bin", ".cargo/bin"];
    for first in 0..places.len() {
        let paths: Vec<String> =
            places[first..].iter().map(|place| format!("{place}/amplihack-hooks")).collect();
        let bodies: Vec<String> =
            places[first..].iter().map(|place| signed(&format!("echo '{{\"from\":\"{place}\"}}'"))).collect();
        let programs: Vec<(&str, &str)> =
            paths.iter().zip(&bodies).map(|(path, body)| (path.as_str(), body.as_str())).collect();
        assert_eq!(wrapper_says(HookEvent::PreToolUse, &programs).0["from"], places[first]);
    }
    let (answer, calls) =
        wrapper_says(HookEvent::PreToolUse, &[(".local/bin/amplihack", &signed("echo '{}'"))]);
    assert_eq!((answer, calls.as_str()), (json!({}), "hook pre-tool-use --host copilot --sign\n"));
}

#[test]
fn the_guards_wrapper_denies_when_there_is_no_answer_to_be_trusted() {
    for programs in [
        &[][..],
        // Not by a relative entry of PATH.
        &[("amplihack-hooks", "echo '{}'")],
        &[("path/amplihack-hooks", "printf amplihack-guard:; echo '{}'; exit 1")],
        // Another program, and an empty file.
        &[("path/amplihack-hooks", "echo '{}'")],
        &[("path/amplihack-hooks", "")],
        &[("path/amplihack-hooks", "exit 2")],
        &[("path/amplihack-hooks", "kill -SEGV $$")],
        &[("path/amplihack-hooks", "echo hello")],
        &[("path/amplihack-hooks", "echo starting; echo '{}'")],
    ] {
        let (answer, _) = wrapper_says(HookEvent::PreToolUse, programs);
        assert_eq!(answer["permissionDecision"], "deny", "{programs:?}");
        assert!(answer["permissionDecisionReason"].as_str().unwrap().contains("amplihack"));
        assert!(wrapper_says(HookEvent::Stop, programs).0.is_object(), "{programs:?}");
    }
    let silent = [("path/amplihack-hooks", "cat >/dev/null; printf amplihack-guard:")];
    assert_eq!(wrapper_says(HookEvent::PreToolUse, &silent).0, json!({}));
}

#[test]
fn the_manifest_names_a_wrapper_for_each_event_and_no_path_of_a_machine() {
    insta::assert_snapshot!(repository_manifest(|_| false));
    let manifest: Value = serde_json::from_str(&repository_manifest(|_| false)).unwrap();
    let commands = copilot_commands(&manifest);
    let names: Vec<&str> = wrapped_events().map(HookEvent::name).collect();
    for (_, command) in &commands {
        let file = token::inner_command(command).unwrap();
        assert!(names.contains(&file.strip_prefix(".github/hooks/").unwrap()), "{command}");
    }
    assert_eq!(commands.len(), names.len());
}

#[test]
fn a_wrapper_with_a_script_names_the_file_beside_it_and_has_more_time() {
    let ask = [("path/amplihack-hooks", ECHO)];
    let (answer, calls) = run(&["/bin/sh"], &wrapper_text(HookEvent::Stop, true), &ask, "{}");
    assert_eq!(answer, json!({"heard": {}}));
    let (call, rest) = calls.split_once(" --script ").unwrap();
    assert!(call == "aggregate stop" && rest.ends_with("/stop.user --host copilot\n"), "{calls}");
    let seconds = |has_script: bool| {
        let manifest: Value = serde_json::from_str(&repository_manifest(|_| has_script)).unwrap();
        let hook = |event: &str| manifest["hooks"][event][0]["timeoutSec"].as_u64().unwrap();
        (hook("preToolUse"), hook("agentStop"))
    };
    assert_eq!((seconds(false), seconds(true)), ((2_147_483, 120), (2_147_483, 120)));
    assert_eq!(script_time(HookEvent::PreToolUse), Duration::from_secs(15));
    for event in wrapped_events() {
        assert!(
            is_wrapper(wrapper_text(event, true).as_bytes())
                && is_wrapper(wrapper_text(event, false).as_bytes())
        );
    }
    assert!(!is_wrapper(b"#!/bin/sh\n# asks amplihack\nexec amplihack-hooks pre-tool-use\n"));
}

#[test]
fn the_python_entry_points_hand_over_and_deny_when_they_cannot() {
    let Ok(_) = Command::new("/usr/bin/python3").arg("--version").output() else { return };
    let says = |programs: &[(&str, &str)]| run(&["/usr/bin/python3"], XPIA_SHIM, programs, "{\"a\":1}");
    let (answer, calls) = says(&[("path/amplihack-hooks", ECHO)]);
    assert_eq!((answer, calls.as_str()), (json!({"heard": {"a": 1}}), "xpia\n"));
    let (answer, calls) = says(&[(".cargo/bin/amplihack", "echo '{}'")]);
    assert_eq!((answer, calls.as_str()), (json!({}), "hook xpia\n"));
    let own = "echo '{\"permissionDecision\":\"deny\",\"message\":\"own\"}'; exit 2";
    assert_eq!(says(&[("path/amplihack-hooks", own)]).0["message"], "own");
    for programs in [
        &[][..],
        &[("amplihack-hooks", "echo '{}'")],
        &[("path/amplihack-hooks", "true")],
        &[("path/amplihack-hooks", "echo '{}'; exit 1")],
        &[("path/amplihack-hooks", "echo '[]'")],
        &[("path/amplihack-hooks", "echo log; echo '{}'")],
        &[("path/amplihack-hooks", "kill -KILL $$")],
    ] {
        let answer = says(programs).0;
        assert_eq!(answer["permissionDecision"], "deny", "{programs:?}");
        assert_eq!(answer["message"], answer["permissionDecisionReason"]);
        assert!(answer["message"].as_str().unwrap().starts_with("XPIA Security: "));
    }
}
