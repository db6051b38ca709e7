//! The XPIA hook at the places that the document names, run by Python as a host runs it, and by its own program.

use amplihack_testkit::{Run, Sandbox};
use serde_json::{Value, json};

use super::{HARMFUL, hooks, installed, one_object};

const CANONICAL: &str = ".claude/tools/xpia/hooks/pre_tool_use.py";
const TWIN: &str = ".claude/tools/xpia/hooks/pre_tool_use_rust.py";

fn payload(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}})
}

/// An entry point's answer to a text on its stdin.
fn by_python(sandbox: &Sandbox, entry_point: &str, stdin: &str) -> Value {
    let run = Run::new(sandbox.command("/usr/bin/python3")).args([entry_point]).stdin(stdin.to_owned());
    one_object(run.output().assert_code(0))
}

/// The program's answer to a text on its stdin.
fn by_program(sandbox: &Sandbox, stdin: &str) -> Value {
    let run = Run::new(sandbox.command(hooks())).args(["xpia"]).stdin(stdin.to_owned());
    one_object(run.output().assert_code(0))
}

#[test]
fn a_harmful_command_is_denied_by_the_hook_at_its_place() {
    let answer = by_python(&installed(), CANONICAL, &payload(HARMFUL).to_string());
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
}

#[test]
fn the_safe_command_of_the_document_is_answered_with_an_empty_object() {
    let sandbox = installed();
    let script = format!(
        "printf '%s\\n' '{{\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"pwd\"}}}}' | /usr/bin/python3 {CANONICAL}"
    );
    let output = sandbox.run("/bin/sh", ["-c", &script]);
    output.assert_code(0).assert_stdout("{}\n");
}

#[test]
fn both_entry_points_answer_alike() {
    let sandbox = installed();
    for stdin in
        [&payload("pwd").to_string(), &payload(HARMFUL).to_string(), &payload("sudo id").to_string(), "{", ""]
    {
        let answers = [CANONICAL, TWIN].map(|entry_point| by_python(&sandbox, entry_point, stdin));
        assert_eq!(answers[0], answers[1], "{stdin}");
    }
}

#[test]
fn every_bash_command_is_evaluated() {
    let sandbox = Sandbox::new();
    for (command, decision) in [(HARMFUL, "deny"), ("rm -rf ~", "deny")] {
        let answer = by_program(&sandbox, &payload(command).to_string());
        assert_eq!(answer["permissionDecision"], decision, "{command}: {answer}");
    }
}

#[test]
fn what_cannot_be_read_is_denied() {
    let sandbox = Sandbox::new();
    for stdin in ["", "{", "[]", "null", "{\"tool_name\": 3}"] {
        let answer = by_program(&sandbox, stdin);
        assert_eq!(answer["permissionDecision"], "deny", "{stdin:?}: {answer}");
    }
}

#[test]
fn an_external_defender_is_asked_and_its_absence_is_a_deny() {
    let mut sandbox = Sandbox::new();
    sandbox.set("XPIA_DEFEND_PATH", "/nonexistent/xpia-defend");
    let answer = by_program(&sandbox, &payload("pwd").to_string());
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("xpia-defend"), "{answer}");
}

#[test]
fn the_payload_is_taken_from_the_first_argument_too() {
    let sandbox = installed();
    for (command, denied) in [(HARMFUL, true), ("pwd", false)] {
        let text = payload(command).to_string();
        let by_program = Run::new(sandbox.command(hooks())).args(["xpia", &text]).output();
        let by_python = sandbox.run("/usr/bin/python3", [CANONICAL, &text]);
        for output in [by_program, by_python] {
            assert_eq!(one_object(&output)["permissionDecision"] == "deny", denied, "{output}");
            assert!(denied || output.stdout_text() == "{}\n", "{output}");
        }
    }
}

#[test]
fn relative_paths_are_judged_in_the_directory_of_the_payload() {
    let sandbox = Sandbox::new();
    let outside = sandbox.root().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    let asked = |cwd: &std::path::Path| {
        let mut payload = payload("rm -rf .");
        payload["cwd"] = json!(cwd);
        by_program(&sandbox, &payload.to_string())
    };
    let answer = asked(&outside);
    let reason = answer["message"].as_str().unwrap_or_default();
    assert!(reason.contains(&*outside.to_string_lossy()), "{answer}");
}

#[test]
fn allow_is_an_empty_object() {
    assert_eq!(by_program(&Sandbox::new(), &payload("pwd").to_string()), json!({}));
}

#[test]
fn deny_is_a_flat_decision() {
    let answer = by_program(&Sandbox::new(), &payload(HARMFUL).to_string());
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
    assert_eq!(answer.get("hookSpecificOutput"), None, "{answer}");
}

#[test]
fn deny_has_a_message() {
    let answer = by_program(&Sandbox::new(), &payload(HARMFUL).to_string());
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("XPIA Security Block")), "{answer}");
}
