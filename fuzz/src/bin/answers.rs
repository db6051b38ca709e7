//! What programs answer: other hooks, the XPIA program, an external recipe runner, agents' claims, versions and token counts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use amplihack_agent::live::{
    MessageFiles, MessageFormat, RolloutLine, parse_span, rollout_line, rollout_session,
};
use amplihack_compat::bridge;
use amplihack_config::env::Env;
use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use amplihack_hooks::aggregate;
use amplihack_hooks::xpia;
use amplihack_orchestration::{budget, claim};
use amplihack_recipe::inputs::RecipeInputs;
use amplihack_recipe::spill;
use amplihack_session::{CapturedOutput, ProcessExit};
use serde_json::{Value, json};

const SEEDS: &[&str] = &[
    r#"{"amplihack":{"stdout":"{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}","code":2},"xpia":{"stdout":"","code":0}}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"why"}}"#,
    r#"{"decision":"block","reason":"no"}"#,
    r#"{"is_valid":true,"risk_level":"low","threats":[{"description":"x"}],"recommendations":["y"]}"#,
    r#"{"recipe_name":"r","success":true,"step_results":[{"step_id":"a","status":"completed","output":"x","error":null,"duration":1.5}],"context":{"a":1}}"#,
    "did it\nAMPLIHACK-STATUS: {\"status\":\"done\",\"summary\":\"it's\",\"changes\":true}\n",
    "```\n> AMPLIHACK-STATUS: {\"status\":\"done\"}\n```\n**AMPLIHACK-STATUS:** {\"status\":\"working\"}\n",
    "recipe-runner-rs 0.3.5 (abc 2026-01-01)\n",
    "2.1.332 (Claude Code)\n",
    "amp 0.0.1790142911-g7618fb (released 2026-09-23T05:55:11.000Z, 65d ago)\n",
    r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":28,"cached_input_tokens":8,"output_tokens":10,"total_tokens":38}}}}"#,
    r#"{"type":"span","name":"chat m","attributes":{"gen_ai.operation.name":"chat","gen_ai.conversation.id":"s","gen_ai.usage.input_tokens":14,"gen_ai.usage.output_tokens":5,"gen_ai.usage.cache_read.input_tokens":4}}"#,
    r#"{"type":"assistant","timestamp":"2026-11-29T13:25:19.624Z","message":{"id":"m","content":[{"type":"tool_use","id":"t"}],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
    r#"{"id":"a","timestamp":"2026-11-29T13:25:45.327Z","type":"gemini","tokens":{"input":140,"output":60,"cached":40,"total":205},"toolCalls":[{"id":"t"}]}"#,
    "▶ step\n{\"type\":\"step_transition\"}\n[agent] x\nerror: it failed\n",
    r#"{"a": "from file", "n": 1.50, "o": {"k": [1]}, "s": "file:///tmp/recipe-context-x/y"}"#,
];

const DICTIONARY: &[&str] = &[
    "\"permissionDecision\":",
    "\"allow\"",
    "\"ask\"",
    "\"deny\"",
    "\"hookSpecificOutput\":{",
    "\"stdout\":",
    "\"code\":",
    "\"exit\":",
    "\"xpia\":",
    "\"amplihack\":",
    "\"decision\":\"block\"",
    "\"block\":true",
    "\"is_valid\":",
    "\"risk_level\":",
    "\"critical\"",
    "\"threats\":[",
    "AMPLIHACK-STATUS: ",
    "\"status\":\"done\"",
    "```json\n",
    "**",
    "recipe-runner ",
    "recipe-runner-rs 0.3.5",
    "-rc1",
    "+build",
    "v1.2.3",
    "999999999999999999999.0",
    "\"success\":true",
    "\"step_results\":[",
    "\"context\":{",
    "\"token_count\"",
    "\"total_token_usage\":{\"input_tokens\":",
    "gen_ai.usage.input_tokens",
    "\"payload\":{",
    "file://",
    "recipe-context-",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::texts(SEEDS);
    begin.extend(seeds::lines(
        &[
            "amplihack-compat/tests/cases/runner_response.jsonl",
            "amplihack-compat/tests/cases/runner_version_gate.jsonl",
        ],
        "stdout",
    ));
    let target = Target {
        name: "answers",
        seeds: begin,
        dictionary: words::json_and(DICTIONARY),
        longest: 128 << 10,
        most: |len| linear(150, 30, len),
    };
    let scratch = Scratch::new();
    let program = scratch.write("xpia", b"#!/bin/sh\nexec cat \"${0%/*}/answer\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it can be made a program");
    let env = Env::empty().with_variable("TMPDIR", scratch.path());
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        hooks(bytes, &text);
        // A process for each would leave no time for anything else.
        if bytes.len() % 61 == 0 {
            scratch.write("answer", bytes);
            let answer = xpia::ask_defender(&program, "ls");
            let valid = serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value["is_valid"] == true);
            assert!(
                valid || !matches!(answer, xpia::DefenderAnswer::Valid),
                "what is not said to be valid is"
            );
        }
        if let Some(claim) = claim::read(&text) {
            let again = serde_json::to_string(&claim).expect("a claim has a text");
            assert_eq!(claim::read(&again), Some(claim));
            // The last line counts, and nothing before it.
            assert_eq!(claim::read(&format!("{text}\nBut it is not done.")), None);
        }
        counts(bytes);
        runner(bytes, &text, &scratch, &env);
        if let Some(version) = amplihack_agent::version::parse_version(&text) {
            assert!(
                text.contains(&version.to_string()) || !version.build.is_empty() || version.pre.is_empty()
            );
        }
    })
}

