//! Every kind of message that Claude Code's own SDK (0.3.332) lists, one line of each, and what it is told as.

use amplihack_agent::AgentBinary;
use serde_json::{Value, json};

use crate::lines;

/// A line, and the events that it becomes. What is missing in an expected event is not compared.
fn kinds() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let mut kinds = conversation();
    kinds.extend(session());
    kinds.extend(tasks());
    kinds.extend(notices());
    kinds
}

fn conversation() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    vec![
        (
            "assistant",
            r#"{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"t"}],"stop_reason":"end_turn"}}"#,
            vec![
                json!({"type": "text", "text": "t", "message": "m"}),
                json!({"type": "model_call", "phase": "completed", "stop_reason": "end_turn", "model": "x"}),
            ],
        ),
        (
            "assistant, an error",
            r#"{"type":"assistant","error":"rate_limit","api_error_status":429,"message":{"id":"m","content":[{"type":"text","text":"t"}]}}"#,
            vec![
                json!({"type": "text", "text": "t"}),
                json!({"type": "model_call", "phase": "failed", "error": "rate_limit", "status": 429}),
            ],
        ),
        (
            "user",
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"o"}]}}"#,
            vec![json!({"type": "tool_result", "id": "t", "output": "o"})],
        ),
        (
            "user, replayed",
            r#"{"type":"user","isReplay":true,"uuid":"u","message":{"role":"user","content":"do it"}}"#,
            vec![json!({"type": "prompt", "text": "do it", "message": "u"})],
        ),
        (
            "user, a task's notice",
            r#"{"type":"user","isSynthetic":true,"origin":{"kind":"task-notification"},"message":{"role":"user","content":[{"type":"text","text":"done"}]}}"#,
            vec![json!({"type": "prompt", "text": "done", "origin": "task-notification"})],
        ),
        (
            "user, of Claude's own",
            r#"{"type":"user","isSynthetic":true,"parent_tool_use_id":"p","message":{"role":"user","content":"go on"}}"#,
            vec![json!({"type": "prompt", "text": "go on", "origin": "synthetic", "parent": "p"})],
        ),
        (
            "result",
            r#"{"type":"result","subtype":"success","is_error":false,"result":"r","usage":{"input_tokens":1,"output_tokens_details":{"thinking_tokens":2}}}"#,
            vec![json!({"type": "usage", "total": true, "input_tokens": 1, "reasoning_tokens": 2})],
        ),
        (
            "stream_event",
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"x"}}}"#,
            vec![
                json!({"type": "model_call", "phase": "started", "message": "m", "model": "x"}),
                json!({"type": "usage", "message": "m"}),
            ],
        ),
        (
            "stream_event, an error",
            r#"{"type":"stream_event","event":{"type":"error","error":{"type":"overloaded_error","message":"busy"}}}"#,
            vec![json!({"type": "model_call", "phase": "failed", "error": "busy"})],
        ),
        (
            "permission_denied",
            r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","message":"no"}"#,
            vec![
                json!({"type": "permission_decided", "id": "t", "tool": "Bash", "allowed": false, "reason": "no"}),
            ],
        ),
        (
            "can_use_tool",
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","decision_reason":"why"}}"#,
            vec![json!({"type": "permission_asked", "id": "r", "tool": "Bash", "reason": "why"})],
        ),
        (
            "can_use_tool, a question",
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}}}"#,
            vec![json!({"type": "question", "id": "r", "text": "Which?", "choices": ["a", "b"]})],
        ),
        (
            "elicitation",
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mcp_server_name":"s","message":"Who?"}}"#,
            vec![json!({"type": "question", "id": "r", "text": "Who?", "source": "s"})],
        ),
        (
            "request_user_dialog",
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"request_user_dialog","dialog_kind":"k"}}"#,
            vec![json!({"type": "question", "id": "r", "text": "k"})],
        ),
        (
            "elicitation_complete",
            r#"{"type":"system","subtype":"elicitation_complete","mcp_server_name":"s","elicitation_id":"e"}"#,
            vec![json!({"type": "question", "id": "e", "answered": true, "source": "s"})],
        ),
    ]
}

