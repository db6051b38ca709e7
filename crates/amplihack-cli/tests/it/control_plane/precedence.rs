//! The table of precedence, row by row, by `amplihack-hooks aggregate`.

use amplihack_testkit::{Run, Sandbox};
use serde_json::{Value, json};

use super::{hooks, one_object};

/// What becomes of the answers of amplihack's and of XPIA's hook.
fn joined(amplihack: &Value, xpia: &Value) -> Value {
    let sandbox = Sandbox::new();
    let side = |answer: &Value| json!({"stdout": format!("{answer}\n"), "code": 0});
    let input = json!({"amplihack": side(amplihack), "xpia": side(xpia)});
    let run = Run::new(sandbox.command(hooks())).args(["aggregate"]).stdin(input.to_string());
    one_object(run.output().assert_code(0))
}

fn says(word: &str) -> Value {
    json!({"permissionDecision": word, "permissionDecisionReason": "why", "message": "why"})
}

#[test]
fn an_allow_of_xpia_decides() {
    assert_eq!(joined(&json!({}), &says("allow"))["permissionDecision"], "allow");
}

#[test]
fn an_ask_of_xpia_decides() {
    assert_eq!(joined(&json!({}), &says("ask"))["permissionDecision"], "ask");
}

#[test]
fn a_deny_of_xpia_decides() {
    assert_eq!(joined(&json!({}), &says("deny"))["permissionDecision"], "deny");
}

#[test]
fn xpia_comes_first_where_both_say_the_same() {
    for word in ["allow", "ask", "deny"] {
        let (ours, xpias) = (json!({"permissionDecision": word, "message": "amplihack's"}), says(word));
        assert_eq!(joined(&ours, &xpias), xpias);
    }
}

#[test]
fn a_payload_is_returned_unchanged() {
    for word in ["allow", "ask", "deny"] {
        assert_eq!(joined(&json!({}), &says(word)), says(word));
        assert_eq!(joined(&says(word), &json!({})), says(word));
    }
    let mut more = says("deny");
    more["extra"] = json!({"k": [1, 2]});
    assert_eq!(joined(&json!({}), &more), more);
}

#[test]
fn an_allow_of_amplihack_decides_where_xpia_is_silent() {
    assert_eq!(joined(&says("allow"), &json!({}))["permissionDecision"], "allow");
}

#[test]
fn an_ask_of_amplihack_decides_where_xpia_is_silent() {
    assert_eq!(joined(&says("ask"), &json!({}))["permissionDecision"], "ask");
}

#[test]
fn a_deny_of_amplihack_decides_where_xpia_is_silent() {
    assert_eq!(joined(&says("deny"), &json!({}))["permissionDecision"], "deny");
}

#[test]
fn block_true_becomes_a_deny() {
    assert_eq!(
        joined(&json!({"block": true, "message": "git --no-verify"}), &json!({}))["permissionDecision"],
        "deny"
    );
}

#[test]
fn the_message_of_a_block_is_kept() {
    let answer = joined(&json!({"block": true, "message": "git --no-verify"}), &json!({}));
    assert_eq!(answer["message"], "git --no-verify");
    assert_eq!(answer.get("block"), None, "{answer}");
}

#[test]
fn without_a_decision_the_answer_is_an_empty_object() {
    for ours in [json!({}), json!({"block": false}), json!({"message": "m"})] {
        assert_eq!(joined(&ours, &json!({})), json!({}));
    }
}
