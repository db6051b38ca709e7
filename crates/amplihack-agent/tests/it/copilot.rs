//! Copilot's lines, each with the events that it becomes.

use amplihack_agent::AgentBinary;
use amplihack_agent::event::FailKind;
use serde_json::{Value, json};

use crate::{Decoded, json_of, lines};

fn copilot(stream: &[&str]) -> Decoded {
    lines(AgentBinary::Copilot, stream, 0)
}

/// The events of a session that has begun.
fn told(stream: &[&str]) -> Vec<Value> {
    let begun = [r#"{"type":"session.tools_updated","data":{"model":"m"}}"#];
    json_of(&copilot(&[&begun, stream].concat())).split_off(1)
}

fn of_type<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}

const DONE: &str = r#"{"type":"result","sessionId":"s","exitCode":0}"#;

#[test]
fn a_session_is_announced_once_with_what_is_known() {
    let events = json_of(&copilot(&[
        r#"{"type":"session.mcp_server_status_changed","data":{"serverName":"n","status":"pending"}}"#,
        r#"{"type":"session.skills_loaded","data":{"skills":[{"name":"a","commandName":"b","enabled":true},{"name":"c","enabled":false}]}}"#,
        r#"{"type":"session.mcp_servers_loaded","data":{"servers":[{"name":"n","status":"connected"}]}}"#,
        r#"{"type":"session.tools_updated","data":{"model":"m"}}"#,
        r#"{"type":"session.model_change","data":{"newModel":"o","cause":"rate_limit"}}"#,
        DONE,
    ]));
    let server = |status: &str| json!([{"name": "n", "status": status}]);
    let expected = [
        json!({"type": "session_updated", "mcp_servers": server("pending")}),
        json!({"type": "session_updated", "commands": ["b"]}),
        json!({"type": "session_updated", "mcp_servers": server("connected")}),
        json!({"type": "started", "agent": "copilot", "model": "m", "mcp_servers": server("connected")}),
        json!({"type": "session_updated", "model": "o", "reason": "rate_limit"}),
        // The stream has it nowhere before.
        json!({"type": "session_updated", "agent_session": "s"}),
    ];
    assert_eq!(events[..6], expected);
}

#[test]
fn what_the_stream_leaves_out_today_is_told() {
    let decoded = lines(
        AgentBinary::Copilot,
        &[
            r#"{"type":"session.start","data":{"sessionId":"s","copilotVersion":"1.2.3","selectedModel":"m","context":{"cwd":"/d"}}}"#,
            r#"{"type":"permission.requested","data":{"requestId":"q","permissionRequest":{"kind":"shell","intention":"run"}}}"#,
            r#"{"type":"permission.completed","data":{"requestId":"q","result":{"kind":"denied-by-rules"}}}"#,
            r#"{"type":"assistant.usage","data":{"apiCallId":"a","model":"m","inputTokens":17,"cacheReadTokens":4,"cacheWriteTokens":3,"outputTokens":5,"reasoningTokens":2,"cost":1,"finishReason":"length","quotaSnapshots":{"premium_interactions":{"isUnlimitedEntitlement":false,"remainingPercentage":25,"resetDate":"2026-12-31T00:00:00Z"}}}}"#,
            r#"{"type":"session.quota_observation","data":{"observation":{"quotaId":"chat","accessState":"denied","capacityState":"exhausted","budgetMetadata":{"remainingPercentage":0,"resetAtEpochMs":1796083200000}}}}"#,
            r#"{"type":"session.error","data":{"errorType":"quota","message":"You have exceeded your quota","statusCode":429}}"#,
        ],
        1,
    );
    let expected = [
        json!({"type": "started", "agent": "copilot", "agent_session": "s", "version": "1.2.3", "model": "m", "cwd": "/d"}),
        json!({"type": "permission_asked", "id": "q", "tool": "shell", "reason": "run"}),
        json!({"type": "permission_decided", "id": "q", "allowed": false, "reason": "denied-by-rules"}),
        json!({"type": "usage", "message": "a", "model": "m", "input_tokens": 10, "output_tokens": 5,
            "reasoning_tokens": 2, "cache_read_tokens": 4, "cache_write_tokens": 3, "premium_requests": 1.0}),
        json!({"type": "rate_limit", "status": "available", "limit": "premium_interactions",
            "resets_at": "2026-12-31T00:00:00Z", "utilization": 0.75}),
        json!({"type": "rate_limit", "status": "exhausted", "limit": "chat",
            "resets_at": "2026-12-01T00:00:00Z", "utilization": 1.0}),
        json!({"type": "warning", "kind": "error", "message": "You have exceeded your quota"}),
    ];
    assert_eq!(json_of(&decoded), expected);
    assert_eq!(decoded.end.kind, Some(FailKind::Quota));
    assert_eq!(decoded.end.summary.stop_reason.as_deref(), Some("length"));
}

