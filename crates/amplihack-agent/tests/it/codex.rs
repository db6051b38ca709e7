//! Codex's lines, each with the events that it becomes.

use amplihack_agent::AgentBinary;
use serde_json::{Value, json};

use crate::{Decoded, json_of, lines};

fn codex(stream: &[&str]) -> Decoded {
    lines(AgentBinary::Codex, stream, 0)
}

/// A call with its result.
fn answered(mut call: Value, mut result: Value) -> [Value; 2] {
    call["type"] = json!("tool_call");
    result["type"] = json!("tool_result");
    result["id"] = call["id"].clone();
    [call, result]
}

#[test]
fn every_item_has_its_place() {
    let decoded = codex(&[
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"0","type":"reasoning","text":" hm "}}"#,
        r#"{"type":"item.completed","item":{"id":"1","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"failed"}}"#,
        r#"{"type":"item.started","item":{"id":"2","type":"mcp_tool_call","server":"s","tool":"x","arguments":{"k": 1},"result":null,"error":null,"status":"in_progress"}}"#,
        r#"{"type":"item.completed","item":{"id":"2","type":"mcp_tool_call","server":"s","tool":"x","arguments":{"k": 1},"result":{"content":[{"type":"text","text":"r"},{"type":"image","data":"AA==","mimeType":"image/png"}],"structured_content":null},"error":null,"status":"completed"}}"#,
        r#"{"type":"item.completed","item":{"id":"3","type":"mcp_tool_call","server":"s","tool":"x","arguments":null,"result":null,"error":{"message":"gone"},"status":"failed"}}"#,
        r#"{"type":"item.completed","item":{"id":"6","type":"command_execution","command":"x","aggregated_output":"denied","exit_code":null,"status":"declined"}}"#,
        r#"{"type":"item.completed","item":{"id":"7","type":"agent_message","text":"done\n"}}"#,
        r#"{"type":"error","message":"Reconnecting... 1/2 (unexpected status 401 Unauthorized: no)"}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":2}}"#,
    ]);
    let mut expected = vec![
        json!({"type": "started", "agent": "codex", "agent_session": "t"}),
        json!({"type": "turn_started"}),
        json!({"type": "thinking", "text": " hm ", "message": "0"}),
    ];
    let mcp = |id: &str, input: Value| json!({"id": id, "name": "mcp__s__x", "kind": "mcp", "input": input});
    expected.extend(answered(
        json!({"id": "1", "name": "file_change", "kind": "edit", "locations": [{"path": "a"}],
            "input": {"changes": [{"path": "a", "kind": "add"}]}}),
        json!({"output": "", "is_error": true}),
    ));
    let image = json!([{"media_type": "image/png", "data": "AA=="}]);
    expected.extend(answered(mcp("2", json!({"k": 1})), json!({"output": "r", "images": image})));
    expected.extend(answered(mcp("3", json!(null)), json!({"output": "gone", "is_error": true})));
    expected.extend(answered(
        json!({"id": "6", "name": "command_execution", "kind": "execute", "input": {"command": "x"}, "command": "x"}),
        json!({"output": "denied", "is_error": true}),
    ));
    expected.extend([
        json!({"type": "text", "text": "done\n", "message": "7"}),
        json!({"type": "retry", "reason": "unexpected status 401 Unauthorized: no", "attempt": 1,
            "max_attempts": 2, "status": 401}),
        json!({"type": "usage", "total": true, "input_tokens": 5, "output_tokens": 3,
            "reasoning_tokens": 2, "cache_read_tokens": 4, "cache_write_tokens": 0}),
        json!({"type": "turn_ended"}),
    ]);
    assert_eq!(json_of(&decoded), expected);
    assert_eq!(decoded.end.summary.text.as_deref(), Some("done\n"));
}

#[test]
fn the_words_of_a_search_are_told_when_they_are_known() {
    let begun = r#"{"type":"item.started","item":{"id":"i","type":"web_search","id":"ws","query":"","action":{"type":"other"}}}"#;
    let done = r#"{"type":"item.completed","item":{"id":"i","type":"web_search","id":"ws","query":"rust","action":{"type":"search","query":"rust"}}}"#;
    let call = json!({"id": "ws", "name": "web_search", "kind": "search", "query": "rust",
        "input": {"query": "rust", "action": {"type": "search", "query": "rust"}}});
    let told = answered(call, json!({"output": "rust"}));
    let mut expected = vec![json!({"type": "tool_input", "id": "ws", "name": "web_search", "delta": ""})];
    expected.extend(told.clone());
    assert_eq!(json_of(&codex(&[begun, done])), expected);
    // Or at once, when they are known then.
    assert_eq!(json_of(&codex(&[&done.replace("completed", "started"), done])), told);
    // A page that is opened is named too.
    let page = r#"{"type":"item.completed","item":{"id":"p","type":"web_search","query":"","action":{"type":"open_page","url":"http://h/"}}}"#;
    let events = json_of(&codex(&[page]));
    assert_eq!((&events[0]["query"], &events[1]["output"]), (&json!("http://h/"), &json!("http://h/")));
}