fn session() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    vec![
        (
            "system",
            r#"{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2","model":"x","cwd":"/w","permissionMode":"plan","slash_commands":["c"],"agents":["a"],"tools":["T"]}"#,
            vec![
                json!({"type": "started", "agent_session": "s", "version": "2", "model": "x", "cwd": "/w", "tools": ["T"]}),
                json!({"type": "session_updated", "mode": "plan", "commands": ["c"], "agents": ["a"]}),
                json!({"type": "turn_started"}),
            ],
        ),
        (
            "status",
            r#"{"type":"system","subtype":"status","status":"requesting","permissionMode":"plan"}"#,
            vec![json!({"type": "session_updated", "status": "requesting", "mode": "plan"})],
        ),
        (
            "status, none",
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"success"}"#,
            vec![json!({"type": "session_updated", "status": "idle"})],
        ),
        (
            "status, compacting",
            r#"{"type":"system","subtype":"status","status":"compacting"}"#,
            vec![json!({"type": "compaction", "phase": "started"})],
        ),
        (
            "status, not compacted",
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"why"}"#,
            vec![json!({"type": "compaction", "phase": "failed", "message": "why"})],
        ),
        (
            "compact_boundary",
            r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":90,"post_tokens":9}}"#,
            vec![
                json!({"type": "compaction", "phase": "completed", "trigger": "auto", "tokens_before": 90, "tokens_after": 9}),
            ],
        ),
        (
            "model_refusal_fallback",
            r#"{"type":"system","subtype":"model_refusal_fallback","scope":"session","original_model":"x","fallback_model":"y","content":"switched"}"#,
            vec![json!({"type": "session_updated", "model": "y", "reason": "switched"})],
        ),
        (
            "model_refusal_fallback, of a sub-agent",
            r#"{"type":"system","subtype":"model_refusal_fallback","scope":"local","fallback_model":"y","content":"switched"}"#,
            vec![json!({"type": "session_updated", "model": null, "reason": "switched"})],
        ),
        (
            "background_tasks_changed",
            r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a"},{"task_id":"b"}]}"#,
            vec![json!({"type": "session_updated", "background_tasks": 2})],
        ),
        (
            "session_state_changed",
            r#"{"type":"system","subtype":"session_state_changed","state":"running"}"#,
            vec![json!({"type": "session_updated", "status": "running"})],
        ),
        (
            "worker_shutting_down",
            r#"{"type":"system","subtype":"worker_shutting_down","reason":"host_exit"}"#,
            vec![json!({"type": "session_updated", "status": "worker_shutting_down", "reason": "host_exit"})],
        ),
        (
            "commands_changed",
            r#"{"type":"system","subtype":"commands_changed","commands":[{"name":"c"}]}"#,
            vec![json!({"type": "session_updated", "commands": ["c"]})],
        ),
        (
            "plugin_install",
            r#"{"type":"system","subtype":"plugin_install","status":"installed","name":"p"}"#,
            vec![json!({"type": "session_updated", "status": "plugin_install: installed", "reason": "p"})],
        ),
        (
            "auth_status",
            r#"{"type":"auth_status","isAuthenticating":true,"output":[]}"#,
            vec![json!({"type": "session_updated", "status": "authenticating"})],
        ),
        (
            "conversation_reset",
            r#"{"type":"conversation_reset","new_conversation_id":"n","trigger":"clear"}"#,
            vec![
                json!({"type": "session_updated", "agent_session": "n", "status": "conversation_reset", "reason": "clear"}),
            ],
        ),
        (
            "the session's id before its beginning",
            r#"{"type":"system","subtype":"hook_started","hook_id":"h","hook_name":"SessionStart:startup","hook_event":"SessionStart","session_id":"s"}"#,
            vec![
                json!({"type": "session_updated", "agent_session": "s"}),
                json!({"type": "hook", "id": "h", "event": "SessionStart", "name": "SessionStart:startup", "phase": "started"}),
            ],
        ),
    ]
}

