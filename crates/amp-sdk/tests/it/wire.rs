//! The messages of the document, as it shows them.

use amp_sdk::{ContentBlock, McpStatus, StreamMessage, ToolOutput};
use serde_json::{Value, json};

fn read(value: &Value) -> StreamMessage {
    let message = StreamMessage::from_line(value.to_string().as_bytes()).unwrap();
    assert_eq!(message.to_value(), *value);
    message
}

fn assistant(content: &Value) -> Vec<ContentBlock> {
    let message = read(
        &json!({"type": "assistant", "session_id": "T-1", "message": {"role": "assistant", "content": content}}),
    );
    let StreamMessage::Assistant(message) = message else { panic!("{message:?}") };
    message.message.content
}

#[test]
fn the_first_message_describes_the_session() {
    let servers = json!([{"name": "fs", "status": "connected"}]);
    let message = read(&json!({
        "type": "system", "subtype": "init", "session_id": "T-1", "cwd": "/path/to/project",
        "tools": ["Bash", "Read", "edit_file", "glob"], "mcp_servers": servers,
    }));
    let StreamMessage::System(system) = message else { panic!() };
    assert_eq!((system.subtype.as_str(), system.session_id.as_deref()), ("init", Some("T-1")));
    assert_eq!((system.cwd.as_deref(), system.tools.len()), (Some("/path/to/project"), 4));
    assert_eq!(
        (system.mcp_servers[0].name.as_str(), &system.mcp_servers[0].status),
        ("fs", &McpStatus::Connected)
    );
}

#[test]
fn servers_have_one_of_eight_statuses() {
    let statuses = [
        ("awaiting-approval", McpStatus::AwaitingApproval),
        ("authenticating", McpStatus::Authenticating),
        ("connecting", McpStatus::Connecting),
        ("reconnecting", McpStatus::Reconnecting),
        ("connected", McpStatus::Connected),
        ("denied", McpStatus::Denied),
        ("failed", McpStatus::Failed),
        ("blocked-by-registry", McpStatus::BlockedByRegistry),
    ];
    for (word, status) in statuses {
        let message = read(&json!({"type": "system", "mcp_servers": [{"name": "a", "status": word}]}));
        let StreamMessage::System(system) = message else { panic!() };
        assert_eq!((&system.mcp_servers[0].status, system.mcp_servers[0].status.as_str()), (&status, word));
    }
}

#[test]
fn an_unknown_status_breaks_nothing() {
    let message = read(
        &json!({"type": "system", "mcp_servers": [{"name": "a", "status": "brand-new", "reason": "r"}]}),
    );
    let StreamMessage::System(system) = message else { panic!() };
    assert_eq!(system.mcp_servers[0].status, McpStatus::Unknown("brand-new".into()));
    assert_eq!(system.mcp_servers[0].extra["reason"], "r");
}

#[test]
fn the_agents_text_is_a_block_and_never_trimmed() {
    let content = assistant(&json!([{"type": "text", "text": "  \n I'll read the file...\n\n"}]));
    let [ContentBlock::Text(text)] = &content[..] else { panic!("{content:?}") };
    assert_eq!(text.text, "  \n I'll read the file...\n\n");
}

#[test]
fn the_agents_tool_calls_are_blocks() {
    let content = assistant(
        &json!([{"type": "tool_use", "id": "tu_1", "name": "Read", "input": {"path": "lib/app.ex"}}]),
    );
    let [ContentBlock::ToolUse(call)] = &content[..] else { panic!("{content:?}") };
    assert_eq!((call.id.as_str(), call.name.as_str()), ("tu_1", "Read"));
    assert_eq!(call.input.to_value(), json!({"path": "lib/app.ex"}));
}

#[test]
fn the_agents_thoughts_are_blocks() {
    let content = assistant(&json!([{"type": "thinking", "thinking": " hm ", "signature": "s"}]));
    let [ContentBlock::Thinking(thought)] = &content[..] else { panic!("{content:?}") };
    assert_eq!((thought.thinking.as_str(), &thought.extra["signature"]), (" hm ", &json!("s")));
}

#[test]
fn the_agents_message_has_its_model_its_stop_and_its_tokens() {
    let message = read(&json!({"type": "assistant", "session_id": "T-1", "message": {
        "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": [], "stop_reason": "tool_use",
        "usage": {"input_tokens": 1024, "output_tokens": 256, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 9},
    }}));
    let StreamMessage::Assistant(message) = message else { panic!() };
    let payload = message.message;
    assert_eq!(
        (payload.role.as_str(), payload.model.as_deref()),
        ("assistant", Some("claude-sonnet-4-5-20250929"))
    );
    assert_eq!(payload.stop_reason.as_deref(), Some("tool_use"));
    let usage = payload.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (1024, 256));
    assert_eq!((usage.cache_read_input_tokens, usage.cache_creation_input_tokens), (7, 9));
}

