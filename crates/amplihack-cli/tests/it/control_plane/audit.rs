//! What the XPIA hook writes down of each call.

use std::path::PathBuf;

use amplihack_testkit::{Run, Sandbox};
use serde_json::{Value, json};

use super::{HARMFUL, hooks};

/// The events that are on record after these commands, in the hook's dated log.
fn recorded(commands: &[&str]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    for command in commands {
        let payload = json!({"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s1"});
        Run::new(sandbox.command(hooks())).args(["xpia"]).stdin(payload.to_string()).output().assert_code(0);
    }
    let directory = sandbox.home().join(".claude/logs/xpia");
    let logs: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    let mut events = Vec::new();
    for log in logs {
        let name = log.file_name().unwrap().to_string_lossy().into_owned();
        let date = name.strip_prefix("rust_security_").and_then(|rest| rest.strip_suffix(".log"));
        assert!(
            date.is_some_and(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())),
            "{name}"
        );
        let text = std::fs::read_to_string(log).unwrap();
        events.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    events
}

#[test]
fn events_go_to_the_dated_log() {
    assert_eq!(recorded(&[HARMFUL]).len(), 1);
}

#[test]
fn an_event_has_the_fields_of_the_document() {
    let events = recorded(&[HARMFUL]);
    let event = &events[0];
    assert_eq!(event["event_type"], "pre_tool_validation", "{event}");
    assert!(event["timestamp"].is_string(), "{event}");
    let data = &event["data"];
    assert_eq!((&data["command"], &data["session_id"]), (&json!(HARMFUL), &json!("s1")), "{event}");
    assert_eq!((&data["is_valid"], &data["risk_level"]), (&json!(false), &json!("high")), "{event}");
}

#[test]
fn what_is_let_through_is_on_record_too() {
    let events = recorded(&["pwd"]);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["data"]["is_valid"], true, "{}", events[0]);
}