fn tasks() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    vec![
        (
            "task_started",
            r#"{"type":"system","subtype":"task_started","task_id":"a","tool_use_id":"t","description":"d","subagent_type":"Explore","task_type":"local_agent","is_backgrounded":true,"prompt":"p"}"#,
            vec![
                json!({"type": "task", "id": "t", "phase": "started", "name": "Explore", "description": "d", "prompt": "p", "background": true}),
            ],
        ),
        (
            "task_progress",
            r#"{"type":"system","subtype":"task_progress","task_id":"a","tool_use_id":"t","description":"Running d","usage":{"total_tokens":9,"tool_uses":2,"duration_ms":7}}"#,
            vec![
                json!({"type": "task", "id": "t", "phase": "progress", "message": "Running d", "tokens": 9, "tool_calls": 2, "duration_ms": 7}),
            ],
        ),
        (
            "task_updated",
            r#"{"type":"system","subtype":"task_updated","task_id":"a","patch":{"is_backgrounded":true}}"#,
            vec![json!({"type": "task", "id": "a", "phase": "progress", "background": true})],
        ),
        (
            "task_notification",
            r#"{"type":"system","subtype":"task_notification","task_id":"a","tool_use_id":"t","status":"stopped","summary":"s","usage":{"total_tokens":9,"tool_uses":2,"duration_ms":7}}"#,
            vec![json!({"type": "task", "id": "t", "phase": "cancelled", "message": "s", "tokens": 9})],
        ),
        (
            "tool_progress",
            r#"{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","parent_tool_use_id":"p","elapsed_time_seconds":1.5}"#,
            vec![json!({"type": "tool_output", "id": "t", "duration_ms": 1500, "parent": "p"})],
        ),
        (
            "tool_progress, a sub-agent's try",
            r#"{"type":"tool_progress","tool_use_id":"t","tool_name":"Agent","elapsed_time_seconds":1,"subagent_retry":{"agent_id":"a","attempt":1,"max_retries":3,"retry_delay_ms":50,"error_status":529,"error_category":"overloaded"}}"#,
            vec![
                json!({"type": "retry", "reason": "overloaded", "attempt": 1, "max_attempts": 3, "delay_ms": 50, "status": 529}),
                json!({"type": "tool_output", "id": "t"}),
            ],
        ),
        (
            "hook_progress",
            r#"{"type":"system","subtype":"hook_progress","hook_id":"h","hook_name":"n","hook_event":"Stop","output":"o"}"#,
            vec![json!({"type": "hook", "event": "Stop", "phase": "progress", "output": "o"})],
        ),
        (
            "hook_response",
            r#"{"type":"system","subtype":"hook_response","hook_id":"h","hook_name":"n","hook_event":"Stop","output":"","stderr":"e","exit_code":1,"outcome":"error"}"#,
            vec![json!({"type": "hook", "event": "Stop", "phase": "failed", "output": "e", "exit_code": 1})],
        ),
    ]
}