#[test]
fn a_thought_is_told_once_whatever_comes_first() {
    let message =
        r#"{"type":"assistant.message","data":{"messageId":"m1","content":"hello","reasoningText":"hmm"}}"#;
    let thought = r#"{"type":"assistant.reasoning","data":{"reasoningId":"r1","content":"hmm"}}"#;
    for stream in [[message, thought], [thought, message]] {
        let events = told(&stream);
        assert_eq!(of_type(&events, "thinking").len(), 1, "{events:?}");
        // Each line is told, for those who keep lines with their events.
        assert_eq!(of_type(&events, "raw").len(), 0, "{events:?}");
    }
    // Another thought is one of its own, and so is the same in another turn.
    let other = thought.replace("hmm", "other");
    assert_eq!(of_type(&told(&[message, &other, thought]), "thinking").len(), 2);
    let turn = r#"{"type":"assistant.turn_start","data":{"turnId":"1"}}"#;
    assert_eq!(of_type(&told(&[message, thought, turn, message, thought]), "thinking").len(), 2);
    // A message has all thoughts of its turn in one.
    let both = message.replace("hmm", "hmmother");
    assert_eq!(of_type(&told(&[thought, &other, &both]), "thinking").len(), 2);
    assert_eq!(of_type(&told(&[&both, thought, &other]), "thinking").len(), 1);
}

#[test]
fn what_a_sub_agent_says_and_does_has_its_call_as_parent() {
    let started = r#"{"type":"subagent.started","data":{"toolCallId":"c","agentName":"general","agentDescription":"d","model":"m","executionMode":"background"},"agentId":"g"}"#;
    let nested = r#"{"type":"subagent.started","data":{"toolCallId":"c2","agentName":"explore","parentId":"g"},"agentId":"g2"}"#;
    let events = told(&[
        started,
        r#"{"type":"assistant.reasoning_delta","data":{"reasoningId":"r","deltaContent":"h"},"agentId":"g"}"#,
        r#"{"type":"assistant.message","data":{"messageId":"1","content":"","reasoningText":"hm","parentToolCallId":"c"},"agentId":"g"}"#,
        r#"{"type":"assistant.message","data":{"messageId":"2","content":"","reasoningText":"hm"}}"#,
        r#"{"type":"assistant.reasoning","data":{"reasoningId":"r","content":"hm"},"agentId":"g"}"#,
        r#"{"type":"user.message","data":{"content":"look","source":"agent-s"},"agentId":"g"}"#,
        nested,
        r#"{"type":"tool.shell_output","data":{"toolCallId":"x","stream":"stderr","text":"e"},"agentId":"g2"}"#,
        r#"{"type":"model.call_start","data":{"turnId":"0"},"agentId":"stranger"}"#,
        r#"{"type":"subagent.failed","data":{"toolCallId":"c2","agentName":"explore","error":"no"},"agentId":"g2"}"#,
        r#"{"type":"subagent.completed","data":{"toolCallId":"c","agentName":"general","totalTokens":52,"totalToolCalls":1,"durationMs":338},"agentId":"g"}"#,
    ]);
    let expected = [
        json!({"type": "task", "id": "c", "phase": "started", "name": "general", "description": "d", "model": "m", "background": true}),
        json!({"type": "thinking", "text": "h", "delta": true, "message": "r", "parent": "c"}),
        // The whole has the name of its parts.
        json!({"type": "thinking", "text": "hm", "message": "r", "parent": "c"}),
        // The main agent's, though it thinks the same.
        json!({"type": "thinking", "text": "hm", "message": "2"}),
        json!({"type": "model_call", "phase": "progress", "message": "1", "parent": "c"}),
        json!({"type": "prompt", "text": "look", "origin": "agent-s", "parent": "c"}),
        json!({"type": "task", "id": "c2", "phase": "started", "name": "explore", "parent": "c"}),
        json!({"type": "tool_output", "id": "x", "text": "e", "stream": "stderr", "parent": "c2"}),
        json!({"type": "model_call", "phase": "started", "turn": "0", "parent": "stranger"}),
        json!({"type": "task", "id": "c2", "phase": "failed", "name": "explore", "message": "no"}),
        json!({"type": "task", "id": "c", "phase": "completed", "name": "general", "tokens": 52, "tool_calls": 1, "duration_ms": 338}),
    ];
    assert_eq!(events, expected);
}

