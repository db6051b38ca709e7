//! `amp permissions test`: the answers and exit codes of the real CLI, without it.

use amplihack_testkit::Sandbox;
use serde_json::{Value, json};

use crate::scene::shown;
use crate::world::amplihack;

const ORACLE: &str = include_str!("../../../amp-sdk/tests/cases/permissions_oracle.jsonl");

/// A sandbox with these rules in `settings.json`, and the words that ask them.
fn ask(rules: &Value, words: &[&str]) -> (Sandbox, amplihack_testkit::Output) {
    let sandbox = Sandbox::new();
    let settings = json!({ "amp.permissions": rules }).to_string();
    std::fs::write(sandbox.work().join("settings.json"), settings).unwrap();
    let head = ["amp", "permissions", "test", "--settings-file", "settings.json"];
    let output = sandbox.run(amplihack(), [&head, words].concat());
    (sandbox, output)
}

#[test]
fn the_binary_agrees_with_the_oracle() {
    for row in ORACLE.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let mut words = vec!["--json"];
        if let Some(context) = row["context"].as_str() {
            words.extend(["--context", context]);
        }
        words.push(row["tool"].as_str().unwrap());
        let flags: Vec<String> =
            row["args"].as_object().unwrap().keys().map(|key| format!("--{key}")).collect();
        for (flag, value) in flags.iter().zip(row["args"].as_object().unwrap().values()) {
            words.extend([flag.as_str(), value.as_str().unwrap()]);
        }
        let (_sandbox, output) = ask(&row["rules"], &words);
        let found = output.assert_code(i32::try_from(row["exit_code"].as_i64().unwrap()).unwrap()).json();
        assert_eq!(found["action"], row["action"], "{row}");
        assert_eq!(found["matchIndex"], row["match_index"], "{row}");
        assert_eq!(found["source"], row["source"], "{row}");
        assert_eq!(found["details"], row["config_error"], "{row}");
        assert_eq!(found["arguments"], row["args"], "{row}");
    }
}

#[test]
fn answers_are_told_to_people_and_to_programs() {
    let rules = json!([
        {"tool": "Bash", "action": "reject", "matches": {"cmd": "rm *"}, "message": "use trash"},
        {"tool": "Read", "action": "ask", "context": "subagent"},
        {"tool": "ask_me", "action": "delegate", "to": "false"},
    ]);
    let show = |words: &[&str]| {
        let (sandbox, output) = ask(&rules, words);
        format!("$ amplihack amp permissions test … {}\n{}", words.join(" "), shown(&sandbox, &output))
    };
    let all = [
        show(&["Bash", "--cmd", "rm -r build"]),
        show(&["--json", "shell_command", "--command", "rm -r build"]),
        show(&["Read", "--path", "x", "--context", "subagent", "--json"]),
        show(&["my_tool"]),
        show(&["my_tool", "--json", "word", "--flag", "--key", "value"]),
        show(&["ask_me"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_cannot_be_asked_is_said_with_exit_code_1() {
    let (sandbox, output) = ask(&json!([{"tool": "", "action": "maybe"}]), &["Bash", "--cmd", "ls"]);
    let mut all = shown(&sandbox, &output);
    for (file, words) in [("missing.json", &["Bash"][..]), ("bad.json", &["Bash", "--json"])] {
        std::fs::write(sandbox.work().join("bad.json"), "{\n \"amp.permissions\": [}").unwrap();
        let words = [&["amp", "permissions", "test", "--settings-file", file], words].concat();
        all.push_str(&shown(&sandbox, &sandbox.run(amplihack(), words)));
    }
    all.push_str(&shown(&sandbox, &sandbox.run(amplihack(), ["amp", "permissions", "test", "Bash"])));
    insta::assert_snapshot!(all);
}

#[test]
fn a_prompt_that_is_a_commands_name_is_a_prompt() {
    let sandbox = crate::scene::repository(&["amp"]);
    let output = sandbox.run(amplihack(), ["amp", "--print", "--dry-run", "permissions"]);
    output.assert_code(0);
    let output = sandbox.run(amplihack(), ["amp", "--dry-run", "help"]);
    output.assert_code(0);
}
