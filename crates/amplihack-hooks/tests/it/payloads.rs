//! Payloads recorded from the real CLIs, read as what they are, and answered in their sender's dialect.

use std::path::Path;

use amplihack_hooks::HookEvent;
use amplihack_hooks::dialect::{self, Bad, Dialect, Kind, read};
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use crate::world::{answer, cases, object};

fn recorded(file: &str) -> Vec<u8> {
    std::fs::read(cases().join("hooks").join(file)).unwrap()
}

const TOOL: &str = "echo hello-from-tool";

#[test]
fn recorded_tool_calls_are_read_from_every_dialect() {
    let all = [
        ("claude-PreToolUse.json", Dialect::Claude),
        ("codex-PreToolUse.json", Dialect::Codex),
        ("copilot-preToolUse.json", Dialect::Copilot),
        ("copilot-via-claude-settings-PreToolUse.json", Dialect::CopilotAsClaude),
        ("gemini-BeforeTool.json", Dialect::Gemini),
    ];
    for (file, dialect) in all {
        let call = read(&recorded(file), HookEvent::PreToolUse, None, Path::new("/x")).unwrap();
        assert_eq!(call.dialect, dialect, "{file}");
        assert_eq!((call.kind, call.command.as_deref()), (Kind::Shell, Some(TOOL)), "{file}");
        assert_eq!(call.cwd, Path::new("/home/dev/repo"), "{file}");
        assert!(call.session.is_some(), "{file}");
        let with_id = matches!(dialect, Dialect::Claude | Dialect::Codex);
        assert_eq!(call.call_id.is_some(), with_id, "{file}");
    }
}

#[test]
fn recorded_outputs_hold_what_the_tool_printed() {
    for file in [
        "claude-PostToolUse.json",
        "codex-PostToolUse.json",
        "copilot-postToolUse.json",
        "copilot-via-claude-settings-PostToolUse.json",
    ] {
        let call = read(&recorded(file), HookEvent::PostToolUse, None, Path::new("/x")).unwrap();
        assert!(call.output.unwrap().contains("hello-from-tool"), "{file}");
    }
}

#[test]
fn recorded_events_without_a_tool_are_read() {
    let all = [
        ("claude-UserPromptSubmit.json", HookEvent::UserPromptSubmit, Dialect::Claude, true),
        ("codex-UserPromptSubmit.json", HookEvent::UserPromptSubmit, Dialect::Codex, true),
        ("copilot-userPromptSubmitted.json", HookEvent::UserPromptSubmit, Dialect::Copilot, true),
        ("copilot-sessionStart.json", HookEvent::SessionStart, Dialect::Copilot, true),
        (
            "copilot-via-claude-settings-SessionStart.json",
            HookEvent::SessionStart,
            Dialect::CopilotAsClaude,
            true,
        ),
        ("claude-Stop.json", HookEvent::Stop, Dialect::Claude, false),
        ("codex-Stop.json", HookEvent::Stop, Dialect::Codex, false),
        ("copilot-agentStop.json", HookEvent::Stop, Dialect::Copilot, false),
        ("copilot-via-claude-settings-Stop.json", HookEvent::Stop, Dialect::CopilotAsClaude, false),
        ("claude-PreCompact.json", HookEvent::PreCompact, Dialect::Claude, false),
        ("gemini-SessionStart.json", HookEvent::SessionStart, Dialect::Gemini, false),
        ("gemini-BeforeAgent.json", HookEvent::UserPromptSubmit, Dialect::Gemini, true),
        ("gemini-AfterAgent.json", HookEvent::Stop, Dialect::Gemini, true),
        ("gemini-PreCompress.json", HookEvent::PreCompact, Dialect::Gemini, false),
        ("gemini-SessionEnd.json", HookEvent::SessionStop, Dialect::Gemini, false),
        ("codex-SessionEnd.json", HookEvent::SessionStop, Dialect::Codex, false),
        ("copilot-errorOccurred.json", HookEvent::ErrorOccurred, Dialect::Copilot, false),
    ];
    for (file, event, dialect, says) in all {
        let call = read(&recorded(file), event, None, Path::new("/x")).unwrap();
        assert_eq!((call.dialect, call.prompt.is_some()), (dialect, says), "{file}");
        assert!(!call.stop_active, "{file}");
        assert_eq!(call.error.is_some(), event == HookEvent::ErrorOccurred, "{file}");
    }
}

#[test]
fn the_registration_settles_only_what_the_shape_does_not() {
    let host = |file: &str, host| {
        read(&recorded(file), HookEvent::PreToolUse, Some(host), Path::new("/x")).unwrap().dialect
    };
    // Copilot also runs what a repository registers for Claude.
    assert_eq!(host("copilot-preToolUse.json", AgentBinary::Claude), Dialect::Copilot);
    let shared = "copilot-via-claude-settings-PreToolUse.json";
    assert_eq!(host(shared, AgentBinary::Claude), Dialect::CopilotAsClaude);
    assert_eq!(host("codex-PreToolUse.json", AgentBinary::Claude), Dialect::Codex);
    assert_eq!(host("claude-PreToolUse.json", AgentBinary::Codex), Dialect::Codex);
}