#[test]
fn a_plan_is_told_whenever_it_changes() {
    let line = |event: &str, done: bool| {
        format!(
            r#"{{"type":"item.{event}","item":{{"id":"5","type":"todo_list","items":[{{"text":"a","completed":{done}}},{{"text":"b","completed":false}}]}}}}"#
        )
    };
    for event in ["started", "updated", "completed"] {
        let decoded = codex(&[&line(event, true)]);
        let entries = json!([{"text": "a", "status": "completed"}, {"text": "b", "status": "pending"}]);
        assert_eq!(json_of(&decoded), [json!({"type": "plan", "entries": entries})]);
    }
}

#[test]
fn changed_files_are_named_with_the_kind_of_the_change() {
    let events = json_of(&codex(&[
        r#"{"type":"item.completed","item":{"id":"1","type":"file_change","changes":[{"path":"/a","kind":"add"},{"path":"/b","kind":"delete"},{"path":"/c","kind":"update"},{"path":"/d","kind":"new"}],"status":"completed"}}"#,
    ]));
    assert_eq!(
        events[0]["locations"],
        json!([{"path": "/a"}, {"path": "/b"}, {"path": "/c"}, {"path": "/d"}])
    );
    let changes = json!([{"path": "/a", "kind": "add"}, {"path": "/b", "kind": "delete"},
        {"path": "/c", "kind": "update"}, {"path": "/d", "kind": "other"}]);
    assert_eq!(events[1]["changes"], changes);
}

#[test]
fn a_command_is_the_script_and_its_output_is_told_while_it_runs() {
    let line = |event: &str, output: &str, rest: &str| {
        format!(
            r#"{{"type":"item.{event}","item":{{"id":"1","type":"command_execution","command":"/bin/bash -lc 'echo hi'","aggregated_output":"{output}",{rest}}}}}"#
        )
    };
    let running = r#""exit_code":null,"status":"in_progress""#;
    let decoded = codex(&[
        &line("started", "", running),
        &line("updated", "hi", running),
        &line("completed", "hi", r#""exit_code":3,"status":"failed""#),
    ]);
    let expected = [
        json!({"type": "tool_call", "id": "1", "name": "command_execution", "kind": "execute",
            "input": {"command": "/bin/bash -lc 'echo hi'"}, "command": "echo hi"}),
        json!({"type": "tool_output", "id": "1", "text": "hi", "whole": true}),
        json!({"type": "tool_result", "id": "1", "output": "hi", "is_error": true, "exit_code": 3}),
    ];
    assert_eq!(json_of(&decoded), expected);
}

#[test]
fn nested_agents_begin_and_end_with_the_call_that_started_them() {
    let line = |event: &str, id: &str, tool: &str, rest: &str| {
        format!(
            r#"{{"type":"item.{event}","item":{{"id":"{id}","type":"collab_tool_call","tool":"{tool}",{rest}}}}}"#
        )
    };
    let spawned = r#""receiver_thread_ids":["t"],"prompt":"look","agents_states":{"t":{"status":"pending_init","message":null}},"status":"completed""#;
    let found = |status: &str| {
        format!(
            r#""receiver_thread_ids":["t"],"prompt":null,"agents_states":{{"t":{{"status":"{status}","message":"m"}}}},"status":"completed""#
        )
    };
    let decoded = codex(&[
        &line(
            "started",
            "1",
            "spawn_agent",
            r#""receiver_thread_ids":[],"prompt":"look","agents_states":{},"status":"in_progress""#,
        ),
        &line("completed", "1", "spawn_agent", spawned),
        &line("completed", "2", "wait", &found("running")),
        &line("completed", "3", "wait", &found("completed")),
        &line("completed", "4", "close_agent", &found("completed")),
        &line("completed", "5", "send_input", &found("running")),
        &line("completed", "6", "wait", &found("errored")),
        &line("completed", "7", "close_agent", &found("shutdown")),
    ]);
    let events = json_of(&decoded);
    assert_eq!(events[0]["kind"], "agent");
    let tasks: Vec<&Value> = events.iter().filter(|event| event["type"] == "task").collect();
    let task = |phase: &str| json!({"type": "task", "id": "1", "phase": phase, "message": "m"});
    let begun = json!({"type": "task", "id": "1", "phase": "started", "prompt": "look", "background": true});
    let expected = [begun, task("completed"), task("progress"), task("failed"), task("cancelled")];
    assert_eq!(tasks, expected.iter().collect::<Vec<_>>());
}

#[test]
fn an_answer_that_was_cut_off_says_why() {
    let message = "Incomplete response returned, reason: max_output_tokens";
    let error = format!(r#"{{"type":"error","message":"{message}"}}"#);
    let failed = format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    let decoded = codex(&[&error, &failed]);
    assert_eq!(decoded.names(), ["warning", "turn_ended"]);
    assert_eq!(decoded.end.summary.stop_reason.as_deref(), Some("max_output_tokens"));
}
