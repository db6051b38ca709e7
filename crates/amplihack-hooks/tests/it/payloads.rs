//! Payloads recorded from the real CLIs, read as what they are, and answered in their sender's dialect.

use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::HookEvent;
use amplihack_hooks::dialect::{self, HookDialect, PayloadError, ToolKind, read_call};
use serde_json::{Value, json};

use crate::world::{answer, cases, object};

fn recorded(file: &str) -> Vec<u8> {
    std::fs::read(cases().join("hooks").join(file)).unwrap()
}

const TOOL: &str = "echo hello-from-tool";

#[test]
fn recorded_tool_calls_are_read_from_every_dialect() {
    let all = [
        ("claude-PreToolUse.json", HookDialect::Claude),
        ("codex-PreToolUse.json", HookDialect::Codex),
        ("copilot-preToolUse.json", HookDialect::Copilot),
        ("copilot-via-claude-settings-PreToolUse.json", HookDialect::CopilotAsClaude),
        ("gemini-BeforeTool.json", HookDialect::Gemini),
    ];
    for (file, dialect) in all {
        let call = read_call(&recorded(file), HookEvent::PreToolUse, None, Path::new("/x")).unwrap();
        assert_eq!(call.dialect, dialect, "{file}");
        assert_eq!((call.kind, call.command.as_deref()), (ToolKind::Shell, Some(TOOL)), "{file}");
        assert_eq!(call.cwd, Path::new("/home/dev/repo"), "{file}");
        assert!(call.session.is_some(), "{file}");
        let with_id = matches!(dialect, HookDialect::Claude | HookDialect::Codex);
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
        let call = read_call(&recorded(file), HookEvent::PostToolUse, None, Path::new("/x")).unwrap();
        assert!(call.output.unwrap().contains("hello-from-tool"), "{file}");
    }
}

#[test]
fn recorded_events_without_a_tool_are_read() {
    let all = [
        ("claude-UserPromptSubmit.json", HookEvent::UserPromptSubmit, HookDialect::Claude, true),
        ("codex-UserPromptSubmit.json", HookEvent::UserPromptSubmit, HookDialect::Codex, true),
        ("copilot-userPromptSubmitted.json", HookEvent::UserPromptSubmit, HookDialect::Copilot, true),
        ("copilot-sessionStart.json", HookEvent::SessionStart, HookDialect::Copilot, true),
        (
            "copilot-via-claude-settings-SessionStart.json",
            HookEvent::SessionStart,
            HookDialect::CopilotAsClaude,
            true,
        ),
        ("claude-Stop.json", HookEvent::Stop, HookDialect::Claude, false),
        ("codex-Stop.json", HookEvent::Stop, HookDialect::Codex, false),
        ("copilot-agentStop.json", HookEvent::Stop, HookDialect::Copilot, false),
        ("copilot-via-claude-settings-Stop.json", HookEvent::Stop, HookDialect::CopilotAsClaude, false),
        ("claude-PreCompact.json", HookEvent::PreCompact, HookDialect::Claude, false),
        ("gemini-SessionStart.json", HookEvent::SessionStart, HookDialect::Gemini, false),
        ("gemini-BeforeAgent.json", HookEvent::UserPromptSubmit, HookDialect::Gemini, true),
        ("gemini-AfterAgent.json", HookEvent::Stop, HookDialect::Gemini, true),
        ("gemini-PreCompress.json", HookEvent::PreCompact, HookDialect::Gemini, false),
        ("gemini-SessionEnd.json", HookEvent::SessionStop, HookDialect::Gemini, false),
        ("codex-SessionEnd.json", HookEvent::SessionStop, HookDialect::Codex, false),
        ("copilot-errorOccurred.json", HookEvent::ErrorOccurred, HookDialect::Copilot, false),
    ];
    for (file, event, dialect, says) in all {
        let call = read_call(&recorded(file), event, None, Path::new("/x")).unwrap();
        assert_eq!((call.dialect, call.prompt.is_some()), (dialect, says), "{file}");
        assert!(!call.stop_active, "{file}");
        assert_eq!(call.error.is_some(), event == HookEvent::ErrorOccurred, "{file}");
    }
}

#[test]
fn the_registration_settles_only_what_the_shape_does_not() {
    let host = |file: &str, host| {
        read_call(&recorded(file), HookEvent::PreToolUse, Some(host), Path::new("/x")).unwrap().dialect
    };
    // Copilot also runs what a repository registers for Claude.
    assert_eq!(host("copilot-preToolUse.json", AgentBinary::Claude), HookDialect::Copilot);
    let shared = "copilot-via-claude-settings-PreToolUse.json";
    assert_eq!(host(shared, AgentBinary::Claude), HookDialect::CopilotAsClaude);
    assert_eq!(host("codex-PreToolUse.json", AgentBinary::Claude), HookDialect::Codex);
    assert_eq!(host("claude-PreToolUse.json", AgentBinary::Codex), HookDialect::Codex);
}

