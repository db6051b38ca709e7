//! Diagnostics: on stderr and in a file, never on stdout, and never a word of a prompt.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use amplihack_testkit::Script;
use serde_json::Value;

use crate::fakes::{assert_quiet, fakes};
use crate::world::prepare;

#[test]
fn a_plain_run_is_quiet_and_a_level_changes_nothing_on_stdout() {
    let sandbox = fakes();
    let plain = prepare(&sandbox, &["which"]).output();
    plain.assert_code(0).assert_stderr("");
    for args in [
        &["which", "--log-level", "trace"][..],
        &["--log-level", "trace", "which"],
        &["which", "--log-level=off"],
    ] {
        prepare(&sandbox, args).output().assert_code(0).assert_stdout(plain.stdout_text());
    }
    prepare(&sandbox, &["which", "--log-level", "loud"]).output().assert_code(2).assert_stdout("");
    // What cannot be obeyed is said.
    let mut sandbox = fakes();
    sandbox.set("AMPLIHACK_LOG", "=x=");
    prepare(&sandbox, &["which"])
        .output()
        .assert_code(0)
        .assert_stderr_has("warning: AMPLIHACK_LOG is ignored");
}

#[test]
fn the_flag_wins_over_the_environment() {
    let mut sandbox = fakes();
    // An unusable context file is warned of.
    sandbox.write("work/.claude/runtime/launcher_context.json", "{");
    prepare(&sandbox, &["which"])
        .output()
        .assert_stderr_has("WARN")
        .assert_stderr_has("launcher context ignored");
    prepare(&sandbox, &["which", "--log-level", "error"]).output().assert_stderr("");
    sandbox.set("AMPLIHACK_LOG", "off");
    prepare(&sandbox, &["which"]).output().assert_stderr("");
    prepare(&sandbox, &["which", "--log-level", "warn"])
        .output()
        .assert_stderr_has("launcher context ignored");
}

#[test]
fn a_file_is_appended_to_as_lines_of_json_for_this_user_alone() {
    let sandbox = fakes();
    sandbox.write("work/.claude/runtime/launcher_context.json", "{");
    let file = sandbox.root().join("log.jsonl");
    for _ in 0..2 {
        prepare(&sandbox, &["which", "--log-file", file.to_str().unwrap()]).output().assert_code(0);
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warned = lines.iter().filter(|line| {
        line["level"] == "warn" && line["target"].as_str().unwrap().starts_with("amplihack_utils")
    });
    assert_eq!(warned.count(), 2, "{text}");
    let none = prepare(&sandbox, &["which", "--log-file", "/nonexistent/x"]).output();
    none.assert_code(1).assert_stdout("").assert_stderr_has("/nonexistent/x");
}

#[test]
fn no_word_of_a_prompt_is_in_diagnostics() {
    let mut sandbox = fakes();
    sandbox.script_for("amplifier", &Script::new().print("Antwortwort\n"));
    for agent in ["amplifier", "claude", "codex", "copilot", "amp"] {
        let file = sandbox.root().join(format!("{agent}.jsonl"));
        let args = [
            agent,
            "--prompt",
            "Geheimwort \u{fffd} und mehr",
            "--log-level",
            "trace",
            "--log-file",
            file.to_str().unwrap(),
        ];
        let output = prepare(&sandbox, &args).output();
        let told = fs::read_to_string(file).unwrap();
        assert!(!told.contains("Geheimwort") && !told.contains("Antwortwort"), "{told}");
        assert!(!output.stderr_text().contains("Geheimwort"), "{output}");
    }
    assert_quiet(&prepare(&sandbox, &["amplifier", "--prompt", "Geheimwort"]).output());
}