/// Two hooks' answers in one: whatever they say, an object; and a deny unless both can be read.
fn hooks(bytes: &[u8], text: &str) {
    let joined = |payload: Vec<u8>| -> Value {
        let reply = aggregate::answer_joined(Ok(payload));
        serde_json::from_slice(&reply.stdout).expect("an object")
    };
    let whole = joined(bytes.to_vec());
    if serde_json::from_slice::<Value>(bytes).is_err() {
        assert_eq!(whole["permissionDecision"], "deny");
    }
    let denied = json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}).to_string();
    for (amplihack, xpia) in [(text, denied.as_str()), (denied.as_str(), text)] {
        let both =
            json!({"amplihack": {"stdout": amplihack, "code": 0}, "xpia": {"stdout": xpia, "code": 0}});
        assert_eq!(joined(both.to_string().into_bytes())["permissionDecision"], "deny", "a deny is lost");
    }
}

/// Files in which agents count tokens.
fn counts(bytes: &[u8]) {
    let files =
        [MessageFormat::Claude, MessageFormat::Gemini].map(|of| MessageFiles { below: "/".into(), of });
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(RolloutLine::Total(amounts)) = rollout_line(line) {
            let _ = budget::count_tokens(&amounts);
        }
        if let Some(span) = parse_span(line) {
            let _ = budget::count_tokens(&span.amounts);
        }
        for message in files.iter().filter_map(|files| files.parse_line(line)) {
            let _ = budget::count_tokens(&message.amounts);
        }
        let _ = rollout_session(line);
    }
}

/// An external runner's answer, its version, and what it is given.
fn runner(bytes: &[u8], text: &str, scratch: &Scratch, env: &Env) {
    for exit in [ProcessExit::Code(0), ProcessExit::Code(3), ProcessExit::Signal(9)] {
        let stdout = CapturedOutput { bytes: bytes.to_vec(), dropped: 0 };
        if let Ok(response) = bridge::interpret_response(exit, &stdout, bytes, "r") {
            assert!(
                matches!(exit, ProcessExit::Code(_)) && (exit == ProcessExit::Code(0) || !response.success)
            );
        }
    }
    if let Ok(version) = bridge::version_of(text, Path::new("/runner")) {
        assert!(text.contains(&version));
    }
    let argument = format!("a={}", text.replace('\0', ""));
    if let Ok(given) = RecipeInputs::read(&[argument], None, env) {
        assert_eq!(given.to_texts().len(), 1);
    }
    let file = scratch.write("context.json", bytes);
    if let Ok(given) = RecipeInputs::read(&[], Some(&file), env) {
        let again = serde_json::to_string(&given).expect("it has a text");
        assert_eq!(
            serde_json::from_str::<RecipeInputs>(&again).ok().as_ref(),
            Some(&given),
            "it is not read back"
        );
        let _ = given.apply_over(&amplihack_recipe::context::RecipeContext::new(), env);
    }
    // Nothing that was not spilled here is read.
    assert_eq!(spill::read_back(text, scratch.path()), None);
}
