//! `amplihack audit`: showing entries, and following the chain.

use amplihack_audit::{AuditData, AuditEntry, AuditLogWriter, EventType};
use amplihack_testkit::{Run, Sandbox};
use amplihack_verdict::Decision;
use serde_json::json;

use crate::scene::shown;
use crate::world::{amplihack, prepare, run};

const LOGS: &str = "home/.claude/logs/xpia";

/// Two days of audit.
fn written() -> Sandbox {
    let sandbox = Sandbox::new();
    let dir = sandbox.root().join(LOGS);
    for (day, decision, command) in [
        ("2026-01-30", Decision::None, "ls"),
        ("2026-01-30", Decision::Deny, "rm -rf /"),
        ("2026-01-31", Decision::Ask, "git stash drop\u{1b}[2J"),
    ] {
        let time: jiff::civil::DateTime = format!("{day}T10:11:12").parse().unwrap();
        let mut entry = AuditEntry::new(time, EventType::PreToolValidation, decision);
        entry.data = AuditData {
            command: Some(command.to_owned()),
            tool: Some("Bash".to_owned()),
            ..AuditData::default()
        };
        entry.host = Some("claude".to_owned());
        entry.cwd = Some("/w".to_owned());
        entry.rule = (decision > Decision::None).then(|| "pack/rule".to_owned());
        AuditLogWriter::open(&dir, time.date()).unwrap().append_entry(&entry).unwrap();
    }
    sandbox
}

#[test]
fn entries_are_shown_oldest_first() {
    let sandbox = written();
    insta::assert_snapshot!(shown(&sandbox, run(&sandbox, &["audit", "show"]).assert_code(0)));
    let count = |args: &[&str]| {
        let list = run(&sandbox, &[&["audit", "show", "--json"], args].concat()).assert_code(0).json();
        list.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["decision"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(count(&[]), ["none", "deny", "ask"]);
    assert_eq!(count(&["--since", "2026-01-31"]), ["ask"]);
    assert_eq!(count(&["--limit", "2"]), ["deny", "ask"]);
    assert_eq!(count(&["--limit", "0"]), [""; 0]);
    assert_eq!(count(&["--decision", "deny"]), ["deny"]);
    assert_eq!(count(&["--decision", "ask"]), ["deny", "ask"]);
    run(&sandbox, &["audit", "show", "--since", "yesterday"]).assert_code(2);
    let none = run(&Sandbox::new(), &["audit", "show"]);
    none.assert_code(0).assert_stdout("").assert_stderr_has("no audit entry matches");
}

#[test]
fn a_denied_call_is_shown_with_its_reason() {
    let sandbox = Sandbox::new();
    let call = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#;
    prepare(&sandbox, &["hook", "pre-tool-use", "--host", "claude"]).stdin(call).output();
    let text = run(&sandbox, &["audit", "show"]).assert_code(0).stdout_text();
    let (head, reason) = text.split_once('\n').unwrap();
    assert!(head.contains(" deny  guards/cwd-delete claude Bash: rm -rf / (in "), "{text}");
    assert!(reason.starts_with("    reason: would remove "), "{text}");
    let entry = run(&sandbox, &["audit", "show", "--json"]).assert_code(0).json()[0].clone();
    assert!(entry["data"]["reason"].as_str().unwrap().starts_with("would remove "), "{entry:#}");
    assert_eq!(entry["data"]["stopped_call"].as_str().map(str::len), Some(8), "{entry:#}");
    // No session runs that could be told to let it through.
    assert!(entry["allow_once"].is_null() && !text.contains("allow it once"), "{text}");
}

#[test]
fn entries_can_be_followed() {
    let sandbox = written();
    let dir = sandbox.root().join(LOGS);
    let append = |command: &str, decision| {
        let time: jiff::civil::DateTime = "2026-02-01T00:00:01".parse().unwrap();
        let mut entry = AuditEntry::new(time, EventType::PreToolValidation, decision);
        entry.data.command = Some(command.to_owned());
        AuditLogWriter::open(&dir, time.date()).unwrap().append_entry(&entry).unwrap();
    };
    let mut following = prepare(&sandbox, &["audit", "show", "--follow", "--limit", "1"]).spawn();
    following.until_stdout_has("git stash drop");
    append("sudo reboot", Decision::Deny);
    following.until_stdout_has("sudo reboot");
    following.signal(rustix::process::Signal::TERM);
    following.wait().assert_nowhere("rm -rf");
    let args = ["audit", "show", "--follow", "--json", "--decision", "deny", "--limit", "1"];
    let mut following = prepare(&sandbox, &args).spawn();
    following.until_stdout_has("sudo reboot");
    append("ls", Decision::None);
    append("mkfs /dev/sda", Decision::Deny);
    following.until_stdout_has("mkfs");
    following.signal(rustix::process::Signal::TERM);
    let line = following.wait().stdout_text();
    assert!(line.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{line}");
    assert!(!line.contains("\"ls\""), "{line}");
}

#[test]
fn who_follows_for_a_closed_reader_ends_although_nothing_happens() {
    let sandbox = written();
    let mut command = sandbox.command("/bin/bash");
    let line = "\"$0\" audit show --follow --limit 1 | head -n 1; echo \"${PIPESTATUS[0]}\"";
    command.args(["-c", line]).arg(amplihack());
    // The runner of the tests ends what hangs.
    Run::new(command)
        .output()
        .assert_code(0)
        .assert_stderr("")
        .assert_stdout_has("git stash drop")
        .assert_stdout_has("\n0\n");
}

#[test]
fn a_whole_chain_is_whole_and_a_broken_one_is_named() {
    let sandbox = written();
    run(&sandbox, &["audit", "verify"])
        .assert_code(0)
        .assert_stdout("2 files, 3 lines: the chain is intact\n");
    let (first, second) = (
        sandbox.root().join(LOGS).join("rust_security_20260130.log"),
        sandbox.root().join(LOGS).join("rust_security_20260131.log"),
    );
    let text = std::fs::read_to_string(&first).unwrap();
    // A writer that was killed within its line.
    std::fs::write(&second, std::fs::read_to_string(&second).unwrap() + "{\"timestamp\":\"2026-01-3")
        .unwrap();
    insta::assert_snapshot!("torn", shown(&sandbox, run(&sandbox, &["audit", "verify"]).assert_code(0)));
    run(&sandbox, &["audit", "show"]).assert_code(0);
    // The second file alone continues one that was not named.
    run(&sandbox, &["audit", "verify", second.to_str().unwrap()])
        .assert_code(0)
        .assert_stdout_has("continues one that is missing here");
    std::fs::write(&first, text.replacen("\"ls\"", "\"id\"", 1)).unwrap();
    insta::assert_snapshot!("broken", shown(&sandbox, run(&sandbox, &["audit", "verify"]).assert_code(1)));
    let report = run(&sandbox, &["audit", "verify", "--json"]).assert_code(1).json();
    assert_eq!((&report["whole"], &report["broken"]["line"]), (&json!(false), &json!(2)));
    run(&sandbox, &["audit", "verify", "missing"]).assert_code(1).assert_stderr_has("audit log missing: ");
    run(&Sandbox::new(), &["audit", "verify"])
        .assert_code(0)
        .assert_stdout("0 files, 0 lines: the chain is intact\n");
}
