//! Lines that break other readers, each with what it means.

use amplihack_agent::event::{EndEvent, FailKind};
use amplihack_agent::{AgentBinary, AgentEvent};
use amplihack_sys::ProcessExit;
use serde_json::json;

use crate::{AGENTS, decode, json_of, lines};

const CLAUDE_DONE: &str =
    r#"{"is_error":false,"subtype":"success","result":"ok ","num_turns":3,"type":"result"}"#;
const CODEX_DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4}}"#;
const COPILOT_DONE: &str =
    r#"{"type":"result","sessionId":"s","exitCode":0,"usage":{"premiumRequests":1.5}}"#;

const GEMINI_DONE: &str = r#"{"type":"result","status":"success","stats":{"input_tokens":9}}"#;

const DONE: [(AgentBinary, &str); 4] = [
    (AgentBinary::Claude, CLAUDE_DONE),
    (AgentBinary::Codex, CODEX_DONE),
    (AgentBinary::Copilot, COPILOT_DONE),
    (AgentBinary::Gemini, GEMINI_DONE),
];

fn kind(end: &EndEvent) -> Option<FailKind> {
    end.kind
}

#[test]
fn a_result_and_exit_1_is_no_success() {
    for (agent, done) in DONE {
        assert!(lines(agent, &[done], 0).end.is_success(), "{agent}");
        assert_eq!(kind(&lines(agent, &[done], 1).end), Some(FailKind::ExitAfterSuccess), "{agent}");
        let killed = decode(agent, [done.as_bytes()], Some(ProcessExit::Signal(9))).end;
        assert_eq!(kind(&killed), Some(FailKind::ExitAfterSuccess), "{agent}");
    }
}

#[test]
fn exit_0_without_a_result_is_no_success() {
    for agent in AGENTS {
        assert_eq!(kind(&lines(agent, &[], 0).end), Some(FailKind::NoResult), "{agent}");
        assert_eq!(kind(&lines(agent, &["{}", "words"], 2).end), Some(FailKind::Exit), "{agent}");
    }
}

#[test]
fn what_is_not_json_is_told_and_kept_and_the_next_line_is_read() {
    for (agent, done) in DONE {
        let decoded = lines(agent, &["  Warning: a line \u{2028} for people ", "{\"type\":", done], 0);
        for (events, text) in
            decoded.lines.iter().zip(["  Warning: a line \u{2028} for people ", "{\"type\":"])
        {
            assert!(matches!(&events[0], AgentEvent::Warning(warning) if warning.kind == "not_json"));
            assert!(matches!(&events[1], AgentEvent::Raw(raw) if raw.text.as_deref() == Some(text)));
        }
        assert!(decoded.end.is_success(), "{agent}");
    }
}