#[test]
fn results_of_tools_are_messages_of_the_user() {
    let message = read(&json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "tu_1", "content": "...", "is_error": false},
        {"type": "tool_result", "tool_use_id": "tu_2", "content": " no \n", "is_error": true},
    ]}}));
    let StreamMessage::User(message) = message else { panic!() };
    let found: Vec<(&str, &ToolOutput, bool)> = message
        .message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolResult(result) => {
                (result.tool_use_id.as_str(), &result.content, result.is_error)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let text = |text: &str| ToolOutput::Text(text.into());
    assert_eq!(found, [("tu_1", &text("..."), false), ("tu_2", &text(" no \n"), true)]);
}

#[test]
fn a_success_has_its_text_its_times_and_its_tokens() {
    let message = read(&json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "I've updated the module with...",
        "duration_ms": 12450, "num_turns": 3, "usage": {"input_tokens": 8192, "output_tokens": 2048}, "permission_denials": null,
    }));
    assert!(message.is_final());
    let StreamMessage::Result(result) = message else { panic!() };
    assert_eq!(
        (result.subtype.as_str(), result.result.as_deref()),
        ("success", Some("I've updated the module with..."))
    );
    assert_eq!((result.summary.duration_ms, result.summary.num_turns), (Some(12450), Some(3)));
    assert_eq!(result.summary.usage.unwrap().input_tokens, 8192);
    assert!(result.summary.permission_denials.is_empty());
}

#[test]
fn a_failure_has_its_text_its_times_and_its_denials() {
    let message = read(&json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "error": "Failed to complete the task",
        "duration_ms": 5000, "num_turns": 1, "permission_denials": ["Bash: rm -rf /"],
    }));
    assert!(message.is_final());
    let StreamMessage::ErrorResult(result) = message else { panic!() };
    assert_eq!(
        (result.subtype.as_str(), result.message().as_str()),
        ("error_during_execution", "Failed to complete the task")
    );
    assert_eq!((result.summary.duration_ms, result.summary.num_turns), (Some(5000), Some(1)));
    let denials: Vec<String> = result.summary.permission_denials.iter().map(ToString::to_string).collect();
    assert_eq!(denials, ["Bash: rm -rf /"]);
}

#[test]
fn too_many_turns_are_a_failure() {
    for line in [
        json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "error": "max"}),
        json!({"type": "result", "subtype": "error_max_turns", "result": "so far"}),
    ] {
        let StreamMessage::ErrorResult(result) = read(&line) else { panic!("{line}") };
        assert_eq!(result.subtype, "error_max_turns");
    }
}

#[test]
fn unknown_fields_are_kept() {
    let line = json!({
        "type": "assistant", "uuid": "u", "session_id": "T-1",
        "message": {"role": "assistant", "container": {"id": "c"}, "content": [{"type": "text", "text": "a", "citations": [1]}]},
    });
    let StreamMessage::Assistant(message) = read(&line) else { panic!() };
    assert_eq!(
        (&message.extra["uuid"], &message.message.extra["container"]),
        (&json!("u"), &json!({"id": "c"}))
    );
    let ContentBlock::Text(text) = &message.message.content[0] else { panic!() };
    assert_eq!(text.extra["citations"], json!([1]));
}

#[test]
fn messages_and_blocks_of_unknown_types_are_kept_whole() {
    let line = json!({"type": "stream_event", "event": {"k": [1, null]}, "session_id": "T-1"});
    let StreamMessage::Unknown(message) = read(&line) else { panic!() };
    assert_eq!((message.kind.as_str(), message.raw.to_value()), ("stream_event", line));
    let content = assistant(&json!([{"type": "redacted_thinking", "data": "zz"}]));
    let [ContentBlock::Unknown(block)] = &content[..] else { panic!("{content:?}") };
    assert_eq!(
        (block.kind.as_str(), block.raw.to_value()),
        ("redacted_thinking", json!({"type": "redacted_thinking", "data": "zz"}))
    );
}

#[test]
fn the_wire_form_comes_back_unchanged() {
    for line in [
        json!({"type": "system", "subtype": "", "session_id": null, "tools": [], "cwd": 7}),
        json!({"type": "user", "message": {"role": "user", "content": "text"}, "parent_tool_use_id": null}),
        json!({"type": "result", "is_error": false, "usage": {"input_tokens": 0, "service_tier": null}, "duration_ms": 12.0}),
    ] {
        read(&line);
    }
}
