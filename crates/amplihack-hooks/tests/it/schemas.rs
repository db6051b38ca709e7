//! Every answer fits the committed JSON Schema of its host and event; what hosts are known to ignore does not.

use std::path::Path;

use amplihack_hooks::HookEvent;
use amplihack_hooks::dialect::{self, HookDialect, HookReply};
use amplihack_verdict::{Decision, RuleId, Verdict};
use serde_json::{Value, json};

fn schema(dialect: HookDialect, event: &str) -> Value {
    let file = match dialect {
        HookDialect::Gemini if event == "pre-tool-use" => "gemini",
        // Gemini is answered as Claude is, and passes over what it does not know.
        HookDialect::Claude | HookDialect::Gemini => "claude",
        HookDialect::Codex => "codex",
        HookDialect::CopilotAsClaude => "copilot-as-claude",
        HookDialect::Copilot => "copilot",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/{file}.{event}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The part of JSON Schema that these files use: type, const, enum, required, properties, additionalProperties, minLength.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    const KNOWN: &[&str] = &[
        "$schema",
        "title",
        "description",
        "type",
        "const",
        "enum",
        "required",
        "properties",
        "additionalProperties",
        "minLength",
    ];
    for key in schema.as_object().unwrap().keys() {
        assert!(KNOWN.contains(&key.as_str()), "the validator does not know {key}");
    }
    let no = |why: &str| Err(format!("{why}: {value} does not fit {schema}"));
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return no("const");
    }
    if schema.get("enum").and_then(Value::as_array).is_some_and(|all| !all.contains(value)) {
        return no("enum");
    }
    match schema["type"].as_str() {
        Some("string") => {
            let Some(text) = value.as_str() else { return no("type") };
            let least = schema["minLength"].as_u64().unwrap_or_default();
            if (text.chars().count() as u64) < least {
                return no("minLength");
            }
        }
        Some("object") => {
            let Some(map) = value.as_object() else { return no("type") };
            for name in schema["required"].as_array().into_iter().flatten() {
                if !map.contains_key(name.as_str().unwrap()) {
                    return no("required");
                }
            }
            for (name, value) in map {
                match schema["properties"].get(name) {
                    Some(schema) => fits(schema, value)?,
                    None if schema["additionalProperties"] == false => return no("additionalProperties"),
                    None => {}
                }
            }
        }
        Some(other) => panic!("the validator does not know the type {other}"),
        None => {}
    }
    Ok(())
}

fn assert_fits(reply: &HookReply, dialect: HookDialect, event: &str) {
    if !reply.stdout.is_empty() {
        let value: Value = serde_json::from_slice(&reply.stdout).unwrap();
        fits(&schema(dialect, event), &value).unwrap_or_else(|why| panic!("{dialect} {event}: {why}"));
    }
}

#[test]
fn every_answer_fits_its_hosts_schema() {
    let denied = Verdict::new(Decision::Deny, RuleId::new("a/b"), "why", Vec::new());
    for reply in [dialect::grant_permission(), dialect::refuse_permission(&denied)] {
        assert_fits(&reply, HookDialect::Claude, HookEvent::PermissionRequest.name());
    }
    for dialect in HookDialect::ALL {
        for decision in [Decision::None, Decision::Allow, Decision::Ask, Decision::Deny] {
            for answerable in [false, true] {
                let said = Verdict::new(decision, RuleId::new("a/b"), "why", Vec::new());
                assert_fits(&dialect::render_verdict(&said, dialect, answerable), dialect, "pre-tool-use");
            }
        }
        for event in [HookEvent::SessionStart, HookEvent::UserPromptSubmit, HookEvent::PostToolUse] {
            let reply = dialect::render_context("words", event, dialect);
            assert!(!reply.stdout.is_empty());
            assert_fits(&reply, dialect, event.name());
        }
        assert_fits(&dialect::keep_going("words"), dialect, "stop");
    }
}

#[test]
fn the_schemas_refuse_what_hosts_were_seen_to_ignore() {
    let flat = json!({"permissionDecision": "deny", "permissionDecisionReason": "R"});
    let nested = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "R"}, "decision": "block", "reason": "R"});
    let mut unknown_key = nested.clone();
    unknown_key["message"] = "R".into();
    for dialect in [HookDialect::Claude, HookDialect::Codex] {
        assert!(fits(&schema(dialect, "pre-tool-use"), &flat).is_err());
    }
    assert!(fits(&schema(HookDialect::Codex, "pre-tool-use"), &unknown_key).is_err());
    assert!(fits(&schema(HookDialect::Copilot, "pre-tool-use"), &nested).is_err());
    let words = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}});
    assert!(fits(&schema(HookDialect::CopilotAsClaude, "session-start"), &words).is_err());
}