#[test]
fn what_is_unknown_is_kept_whole() {
    for agent in AGENTS {
        for (line, kind) in [
            (r#"{"type":"new.kind","n":1E300,"deep":[[[{"a":"\ud83e\udd80"}]]]}"#, Some("new.kind")),
            (r#"{"type":"new.kind","n":1E400}"#, Some("new.kind")),
            (r#"{"type":"new.kind","deep":[[[{"a":"\ud83e"}]]]}"#, Some("new.kind")),
            (r#"{"type":"system","subtype":"new","x":null}"#, Some("system/new")),
            (r#"{"type":"item.completed","item":{"type":"new"}}"#, Some("item.completed/new")),
            (r#"{"type":{},"session":[]}"#, None),
            ("[1, 2]", None),
            ("null", None),
            ("\"text\"", None),
        ] {
            let decoded = lines(agent, &[line], 0);
            let raw = decoded.events().find_map(|event| match event {
                AgentEvent::Raw(raw) => Some(raw),
                _ => None,
            });
            let raw = raw.unwrap_or_else(|| panic!("{agent}: {line}: {decoded:?}"));
            let value = raw.value.as_ref().map(amplihack_agent::event::EventJson::text);
            assert_eq!(value.or(raw.text.as_deref()), Some(line), "{agent}");
            // It is written down and read again.
            let text = serde_json::to_string(&decoded.lines[0]).unwrap();
            assert_eq!(serde_json::from_str::<Vec<AgentEvent>>(&text).unwrap(), decoded.lines[0]);
            assert_eq!(raw.kind.as_deref(), kind, "{agent}");
        }
    }
}

#[test]
fn thinking_images_servers_and_unknown_blocks_break_nothing() {
    let decoded = lines(
        AgentBinary::Claude,
        &[
            r#"{"type":"system","subtype":"init","session_id":"s","mcp_servers":[{"name":"a","status":"needs-auth"},{"name":"b","status":"brand-new"}],"tools":["Bash",7]}"#,
            r#"{"type":"assistant","parent_tool_use_id":"p","message":{"id":"m","model":"x","content":[{"type":"thinking","thinking":" so ","signature":"s"},{"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"t","name":"mcp__a__b","input":{"b":1, "a":[]}},{"type":"server_tool_use","id":"w","name":"web_search"}],"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":null}}}"#,
            r#"{"type":"user","parent_tool_use_id":"p","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"a\n"},{"type":"image","source":{"data":"AA=="}},{"type":"text","text":"b"}]},{"type":"text","text":"note"}]}}"#,
            CLAUDE_DONE,
        ],
        0,
    );
    let expected = [
        json!({"type": "started", "agent": "claude", "agent_session": "s", "tools": ["Bash"], "mcp_servers": [
            {"name": "a", "status": "needs-auth"}, {"name": "b", "status": "brand-new"}]}),
        json!({"type": "turn_started"}),
        json!({"type": "thinking", "text": " so ", "message": "m", "parent": "p", "signature": "s"}),
        json!({"type": "thinking", "text": "", "message": "m", "parent": "p", "signature": "zz", "redacted": true}),
        json!({"type": "tool_call", "id": "t", "name": "mcp__a__b", "kind": "mcp", "input": {"b": 1, "a": []}, "parent": "p"}),
        json!({"type": "tool_call", "id": "w", "name": "web_search", "kind": "search", "input": null, "parent": "p"}),
        json!({"type": "usage", "message": "m", "model": "x", "input_tokens": 1, "output_tokens": 2,
            "cache_read_tokens": 0, "cache_write_tokens": 0}),
        json!({"type": "tool_result", "id": "t", "is_error": true, "parent": "p",
            "output": "a\n\nb", "images": [{"data": "AA=="}]}),
        json!({"type": "prompt", "text": "note", "parent": "p"}),
        json!({"type": "usage", "total": true, "input_tokens": 0, "output_tokens": 0,
            "cache_read_tokens": 0, "cache_write_tokens": 0}),
        json!({"type": "turn_ended"}),
    ];
    assert_eq!(json_of(&decoded), expected);
    assert_eq!(decoded.end.summary.turns, Some(3));
    assert_eq!(
        decoded.totals().output_tokens,
        2,
        "a result without tokens does not hide those of the messages"
    );
}

#[test]
fn claude_asks_and_is_answered() {
    let decoded = lines(
        AgentBinary::Claude,
        &[
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"decision_reason":"why"}}"#,
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"other"}}"#,
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour"}}"#,
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"permission_denials":[{"tool_name":"Bash","tool_use_id":"t"}]}"#,
        ],
        0,
    );
    let names: Vec<String> =
        json_of(&decoded).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["permission_asked", "raw", "rate_limit", "rate_limit", "permission_decided", "usage"]);
    let asked = json!({"type": "permission_asked", "id": "r", "tool": "Bash", "reason": "why"});
    assert_eq!(json_of(&decoded)[0], asked);
}

#[test]
fn a_later_turn_replaces_the_end_of_an_earlier_one() {
    let failed = r#"{"type":"turn.failed","error":{"message":"x"}}"#;
    let decoded = lines(AgentBinary::Codex, &[failed, r#"{"type":"turn.started"}"#, CODEX_DONE], 0);
    assert!(decoded.end.is_success());
    let decoded = lines(AgentBinary::Codex, &[CODEX_DONE, r#"{"type":"turn.started"}"#], 0);
    assert_eq!(kind(&decoded.end), Some(FailKind::NoResult));
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["x"]}"#;
    assert_eq!(kind(&lines(AgentBinary::Claude, &[CLAUDE_DONE, failed], 0).end), Some(FailKind::Agent));
    // What several prompts to one process of Claude came to is in `claude_ends`.
}

#[test]
fn a_text_cut_in_the_middle_of_a_character_is_a_text() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83e"}]}}"#;
    let decoded = lines(AgentBinary::Claude, &[line], 0);
    assert_eq!(json_of(&decoded), [json!({"type": "text", "text": "cut \u{fffd}"})]);
    let line =
        r#"{"type":"item.started","item":{"id":"1","type":"command_execution","command":"cut \ud83e"}}"#;
    let AgentEvent::ToolCall(call) = &lines(AgentBinary::Codex, &[line], 0).lines[0][0] else { panic!() };
    assert_eq!(call.input.to_value(), json!({"command": "cut \u{fffd}"}));
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    for (input, expected) in
        [(r#"["\ud83e"]"#, json!(["\u{fffd}"])), ("[1e999]", json!("[1e999]")), (&deep, json!(deep))]
    {
        let line = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"1","name":"x","input":{input}}}]}}}}"#
        );
        let decoded = lines(AgentBinary::Claude, &[&line], 0);
        let AgentEvent::ToolCall(call) = &decoded.lines[0][0] else { panic!("{decoded:?}") };
        assert_eq!(call.input.to_value(), expected);
        let text = serde_json::to_string(&decoded.lines[0]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<AgentEvent>>(&text).unwrap(), decoded.lines[0]);
    }
}

