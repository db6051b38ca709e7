//! Amp's settings and permission rules, what its commands answer, and servers that are put into its settings.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use amp_sdk::mcp::blocking as mcp;
use amp_sdk::permissions::{self, PermissionRules, in_settings, never_matches};
use amp_sdk::threads::blocking as threads;
use amp_sdk::{AmpContext, McpConfig, Options, Permission};
use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use serde_json::{Map, Value};

const DICTIONARY: &[&str] = &[
    "\"tool\":",
    "\"Bash\"",
    "\"*\"",
    "\"action\":",
    "\"allow\"",
    "\"reject\"",
    "\"ask\"",
    "\"delegate\"",
    "\"to\":",
    "\"matches\":{",
    "\"cmd\":",
    "\"context\":",
    "\"thread\"",
    "\"message\":",
    "/(a+)+$/",
    "/^(?:a|a)*b/",
    "/[^]*x/",
    "/\\u{61}/",
    "/(?<n>a)\\k<n>/",
    "/(?=a)/",
    "*",
    "{a,b}",
    "{1..9}",
    "[a-z]",
    "[!a]",
    "?",
    "\\\\",
    "mcp__*",
    "\"amp.permissions\":[",
    "\"amp.mcpServers\":{",
    "\"command\":",
    "\"url\":\"https://h\"",
    "\"headers\":{",
    "\"env\":{",
    "\"args\":[",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "T-01234567-89ab-cdef-0123-456789abcdef",
    "Title  Last Updated  Visibility\n",
    "─────  ────\n",
    "5m ago",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::each_line(&[
        "amp-sdk/tests/cases/permissions_oracle.jsonl",
        "amp-sdk/tests/cases/settings_cases.jsonl",
    ]);
    begin.truncate(400);
    begin.extend(
        seeds::each_line(&["amp-sdk/tests/cases/permissions_recorded.jsonl"]).into_iter().step_by(10),
    );
    begin.extend(seeds::whole(&[
        "amp-sdk/tests/cases/mcp_list_json.stdout",
        "amp-sdk/tests/cases/threads_list.stdout",
        "amp-sdk/tests/cases/threads_list_json.stdout",
    ]));
    begin.extend(seeds::texts(&["{\n  // mine\n  \"amp.permissions\": [{\"tool\": \"Bash\", \"action\": \"allow\", \"matches\": {\"cmd\": [\"git *\", \"/^ls/\"]}}],\n  \"amp.mcpServers\": {\"fs\": {\"command\": \"npx\", \"args\": [\"x\"]}},\n}\n"]));
    let target = Target {
        name: "amp_rules",
        seeds: begin,
        dictionary: words::json_and(DICTIONARY),
        longest: 16 << 10,
        most: |len| linear(300, 100, len),
    };
    let scratch = Scratch::new();
    let program = scratch.write("amp", b"#!/bin/sh\nexec cat \"${0%/*}/answer\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it can be made a program");
    let options = Options::default()
        .with_cli_path(program)
        .with_cli_version(amp_sdk::version::newest_known())
        .with_cwd(scratch.path());
    let amp = AmpContext::from(options);
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let file = scratch.write("settings.json", bytes);
        let settings = in_settings(&file);
        if let Ok(value) = &settings {
            rules(value, &text);
        }
        if let Ok(case) = serde_json::from_slice::<Value>(bytes) {
            rules(&case["rules"], &text);
            rules(&case, &text);
        }
        let _ = never_matches(&text);
        let _ = McpConfig::Json(text.clone().into_owned()).validate();
        // A process for each would leave no time for anything else.
        if bytes.len() % 61 == 0 {
            scratch.write("answer", bytes);
            let _ = (threads::list(&amp, &amp_sdk::threads::ThreadListOptions::default()), mcp::list(&amp));
            let _ = permissions::blocking::list(&amp, &permissions::PermissionListOptions::default());
            let _ = permissions::blocking::test(&amp, "Bash", &permissions::PermissionTestCall::default());
        }
    })
}

/// Rules are checked, judged by, and given back as they came.
fn rules(value: &Value, text: &str) {
    for issue in permissions::check_rules(value) {
        assert!(!issue.message.is_empty());
    }
    let Some(list) = value.as_array() else { return };
    let rules: Vec<Permission> =
        list.iter().filter_map(|rule| Permission::try_from(rule.clone()).ok()).collect();
    for rule in &rules {
        assert_eq!(
            Permission::try_from(rule.to_value()).ok().as_ref(),
            Some(rule),
            "a rule is not read back"
        );
        let _ = rule.validate("rule");
    }
    let judge = PermissionRules::new(&rules);
    let mut args = Map::new();
    args.insert("cmd".to_owned(), text.chars().take(200).collect::<String>().into());
    for tool in ["Bash", "shell_command", "mcp__fs__read", text] {
        let evaluation = judge.evaluate(tool, &args, Some("thread"));
        assert!(evaluation.exit_code() <= 2 && evaluation.to_value().is_object());
    }
}
