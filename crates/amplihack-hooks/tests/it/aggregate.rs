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