/// A call of a shell in every dialect.
fn shells(command: &str) -> Vec<(Dialect, Value)> {
    let input = json!({"command": command});
    vec![
        (Dialect::Claude, json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input})),
        (
            Dialect::Codex,
            json!({"turn_id": "t", "tool_name": "exec_command", "tool_input": {"cmd": command}}),
        ),
        (
            Dialect::CopilotAsClaude,
            json!({"hook_event_name": "PreToolUse", "timestamp": "2026-11-27T22:09:50Z", "tool_name": "Bash", "tool_input": input}),
        ),
        (Dialect::Copilot, json!({"sessionId": "s", "toolName": "bash", "toolArgs": input})),
        (
            Dialect::Copilot,
            json!({"sessionId": "s", "toolName": "powershell", "toolArgs": input.to_string()}),
        ),
        (Dialect::Claude, json!({"toolUse": {"name": "Bash", "input": input}})),
        (Dialect::Claude, json!({"tool_name": "hammer", "tool_input": input})),
        (
            Dialect::Claude,
            json!({"tool_name": "local_shell", "tool_input": {"command": ["sh", "-c", command]}}),
        ),
        (Dialect::Claude, json!({"tool_name": "Bash", "tool_input": {"command": "ls", "cmd": command}})),
    ]
}

#[test]
fn a_forbidden_command_is_denied_in_the_words_of_its_dialect() {
    for (dialect, payload) in shells("rm -rf /") {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        let object = object(&reply);
        let decision = match dialect {
            Dialect::Copilot => &object["permissionDecision"],
            _ => &object["hookSpecificOutput"]["permissionDecision"],
        };
        assert_eq!(decision, "deny", "{payload}");
        assert_eq!(object["decision"] == "block", dialect != Dialect::Copilot, "{payload}");
        assert_eq!(reply.code, dialect::table(dialect).deny_code, "{payload}");
        let words = if reply.code == 2 { "it would do harm [amplihack test/one]\n" } else { "" };
        assert_eq!(reply.stderr, words);
    }
}

#[test]
fn a_harmless_command_is_answered_with_silence() {
    for (_, payload) in shells("ls") {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        assert_eq!(reply, dialect::Reply::silence(), "{payload}");
    }
}

#[test]
fn files_and_addresses_are_judged_too() {
    let calls = [
        (json!({"tool_name": "Write", "tool_input": {"file_path": "/etc/cron.d/x"}}), true),
        (json!({"tool_name": "Write", "tool_input": {"file_path": "/srv/x"}}), false),
        (json!({"tool_name": "Read", "tool_input": {"file_path": "/etc/passwd"}}), false),
        (json!({"toolName": "create", "toolArgs": {"path": "/etc/x"}}), true),
        (
            json!({"turn_id": "t", "tool_name": "apply_patch",
                "tool_input": {"command": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: /etc/hosts\n*** End Patch"}}),
            true,
        ),
        (
            json!({"turn_id": "t", "tool_name": "apply_patch", "tool_input": "*** Update File: /etc/hosts"}),
            true,
        ),
        (json!({"tool_name": "WebFetch", "tool_input": {"url": "http://169.254.169.254/"}}), true),
        (json!({"tool_name": "mcp__x__y", "tool_input": {"command": "rm -rf /"}}), true),
        (json!({"tool_name": "mcp__x__y", "tool_input": {"text": "rm -rf /"}}), false),
    ];
    for (payload, denied) in calls {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        assert_eq!(!reply.stdout.is_empty(), denied, "{payload}");
    }
}

/// Gemini names places and files of a search in fields of its own, and fetches what stands in a text, in any letter case.
#[test]
fn what_gemini_searches_and_fetches_is_seen() {
    let seen = |tool: &str, input: Value| {
        let payload = json!({
            "transcript_path": "/home/u/.gemini/tmp/x.json", "cwd": "/repo",
            "hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": input,
        });
        let payload = payload.to_string();
        let call = read(payload.as_bytes(), HookEvent::PreToolUse, None, Path::new("/x")).unwrap();
        let paths = call.paths.iter().map(|path| path.to_str().unwrap().to_owned());
        paths.chain(call.urls).collect::<Vec<_>>()
    };
    let all = [
        (
            "read_many_files",
            json!({"include": ["/h/.ssh/id_rsa", "**/.env"]}),
            &["/h/.ssh/id_rsa", "**/.env"][..],
        ),
        ("grep_search", json!({"pattern": "x", "dir_path": "/h/.ssh"}), &["/h/.ssh"]),
        (
            "grep_search",
            json!({"pattern": "x", "dir_path": "/h", "include_pattern": ".ssh/id"}),
            &["/h", "/h/.ssh/id"],
        ),
        ("glob", json!({"pattern": "*"}), &[]),
        ("web_fetch", json!({"prompt": "read HTTP://10.0.0.1/x"}), &["HTTP://10.0.0.1/x"]),
        (
            "web_fetch",
            json!({"prompt": "read\u{a0}http://10.0.0.1/", "url": "https://docs.rs"}),
            &["https://docs.rs", "http://10.0.0.1/"],
        ),
    ];
    for (tool, input, expected) in all {
        assert_eq!(seen(tool, input.clone()), expected, "{tool} {input}");
    }
}

#[test]
fn what_a_guard_cannot_read_it_denies_and_other_events_pass_over() {
    let deep = format!("{{\"tool_name\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let bad: Vec<Vec<u8>> = [
        "",
        "  \n",
        "no JSON",
        "[]",
        "3",
        "{}",
        "{\"tool_name\":\"\"}",
        "{\"tool_name\":[1]}",
        "{\"tool_name\":\"Bash\"}",
        "{\"tool_name\":\"Bash\",\"tool_input\":null}",
        "{\"tool_name\":\"Bash\",\"tool_input\":[]}",
        "{\"tool_name\":\"Bash\",\"tool_input\":\"rm -rf /\"}",
        "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":{}}}",
        "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":[1]}}",
        "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}} trailing",
        &deep,
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([b"{\"tool_name\":\"B\xff\"}".to_vec(), vec![b' '; dialect::MAX_PAYLOAD + 1]])
    .collect();
    for payload in bad {
        let shown = String::from_utf8_lossy(&payload[..payload.len().min(80)]).into_owned();
        let reply = answer(HookEvent::PreToolUse, payload.clone(), &Env::empty(), Path::new("/x"));
        let object = object(&reply);
        assert_eq!(object["hookSpecificOutput"]["permissionDecision"], "deny", "{shown}");
        assert_eq!((object["decision"].as_str(), reply.code), (Some("block"), 2), "{shown}");
        for event in [HookEvent::Stop, HookEvent::SessionStart, HookEvent::PreCompact] {
            let reply = answer(event, payload.clone(), &Env::empty(), Path::new("/x"));
            assert_eq!((reply.stdout.len(), reply.code), (0, 0), "{event} {shown}");
        }
    }
}

