//! What is written agrees with the schemas of `docs/reference/schemas`, and other things do not.

use std::fs;

use amplihack_testkit::{Sandbox, Script, workspace};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::fakes::fakes;
use crate::world::prepare;

fn schema(name: &str) -> Validator {
    let path = workspace().join("docs/reference/schemas").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

fn agree(schema: &Validator, value: &Value, what: &str) {
    let errors: Vec<String> = schema.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recordings_of_the_real_agents_decode_to_what_the_schema_says() {
    let schema = schema("event");
    let sandbox = Sandbox::new();
    let recordings = workspace().join("crates/amplihack-agent/tests/transcripts");
    let mut kinds = std::collections::BTreeSet::new();
    let mut agents = std::collections::BTreeSet::new();
    let recordings = fs::read_dir(recordings).unwrap().map(|recording| recording.unwrap().path());
    // Of Amp there is none of a real run; this one is put together from what its CLI and its SDKs document.
    let amp = workspace().join("crates/amplihack-agent/src/amp/session.jsonl");
    for path in recordings.chain([amp]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let agent = name.split('-').next().filter(|_| name != "session.jsonl").unwrap_or("amp").to_owned();
        let file = path.to_string_lossy();
        let output =
            prepare(&sandbox, &["stream", "decode", "--agent", &agent, "--include-raw", &file]).output();
        let events = lines(&output.stdout_text());
        assert!(events.len() > 2, "{name}: {events:?}");
        for event in &events {
            agree(&schema, event, &name);
            kinds.insert(event["type"].as_str().unwrap().to_owned());
        }
        agents.insert(agent);
    }
    assert_eq!(agents.into_iter().collect::<Vec<_>>(), ["amp", "claude", "codex", "copilot", "gemini"]);
    for kind in ["started", "text", "tool_call", "tool_result", "usage", "warning", "raw", "end"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn a_run_is_kept_and_printed_as_the_schemas_say() {
    let mut sandbox = fakes();
    sandbox.script_for("amplifier", &Script::new().print("one\n two\n"));
    let output = prepare(&sandbox, &["amplifier", "--prompt", "hi", "--output", "json"]).output();
    output.assert_code(0);
    agree(&schema("report"), &serde_json::from_str(&output.stdout_text()).unwrap(), "--output json");
    let sessions = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap();
    let directory = sessions.map(|entry| entry.unwrap().path()).next().unwrap();
    let journal = fs::read_to_string(directory.join("events.jsonl")).unwrap();
    let event = schema("event");
    for line in lines(&journal) {
        agree(&event, &line, "journal");
    }
    let run = fs::read_to_string(directory.join("run.json")).unwrap();
    agree(&schema("run"), &serde_json::from_str(&run).unwrap(), "run.json");
}

#[test]
fn the_schema_of_events_refuses_what_is_none() {
    let schema = schema("event");
    let good = json!({
        "seq": 3, "at": "2026-11-28T10:00:00Z", "type": "tool_call", "id": "1", "name": "Bash", "input": [1, null],
    });
    agree(&schema, &good, "a tool call");
    for (key, value) in [
        ("seq", json!(-1)),
        ("seq", Value::Null),
        ("at", json!("yesterday")),
        ("type", json!("tool_cal")),
        ("type", json!("started")),
        ("name", Value::Null),
        ("raw", json!([256])),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        if bad[key].is_null() {
            bad.as_object_mut().unwrap().remove(key);
        }
        assert!(!schema.is_valid(&bad), "{bad}");
    }
    let end = |end: Value| {
        let mut event = json!({ "seq": 0, "at": "2026-11-28T10:00:00Z", "type": "end" });
        event.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        schema.is_valid(&event)
    };
    assert!(end(json!({ "end": "failed", "kind": "auth", "message": "no", "exit": { "code": 1 } })));
    assert!(end(json!({ "end": "success", "text": "x", "exit": { "signal": 2 } })));
    assert!(!end(json!({ "end": "failed", "kind": "auths", "message": "no" })));
    assert!(!end(json!({ "end": "success", "exit": { "code": "0" } })));
    assert!(!end(json!({ "end": "well" })));
}
