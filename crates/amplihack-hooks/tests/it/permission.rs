//! What a host is answered that asks for permission before each call.

use std::path::Path;

use amplihack_config::env::Env;
use amplihack_hooks::HookEvent;
use amplihack_hooks::dialect::read_call;
use serde_json::{Value, json};

use crate::world::{answer, object};

const SKIPPED: &str = "bypassPermissions";

fn payload(mode: &str, tool: &str, input: &Value) -> Vec<u8> {
    let payload = json!({
        "session_id": "s", "cwd": "/w", "permission_mode": mode, "hook_event_name": "PermissionRequest",
        "tool_name": tool, "tool_input": input, "permission_suggestions": [],
    });
    payload.to_string().into_bytes()
}

/// What is answered: `allow`, `deny` or nothing.
fn behavior(mode: &str, tool: &str, input: &Value, env: &Env) -> Option<String> {
    let reply = answer(HookEvent::PermissionRequest, payload(mode, tool, input), env, Path::new("/w"));
    assert_eq!(reply.code, 0);
    let answer = object(&reply);
    let behavior = answer["hookSpecificOutput"]["decision"]["behavior"].as_str().map(str::to_owned);
    assert!(behavior.is_some() || answer.is_null(), "{answer}");
    behavior
}

#[test]
fn a_call_is_permitted_where_nobody_else_would_be_asked_and_only_if_it_may_run() {
    let person = Env::empty();
    for (tool, input, expected) in [
        ("Bash", json!({"command": "ls"}), Some("allow")),
        ("Bash", json!({"command": "rm -rf /"}), Some("deny")),
        // The host asks the person.
        ("Bash", json!({"command": "sudo ls"}), None),
        ("Write", json!({"file_path": "/w/a", "content": "x"}), Some("allow")),
        ("Write", json!({"file_path": "/etc/passwd", "content": "x"}), Some("deny")),
        ("mcp__x__run", json!({"a": "rm -rf /"}), Some("deny")),
        ("Workflow", json!({"script": "return 1"}), Some("allow")),
        ("SomethingNew", json!({}), Some("allow")),
        // Their question is what they are for.
        ("AskUserQuestion", json!({"questions": []}), None),
        ("ExitPlanMode", json!({"plan": "p"}), None),
    ] {
        assert_eq!(behavior(SKIPPED, tool, &input, &person).as_deref(), expected, "{tool} {input}");
    }
    let nobody = Env::empty().with_variable("CLAUDE_CODE_SESSION_ATTENDED", "0");
    assert_eq!(behavior(SKIPPED, "Bash", &json!({"command": "sudo ls"}), &nobody).as_deref(), Some("deny"));
}

#[test]
fn in_another_mode_only_what_the_host_lets_run_by_itself_is_permitted() {
    for mode in ["default", "plan", "acceptEdits"] {
        for (tool, input, expected) in [
            ("Read", json!({"file_path": "/w/a"}), Some("allow")),
            ("Agent", json!({"prompt": "p"}), Some("allow")),
            ("Read", json!({"file_path": "/elsewhere"}), None),
            ("Read", json!({"file_path": "/w/../elsewhere"}), None),
            ("Bash", json!({"command": "ls"}), None),
            ("Write", json!({"file_path": "/w/a", "content": "x"}), None),
        ] {
            let found = behavior(mode, tool, &input, &Env::empty());
            assert_eq!(found.as_deref(), expected, "{mode} {tool} {input}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let env = Env::empty();
    for bytes in [&b"{"[..], b"", b"[]"] {
        let reply = answer(HookEvent::PermissionRequest, bytes, &env, Path::new("/w"));
        assert_eq!(reply.code, 2, "{reply:?}");
    }
}

#[test]
fn a_call_is_known_again_by_session_tool_and_input() {
    let digest = |event, bytes: &[u8]| read_call(bytes, event, None, Path::new("/w")).unwrap().digest;
    let of = |mode, command: &str| {
        digest(HookEvent::PermissionRequest, &payload(mode, "Bash", &json!({"command": command})))
    };
    let same = digest(HookEvent::PreToolUse, &payload(SKIPPED, "Bash", &json!({"command": "ls"})));
    assert!(same.is_some());
    assert_eq!(of(SKIPPED, "ls"), same);
    assert_ne!(of(SKIPPED, "ls -l"), same);
    assert_eq!(of("default", "ls"), None);
}
