//! The seed's precedence table, with the hardenings that its cases name.

use amplihack_hooks::aggregate;
use serde_json::{Value, json};

use crate::world::{object, rows};

fn joined(amplihack: &Value, xpia: &Value) -> Value {
    let input = json!({"amplihack": amplihack, "xpia": xpia});
    object(&aggregate::answer(Ok(input.to_string().into_bytes())))
}

#[test]
fn the_cases_of_precedence_hold() {
    let rows = rows("pretool_precedence.jsonl");
    assert_eq!(rows.len(), 30);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let seen = joined(&row["amplihack"], &row["xpia"]);
        let wanted = match row["users_want"].as_str() {
            Some("use default text") => {
                assert_eq!(seen["message"], "Blocked by amplihack pre-tool-use hook.", "{name}");
                "deny"
            }
            // Every other wish of these cases is a deny.
            Some(_) => "deny",
            None if name == "xpia_nan_payload" => "deny",
            None => {
                // What was handed on unchanged still is, but for the key that the host reads.
                for (key, value) in row["expected"].as_object().unwrap() {
                    assert_eq!(&seen[key], value, "{name}");
                }
                row["expected"]["permissionDecision"].as_str().unwrap_or("none")
            }
        };
        let decision = seen.get("permissionDecision").and_then(Value::as_str).unwrap_or("none");
        assert_eq!(decision, wanted, "{name}: {seen}");
        if decision == "deny" {
            assert!(seen["permissionDecisionReason"].is_string(), "{name}: {seen}");
        }
        if wanted == "none" {
            assert_eq!(seen, json!({}), "{name}");
        }
    }
}

#[test]
fn strictest_wins_in_every_order() {
    let say = |word: &str| json!({"stdout": json!({"permissionDecision": word, "message": word}).to_string(), "code": 0});
    let order = ["allow", "ask", "deny"];
    for (a, first) in order.iter().enumerate() {
        for (b, second) in order.iter().enumerate() {
            let seen = joined(&say(first), &say(second));
            assert_eq!(seen["permissionDecision"], order[a.max(b)], "{first} {second}");
        }
    }
}

#[test]
fn a_side_that_failed_and_an_input_that_cannot_be_read_are_denied() {
    let fine = json!({"stdout": "", "code": 0});
    for side in [
        json!({"stdout": "", "code": 1}),
        json!({"stdout": "{}", "code": 137}),
        json!({"stdout": "", "code": null}),
        json!({"stdout": "{\"permissionDecision\":\"allow\"}", "code": 1}),
        json!({"code": 0}),
        json!({"stdout": 3}),
        json!("x"),
    ] {
        assert_eq!(joined(&side, &fine)["permissionDecision"], "deny", "{side}");
        assert_eq!(joined(&fine, &side)["permissionDecision"], "deny", "{side}");
    }
    for input in ["", "x", "[]", "{}"] {
        let seen = object(&aggregate::answer(Ok(input.into())));
        assert_eq!(seen["permissionDecision"], "deny", "{input}");
    }
}

/// What does not begin and end as one object says nothing that can be trusted.
#[test]
fn a_side_is_one_object_or_nothing() {
    let fine = json!({"stdout": "{}\n", "code": 0});
    for stdout in [
        "3 rules loaded\nTraceback ...\n",
        "false alarm handler crashed",
        "\"rules.toml\": no such file",
        "null pointer dereference",
        "null",
        "0",
        "[1] 12345\nTraceback",
        "[{}]",
        "{}\n{\"permissionDecision\":\"deny\",\"mess",
        "{\"permissionDecision\":\"allow\"} and more",
        "{}\n{}",
        "{\"continue\":false,\"stopReason\":\"enough\"}",
        "{\"continue\":\"false\"}",
        "{\"permissionDecision\":\"deny\",\"permissionDecision\":\"allow\"}",
        "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"permissionDecision\":\"allow\"}}",
        "{\"decision\":\"block\",\"decision\":\"approve\"}",
    ] {
        let side = json!({"stdout": stdout, "code": 0});
        for seen in [joined(&side, &fine), joined(&fine, &side)] {
            assert_eq!(seen["permissionDecision"], "deny", "{stdout}: {seen}");
            assert!(seen["permissionDecisionReason"].is_string(), "{stdout}: {seen}");
        }
    }
    let stops = json!({"stdout": "{\"continue\":false,\"stopReason\":\"enough\"}", "code": 0});
    assert_eq!(joined(&fine, &stops)["message"], "enough");
    let goes_on = json!({"stdout": "{\"continue\":true}", "code": 0});
    assert_eq!(joined(&fine, &goes_on), json!({}));
}

#[test]
fn a_side_that_stands_twice_is_refused() {
    for input in [
        r#"{"amplihack":{"stdout":"{\"permissionDecision\":\"deny\"}","code":0},"amplihack":{"stdout":"","code":0},"xpia":{"stdout":"","code":0}}"#,
        r#"{"xpia":{"stdout":"{\"permissionDecision\":\"deny\"}","stdout":"","code":0}}"#,
        r#"{"xpia":{"stdout":"","code":1,"code":0}}"#,
    ] {
        let seen = object(&aggregate::answer(Ok(input.into())));
        assert_eq!(seen["permissionDecision"], "deny", "{input}: {seen}");
        assert!(seen["message"].as_str().unwrap().contains("twice"), "{seen}");
    }
}

#[test]
fn other_arguments_for_a_tool_are_not_handed_on() {
    let fine = json!({"stdout": "", "code": 0});
    for stdout in [
        r#"{"permissionDecision":"allow","modifiedArgs":{"command":"rm -rf /"}}"#,
        r#"{"permissionDecision":"allow","updatedInput":{"command":"rm -rf /"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"rm -rf /"}}}"#,
        r#"{"permissionDecision":"ask","message":"m","modifiedArgs":{"command":"rm -rf /"}}"#,
        r#"{"modifiedArgs":{"command":"rm -rf /"}}"#,
    ] {
        let side = json!({"stdout": stdout, "code": 0});
        for seen in [joined(&side, &fine), joined(&fine, &side)] {
            assert!(!seen.to_string().contains("rm -rf"), "{stdout}: {seen}");
            assert_ne!(seen["permissionDecision"], "deny", "{stdout}: {seen}");
        }
    }
}
