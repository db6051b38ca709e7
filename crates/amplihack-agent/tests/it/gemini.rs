//! Gemini's lines, each with the events that it becomes.

use amplihack_agent::AgentBinary;
use serde_json::{Value, json};

use crate::{Decoded, json_of, lines};

fn gemini(stream: &[&str]) -> Decoded {
    lines(AgentBinary::Gemini, stream, 0)
}

/// The events of a call of `tool` and of its result, which has also the fields `result`.
fn answered(tool: &str, parameters: &Value, result: &str) -> Vec<Value> {
    let call = json!({"type": "tool_use", "tool_name": tool, "tool_id": "c", "parameters": parameters});
    let result = format!(r#"{{"type":"tool_result","tool_id":"c",{result}}}"#);
    json_of(&gemini(&[&call.to_string(), &result]))
}

#[test]
fn a_run_is_one_turn_with_its_prompt() {
    let decoded = gemini(&[
        r#"{"type":"init","session_id":"s","model":"m"}"#,
        r#"{"type":"message","role":"user","content":"go"}"#,
        r#"{"type":"message","role":"assistant","content":"hi","delta":true}"#,
        r#"{"type":"error","severity":"warning","message":"w"}"#,
        r#"{"type":"result","status":"success","stats":{"total_tokens":29,"input_tokens":17,"output_tokens":9,"cached":4}}"#,
    ]);
    let expected = [
        json!({"type": "started", "agent": "gemini", "agent_session": "s", "model": "m"}),
        json!({"type": "prompt", "text": "go"}),
        json!({"type": "turn_started"}),
        json!({"type": "text", "text": "hi", "delta": true}),
        json!({"type": "warning", "kind": "warning", "message": "w"}),
        json!({"type": "text", "text": "hi"}),
        json!({"type": "usage", "total": true, "input_tokens": 13, "output_tokens": 12,
            "reasoning_tokens": 3, "cache_read_tokens": 4, "cache_write_tokens": 0}),
        json!({"type": "turn_ended"}),
    ];
    assert_eq!(json_of(&decoded), expected);
}

#[test]
fn tools_have_the_kinds_of_all_agents() {
    for (tool, parameters, expected) in [
        ("run_shell_command", json!({"command": "ls"}), json!({"kind": "execute", "command": "ls"})),
        (
            "read_file",
            json!({"file_path": "/a", "start_line": 3}),
            json!({"kind": "read", "locations": [{"path": "/a", "line": 3}]}),
        ),
        ("list_directory", json!({"dir_path": "/d"}), json!({"kind": "read", "locations": [{"path": "/d"}]})),
        (
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
            json!({"kind": "write", "locations": [{"path": "/a"}]}),
        ),
        (
            "replace",
            json!({"file_path": "/a", "old_string": "x"}),
            json!({"kind": "edit", "locations": [{"path": "/a"}]}),
        ),
        ("glob", json!({"pattern": "*.rs"}), json!({"kind": "search", "query": "*.rs"})),
        (
            "grep_search",
            json!({"pattern": "x", "dir_path": "/d"}),
            json!({"kind": "search", "query": "x", "locations": [{"path": "/d"}]}),
        ),
        ("google_web_search", json!({"query": "rust"}), json!({"kind": "search", "query": "rust"})),
        (
            "web_fetch",
            json!({"prompt": "what is at http://h/"}),
            json!({"kind": "fetch", "query": "what is at http://h/"}),
        ),
        ("save_memory", json!({"fact": "x"}), json!({"kind": "think"})),
        ("mcp_notes_note", json!({"path": "/a"}), json!({"kind": "mcp"})),
        ("novel", json!({}), json!({"kind": "other"})),
    ] {
        let mut call = answered(tool, &parameters, r#""status":"success""#).swap_remove(0);
        let fields = call.as_object_mut().unwrap();
        for known in ["type", "id", "name", "input"] {
            fields.remove(known);
        }
        assert_eq!(call, expected, "{tool}");
    }
}

#[test]
fn files_that_a_call_wrote_are_changes() {
    let parameters = |old: &str| json!({"file_path": "/a", "old_string": old, "new_string": "y"});
    for (tool, parameters, kind) in [
        ("write_file", json!({"file_path": "/a", "content": "x"}), "write"),
        ("replace", parameters("x"), "update"),
        // So it makes a new file.
        ("replace", parameters(""), "write"),
    ] {
        let events = answered(tool, &parameters, r#""status":"success""#);
        assert_eq!(events[1]["changes"], json!([{"path": "/a", "kind": kind}]), "{tool}");
        let failed = answered(tool, &parameters, r#""status":"error","error":{"message":"no"}"#);
        let expected = json!({"type": "tool_result", "id": "c", "output": "no", "is_error": true});
        assert_eq!(failed[1], expected, "{tool}");
    }
}

#[test]
fn a_plan_holds_when_its_call_succeeded() {
    let todos = json!({"todos": [{"description": "a", "status": "in_progress"}]});
    let events = answered("write_todos", &todos, r#""status":"success""#);
    let plan = json!({"type": "plan", "call": "c", "entries": [{"text": "a", "status": "in_progress"}]});
    assert_eq!(events[1], plan);
    let events = answered("write_todos", &todos, r#""status":"error","output":"not found""#);
    assert_eq!(events.len(), 2);
    assert_eq!(events[1]["is_error"], true);
}

#[test]
fn a_nested_agent_begins_and_ends_with_its_call() {
    let parameters = json!({"agent_name": "generalist", "prompt": "look"});
    let events = answered("invoke_agent", &parameters, r#""status":"success","output":"seen""#);
    let begun =
        json!({"type": "task", "id": "c", "phase": "started", "name": "generalist", "prompt": "look"});
    let done = json!({"type": "task", "id": "c", "phase": "completed", "message": "seen"});
    assert_eq!((&events[0]["kind"], &events[1], &events[2]), (&json!("agent"), &begun, &done));
    let events = answered("invoke_agent", &parameters, r#""status":"error","error":{"message":"no"}"#);
    assert_eq!(events[2]["phase"], "failed");
}
