//! Messages and lines of the shared cases.

use amp_sdk::{AmpUsage, ContentBlock, PermissionDenial, StreamMessage, ToolOutput};
use amplihack_agent::framer::{Framer, StreamFrame};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on, cases, drain};

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => format!("text:{}", text.text),
        ContentBlock::Thinking(thinking) => format!("thinking:{}", thinking.thinking),
        ContentBlock::ToolUse(call) => format!("tool_use:{}:{}", call.id, call.name),
        ContentBlock::ToolResult(result) => {
            let output = match &result.content {
                ToolOutput::Text(text) => text.clone(),
                ToolOutput::Blocks(blocks) => {
                    format!("[{}]", blocks.iter().map(ContentBlock::kind).collect::<Vec<_>>().join(","))
                }
                ToolOutput::None => String::new(),
                other => format!("{other:?}"),
            };
            format!(
                "tool_result:{}:{output}:{}",
                result.tool_use_id,
                if result.is_error { "error" } else { "ok" }
            )
        }
        other => format!("unknown:{}", other.kind()),
    }
}

fn usage(usage: &AmpUsage) -> Value {
    json!([
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens
    ])
}

/// A message in the words of the cases.
fn describe(message: &StreamMessage) -> Value {
    let blocks = |content: &[ContentBlock]| json!(content.iter().map(block).collect::<Vec<_>>());
    match message {
        StreamMessage::System(m) => {
            let servers: Vec<_> =
                m.mcp_servers.iter().map(|server| json!([server.name, server.status.to_string()])).collect();
            json!({
                "kind": "system", "subtype": m.subtype, "tools": m.tools, "mcp": servers, "extra": m.extra, "session_id": m.session_id,
                "mcp_extra": m.mcp_servers.first().map(|server| server.extra.clone()),
            })
        }
        StreamMessage::Assistant(m) => {
            let calls = m.message.content.iter().filter_map(|block| match block {
                ContentBlock::ToolUse(call) => Some(call.input.to_value()),
                _ => None,
            });
            json!({
                "kind": "assistant", "blocks": blocks(&m.message.content), "stop_reason": m.message.stop_reason,
                "usage": m.message.usage.as_ref().map(usage), "usage_extra": m.message.usage.as_ref().map(|usage| usage.extra.clone()),
                "message_extra": m.message.extra, "extra": m.extra, "parent_tool_use_id": m.parent_tool_use_id,
                "input": calls.collect::<Vec<_>>().pop(), "model": m.message.model, "id": m.message.id,
            })
        }
        StreamMessage::User(m) => {
            json!({"kind": "user", "blocks": blocks(&m.message.content), "extra": m.extra})
        }
        StreamMessage::Result(m) => json!({
            "kind": "result", "ok": true, "subtype": m.subtype, "result": m.result, "duration_ms": m.summary.duration_ms,
            "duration_api_ms": m.summary.duration_api_ms, "cost_usd": m.cost_usd(), "usage": m.summary.usage.as_ref().map(usage),
            "num_turns": m.summary.num_turns, "denials": m.summary.permission_denials.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "denials_raw": m.summary.permission_denials.iter().any(|denial| matches!(denial, PermissionDenial::Other(_))),
            "extra_kept": m.extra.contains_key("total_cost_usd"),
        }),
        StreamMessage::ErrorResult(m) => json!({
            "kind": "error_result", "subtype": m.subtype, "error": m.message(),
            "denials": m.summary.permission_denials.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        StreamMessage::Unknown(m) => json!({"kind": "unknown", "type": m.kind}),
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_are_read_as_the_cases_say_and_come_back() {
    let rows = cases("parse_cases.jsonl");
    assert!(rows.len() >= 38, "only {} cases", rows.len());
    for row in rows {
        let (id, line, expected) =
            (&row["id"], row["line"].as_str().unwrap(), row["expect"].as_object().unwrap());
        let message = match StreamMessage::from_line(line.as_bytes()) {
            Ok(message) => message,
            Err(error) => {
                assert_eq!(expected.get("error"), Some(&json!(error.kind())), "{id}: {error}");
                if let Some(cause) = expected.get("cause") {
                    assert_eq!(cause, error.cause(), "{id}");
                }
                let StreamMessage::Diagnostic(diagnostic) = StreamMessage::from_line_lossy(line.as_bytes())
                else {
                    panic!("{id}: no diagnostic")
                };
                assert_eq!(diagnostic.line, line, "{id}");
                continue;
            }
        };
        assert!(!expected.contains_key("error") || expected["kind"] == "error_result", "{id}: {message:?}");
        let described = describe(&message);
        for (key, value) in expected {
            match key.as_str() {
                "note" | "raw_kept" | "round_trip" | "error_or_ok" => {}
                "final" => assert_eq!(*value, message.is_final(), "{id}"),
                _ => assert_eq!(described.get(key), Some(value), "{id}: {key} of {described}"),
            }
        }
        // serde_json refuses half a surrogate pair and what is nested very deep.
        if let Ok(wire) = serde_json::from_str::<Value>(line) {
            assert_eq!(message.to_value(), wire, "{id}");
        }
    }
}

/// The bytes of a case, in its chunks.
fn chunks(row: &Value) -> Vec<Vec<u8>> {
    let Some(recipe) = row.get("recipe") else {
        let decode = |chunk: &Value| {
            base64::engine::general_purpose::STANDARD.decode(chunk.as_str().unwrap()).unwrap()
        };
        return row["chunks_b64"].as_array().unwrap().iter().map(decode).collect();
    };
    let text = |key: &str| recipe[key].as_str().unwrap().to_owned();
    let times = usize::try_from(recipe["repeat"][1].as_u64().unwrap()).unwrap();
    let whole = text("prefix") + &recipe["repeat"][0].as_str().unwrap().repeat(times) + &text("suffix");
    let size = usize::try_from(recipe["chunk"].as_u64().unwrap()).unwrap();
    whole.as_bytes().chunks(size).map(<[u8]>::to_vec).collect()
}

#[test]
fn bytes_become_lines_as_the_cases_say() {
    for row in cases("framing_cases.jsonl") {
        let id = &row["id"];
        let limit = row["recipe"]["limit"].as_u64().or_else(|| row["limit"].as_u64());
        let mut framer =
            limit.map_or_else(Framer::default, |limit| Framer::new(usize::try_from(limit).unwrap()));
        let (mut lines, mut long) = (Vec::new(), 0_u64);
        let mut take = |frame: StreamFrame<'_>| match frame {
            // Blank lines are no lines: the stream passes over them.
            StreamFrame::Line(line) if line.trim_ascii().is_empty() => {}
            StreamFrame::Line(line) => lines.push(line.to_vec()),
            StreamFrame::TooLong(_) => long += 1,
        };
        for chunk in chunks(&row) {
            framer.push(&chunk, &mut take);
        }
        framer.finish(&mut take);
        if let Some(expected) = row["lines_b64"].as_array() {
            let found: Vec<String> =
                lines.iter().map(|line| base64::engine::general_purpose::STANDARD.encode(line)).collect();
            assert_eq!(&found.into_iter().map(Value::from).collect::<Vec<_>>(), expected, "{id}");
        }
        if let Some(count) = row["expect_lines"].as_u64() {
            assert_eq!(lines.len() as u64 + long, count, "{id}");
        }
    }
}

#[test]
fn a_stream_may_begin_with_a_byte_order_mark() {
    let body = format!("printf '\\357\\273\\277'; {INIT}; {RESULT}");
    for strict in [false, true] {
        let fake = Fake::new(&body);
        let options = fake.options().with_strict(strict);
        let (messages, error) = block_on(async { drain(&mut amp_sdk::execute("x", options)).await });
        assert!(error.is_none(), "{error:?}");
        let kinds: Vec<&str> = messages.iter().map(StreamMessage::kind).collect();
        assert_eq!(kinds, ["system", "result"]);
    }
    // One in front of a later line costs that line nothing either.
    let fake = Fake::new(&format!("{INIT}; printf '\\357\\273\\277{{\"type\":\"x\"}}\\n'; {RESULT}"));
    let (messages, _) = block_on(async { drain(&mut amp_sdk::execute("x", fake.options())).await });
    assert_eq!(messages[1].kind(), "x");
}

#[test]
fn of_doubled_keys_the_last_one_counts_and_whole_numbers_have_no_fraction() {
    let line = br#"{"type":"system","session_id":"T-1","type":"result","subtype":"success","result":"a","result":"b","duration_ms":12.0,"num_turns":2.5}"#;
    let StreamMessage::Result(result) = StreamMessage::from_line(line).unwrap() else { panic!() };
    assert_eq!(result.result.as_deref(), Some("b"));
    assert_eq!((result.summary.duration_ms, result.summary.num_turns), (Some(12), None));
    assert_eq!(result.to_value(), serde_json::from_slice::<Value>(line).unwrap());
}

#[test]
fn a_turn_without_a_message_is_told_and_not_taken_for_an_empty_one() {
    let told = |line: &str| {
        let fake = Fake::new(&format!("echo '{line}'; {RESULT}"));
        let (messages, error) = block_on(async { drain(&mut amp_sdk::execute("x", fake.options())).await });
        assert!(error.is_none(), "{error:?}");
        let StreamMessage::Diagnostic(told) = &messages[0] else { panic!("{messages:?}") };
        assert_eq!((told.line.as_str(), told.error.kind()), (line, "invalid_message"));
        let strict = fake.options().with_strict(true);
        assert_eq!(block_on(amp_sdk::run("x", strict)).unwrap_err().kind(), "invalid_message");
    };
    told(r#"{"type":"assistant","message":5}"#);
    told(r#"{"type":"user","message":"x"}"#);
    told(r#"{"type":"assistant","message":[]}"#);
}