fn notices() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let notice = |text: &str| vec![json!({"type": "warning", "kind": "notice", "message": text})];
    vec![
        (
            "api_retry",
            r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":542.4,"error_status":null,"error":"overloaded"}"#,
            vec![
                json!({"type": "retry", "reason": "overloaded", "attempt": 2, "max_attempts": 10, "delay_ms": 542}),
            ],
        ),
        (
            "control_request_progress",
            r#"{"type":"system","subtype":"control_request_progress","request_id":"r","status":"api_retry","attempt":1,"error_status":529}"#,
            vec![json!({"type": "retry", "attempt": 1, "status": 529})],
        ),
        (
            "rate_limit_event",
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"five_hour","resetsAt":1796117824,"utilization":0.5}}"#,
            vec![
                json!({"type": "rate_limit", "status": "allowed", "limit": "five_hour", "resets_at": "2026-12-01T09:37:04Z", "utilization": 0.5}),
            ],
        ),
        (
            "thinking_tokens",
            r#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":6,"estimated_tokens_delta":6}"#,
            vec![json!({"type": "model_call", "phase": "progress"})],
        ),
        (
            "model_refusal_no_fallback",
            r#"{"type":"system","subtype":"model_refusal_no_fallback","api_refusal_explanation":"why","content":"c"}"#,
            vec![json!({"type": "warning", "kind": "refusal", "message": "why"})],
        ),
        (
            "local_command_output",
            r#"{"type":"system","subtype":"local_command_output","content":"c"}"#,
            notice("c"),
        ),
        ("notification", r#"{"type":"system","subtype":"notification","text":"c"}"#, notice("c")),
        (
            "informational",
            r#"{"type":"system","subtype":"informational","content":"c","level":"notice"}"#,
            notice("c"),
        ),
        (
            "informational, a warning",
            r#"{"type":"system","subtype":"informational","content":"c","level":"warning"}"#,
            vec![json!({"type": "warning", "kind": "warning", "message": "c"})],
        ),
        ("tool_use_summary", r#"{"type":"tool_use_summary","summary":"c"}"#, notice("c")),
        ("prompt_suggestion", r#"{"type":"prompt_suggestion","suggestion":"c"}"#, notice("c")),
        (
            "mirror_error",
            r#"{"type":"system","subtype":"mirror_error","error":"c"}"#,
            vec![json!({"type": "warning", "kind": "mirror_error", "message": "c"})],
        ),
        (
            "session_writes_lost",
            r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC"}"#,
            vec![
                json!({"type": "warning", "kind": "session_writes_lost", "message": "the session was not saved whole: ENOSPC"}),
            ],
        ),
    ]
}

/// Lines that stay as they are, and why.
const UNTYPED: &[(&str, &str)] = &[
    // Files that Claude's own host took over: nothing that the agent did.
    ("files_persisted", r#"{"type":"system","subtype":"files_persisted","files":[],"failed":[]}"#),
    // Contents of memory files that Claude put before the model: like its other reminders, part of no event.
    ("memory_recall", r#"{"type":"system","subtype":"memory_recall","mode":"select","memories":[]}"#),
    // A goal that a person has set in Claude's own interface.
    ("active_goal", r#"{"type":"active_goal","value":null}"#),
    // The protocol's own lines, which say nothing of the run.
    ("keep_alive", r#"{"type":"keep_alive"}"#),
    ("control_response", r#"{"type":"control_response","response":{"subtype":"success","request_id":"r"}}"#),
    (
        "control_request, other",
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"other"}}"#,
    ),
];

#[test]
fn every_kind_of_the_official_sdk_is_told() {
    for (name, line, expected) in kinds() {
        let decoded = lines(AgentBinary::Claude, &[line], 0);
        let found: Vec<Value> = decoded.events().map(|event| serde_json::to_value(event).unwrap()).collect();
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(found.get(key).unwrap_or(&Value::Null), value, "{name}: {key} of {found}");
            }
        }
    }
}

#[test]
fn what_has_no_place_is_kept_whole() {
    for (name, line) in UNTYPED {
        let decoded = lines(AgentBinary::Claude, &[line], 0);
        let found: Vec<Value> = decoded.events().map(|event| serde_json::to_value(event).unwrap()).collect();
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!((&found[0]["type"], &found[0]["value"]), (&json!("raw"), &value), "{name}");
    }
}

#[test]
fn a_question_that_is_withdrawn_needs_no_answer() {
    let asked =
        r#"{"type":"control_request","request_id":"q","request":{"subtype":"elicitation","message":"Who?"}}"#;
    let withdrawn = |id: &str| format!(r#"{{"type":"control_cancel_request","request_id":"{id}"}}"#);
    let decoded = lines(AgentBinary::Claude, &[asked, &withdrawn("q"), &withdrawn("p")], 0);
    let found: Vec<Value> =
        decoded.events().skip(1).map(|event| serde_json::to_value(event).unwrap()).collect();
    assert_eq!(
        found,
        [
            json!({"type": "question", "id": "q", "answered": true}),
            json!({"type": "permission_decided", "id": "p", "reason": "withdrawn"}),
        ]
    );
}
