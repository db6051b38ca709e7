//! The contract of the XPIA hook: the seed's answers, with a stand-in for the external defender.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use amplihack_config::env::Env;
use amplihack_hooks::xpia;
use serde_json::{Value, json};

use crate::world::{Remembers, object, plane, rows};

/// Makes a program of a row's Python: print a text, wait, end with a code.
fn stand_in(directory: &Path, script: &str, mode: u32) -> std::path::PathBuf {
    let between = |from: &str, to: &str| {
        let rest = script.split_once(from)?.1;
        Some(rest.split_once(to)?.0.to_owned())
    };
    let printed = between("sys.stdout.write('", "'); sys.exit").unwrap().replace("\\n", "\n");
    let code = between("sys.exit(", ")").unwrap();
    let seconds = between("time.sleep(", ")").unwrap_or_else(|| "0".to_owned());
    std::fs::write(directory.join("printed"), printed).unwrap();
    let path = directory.join("xpia-defend");
    let place = directory.display();
    let program = format!(
        "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done >{place}/argv\nsleep {seconds}\ncat {place}/printed\nexit {code}\n"
    );
    std::fs::write(&path, program).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn the_cases_of_the_contract_hold() {
    let rows = rows("xpia_hook_contract.jsonl");
    assert_eq!(rows.len(), 33);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mode = if name.starts_with("world_writable") { 0o777 } else { 0o755 };
        let defender = match row["xpia_defend"].as_str() {
            Some(script) => stand_in(directory.path(), script, mode),
            None => directory.path().join("missing"),
        };
        let env = Env::empty().with_variable(xpia::DEFEND_PATH, defender);
        let audit = Remembers { fails: name == "log_dir_blocked", ..Remembers::default() };
        let payload = match row["argv"].as_array() {
            Some(words) => words[0].as_str().unwrap().to_owned(),
            // The row's own text is cut short.
            None if name == "command_huge_200k" => {
                let command = format!("echo {}", "A".repeat(200_000));
                json!({"tool_name": "Bash", "tool_input": {"command": command}}).to_string()
            }
            None => row["stdin"].as_str().unwrap().to_owned(),
        };
        let reply = xpia::answer_xpia(Ok(payload.into_bytes()), &plane(&audit, &env, Path::new("/x")));
        assert_eq!(reply.code, 0, "{name}");
        let seen = object(&reply);
        let wish = row["users_want"].as_str();
        let denied = match wish {
            // The seed's hook looked at commands alone; here every tool is judged.
            None if name == "non_bash_tool_write_ignored" => true,
            // The decision stands when it cannot be written down.
            Some(_) if name == "log_dir_blocked" => false,
            Some(_) => true,
            None => row["expected"]["permissionDecision"] == "deny",
        };
        if denied {
            assert_eq!(seen["permissionDecision"], "deny", "{name}: {seen}");
            assert_eq!(seen["permissionDecisionReason"], seen["message"], "{name}");
            assert!(
                seen["message"].as_str().unwrap().starts_with("\u{1f6ab} XPIA Security"),
                "{name}: {seen}"
            );
        } else {
            assert_eq!(seen, json!({}), "{name}");
        }
        if [
            "deny_valid_but_high",
            "deny_critical",
            "binary_missing",
            "binary_empty_object",
            "binary_missing_risk_level",
        ]
        .contains(&name)
        {
            assert_eq!(seen["message"], row["expected"]["message"], "{name}");
        }
        assert_eq!(reply.stderr.contains("audit"), name == "log_dir_blocked", "{name}: {}", reply.stderr);
        // A list of words is a command here, and is judged as one.
        if wish.is_none() && !["command_list", "non_bash_tool_write_ignored"].contains(&name) {
            let expected: Vec<&str> = row["audit_events"]
                .as_array()
                .unwrap()
                .iter()
                .map(|event| event["event_type"].as_str().unwrap())
                .collect();
            assert_eq!(*audit.types.borrow(), expected, "{name}");
        }
        if let Some(argv) = row["defend_argv"][0].as_array().filter(|_| wish.is_none()) {
            let asked = std::fs::read_to_string(directory.path().join("argv")).unwrap();
            let argv: Vec<&str> = argv.iter().map(|word| word.as_str().unwrap()).collect();
            assert_eq!(asked.lines().collect::<Vec<_>>(), argv, "{name}");
        }
    }
}

#[test]
fn without_a_defender_the_policy_alone_decides() {
    let ask = |command: &str| {
        let payload = json!({"toolName": "bash", "toolArgs": {"command": command}}).to_string();
        let audit = Remembers::default();
        object(&xpia::answer_xpia(Ok(payload.into_bytes()), &plane(&audit, &Env::empty(), Path::new("/x"))))
    };
    assert_eq!(ask("pwd"), json!({}));
    assert_eq!(ask("sudo id")["permissionDecision"], "ask");
    let seen = ask("rm -rf /");
    assert_eq!(seen["permissionDecision"], "deny");
    assert_eq!(seen["message"], "\u{1f6ab} XPIA Security Block (Rust): it would do harm");
}

#[test]
fn every_tool_is_judged_and_a_defender_is_asked_about_commands_only() {
    let directory = tempfile::tempdir().unwrap();
    let asked = "sys.stdout.write('{\"is_valid\": false, \"risk_level\": \"high\"}'); sys.exit(1)";
    let env = Env::empty().with_variable(xpia::DEFEND_PATH, stand_in(directory.path(), asked, 0o755));
    for (tool, input, denied) in [
        ("WebFetch", json!({"url": "http://169.254.169.254/", "prompt": "x"}), true),
        ("WebFetch", json!({"url": "https://example.com/", "prompt": "x"}), false),
        ("Write", json!({"file_path": "/etc/passwd", "content": "x"}), true),
        ("Write", json!({"file_path": "/x/y", "content": "x"}), false),
        ("Bash", json!({"command": "ls"}), true),
        ("Bash", json!({}), false),
    ] {
        let payload = json!({"tool_name": tool, "tool_input": input}).to_string();
        let audit = Remembers::default();
        let reply =
            xpia::answer_xpia(Ok(payload.clone().into_bytes()), &plane(&audit, &env, Path::new("/x")));
        let seen = object(&reply);
        assert_eq!(seen["permissionDecision"] == "deny", denied, "{payload}: {seen}");
        assert_eq!(seen == json!({}), !denied, "{payload}: {seen}");
        assert_eq!(audit.types.borrow().len(), usize::from(denied), "{payload}");
        assert_eq!(reply.code, 0);
    }
}

#[test]
fn a_defender_never_lifts_the_policys_deny() {
    let directory = tempfile::tempdir().unwrap();
    let valid = "sys.stdout.write('{\"is_valid\": true, \"risk_level\": \"none\"}'); sys.exit(0)";
    let env = Env::empty().with_variable(xpia::DEFEND_PATH, stand_in(directory.path(), valid, 0o755));
    let payload: Value = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}});
    let audit = Remembers::default();
    let reply =
        xpia::answer_xpia(Ok(payload.to_string().into_bytes()), &plane(&audit, &env, Path::new("/x")));
    assert_eq!(object(&reply)["permissionDecision"], "deny");
}
