//! A value comes out as it went in, typed the way it is written.

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
        assert_eq!(RecipeValue::from_output(text).text(), text, "{text}");
    }
    assert_eq!(RecipeValue::from_output("\"quoted\"").text(), "quoted");
    assert_eq!(RecipeValue::from_output("null").text(), "");
    assert_eq!(RecipeValue::from_string("null").text(), "null");
    assert_eq!(RecipeValue::from_string("\"q\"").text(), "\"q\"");
}

#[test]
fn json_keeps_numbers_and_order() {
    let value = RecipeValue::from_output("{\"z\": 1.10, \"a\": [12345e67, {\"x y\": null}]}");
    assert_eq!(value.json_text(), "{\"z\":1.10,\"a\":[12345e67,{\"x y\":null}]}");
    assert_eq!(value.value_at(&["a", "0"]).unwrap().text(), "12345e67");
    assert_eq!(value.value_at(&["a", "1"]).unwrap().text(), "{\"x y\":null}");
    assert_eq!(value.value_at(&["a", "1", "x y"]).unwrap().text(), "");
    assert!(value.value_at(&["a", "2"]).is_none() && value.value_at(&["a", "0", "b"]).is_none());
    assert_eq!(serde_json::to_string(&value).unwrap(), value.json_text());
    assert_eq!(RecipeValue::from_output("{\"a\":1,\"a\":2}").value_at(&["a"]).unwrap().text(), "2");
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
        let value = RecipeValue::from_argument(text);
        assert_eq!((&*value.json_text(), value.text()), (json, shown), "{text}");
    }
    // The last digit depends on how exactly the build reads numbers, which any of its crates may switch.
    let value = RecipeValue::from_argument("123456789012345678901");
    assert!(value.json_text().starts_with("1.234567890123456"), "{}", value.json_text());
    assert_eq!(value.text(), "123456789012345678901");
}

#[test]
fn a_part_is_replaced() {
    let value = RecipeValue::from_output("{\"a\": {\"b\": 1, \"c\": 2}, \"l\": [1, 2]}");
    let nine = RecipeValue::from_output("9");
    assert_eq!(
        value.with_value(&["a", "b"], &nine).unwrap().json_text(),
        "{\"a\":{\"b\":9,\"c\":2},\"l\":[1,2]}"
    );
    assert_eq!(
        value.with_value(&["l", "1"], &nine).unwrap().json_text(),
        "{\"a\":{\"b\":1,\"c\":2},\"l\":[1,9]}"
    );
    assert_eq!(value.with_value(&["a", "n"], &nine).unwrap().value_at(&["a", "n"]).unwrap(), nine);
    assert!(value.with_value(&["x", "y"], &nine).is_none() && value.with_value(&["l", "2"], &nine).is_none());
}

#[test]
fn a_key_that_is_there_twice_is_written_once() {
    for (text, written) in [
        (r#"{"a": 1, "b": {"c": 1.50, "c": 2.50}, "a": 3}"#, r#"{"a":3,"b":{"c":2.50}}"#),
        (r#"[{"z": 1, "a": 2, "z": 3e0}]"#, r#"[{"z":3e0,"a":2}]"#),
        (r#"{"z": 1.50, "a": [2]}"#, r#"{"z":1.50,"a":[2]}"#),
    ] {
        assert_eq!(serde_json::to_string(&RecipeValue::from_output(text)).unwrap(), written, "{text}");
    }
}