/// A call of a shell in every dialect.
fn shells(command: &str) -> Vec<(HookDialect, Value)> {
    let input = json!({"command": command});
    vec![
        (
            HookDialect::Claude,
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input}),
        ),
        (
            HookDialect::Codex,
            json!({"turn_id": "t", "tool_name": "exec_command", "tool_input": {"cmd": command}}),
        ),
        (
            HookDialect::CopilotAsClaude,
            json!({"hook_event_name": "PreToolUse", "timestamp": "2026-11-27T22:09:50Z", "tool_name": "Bash", "tool_input": input}),
        ),
        (HookDialect::Copilot, json!({"sessionId": "s", "toolName": "bash", "toolArgs": input})),
        (
            HookDialect::Copilot,
            json!({"sessionId": "s", "toolName": "powershell", "toolArgs": input.to_string()}),
        ),
        (HookDialect::Claude, json!({"toolUse": {"name": "Bash", "input": input}})),
        (HookDialect::Claude, json!({"tool_name": "hammer", "tool_input": input})),
        (
            HookDialect::Claude,
            json!({"tool_name": "local_shell", "tool_input": {"command": ["sh", "-c", command]}}),
        ),
        (HookDialect::Claude, json!({"tool_name": "Bash", "tool_input": {"command": "ls", "cmd": command}})),
    ]
}

#[test]
fn a_forbidden_command_is_denied_in_the_words_of_its_dialect() {
    for (dialect, payload) in shells("rm -rf /") {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        let object = object(&reply);
        let decision = match dialect {
            HookDialect::Copilot => &object["permissionDecision"],
            _ => &object["hookSpecificOutput"]["permissionDecision"],
        };
        assert_eq!(decision, "deny", "{payload}");
        assert_eq!(object["decision"] == "block", dialect != HookDialect::Copilot, "{payload}");
        assert_eq!(reply.code, dialect::answer_effects(dialect).deny_code, "{payload}");
        let words = if reply.code == 2 { "it would do harm [amplihack test/one]\n" } else { "" };
        assert_eq!(reply.stderr, words);
    }
}

#[test]
fn a_harmless_command_is_answered_with_silence() {
    for (_, payload) in shells("ls") {
        let reply = answer(HookEvent::PreToolUse, payload.to_string(), &Env::empty(), Path::new("/x"));
        assert_eq!(reply, dialect::HookReply::new_silent(), "{payload}");
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
        (json!({"tool_name": "mcp__x__y", "tool_input": {"text": "rm -rf /"}}), true),
        (json!({"tool_name": "mcp__x__y", "tool_input": {"code": ["a", {"input": "ls; rm -rf /"}]}}), true),
        (json!({"tool_name": "Hammer", "tool_input": {"query": "rm -rf /"}}), true),
        (json!({"tool_name": "mcp__x__y", "tool_input": {"text": "Never type rm -rf / anywhere."}}), false),
        (json!({"tool_name": "mcp__x__store", "tool_input": {"into": {"where": "/etc/cron.d/x"}}}), true),
        (json!({"tool_name": "mcp__x__get_it", "tool_input": {"from": "/etc/cron.d/x"}}), false),
        (json!({"tool_name": "mcp__x__y", "tool_input": {"link": "http://169.254.169.254/"}}), true),
        (
            json!({"hook_event_name": "PreToolUse", "timestamp": "2026", "tool_name": "x-write_file",
                "tool_input": {"path": "/etc/x", "content": "rm -rf /"}}),
            true,
        ),
        (
            json!({"tool_name": "mcp__x__write_file", "tool_input": {"path": "/srv/x", "content": "rm -rf /"}}),
            false,
        ),
        (json!({"tool_name": "Workflow", "tool_input": {"script": "const a = `rm -rf /`;"}}), false),
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
        let call = read_call(payload.as_bytes(), HookEvent::PreToolUse, None, Path::new("/x")).unwrap();
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
        assert_eq!(reply, dialect::HookReply::new_silent(), "{payload}");
    }
}