#[test]
fn a_shell_call_without_a_command_is_nothing() {
    for input in [json!({}), json!({"command": ""}), json!({"command": null}), json!({"description": "x"})] {
        let payload = json!({"tool_name": "Bash", "tool_input": input});
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        assert_eq!(reply, dialect::Reply::silence(), "{payload}");
    }
}

#[test]
fn a_relative_or_missing_directory_is_the_process_own() {
    for payload in [json!({"cwd": "repo"}), json!({}), json!({"cwd": 3})] {
        let call = read(payload.to_string().as_bytes(), HookEvent::Stop, None, Path::new("/own")).unwrap();
        assert_eq!(call.cwd, Path::new("/own"));
    }
}

#[test]
fn ask_reaches_a_person_only_where_there_is_one() {
    let payload =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "sudo id"}});
    let decision = |env: &Env| {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), env, Path::new("/x"));
        object(&reply)["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(decision(&Env::empty()), "ask");
    assert_eq!(decision(&Env::empty().with("CLAUDE_CODE_SESSION_ATTENDED", "0")), "deny");
}

#[test]
fn the_reader_names_what_is_wrong() {
    let read = |text: &str| read(text.as_bytes(), HookEvent::PreToolUse, None, Path::new("/x")).unwrap_err();
    assert_eq!(read(""), Bad::Empty);
    assert_eq!(read("[]"), Bad::Shape("no object at its top"));
    assert_eq!(read("{}"), Bad::Shape("no tool's name"));
    assert!(matches!(read("{"), Bad::Json(_)));
}

/// A host sends one name and one set of arguments, each key once: which of two a host goes by is not known.
#[test]
fn a_payload_that_contradicts_itself_is_no_payload() {
    for payload in [
        r#"{"tool_name":"Read","toolName":"bash","tool_input":{"file_path":"x"},"toolArgs":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Read","toolName":"bash","toolArgs":{"command":"ls"}}"#,
        r#"{"tool_name":"Bash","toolUse":{"name":"Read","input":{"command":"ls"}}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"toolArgs":{"command":"pwd"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"rm -rf /","command":"ls"}}"#,
        r#"{"tool_name":"Bash","tool_name":"Read","tool_input":{"command":"ls"}}"#,
        r#"{"toolName":"bash","toolArgs":"{\"command\":\"rm -rf /\",\"command\":\"ls\"}"}"#,
    ] {
        let at = |event| read(payload.as_bytes(), event, None, Path::new("/x"));
        assert!(matches!(at(HookEvent::PreToolUse), Err(Bad::Shape(_))), "{payload}");
        // Nothing can be stopped there, so nothing is refused.
        assert!(!matches!(at(HookEvent::SessionStart), Err(Bad::Json(_))), "{payload}");
    }
    let same =
        r#"{"tool_name":"Bash","toolName":"Bash","tool_input":{"command":"ls"},"toolArgs":{"command":"ls"}}"#;
    let call = read(same.as_bytes(), HookEvent::PreToolUse, None, Path::new("/x")).unwrap();
    assert_eq!(call.command.as_deref(), Some("ls"));
}
