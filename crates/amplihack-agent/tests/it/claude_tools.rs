//! Claude Code's calls and their results: kinds, commands, files, changes, exit codes, plans, sub-agents.

use amplihack_agent::AgentBinary;
use serde_json::{Value, json};

use crate::lines;

#[expect(clippy::needless_pass_by_value, reason = "values are written where they are passed")]
fn call(name: &str, input: Value) -> String {
    json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": name, "input": input}]}})
        .to_string()
}

#[expect(clippy::needless_pass_by_value, reason = "values are written where they are passed")]
fn result(content: Value, is_error: bool, outcome: Value) -> String {
    json!({"type": "user", "tool_use_result": outcome, "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error}]}})
    .to_string()
}

fn told(said: &[String]) -> Vec<Value> {
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let decoded = lines(AgentBinary::Claude, &said, 0);
    decoded.events().map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[test]
fn calls_have_kinds_commands_queries_and_files() {
    for (name, input, expected) in [
        ("Bash", json!({"command": "ls"}), json!(["execute", "ls", null, null])),
        (
            "Read",
            json!({"file_path": "/a", "offset": 3}),
            json!(["read", null, null, [{"path": "/a", "line": 3}]]),
        ),
        (
            "Edit",
            json!({"file_path": "/a", "old_string": "o"}),
            json!(["edit", null, null, [{"path": "/a"}]]),
        ),
        ("MultiEdit", json!({"file_path": "/a"}), json!(["edit", null, null, [{"path": "/a"}]])),
        ("NotebookEdit", json!({"notebook_path": "/a"}), json!(["edit", null, null, [{"path": "/a"}]])),
        ("Write", json!({"content": "c", "file_path": "/a"}), json!(["write", null, null, [{"path": "/a"}]])),
        ("Grep", json!({"pattern": "p", "path": "/a"}), json!(["search", null, "p", [{"path": "/a"}]])),
        ("Glob", json!({"pattern": "*.rs"}), json!(["search", null, "*.rs", null])),
        ("WebFetch", json!({"url": "u", "prompt": "p"}), json!(["fetch", null, "u", null])),
        ("WebSearch", json!({"query": "q"}), json!(["search", null, "q", null])),
        ("Agent", json!({"prompt": "p"}), json!(["agent", null, null, null])),
        ("Task", json!({"prompt": "p"}), json!(["agent", null, null, null])),
        ("TaskUpdate", json!({"taskId": "1"}), json!(["plan", null, null, null])),
        ("KillShell", json!({"shell_id": "1"}), json!(["execute", null, null, null])),
        ("mcp__s__t", json!({"path": "/a"}), json!(["mcp", null, null, null])),
        ("Skill", json!({"command": "c"}), json!(["other", null, null, null])),
        ("ToolSearch", json!({"query": "q"}), json!(["search", null, "q", null])),
    ] {
        let found = &told(&[call(name, input)])[0];
        assert_eq!(
            json!([found["kind"], found["command"], found["query"], found["locations"]]),
            expected,
            "{name}"
        );
    }
}

#[test]
fn a_command_has_an_exit_code_where_claude_shows_it() {
    let ended = json!({"stdout": "o", "stderr": "", "interrupted": false});
    let with = |key: &str, value: Value| {
        let mut outcome = ended.clone();
        outcome[key] = value;
        outcome
    };
    let error = |text: &str| (json!(text), true, json!(format!("Error: {text}")));
    for (name, (content, is_error, outcome), expected) in [
        ("Bash", (json!("o"), false, ended.clone()), json!(0)),
        ("Bash", error("Exit code 3"), json!(3)),
        ("Bash", error("Exit code 127\nsh: x: not found"), json!(127)),
        ("Bash", error("Permission to use Bash has been denied."), json!(null)),
        // It goes on in the background, was cut short, or ended with a code that means no failure: grep without a hit ends with 1.
        ("Bash", (json!("o"), false, with("backgroundTaskId", json!("b"))), json!(null)),
        ("Bash", (json!("o"), false, with("interrupted", json!(true))), json!(null)),
        (
            "Bash",
            (json!(""), false, with("returnCodeInterpretation", json!("No matches found"))),
            json!(null),
        ),
        // Of a sub-agent's commands nothing more is told than the text.
        ("Bash", (json!("o"), false, json!(null)), json!(null)),
        ("Read", error("Exit code 3"), json!(null)),
    ] {
        let found = &told(&[call(name, json!({})), result(content.clone(), is_error, outcome)])[1];
        assert_eq!(found["exit_code"], expected, "{name} {content}");
        assert_eq!(found["is_error"] == true, is_error, "{name} {content}");
    }
}

#[test]
fn a_changed_file_is_told_with_its_hunks() {
    let hunk = json!({"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c\u{e9}"]});
    let other = json!({"oldStart": 9, "oldLines": 1, "newStart": 9, "newLines": 0, "lines": ["-z"]});
    let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+c\u{e9}\n@@ -9,1 +9,0 @@\n-z\n";
    let at = json!({"file_path": "/a"});
    for (name, is_error, outcome, expected) in [
        (
            "Edit",
            false,
            json!({"filePath": "/a", "structuredPatch": [hunk, other], "originalFile": "…"}),
            json!([{"path": "/a", "kind": "update", "diff": diff}]),
        ),
        (
            "Write",
            false,
            json!({"type": "create", "filePath": "/a", "structuredPatch": []}),
            json!([{"path": "/a", "kind": "add"}]),
        ),
        (
            "Write",
            false,
            json!({"type": "update", "filePath": "/a", "structuredPatch": [other]}),
            json!([{"path": "/a", "kind": "update", "diff": "@@ -9,1 +9,0 @@\n-z\n"}]),
        ),
        // Of a sub-agent's calls nothing more is told than the text.
        ("Write", false, json!(null), json!([{"path": "/a", "kind": "write"}])),
        ("Edit", false, json!(null), json!([{"path": "/a", "kind": "update"}])),
        ("Edit", true, json!("Error: String to replace not found in file."), json!(null)),
        ("Edit", false, json!({"filePath": "/a", "staged": true}), json!(null)),
        ("Read", false, json!({"type": "text", "file": {"filePath": "/a"}}), json!(null)),
    ] {
        let found = &told(&[call(name, at.clone()), result(json!("o"), is_error, outcome)])[1];
        assert_eq!(found["changes"], expected, "{name}");
    }
}

#[test]
fn an_image_is_an_image() {
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
    let content = json!([{"type": "image", "source": source}]);
    let found = &told(&[
        call("Read", json!({"file_path": "/a.png"})),
        result(content, false, json!({"type": "image"})),
    ])[1];
    assert_eq!(found["output"], "");
    assert_eq!(found["images"], json!([{"media_type": "image/png", "data": "AA=="}]));
}

#[test]
fn the_plan_is_told_whole() {
    let todos = json!({"todos": [
        {"content": "a", "status": "completed", "activeForm": "A"}, {"content": "b", "status": "in_progress"}]});
    let found = told(&[call("TodoWrite", todos)]);
    let entries = json!([{"text": "a", "status": "completed"}, {"text": "b", "status": "in_progress"}]);
    assert_eq!(found[1], json!({"type": "plan", "call": "t", "entries": entries}));
    let made = |id: &str, subject: &str| json!({"task": {"id": id, "subject": subject}});
    let moved = |id: &str, to: &str| json!({"taskId": id, "statusChange": {"from": "pending", "to": to}});
    let mut said = Vec::new();
    for (name, outcome) in [
        ("TaskCreate", made("1", "a")),
        ("TaskCreate", made("2", "b")),
        ("TaskUpdate", moved("1", "in_progress")),
        ("TaskUpdate", json!({"taskId": "1", "updatedFields": ["owner"]})),
        ("TaskUpdate", moved("2", "deleted")),
        ("TaskList", json!({"tasks": [{"id": "1", "subject": "a", "status": "completed"}]})),
        ("TaskList", json!({"tasks": [{"id": "1", "subject": "a", "status": "completed"}]})),
    ] {
        said.push(call(name, json!({})));
        said.push(result(json!("o"), false, outcome));
    }
    let plans: Vec<Value> = told(&said)
        .into_iter()
        .filter(|event| event["type"] == "plan")
        .map(|mut event| event["entries"].take())
        .collect();
    let entry = |id: &str, text: &str, status: &str| json!({"id": id, "text": text, "status": status});
    assert_eq!(
        plans,
        [
            json!([entry("1", "a", "pending")]),
            json!([entry("1", "a", "pending"), entry("2", "b", "pending")]),
            json!([entry("1", "a", "in_progress"), entry("2", "b", "pending")]),
            json!([entry("1", "a", "in_progress")]),
            json!([entry("1", "a", "completed")]),
        ]
    );
}

#[test]
fn a_sub_agent_ends_once() {
    let line = |subtype: &str, more: Value| {
        let mut line = json!({"type": "system", "subtype": subtype, "task_id": "a"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let started = line("task_started", json!({"tool_use_id": "t", "subagent_type": "Explore"}));
    let updated = line("task_updated", json!({"patch": {"status": "completed"}}));
    let usage = json!({"total_tokens": 9, "tool_uses": 1, "duration_ms": 5});
    let ended = line("task_notification", json!({"status": "completed", "summary": "s", "usage": usage}));
    let outcome = json!({"status": "completed", "agentType": "Explore", "totalTokens": 9, "totalToolUseCount": 1, "totalDurationMs": 5});
    let asked = call("Agent", json!({"prompt": "p"}));
    let answer = || result(json!([{"type": "text", "text": "s"}]), false, outcome.clone());
    let tasks = |said: &[String]| -> Vec<Value> {
        told(said).into_iter().filter(|event| event["type"] == "task").collect()
    };
    let found = tasks(&[asked.clone(), started, updated.clone(), ended, updated, answer()]);
    let phases: Vec<_> = found.iter().map(|task| task["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["started", "progress", "completed", "progress"]);
    assert!(found.iter().all(|task| task["id"] == "t" && task["name"] == "Explore"), "{found:?}");
    assert_eq!(found[2]["tokens"], 9);
    // A version that tells no tasks.
    let end = json!({"type": "task", "id": "t", "phase": "completed", "name": "Explore", "tokens": 9, "tool_calls": 1, "duration_ms": 5});
    assert_eq!(tasks(&[asked.clone(), answer()]), [end]);
    let launched = result(json!("o"), false, json!({"status": "async_launched"}));
    assert_eq!(
        tasks(&[asked, launched]),
        [json!({"type": "task", "id": "t", "phase": "started", "background": true})]
    );
}

#[test]
fn arguments_are_told_while_they_are_written() {
    let event =
        |event: Value| json!({"type": "stream_event", "event": event, "parent_tool_use_id": "p"}).to_string();
    let block = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
    let found = told(&[
        event(
            json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}}),
        ),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}})),
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        ),
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
        ),
        event(json!({"type": "content_block_start", "index": 1, "content_block": block})),
        event(
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        ),
        event(
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
        ),
        event(json!({"type": "message_stop"})),
    ]);
    let told: Vec<&Value> = found.iter().filter(|event| event["type"] != "usage").collect();
    let model_call = |phase: &str| json!({"type": "model_call", "phase": phase, "message": "m", "model": "x", "parent": "p"});
    let mut completed = model_call("completed");
    completed["stop_reason"] = json!("tool_use");
    assert_eq!(
        told,
        [
            &model_call("started"),
            &model_call("progress"),
            &json!({"type": "thinking", "text": "hm", "delta": true, "message": "m", "parent": "p"}),
            &json!({"type": "thinking", "text": "", "delta": true, "message": "m", "parent": "p", "signature": "s"}),
            &json!({"type": "tool_input", "id": "t", "name": "Bash", "delta": "", "parent": "p"}),
            &json!({"type": "tool_input", "id": "t", "delta": "{}", "parent": "p"}),
            &completed,
        ]
    );
}
