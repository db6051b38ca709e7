//! The reader against serde_json, and messages back and forth.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scan::Cursor;
use super::*;

fn read_back(line: &str) -> Value {
    StreamMessage::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}")).to_value()
}

#[test]
fn odd_values_of_known_keys_come_back() {
    let odd = [
        json!(null),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!({}),
        json!(false),
        json!(true),
        json!([{}]),
        json!([null]),
        json!(["a", 1]),
        json!([{"type": "text"}]),
        json!([{"type": "tool_use", "input": null}]),
        json!({"role": null}),
        json!({"content": "text"}),
        json!({"content": ""}),
        json!([{"type": "tool_result", "content": [{"type": "image"}]}]),
        json!(18_446_744_073_709_551_615_u64),
        json!("nil"),
    ];
    let keys = [
        "subtype",
        "session_id",
        "cwd",
        "tools",
        "mcp_servers",
        "parent_tool_use_id",
        "message",
        "is_error",
        "error",
        "result",
        "duration_ms",
        "duration_api_ms",
        "num_turns",
        "usage",
        "permission_denials",
        "new",
    ];
    for kind in ["system", "assistant", "user", "result", "tomorrow"] {
        for key in keys {
            for value in &odd {
                let message = json!({"type": kind, key: value});
                assert_eq!(read_back(&message.to_string()), message);
            }
        }
    }
    for key in ["id", "role", "model", "content", "stop_reason", "stop_sequence", "type", "new"] {
        for value in &odd {
            for kind in ["assistant", "user"] {
                let message = json!({"type": kind, "message": {key: value, "role": "assistant"}});
                assert_eq!(read_back(&message.to_string()), message);
            }
        }
    }
    for kind in ["text", "thinking", "tool_use", "tool_result", "image"] {
        for key in
            ["text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error", "signature"]
        {
            for value in &odd {
                let message = json!({"type": "user", "message": {"content": [{"type": kind, key: value}]}});
                assert_eq!(read_back(&message.to_string()), message);
            }
        }
    }
}

#[test]
fn the_type_may_stand_anywhere_and_space_is_no_matter() {
    let message = " {\"session_id\" : \"T-1\" ,\t\"message\":{\"content\":[ { \"text\":\"a\" , \"type\":\"text\"} ] } , \"type\":\"user\" } \r";
    let StreamMessage::User(user) = StreamMessage::from_line(message.as_bytes()).unwrap() else { panic!() };
    assert_eq!(user.message.content, [ContentBlock::text("a")]);
}

#[test]
fn depth_is_no_danger() {
    for depth in [100, 255, 300, 9_000] {
        let line = format!("{{\"type\":\"x\",\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let message = StreamMessage::from_line(line.as_bytes()).unwrap();
        assert!(message.to_value().is_object());
        let line = format!("{{\"type\":\"user\",\"a\":{}1{}}}", "{\"k\":".repeat(depth), "}".repeat(depth));
        assert!(StreamMessage::from_line(line.as_bytes()).unwrap().to_value().is_object());
    }
    let line = format!("{{\"type\":\"x\",\"a\":{}", "[".repeat(2_000_000));
    assert_eq!(StreamMessage::from_line(line.as_bytes()).unwrap_err().kind(), "parse_error");
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    let line = b"{\"type\":\"user\",\"message\":{\"content\":\"a\xffb\"}}";
    let StreamMessage::User(user) = StreamMessage::from_line(line).unwrap() else { panic!() };
    assert_eq!(user.message.content, [ContentBlock::text("a\u{fffd}b")]);
    let StreamMessage::Diagnostic(diagnostic) = StreamMessage::from_line_lossy(b"npm \xff") else { panic!() };
    assert_eq!((diagnostic.line.as_str(), diagnostic.error.kind()), ("npm \u{fffd}", "parse_error"));
}

#[test]
fn a_wrong_count_is_refused_but_never_costs_a_run_its_end() {
    let usage = json!({"input_tokens": -1});
    let assistant = json!({"type": "assistant", "message": {"usage": usage}}).to_string();
    assert_eq!(StreamMessage::from_line(assistant.as_bytes()).unwrap_err().cause(), "invalid_field");
    let broken = assistant.trim_end_matches('}');
    assert_eq!(StreamMessage::from_line(broken.as_bytes()).unwrap_err().cause(), "not_json");
    let result = json!({"type": "result", "usage": usage, "duration_ms": 1.5});
    assert_eq!(read_back(&result.to_string()), result);
}

/// Whether the reader takes all of `text` as one value, and what it makes of it.
fn ours(text: &str) -> Option<Value> {
    let mut skipped = Cursor::new(text);
    let accepts = skipped.skip().and_then(|_| skipped.end()).is_ok();
    let mut built = Cursor::new(text);
    let value = built.value().and_then(|value| built.end().map(|()| value)).ok();
    assert_eq!(accepts, value.is_some(), "{text}");
    value
}

/// Whether two trees are equal, but for the last bits of fractions, which serde_json rounds.
fn alike(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && alike(a, b))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a.to_bits().abs_diff(b.to_bits()) <= 4
        }
        _ => ours == theirs,
    }
}

/// The same by serde_json, which refuses what no number of Rust's holds and half of a surrogate pair.
fn agree(text: &str) {
    match serde_json::from_str::<Value>(text) {
        Ok(theirs) => assert!(ours(text).is_some_and(|ours| alike(&ours, &theirs)), "{text}"),
        Err(error) => {
            let allowed = [
                "number out of range",
                "lone leading surrogate",
                "unexpected end of hex escape",
                "lone trailing",
            ];
            let said = error.to_string();
            if !allowed.iter().any(|allowed| said.contains(allowed)) {
                assert_eq!(ours(text), None, "{text}: {said}");
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        "[\\x00-\\x7f\u{2028}é𝔘]{0,80}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\é]{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn trees_are_read_as_serde_json_reads_them(value in tree(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        agree(&text);
        prop_assert_eq!(ours(&text), Some(value));
    }

    #[test]
    fn damaged_texts_are_refused_as_serde_json_refuses_them(
        value in tree(),
        at in any::<prop::sample::Index>(),
        put in "[\\x00-\\x20\"\\\\{}\\[\\],:0-9eE+.tfnu-]{0,3}",
        cut in 0..4usize,
    ) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let at = at.index(text.len() + 1);
        let end = (at + cut).min(text.len());
        text.splice(at..end, put.chars());
        agree(&text.into_iter().collect::<String>());
    }

    #[test]
    fn soups_of_json_are_judged_alike(text in "[\"\\\\{}\\[\\],:0-9eE+. tfnuralse-]{0,24}") {
        agree(&text);
    }

    #[test]
    fn no_bytes_break_the_reader(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = StreamMessage::from_line_lossy(&line).to_value();
    }

    #[test]
    fn any_message_comes_back(kind in "system|assistant|user|result|other", fields in prop::collection::btree_map(
        "subtype|session_id|tools|message|content|usage|is_error|result|extra", tree(), 0..5)) {
        let mut map: serde_json::Map<String, Value> = fields.into_iter().collect();
        map.insert("type".into(), kind.into());
        let message = Value::Object(map);
        // Counts that are none are refused, which the test above is about.
        if let Ok(read) = StreamMessage::from_line(message.to_string().as_bytes()) {
            prop_assert_eq!(read.to_value(), message);
        }
    }
}