#[test]
fn turns_are_those_of_the_main_agent() {
    let decoded = copilot(&[
        r#"{"type":"assistant.turn_start","data":{"turnId":"0"}}"#,
        r#"{"type":"assistant.turn_start","data":{"turnId":"0","parentToolCallId":"c"},"agentId":"g"}"#,
        DONE,
    ]);
    assert_eq!(decoded.end.summary.turns, Some(1));
}

#[test]
fn a_call_of_the_model_ends_once_with_the_reason_and_the_retry_names_the_try() {
    let events = told(&[
        r#"{"type":"model.call_start","data":{"turnId":"0","model":"m"}}"#,
        r#"{"type":"model.call_failure","data":{"model":"m","statusCode":529,"durationMs":23,"retryAttempt":0,"errorMessage":"busy"}}"#,
        r#"{"type":"model.call_finished","data":{"turnId":"0","dispatchDurationMs":24,"outcome":"error"}}"#,
        r#"{"type":"assistant.turn_retry","data":{"turnId":"0","reason":"api_error"}}"#,
        r#"{"type":"session.info","data":{"infoType":"model_retry","message":"Retrying..."}}"#,
        r#"{"type":"model.call_finished","data":{"turnId":"0","dispatchDurationMs":4.5,"outcome":"success"}}"#,
        r#"{"type":"model.call_final_result","data":{"model":"m","result":"success"}}"#,
    ]);
    let expected = [
        json!({"type": "model_call", "phase": "started", "turn": "0", "model": "m"}),
        json!({"type": "model_call", "phase": "progress", "model": "m", "duration_ms": 23, "status": 529, "error": "busy"}),
        json!({"type": "model_call", "phase": "failed", "turn": "0", "duration_ms": 24, "status": 529, "error": "busy"}),
        json!({"type": "retry", "reason": "api_error", "attempt": 1, "status": 529}),
        json!({"type": "session_updated", "status": "model_retry", "reason": "Retrying..."}),
        json!({"type": "model_call", "phase": "completed", "turn": "0", "duration_ms": 4}),
        json!({"type": "model_call", "phase": "progress", "model": "m"}),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_call_is_told_once_and_its_result_with_all_that_it_changed() {
    let patch = "\\ndiff --git a/w/a b/w/a\\n--- a/w/a\\n+++ b/w/a\\n@@ -1 +1 @@\\n-x\\n+y\\n";
    let result = format!(
        r#"{{"type":"tool.execution_complete","data":{{"toolCallId":"c","success":true,"fileEdits":[{{"path":"/w/a","kind":"edit"}},{{"path":"/w/b","kind":"delete"}}],"result":{{"content":"ok","detailedContent":"{patch}","binaryResultsForLlm":[{{"type":"image","data":"AA==","mimeType":"image/png"}}]}}}}}}"#
    );
    let events = told(&[
        r#"{"type":"assistant.tool_call_delta","data":{"toolCallId":"c","toolName":"edit","inputDelta":"{\"pa"}}"#,
        r#"{"type":"assistant.message","data":{"messageId":"1","content":"","toolRequests":[{"toolCallId":"c","name":"edit","arguments":{"path":"/w/a"}},{"toolCallId":"n","name":"notes-note","mcpServerName":"notes"}]}}"#,
        r#"{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"edit","arguments":{"path":"/w/a"}}}"#,
        r#"{"type":"tool.execution_partial_result","data":{"toolCallId":"c","partialOutput":"o"}}"#,
        &result,
        // What is only read comes with a patch too.
        &result
            .replace(r#""fileEdits":[{"path":"/w/a","kind":"edit"},{"path":"/w/b","kind":"delete"}],"#, ""),
    ]);
    let changes = json!([{"path": "/w/a", "kind": "update", "diff": "@@ -1 +1 @@\n-x\n+y\n"}, {"path": "/w/b", "kind": "delete"}]);
    let image = json!([{"media_type": "image/png", "data": "AA=="}]);
    let expected = [
        json!({"type": "tool_input", "id": "c", "name": "edit", "delta": "{\"pa"}),
        json!({"type": "tool_call", "id": "c", "name": "edit", "kind": "edit", "input": {"path": "/w/a"}, "locations": [{"path": "/w/a"}]}),
        json!({"type": "tool_call", "id": "n", "name": "notes-note", "kind": "mcp", "input": null}),
        json!({"type": "tool_output", "id": "c", "text": "", "whole": true}),
        json!({"type": "tool_output", "id": "c", "text": "o", "whole": true}),
        json!({"type": "tool_result", "id": "c", "output": "ok", "changes": changes, "images": image}),
        json!({"type": "tool_result", "id": "c", "output": "ok", "images": image}),
    ];
    assert_eq!(events, expected);
}

#[test]
fn compactions_hooks_and_questions_are_told() {
    let events = told(&[
        r#"{"type":"session.compaction_start","data":{"currentTokens":900,"trigger":"threshold"}}"#,
        r#"{"type":"session.compaction_complete","data":{"success":true,"preCompactionTokens":900,"postCompactionTokens":100,"summaryContent":"short","trigger":"threshold"}}"#,
        r#"{"type":"session.compaction_complete","data":{"success":false,"error":"no"}}"#,
        r#"{"type":"hook.start","data":{"hookInvocationId":"h","hookType":"preToolUse","input":{}}}"#,
        r#"{"type":"hook.end","data":{"hookInvocationId":"h","hookType":"preToolUse","success":false,"error":{"message":"bad"}}}"#,
        r#"{"type":"hook.end","data":{"hookInvocationId":"h","hookType":"preToolUse","success":true,"output":{"a":1}}}"#,
        r#"{"type":"user_input.requested","data":{"requestId":"q","question":"which?","choices":["a","b"]}}"#,
        r#"{"type":"user_input.completed","data":{"requestId":"q","answer":"a"}}"#,
        r#"{"type":"elicitation.requested","data":{"requestId":"e","message":"name?","elicitationSource":"notes"}}"#,
        r#"{"type":"elicitation.completed","data":{"requestId":"e","action":"accept","content":{"name":"x"}}}"#,
        r#"{"type":"system.notification","data":{"content":"ended","kind":{"type":"shell_completed","shellId":"0"}}}"#,
    ]);
    let expected = [
        json!({"type": "compaction", "phase": "started", "trigger": "threshold", "tokens_before": 900}),
        json!({"type": "compaction", "phase": "completed", "trigger": "threshold", "tokens_before": 900, "tokens_after": 100, "message": "short"}),
        json!({"type": "compaction", "phase": "failed", "message": "no"}),
        json!({"type": "hook", "id": "h", "event": "preToolUse", "phase": "started"}),
        json!({"type": "hook", "id": "h", "event": "preToolUse", "phase": "failed", "output": "bad"}),
        json!({"type": "hook", "id": "h", "event": "preToolUse", "phase": "completed", "output": "{\"a\":1}"}),
        json!({"type": "question", "id": "q", "text": "which?", "choices": ["a", "b"]}),
        json!({"type": "question", "id": "q", "answer": "a", "answered": true}),
        json!({"type": "question", "id": "e", "text": "name?", "source": "notes"}),
        json!({"type": "question", "id": "e", "answer": "{\"name\":\"x\"}", "answered": true}),
        json!({"type": "prompt", "text": "ended", "origin": "shell_completed"}),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_line_that_no_reader_takes_is_kept_and_begins_a_session_all_the_same() {
    for line in [
        r#"{"type":"session.title_changed","data":{"title":"\ud83e"}}"#,
        r#"{"type":"session.usage_info","data":{"currentTokens":1e999}}"#,
    ] {
        let decoded = copilot(&[line, DONE]);
        assert!(decoded.lines.iter().all(|events| !events.is_empty()), "{decoded:?}");
        assert_eq!(of_type(&json_of(&decoded), "started").len(), 1, "{decoded:?}");
    }
}
