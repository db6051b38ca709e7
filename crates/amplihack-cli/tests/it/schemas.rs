//! Everything that is printed and kept agrees with the schemas of `docs/reference/schemas`, and other things do not.

use std::collections::BTreeSet;
use std::fs;

use amplihack_testkit::printed::{DIRECTORY, JsonRequest, PrintedJson, ROWS, violations};
use amplihack_testkit::{Sandbox, Script, workspace};
use serde_json::{Value, json};

use crate::fakes::{RECIPE_OPTIONS, fakes};
use crate::help::commands;
use crate::world::{prepare, run};

#[track_caller]
fn agree(schema: &str, value: &Value, what: &str) {
    if let Some(why) = violations(schema, value) {
        panic!("{what}: {why}\n{value:#}");
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The options of `words` that ask for JSON, by its help: each as the table of the test kit has it.
fn options(help: &str) -> Vec<JsonRequest> {
    let mut found = Vec::new();
    let own = |line: &str, option: &str| line.trim_start().split([' ', ',']).any(|word| word == option);
    let text = help.split("\nDiagnostics:").next().unwrap_or_default();
    for (at, line) in text.lines().enumerate() {
        if own(line, "--json") && line.trim_start().starts_with('-') {
            found.push(JsonRequest::Flag("--json"));
        }
        for value in ["json", "stream-json", "jsonl"] {
            if line.trim_start().starts_with(&format!("- {value}:")) {
                let above = text.lines().take(at).filter(|line| line.trim_start().starts_with('-'));
                let option = above
                    .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
                    .last();
                let option = option.unwrap_or_else(|| panic!("{value} belongs to no option:\n{help}"));
                found.push(JsonRequest::Value(
                    Vec::leak(vec![&*option.to_owned().leak()]),
                    Vec::leak(vec![value]),
                ));
            }
        }
    }
    found
}

/// The rows of the command `words` of `amplihack`.
fn rows_of(words: &[String]) -> impl Iterator<Item = &'static PrintedJson> {
    ROWS.iter().filter(move |row| row.program == "amplihack" && row.words == words)
}

/// Whether `row` is asked for by `option`.
fn covers(row: &PrintedJson, option: JsonRequest) -> bool {
    match (row.asked, option) {
        (JsonRequest::Value(names, values), JsonRequest::Value(name, value)) => {
            names.contains(&name[0]) && values.contains(&value[0])
        }
        (asked, option) => asked == option,
    }
}

#[test]
fn every_command_with_json_has_a_schema_and_every_schema_a_command() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    commands(&sandbox, &[], &mut all);
    let mut asked = 0;
    for words in &all {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        args.push("--help");
        let help = run(&sandbox, &args).stdout_text();
        for option in options(&help) {
            asked += 1;
            assert!(
                rows_of(words).any(|row| covers(row, option)),
                "`{}` has {option:?} and no row in crates/amplihack-testkit/src/printed/rows.rs",
                words.join(" ")
            );
        }
        // What prints nothing but JSON says so in its first line, and has no option for it.
        let about = help.lines().next().unwrap_or_default();
        if about.contains("JSON") {
            assert!(rows_of(words).next().is_some(), "`{}`: {about}", words.join(" "));
        }
    }
    assert!(asked > 50, "{asked} options were found in the help of {} commands", all.len());
    for row in ROWS.iter().filter(|row| row.program == "amplihack" && row.words != ["hook"]) {
        assert!(all.iter().any(|words| row.words == words), "{} is no command", row.name());
    }
    let mut files: BTreeSet<String> = fs::read_dir(workspace().join(DIRECTORY))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    for name in ROWS.iter().map(|row| row.schema).chain(["error", "run"]) {
        files.remove(name);
    }
    assert_eq!(files, BTreeSet::new(), "schemas that belong to no command");
}

#[test]
fn an_object_of_ours_has_no_key_that_its_schema_lacks() {
    let sandbox = fakes();
    let answer = run(&sandbox, &["which", "--json"]).json();
    assert_eq!(violations("which", &answer), None);
    let mut more = answer;
    more["more"] = json!(1);
    assert!(violations("which", &more).is_some());
    let error = run(&sandbox, &["which", "--json", "--no-such-option"]).json();
    assert_eq!(error["error"]["kind"], "usage", "{error}");
    assert_eq!(violations("error", &error), None);
}

#[test]
fn recordings_of_the_real_agents_decode_to_what_the_schema_says() {
    let schema = "event";
    let sandbox = Sandbox::new();
    let recordings = workspace().join("crates/amplihack-agent/tests/transcripts");
    let mut kinds = BTreeSet::new();
    let mut agents = BTreeSet::new();
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
            agree(schema, event, &name);
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
    agree("report", &output.json(), "--output json");
    let sessions = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap();
    let directory = sessions.map(|entry| entry.unwrap().path()).next().unwrap();
    let journal = fs::read_to_string(directory.join("events.jsonl")).unwrap();
    for line in lines(&journal) {
        agree("event", &line, "journal");
    }
    let run = fs::read_to_string(directory.join("run.json")).unwrap();
    agree("run", &serde_json::from_str(&run).unwrap(), "run.json");
}

#[test]
fn a_key_that_an_agent_or_a_script_wrote_twice_is_printed_once() {
    let sandbox = fakes();
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls","command":"id"}}]}}"#;
    // The test kit refuses the output itself if a key is there twice.
    let output = prepare(&sandbox, &["stream", "decode", "--agent", "claude"]).stdin(line).output();
    let events = output.json_lines();
    let call = events.iter().find(|event| event["type"] == "tool_call").unwrap();
    assert_eq!(call["input"], json!({ "command": "id" }));
    let recipe = "name: twice\nsteps:\n  - id: a\n    type: bash\n    command: printf '{\"k\":1,\"k\":2}'\n    output: made\n";
    sandbox.write("work/twice.yaml", recipe);
    let output = run(&sandbox, &[&["recipe", "run", "twice.yaml"], &RECIPE_OPTIONS[..]].concat());
    assert_eq!(output.assert_code(0).json()["context"]["made"], json!({ "k": 2 }), "{output}");
}

#[test]
fn the_schema_of_events_refuses_what_is_none() {
    let good = json!({
        "seq": 3, "at": "2026-11-28T10:00:00Z", "type": "tool_call", "id": "1", "name": "Bash", "kind": "execute", "input": [1, null],
    });
    agree("event", &good, "a tool call");
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
        assert!(violations("event", &bad).is_some(), "{bad}");
    }
    let end = |end: Value| {
        let mut event = json!({ "seq": 0, "at": "2026-11-28T10:00:00Z", "type": "end" });
        event.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        violations("event", &event).is_none()
    };
    assert!(end(json!({ "end": "failed", "kind": "auth", "message": "no", "exit": { "code": 1 } })));
    assert!(end(json!({ "end": "success", "text": "x", "exit": { "signal": 2 } })));
    assert!(!end(json!({ "end": "failed", "kind": "auths", "message": "no" })));
    assert!(!end(json!({ "end": "success", "exit": { "code": "0" } })));
    assert!(!end(json!({ "end": "well" })));
}