#[test]
fn a_line_of_20_mb_is_one_event_and_bytes_that_are_no_text_are_told() {
    let text = "x\\n\u{2028}".repeat(20_000_000 / 6);
    let line = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}}}}"#
    );
    let mut bytes = line.into_bytes();
    bytes.extend_from_slice(b"\r\n{\"type\":\"assistant\",\"message\":{\"content\":\"a\xffb\"}}\r\n");
    let decoded = decode(AgentBinary::Claude, bytes.chunks(65_536), None);
    let AgentEvent::ToolResult(result) = &decoded.lines[0][0] else { panic!() };
    assert_eq!(result.output, text.replace("\\n", "\n"));
    let [AgentEvent::Warning(warning), AgentEvent::Text(said)] = &decoded.lines[1][..] else { panic!() };
    assert_eq!((warning.kind.as_str(), said.text.as_str()), ("not_utf8", "a\u{fffd}b"));
}

#[test]
fn many_blocks_without_a_place_take_linear_time() {
    let blocks = vec![r#"{"type":"new"}"#; 100_000].join(",");
    let line = format!(r#"{{"type":"assistant","message":{{"content":[{blocks}]}}}}"#);
    let began = std::time::Instant::now();
    assert_eq!(lines(AgentBinary::Claude, &[&line], 0).lines[0].len(), 100_000);
    // A reader that begins anew for each takes more than an hour.
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
}

/// A person reads why a run failed; nothing is no answer.
#[test]
fn a_failure_without_a_reason_says_so() {
    for (agent, line) in [
        (AgentBinary::Claude, r#"{"type":"result"}"#),
        (AgentBinary::Copilot, r#"{"type":"result"}"#),
        (AgentBinary::Gemini, r#"{"type":"result"}"#),
        (AgentBinary::Gemini, r#"{"type":"result","status":"error"}"#),
    ] {
        let end = lines(agent, &[line], 0).end;
        assert!(
            end.kind.is_some() && end.message.as_ref().is_some_and(|message| !message.is_empty()),
            "{agent}: {end:?}"
        );
    }
}

#[test]
fn a_byte_order_mark_at_the_start_of_a_stream_costs_no_line() {
    let amp = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    for (agent, done) in DONE.into_iter().chain([(AgentBinary::Amp, amp)]) {
        let stream = format!("\u{feff}{done}\n");
        for size in [1, 2, 1000] {
            let decoded = decode(agent, stream.as_bytes().chunks(size), Some(ProcessExit::Code(0)));
            assert_eq!(decoded, lines(agent, &[done], 0), "{agent} {size}");
            assert!(decoded.end.is_success(), "{agent}");
        }
    }
}

#[test]
fn of_keys_that_come_twice_the_last_one_counts_for_every_agent() {
    let amp = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    for (agent, done) in DONE.into_iter().chain([(AgentBinary::Amp, amp)]) {
        let twice = format!(r#"{{"type":"novel",{}"#, &done[1..]);
        let decoded = lines(agent, &[&twice], 0);
        assert!(decoded.end.is_success(), "{agent}: {decoded:?}");
        // And the other way round it is no end.
        let other = format!(r#"{},"type":"novel"}}"#, &done[..done.len() - 1]);
        assert!(!lines(agent, &[&other], 0).end.is_success(), "{agent}");
    }
}

#[test]
fn a_duration_may_be_written_as_a_fraction() {
    let claude = r#"{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":3.0,"duration_ms":12.0}"#;
    for agent in [AgentBinary::Claude, AgentBinary::Amp] {
        let mut end = lines(agent, &[claude], 0).end;
        let summary = &mut end.summary;
        assert_eq!((summary.turns, summary.duration_ms), (Some(3), Some(12)), "{agent}");
    }
}