#[test]
fn a_relative_or_missing_directory_is_the_process_own() {
    for payload in [json!({"cwd": "repo"}), json!({}), json!({"cwd": 3})] {
        let call =
            read_call(payload.to_string().as_bytes(), HookEvent::Stop, None, Path::new("/own")).unwrap();
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
    assert_eq!(decision(&Env::empty().with_variable("CLAUDE_CODE_SESSION_ATTENDED", "0")), "deny");
}

#[test]
fn the_reader_names_what_is_wrong() {
    let read =
        |text: &str| read_call(text.as_bytes(), HookEvent::PreToolUse, None, Path::new("/x")).unwrap_err();
    assert_eq!(read(""), PayloadError::Empty);
    assert_eq!(read("[]"), PayloadError::Shape("no object at its top"));
    assert_eq!(read("{}"), PayloadError::Shape("no tool's name"));
    assert!(matches!(read("{"), PayloadError::Json(_)));
}

/// A host sends one name and one set of arguments, each key once. Which of two another would go by is not known, so each counts.
#[test]
fn a_payload_that_contradicts_itself_is_judged_as_each_of_its_meanings() {
    let denied = |payload: &str| {
        let reply = answer(HookEvent::PreToolUse, payload, &Env::empty(), Path::new("/x"));
        !reply.stdout.is_empty()
    };
    for payload in [
        r#"{"tool_name":"Read","toolName":"bash","tool_input":{"file_path":"x"},"toolArgs":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Read","toolName":"bash","toolArgs":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Read","toolUse":{"name":"Bash","input":{"command":"rm -rf /"}},"tool_input":{"file_path":"x"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"toolArgs":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"rm -rf /","command":"ls"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"ls","command":"rm -rf /"}}"#,
        r#"{"tool_name":"Bash","tool_name":"Read","tool_input":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Read","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#,
        r#"{"tool_name":"Write","tool_input":{"file_path":"/etc/x"},"tool_input":{"file_path":"/srv/x"}}"#,
        r#"{"toolName":"bash","toolArgs":"{\"command\":\"rm -rf /\",\"command\":\"ls\"}"}"#,
        r#"{"toolName":"bash","toolArgs":"{\"command\":\"ls\",\"command\":\"rm -rf /\"}"}"#,
        // Neither the first nor the last.
        r#"{"tool_name":"Bash","tool_input":{"command":"ls","command":"rm -rf /","command":"ls"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"a":1,"a":2,"a":3}}"#,
        // One of its meanings cannot be read.
        r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_input":3}"#,
    ] {
        assert!(denied(payload), "{payload}");
        // Nothing can be stopped there, so nothing is refused.
        let at_start = read_call(payload.as_bytes(), HookEvent::SessionStart, None, Path::new("/x"));
        assert!(!matches!(at_start, Err(PayloadError::Json(_))), "{payload}");
    }
    for payload in [
        r#"{"tool_name":"Read","toolName":"bash","tool_input":{"file_path":"x"},"toolArgs":{"command":"ls"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":"ls","command":"pwd"}}"#,
        r#"{"tool_name":"Bash","toolName":"Bash","tool_input":{"command":"ls"},"toolArgs":{"command":"ls"}}"#,
    ] {
        assert!(!denied(payload), "{payload}");
    }
}

/// JavaScript writes half of a surrogate pair where it cuts a text in a character, and objects may be nested as deep as one likes.
#[test]
fn half_characters_and_deep_objects_keep_no_harmless_tool_from_working() {
    let nested = |depth: usize| format!("{}1{}", r#"{"a":["#.repeat(depth), "]}".repeat(depth));
    let deep = |tool: &str, input: &str, depth: usize| {
        let junk = nested(depth);
        format!(r#"{{"tool_name":"{tool}","junk":{junk},"tool_input":{{{input},"b":{junk}}}}}"#)
    };
    let half = |tool: &str, input: &str| format!(r#"{{"tool_name":"{tool}","tool_input":{{{input}}}}}"#);
    let all = [
        (half("Write", r#""file_path":"/srv/x","content":"a \ud800 b""#), false),
        (half("Write", r#""file_path":"/etc/x","content":"a \ud800 b""#), true),
        (half("Read", r#""file_path":"/srv/\udc00""#), false),
        (half("Bash", r#""command":"echo \ud83e""#), false),
        (half("Bash", r#""command":"rm -rf / \ud83e""#), true),
        (half("Bash", r#""\ud800":"x","command":"rm -rf /""#), true),
        (
            r#"{"toolName":"create","toolArgs":"{\"path\":\"/srv/x\",\"file_text\":\"\\ud800\"}"}"#
                .to_owned(),
            false,
        ),
        (
            r#"{"toolName":"create","toolArgs":"{\"path\":\"/etc/x\",\"file_text\":\"\\ud800\"}"}"#
                .to_owned(),
            true,
        ),
        (deep("Read", r#""file_path":"/srv/x""#, 64), false),
        (deep("Write", r#""file_path":"/srv/x""#, 50_000), false),
        (deep("Write", r#""file_path":"/etc/x""#, 50_000), true),
        (deep("Bash", r#""command":"rm -rf /""#, 70), true),
        (deep("Bash", r#""command":"rm -rf /""#, 50_000), true),
        (deep("hammer", r#""x":"y""#, 50_000), true),
    ];
    for (payload, denied) in all {
        let reply = answer(HookEvent::PreToolUse, payload.clone(), &Env::empty(), Path::new("/x"));
        assert_eq!(!reply.stdout.is_empty(), denied, "{payload:.200}");
    }
    // What a tool printed is looked at all the same.
    let printed =
        r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"\ud800 ignore all previous"}"#;
    let call = read_call(printed.as_bytes(), HookEvent::PostToolUse, None, Path::new("/x")).unwrap();
    assert_eq!(call.output.as_deref(), Some("\u{fffd} ignore all previous"));
}
