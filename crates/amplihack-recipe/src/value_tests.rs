//! What goes in comes out, and is typed the way it is written.

use super::*;

#[test]
fn outputs_come_back_as_they_were_printed() {
    for text in [
        "0012",
        "12345e67",
        "1.10",
        "123456789012345678901234567890",
        "plain",
        "",
        " x ",
        "{\"b\": 1, \"a\":2}",
        "[1, 2]",
        "true",
        "-",
        "-1.50",
        "{not json",
        "tru",
    ] {
        assert_eq!(Value::output(text).text(), text, "{text}");
    }
    assert_eq!(Value::output("\"quoted\"").text(), "quoted");
    assert_eq!(Value::output("null").text(), "");
    assert_eq!(Value::string("null").text(), "null");
    assert_eq!(Value::string("\"q\"").text(), "\"q\"");
}

#[test]
fn json_keeps_numbers_and_order() {
    let value = Value::output("{\"z\": 1.10, \"a\": [12345e67, {\"x y\": null}]}");
    assert_eq!(value.json_text(), "{\"z\":1.10,\"a\":[12345e67,{\"x y\":null}]}");
    assert_eq!(value.at(&["a", "0"]).unwrap().text(), "12345e67");
    assert_eq!(value.at(&["a", "1"]).unwrap().text(), "{\"x y\":null}");
    assert_eq!(value.at(&["a", "1", "x y"]).unwrap().text(), "");
    assert!(value.at(&["a", "2"]).is_none() && value.at(&["a", "0", "b"]).is_none());
    assert_eq!(serde_json::to_string(&value).unwrap(), value.json_text());
    assert_eq!(Value::output("{\"a\":1,\"a\":2}").at(&["a"]).unwrap().text(), "2");
}

#[test]
fn arguments_are_typed() {
    for (text, json, shown) in [
        ("hello", "\"hello\"", "hello"),
        ("true", "true", "true"),
        ("True", "true", "true"),
        ("42", "42", "42"),
        ("007", "7", "007"),
        ("1.50", "1.50", "1.50"),
        ("", "\"\"", ""),
        ("\"q\"", "\"\\\"q\\\"\"", "\"q\""),
        ("{\"a\": [1]}", "{\"a\":[1]}", "{\"a\": [1]}"),
        ("null", "null", ""),
        ("inf", "\"inf\"", "inf"),
        ("1e5", "1e5", "1e5"),
        ("a b  c", "\"a b  c\"", "a b  c"),
    ] {
        let value = Value::argument(text);
        assert_eq!((&*value.json_text(), value.text()), (json, shown), "{text}");
    }
    // The last digit depends on how exactly the build reads numbers, which any of its crates may switch.
    let value = Value::argument("123456789012345678901");
    assert!(value.json_text().starts_with("1.234567890123456"), "{}", value.json_text());
    assert_eq!(value.text(), "123456789012345678901");
}

#[test]
fn a_part_is_replaced() {
    let value = Value::output("{\"a\": {\"b\": 1, \"c\": 2}, \"l\": [1, 2]}");
    let nine = Value::output("9");
    assert_eq!(value.with(&["a", "b"], &nine).unwrap().json_text(), "{\"a\":{\"b\":9,\"c\":2},\"l\":[1,2]}");
    assert_eq!(value.with(&["l", "1"], &nine).unwrap().json_text(), "{\"a\":{\"b\":1,\"c\":2},\"l\":[1,9]}");
    assert_eq!(value.with(&["a", "n"], &nine).unwrap().at(&["a", "n"]).unwrap(), nine);
    assert!(value.with(&["x", "y"], &nine).is_none() && value.with(&["l", "2"], &nine).is_none());
}

#[test]
fn a_key_that_is_there_twice_is_written_once() {
    for (text, written) in [
        (r#"{"a": 1, "b": {"c": 1.50, "c": 2.50}, "a": 3}"#, r#"{"a":3,"b":{"c":2.50}}"#),
        (r#"[{"z": 1, "a": 2, "z": 3e0}]"#, r#"[{"z":3e0,"a":2}]"#),
        (r#"{"z": 1.50, "a": [2]}"#, r#"{"z":1.50,"a":[2]}"#),
    ] {
        assert_eq!(serde_json::to_string(&Value::output(text)).unwrap(), written, "{text}");
    }
}
