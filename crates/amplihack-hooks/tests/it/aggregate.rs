//! The seed's precedence table, with the hardenings that its cases name.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use amplihack_config::env::Env;
use amplihack_hooks::{HookAction, HookEvent, HookInvocation, aggregate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Remembers, object, plane, rows};

fn joined(amplihack: &Value, xpia: &Value) -> Value {
    let input = json!({"amplihack": amplihack, "xpia": xpia});
    object(&aggregate::answer_joined(Ok(input.to_string().into_bytes())))
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
        let seen = object(&aggregate::answer_joined(Ok(input.into())));
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
        let seen = object(&aggregate::answer_joined(Ok(input.into())));
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

/// The answer with a user's script that prints `printed`, for a call of `ls`.
fn with_script(printed: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("printed"), printed).unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\ncat '{}/printed'\n", dir.path().display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let action = HookAction::WithScript(HookEvent::PreToolUse);
    let invocation = HookInvocation { script: Some(script.clone()), ..HookInvocation::new(action) };
    let payload =
        json!({"sessionId": "s", "toolName": "bash", "toolArgs": json!({"command": "ls"}).to_string()});
    let (audit, env) = (Remembers::default(), Env::empty());
    let plane = plane(&audit, &env, Path::new("/x"));
    let payload = Ok(payload.to_string().into_bytes());
    object(&aggregate::with_script(HookEvent::PreToolUse, &script, &invocation, payload, &plane))
}

#[test]
fn arguments_that_a_script_changes_are_judged_as_if_the_agent_had_used_them() {
    for (printed, decision, changed) in [
        (r#"{"permissionDecision":"allow","modifiedArgs":{"command":"pwd"}}"#, "allow", Some("pwd")),
        (r#"{"modifiedArgs":{"command":"pwd"}}"#, "none", Some("pwd")),
        (
            r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"pwd"}}}"#,
            "allow",
            Some("pwd"),
        ),
        (r#"{"permissionDecision":"allow","modifiedArgs":{"command":"rm -rf /"}}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":"rm -rf /"}}"#, "deny", None),
        (r#"{"hookSpecificOutput":{"updatedInput":{"command":"rm -rf /"}}}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":"sudo id"}}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":{}}}"#, "deny", None),
        (r#"{"modifiedArgs":"pwd"}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":"pwd","command":"rm -rf /"}}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":"pwd"},"modifiedArgs":{"command":"id"}}"#, "deny", None),
        (r#"{"modifiedArgs":{"command":"pwd"},"updatedInput":{"command":"id"}}"#, "deny", None),
        (r#"{"permissionDecision":"ask","message":"m","modifiedArgs":{"command":"pwd"}}"#, "ask", None),
        (r#"{"permissionDecision":"ask","message":"m","modifiedArgs":{"command":"rm -rf /"}}"#, "deny", None),
        (r#"{"permissionDecision":"deny","modifiedArgs":{"command":"pwd"}}"#, "deny", None),
        ("{}", "none", None),
    ] {
        let seen = with_script(printed);
        assert_eq!(seen["permissionDecision"].as_str().unwrap_or("none"), decision, "{printed}: {seen}");
        if decision != "deny" {
            assert_eq!(seen["modifiedArgs"]["command"].as_str(), changed, "{printed}: {seen}");
            assert!(seen.get("hookSpecificOutput").is_none(), "{printed}: {seen}");
        }
    }
}

/// Parts of what hooks print, whole and broken.
const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    " ",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "{}",
    "[]",
    "\u{feff}",
    "Traceback",
    "\"permissionDecision\"",
    "\"allow\"",
    "\"ask\"",
    "\"deny\"",
    "\"continue\"",
    "\"decision\"",
    "\"block\"",
    "{\"permissionDecision\":\"allow\"}",
    "{\"permissionDecision\":\"deny\"}",
    "{\"continue\":false}",
    "{\"modifiedArgs\":{\"command\":\"rm -rf /\"}}",
    "\"hookSpecificOutput\":{",
    "\"permissionDecision\":\"allow\",",
    "\\ud800",
    "\u{0}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    /// Whatever a side prints: what is not one object denies, a deny in it counts, and nothing that it says weakens the other side.
    #[test]
    fn no_output_of_a_side_opens_the_guard(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..9),
        other in proptest::sample::select(&["", "{}", "{\"permissionDecision\":\"ask\"}", "{\"permissionDecision\":\"deny\"}"][..]),
        code in proptest::sample::select(&[0, 0, 0, 1, 2][..]),
    ) {
        let stdout = parts.concat();
        let side = json!({"stdout": stdout, "code": code});
        let other_side = json!({"stdout": other, "code": 0});
        let rank = |seen: &Value| match seen["permissionDecision"].as_str() {
            None => Some(0),
            Some("allow") => Some(1),
            Some("ask") => Some(2),
            Some("deny") => Some(3),
            Some(_) => None,
        };
        let least = if other.contains("deny") { 3 } else if other.contains("ask") { 2 } else { 0 };
        let text = stdout.trim_start_matches('\u{feff}').trim();
        let whole = serde_json::from_str::<Value>(text);
        let is_nothing = text.is_empty() || whole.as_ref().is_ok_and(|value| value.as_array().is_some_and(Vec::is_empty));
        let is_object = whole.is_ok_and(|value| value.is_object());
        for seen in [joined(&side, &other_side), joined(&other_side, &side)] {
            let rank = rank(&seen);
            prop_assert!(rank >= Some(least), "{stdout:?}: {seen}");
            prop_assert!(!seen.to_string().contains("rm -rf"), "{stdout:?}: {seen}");
            if code != 0 || !is_object && !is_nothing || stdout.contains("deny\"}") && is_object {
                prop_assert_eq!(rank, Some(3), "{:?}: {}", stdout, seen);
            }
        }
    }
}
