//! The reader against serde_json, and messages back and forth.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scan::JsonCursor;
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
                let turn = key == "message" && ["assistant", "user"].contains(&kind);
                if turn && !value.is_object() && !value.is_null() {
                    let error = StreamMessage::from_line(message.to_string().as_bytes()).unwrap_err();
                    assert_eq!(
                        (error.kind(), error.cause()),
                        ("invalid_message", "invalid_field"),
                        "{message}"
                    );
                } else {
                    assert_eq!(read_back(&message.to_string()), message);
                }
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
    assert_eq!(user.message.content, [ContentBlock::from_text("a")]);
}

#[test]
fn of_keys_that_come_twice_the_last_one_counts() {
    let lines = [
        r#"{"type":"system","type":"assistant","message":{"content":[]}}"#,
        r#"{"type":"novel","session_id":"T-1","type":"system","session_id":"T-2"}"#,
        r#"{"type":"system","subtype":"init","type":"novel"}"#,
        r#"{"type":"assistant","message":{"usage":{"input_tokens":-1}},"type":"novel"}"#,
        r#"{"type":7,"type":"result","is_error":true,"is_error":false}"#,
        r#"{"\u0074ype":"\u0073ystem","t\u0079pe":"user","message":{}}"#,
        r#"{"type":"user","message":{"content":"a"},"message":null}"#,
        r#"{"type":"user","message":null,"message":{"content":"a","content":"b"}}"#,
        r#"{"type":"assistant","message":{"usage":{"input_tokens":1},"usage":null,"id":"a","id":7}}"#,
        r#"{"type":"result","duration_ms":5,"duration_ms":1.5,"num_turns":2.0,"num_turns":3}"#,
        r#"{"type":"result","usage":{"input_tokens":5.0,"input_tokens":0},"permission_denials":["a"],"permission_denials":[]}"#,
        r#"{"type":"user","message":{"content":[{"type":"text","text":"a","type":"image"},{"type":"x","type":"text","text":"b"}]}}"#,
        r#"{"type":"system","tools":["a"],"tools":["b"],"new":1,"new":2,"mcp_servers":[{"name":"a"}],"mcp_servers":null}"#,
    ];
    for line in lines {
        let whole: Value = serde_json::from_str(line).unwrap();
        let message =
            StreamMessage::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message.kind(), whole["type"], "{line}");
        assert_eq!(message.to_value(), whole, "{line}");
        // Twice and once are the same message.
        let once = StreamMessage::from_value(&whole).unwrap();
        assert_eq!(
            (message.is_final(), message.session_id()),
            (once.is_final(), once.session_id()),
            "{line}"
        );
    }
    for (line, error) in [
        (r#"{"type":"system","type":7}"#, WireError::TypeNotAString),
        (r#"{"type":"novel","type":null}"#, WireError::TypeNotAString),
        (r#"{"type":"system","type":"user","message":5}"#, WireError::Field("\"message\" is no object")),
    ] {
        assert_eq!(StreamMessage::from_line(line.as_bytes()), Err(error), "{line}");
    }
    let StreamMessage::Result(result) =
        StreamMessage::from_line(br#"{"type":"system","type":"result","result":"a","result":"b"}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!(result.result.as_deref(), Some("b"));
}

#[test]
fn a_whole_number_may_be_written_as_a_fraction_and_comes_back_so() {
    let line = json!({"type": "result", "duration_ms": 12.0, "num_turns": 3.0, "usage": {"input_tokens": 5.0, "output_tokens": 0.0}});
    let StreamMessage::Result(mut result) = StreamMessage::from_value(&line).unwrap() else { panic!() };
    let usage = result.summary.usage.clone().unwrap();
    assert_eq!((result.summary.duration_ms, result.summary.num_turns), (Some(12), Some(3)));
    assert_eq!((usage.input_tokens, usage.output_tokens), (5, 0));
    assert_eq!(result.to_value(), line);
    // What is changed afterwards is what is written.
    result.summary.duration_ms = Some(13);
    assert_eq!(result.to_value()["duration_ms"], 13);
}

#[test]
fn a_byte_order_mark_costs_no_message() {
    let line = "\u{feff}{\"type\":\"system\",\"subtype\":\"init\"}";
    assert_eq!(StreamMessage::from_line(line.as_bytes()).unwrap().kind(), "system");
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
    assert_eq!(user.message.content, [ContentBlock::from_text("a\u{fffd}b")]);
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
    let mut skipped = JsonCursor::new(text);
    let accepts = skipped.skip_value().and_then(|_| skipped.expect_end()).is_ok();
    let mut built = JsonCursor::new(text);
    let value = built.read_value().and_then(|value| built.expect_end().map(|()| value)).ok();
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
