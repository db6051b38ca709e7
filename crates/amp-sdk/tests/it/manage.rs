//! Management commands against the fake CLI: golden command lines, typed answers, refusals, streams apart.

use std::path::Path;
use std::time::Duration;

use amp_sdk::mcp::OauthLogin;
use amp_sdk::permissions::{PermissionAddOptions, PermissionTestCall};
use amp_sdk::testing::{FakeAmp, FakeReply, InstalledFake};
use amp_sdk::threads::{
    SupportMessage, ThreadHandoff, ThreadListOptions, ThreadReplayOptions, ThreadSearchOptions,
    ThreadShareOptions,
};
use amp_sdk::tools::{ToolRunOptions, ToolViewOptions};
use amp_sdk::{
    AmpContext, Error, ExecutionSurface, GovernedAuthority, McpHttpServer, McpStdioServer, Options,
    PermissionAction, SshSurface,
};
use amp_sdk::{mcp, permissions, review, skills, tasks, threads, tools, usage};
use serde_json::{Value, json};

use crate::permissions::{program, rows};

/// What a call comes to: its answer is of no interest here.
type Done = Result<(), Error>;

fn done<T>(result: Result<T, Error>) -> Done {
    result.map(drop)
}

/// The call that a row describes.
fn call(amp: &AmpContext, row: &str) -> Done {
    let object = |value: Value| value.as_object().cloned().unwrap();
    match row.split('(').next().unwrap() {
        "threads_new" => done(threads::blocking::new(amp, None)),
        "threads_search" => {
            let how = ThreadSearchOptions::default().with_limit(10).with_offset(0).with_json(true);
            done(threads::blocking::search(amp, "auth", &how))
        }
        "threads_share" => {
            let with = ThreadShareOptions::default().with_support(SupportMessage::Silent);
            done(threads::blocking::share(amp, "ID", &with))
        }
        "threads_rename" => done(threads::blocking::rename(amp, "ID", "New name")),
        "threads_archive" => done(threads::blocking::archive(amp, "ID")),
        "threads_delete" => done(threads::blocking::delete(amp, "ID")),
        "threads_markdown" => done(threads::blocking::markdown(amp, "ID")),
        "threads_handoff" => {
            let how = ThreadHandoff::default().with_goal("g").with_print(true);
            done(threads::blocking::handoff(amp, "ID", &how))
        }
        "threads_replay" => {
            let how = ThreadReplayOptions::default()
                .with_wpm(100)
                .with_no_typing(true)
                .with_message_delay(1)
                .with_tool_progress_delay(2)
                .with_exit_delay(3)
                .with_no_indicator(true);
            done(threads::blocking::replay(amp, "ID", &how))
        }
        "tools_list" => done(tools::blocking::list(amp, &ToolViewOptions::default())),
        "tools_use" => {
            let args = [
                ("path", json!("/x")),
                ("tags", json!(["a", "b"])),
                ("obj", json!({"k": 1})),
                ("skip", Value::Null),
            ];
            let args = args.map(|(key, value)| (key.to_owned(), value)).to_vec();
            let how = ToolRunOptions::default().with_only("c").with_stream(true).with_args(args);
            done(tools::blocking::run(amp, "Read", &how))
        }
        "tasks_list" => done(tasks::blocking::list(amp)),
        "tasks_import" => {
            let how = tasks::TaskImportOptions::default().with_repo("r").with_dry_run(true).with_force(true);
            done(tasks::blocking::import(amp, Path::new("f.json"), &how))
        }
        "skills_remove" => done(skills::blocking::remove(amp, "n")),
        "skills_info" => done(skills::blocking::info(amp, "n")),
        "permissions_test" => {
            let what = PermissionTestCall::default().with_args(object(json!({"cmd": "ls"})));
            done(permissions::blocking::test(amp, "Bash", &what))
        }
        "mcp_add" => {
            done(mcp::blocking::add(amp, "r", &McpHttpServer::new("https://h/mcp").unwrap().into(), false))
        }
        "mcp_list" => done(mcp::blocking::list(amp)),
        "mcp_remove" => done(mcp::blocking::remove(amp, "fs")),
        "mcp_approve" => done(mcp::blocking::approve(amp, "fs")),
        "mcp_oauth_login" => done(mcp::blocking::oauth_login(amp, "s", &login(true))),
        "mcp_oauth_logout" => done(mcp::blocking::oauth_logout(amp, "s")),
        "mcp_oauth_status" => done(mcp::blocking::oauth_status(amp, "s")),
        "usage" => done(usage::blocking::usage(amp, &usage::UsageRange::default())),
        other => panic!("{other} has no call here"),
    }
}

fn login(allow_secret_in_argv: bool) -> OauthLogin {
    OauthLogin::default()
        .with_server_url("u")
        .with_client_id("c")
        .with_client_secret("x")
        .with_scopes("a,b")
        .with_auth_url("v")
        .with_token_url("w")
        .with_allow_secret_in_argv(allow_secret_in_argv)
}

/// A fake that answers everything that has to be read.
fn fake(version: &str) -> InstalledFake {
    FakeAmp::new()
        .with_version(version)
        .with_command(&["mcp", "list"], FakeReply::new().text("[]"))
        .with_command(
            &["permissions", "test"],
            FakeReply::new().text("{\"tool\":\"Bash\",\"arguments\":{},\"action\":null}"),
        )
        .build()
        .unwrap()
}

const OLDER: &str = "0.0.1700000000";
const CURRENT: &str = "0.0.1790142911-g7618fb";

#[test]
fn every_command_line_is_the_golden_one_or_is_refused_before_anything_is_started() {
    let (older, current) = (fake(OLDER), fake(CURRENT));
    let mut seen = 0;
    for row in rows(include_str!("../cases/mgmt_argv_cases.jsonl")) {
        let name = row["call"].as_str().unwrap();
        let mut golden: Vec<&str> =
            row["elixir_argv"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        match name.split('(').next().unwrap() {
            // Headers go into the settings file, see below.
            "mcp_add" => golden.retain(|word| !["--header", "Authorization=Bearer t"].contains(word)),
            // The answer is read, so it is asked for as JSON.
            "permissions_test" => golden.push("--json"),
            _ => {}
        }
        let removed = row["current_cli"] == "removed";
        for fake in [&older, &current] {
            let before = fake.calls().len();
            let result = call(&fake.amp_context(), name);
            let after = fake.calls();
            if removed && std::ptr::eq(fake, &raw const current) {
                let error = result.unwrap_err();
                let Error::Unsupported { cli_version, .. } = &error else { panic!("{name}: {error}") };
                assert_eq!(cli_version.as_ref().unwrap().patch, 1_790_142_911, "{name}");
                assert_eq!(after.len(), before, "{name} started the CLI");
                continue;
            }
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(after.len(), before + 1, "{name}");
            assert_eq!(after[before].args, golden, "{name}");
            assert_eq!(after[before].stdin, "", "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 24);
}

#[tokio::test]
async fn the_asynchronous_form_is_the_same() {
    let fake = fake(CURRENT);
    assert_eq!(threads::new(&fake.amp_context(), Some("private")).await.unwrap(), amp_sdk::testing::THREAD);
    assert_eq!(mcp::list(&fake.amp_context()).await.unwrap(), []);
    permissions::add(
        &fake.amp_context(),
        "Bash",
        PermissionAction::Delegate,
        &PermissionAddOptions::default().with_to("p").with_workspace(true).with_context("thread"),
    )
    .await
    .unwrap();
    let what = review::ReviewOptions::default().with_diff("HEAD~1").with_files(["a", "b"]);
    review::review(&fake.amp_context(), &what).await.unwrap();
    let lines: Vec<String> = fake.calls().iter().map(|call| call.args.join(" ")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn lists_of_threads_are_read_in_every_form() {
    let (json, table) =
        (include_str!("../cases/threads_list_json.stdout"), include_str!("../cases/threads_list.stdout"));
    for (version, words, text) in [(CURRENT, "threads list --json", json), (OLDER, "threads list", table)] {
        let reply = FakeReply::new().text(text).stderr("Warning: something about the account\n");
        let fake =
            FakeAmp::new().with_version(version).with_command(&["threads", "list"], reply).build().unwrap();
        let list = threads::blocking::list(&fake.amp_context(), &ThreadListOptions::default()).unwrap();
        assert_eq!(fake.calls()[0].args.join(" "), words);
        assert_eq!(list[0].id, "T-01234567-89ab-4cde-8f01-23456789abcd");
        assert_eq!((list[1].title.as_str(), list[1].messages), ("日本語 タイトル", Some(0)));
        if version == CURRENT {
            let back: Vec<Value> = list.iter().map(threads::ThreadSummary::to_value).collect();
            assert_eq!(json!(back), serde_json::from_str::<Value>(json).unwrap());
        } else {
            assert_eq!(
                (list[0].title.as_str(), list[0].visibility.as_deref()),
                ("Fix   the parser ...", Some("private"))
            );
        }
    }
}

#[test]
fn lists_of_rules_and_servers_are_read_and_given_back() {
    let (servers, builtin) =
        (include_str!("../cases/mcp_list_json.stdout"), include_str!("../../src/permissions/builtin.json"));
    let fake = FakeAmp::new()
        .with_command(&["mcp", "list"], FakeReply::new().text(servers).stderr("Could not load MCP servers\n"))
        .with_command(&["permissions", "list"], FakeReply::new().text(builtin))
        .build()
        .unwrap();
    let list = mcp::blocking::list(&fake.amp_context()).unwrap();
    assert_eq!(list[0].command.as_deref(), Some("npx"));
    assert_eq!(list[1].headers.as_ref().unwrap()["Authorization"], "Bearer x");
    let back: Vec<Value> = list.iter().map(mcp::McpServer::to_value).collect();
    assert_eq!(json!(back), serde_json::from_str::<Value>(servers).unwrap());
    let rules = permissions::blocking::list(
        &fake.amp_context(),
        &permissions::PermissionListOptions::default().with_builtin(true).with_workspace(false),
    )
    .unwrap();
    assert_eq!(rules, permissions::builtin_rules());
    assert_eq!(fake.calls()[1].args, ["permissions", "list", "--json", "--builtin"]);
}

#[test]
fn lists_of_rules_are_read_with_what_nobody_knows() {
    let rules = json!([
        {"tool": "Bash", "action": "reject", "message": "no", "matches": {"cmd": "rm *"}},
        {"tool": "Read", "action": "ask", "context": "subagent", "from_tomorrow": [1]},
    ]);
    let reply = FakeReply::new().text(rules.to_string()).stderr("Warning: something about the account\n");
    let fake = FakeAmp::new().with_command(&["permissions", "list"], reply).build().unwrap();
    let list =
        permissions::blocking::list(&fake.amp_context(), &permissions::PermissionListOptions::default())
            .unwrap();
    assert_eq!((list[0].tool.as_str(), list[1].context.as_deref()), ("Bash", Some("subagent")));
    assert_eq!((&list[0].extra["message"], &list[1].extra["from_tomorrow"]), (&json!("no"), &json!([1])));
    let back: Vec<Value> = list.iter().map(amp_sdk::Permission::to_value).collect();
    assert_eq!(json!(back), rules);
}

#[test]
fn what_the_cli_says_of_a_call_is_read() {
    let rejected = json!({
        "tool": "Bash", "arguments": {"cmd": "rm x"}, "context": "thread", "action": "reject",
        "matchedEntry": {"tool": "Bash", "action": "reject", "message": "no"}, "error": "no", "matchIndex": 1, "source": "user",
    });
    let invalid = json!({"tool": "Bash", "arguments": {}, "success": false, "error": "Invalid permissions configuration",
        "details": [{"path": "0.to", "message": "only with delegate", "code": "custom"}]});
    let reply = |value: &Value, code| FakeReply::new().text(value.to_string()).exit(code);
    let what = PermissionTestCall::default();
    for (reply, expected) in [
        (reply(&rejected, 2), Ok(rejected.clone())),
        (reply(&invalid, 1), Err("invalid_configuration")),
        (FakeReply::new().stderr("Error: Invalid JSON in settings file").exit(1), Err("command_failed")),
        (FakeReply::new().text("tool: x").exit(1), Err("parse_error")),
        (FakeReply::new().exit(3), Err("command_failed")),
    ] {
        let fake = FakeAmp::new().with_command(&["permissions", "test"], reply).build().unwrap();
        let found = permissions::blocking::test(&fake.amp_context(), "Bash", &what);
        assert_eq!(found.map(|found| found.to_value()).map_err(|error| error.kind()), expected);
    }
}

#[test]
fn failures_have_kinds_codes_and_the_tail_of_stderr() {
    let fails = |reply: FakeReply| {
        let fake = FakeAmp::new().with_command(&["usage"], reply).build().unwrap();
        let amp = fake.amp_context().with_timeout(Duration::from_millis(700));
        usage::blocking::usage(&amp, &usage::UsageRange::default()).unwrap_err()
    };
    let error = fails(FakeReply::new().text("half").stderr("Error: no network\n").exit(1));
    assert_eq!(
        (error.kind(), error.exit_code(), error.stderr()),
        ("command_failed", Some(1), "Error: no network\n")
    );
    assert_eq!(error.to_string(), "run `amp usage`: Error: no network");
    assert_eq!(fails(FakeReply::new().stderr("Please log in").exit(1)).kind(), "auth_error");
    assert_eq!(fails(FakeReply::new().stderr("sh: amp: not found").exit(127)).kind(), "cli_not_found");
    let error = fails(FakeReply::new().stderr("waiting").pause(Duration::from_mins(1)));
    assert_eq!((error.kind(), error.exit_code(), error.stderr()), ("command_timeout", Some(124), "waiting"));
    // A flood on one output does not hold up the other, nor does a process that stays behind hold up the answer.
    let flood =
        FakeReply::new().stderr(vec![b'e'; 400_000]).text("all\n").leave_behind(Duration::from_mins(1));
    let fake = FakeAmp::new().with_command(&["usage"], flood).build().unwrap();
    assert_eq!(usage::blocking::usage(&fake.amp_context(), &usage::UsageRange::default()).unwrap(), "all");
}

#[test]
fn stdin_is_what_was_given_and_nothing_else() {
    let fake = fake(CURRENT);
    let amp = fake.amp_context().with_stdin(b"hello".to_vec());
    usage::blocking::usage(&amp, &usage::UsageRange::default()).unwrap();
    let how = ThreadHandoff::default().with_input("goal");
    threads::blocking::handoff(&fake.amp_context(), "T-1", &how).unwrap();
    let heard: Vec<String> = fake.calls().into_iter().map(|call| call.stdin).collect();
    assert_eq!(heard, ["hello", "goal"]);
}

#[test]
fn secrets_of_a_server_go_into_its_file_and_nowhere_else() {
    let fake = fake(CURRENT);
    let mut http = McpHttpServer::new("https://h/mcp").unwrap();
    http.headers.insert("Authorization".into(), "Bearer hunter2".into());
    let said = mcp::blocking::add(&fake.amp_context(), "api", &http.into(), false).unwrap();
    let file = fake.home().join(".config/amp/settings.json");
    assert_eq!(said, format!("Added amp.mcpServers.api to {}", file.display()));
    let read: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(read["amp.mcpServers"]["api"]["headers"]["Authorization"], "Bearer hunter2");
    let mut stdio = McpStdioServer::new("npx").unwrap();
    stdio.env.insert("KEY".into(), "hunter2".into());
    let error = mcp::blocking::add(&fake.amp_context(), "api", &stdio.clone().into(), false).unwrap_err();
    assert!(error.kind() == "invalid_configuration" && !error.to_string().contains("hunter2"), "{error}");
    assert_eq!(fake.calls(), [], "the CLI was started");

    let error = mcp::blocking::oauth_login(&fake.amp_context(), "s", &login(false)).unwrap_err();
    assert!(error.to_string().contains("allow_secret_in_argv"), "{error}");
    assert!(!format!("{:?}", login(false)).contains("\"x\""));

    let there = ExecutionSurface::try_from(
        json!({"surface_kind": "ssh_exec", "transport_options": {"destination": "h"}}),
    )
    .unwrap();
    let mut amp = fake.amp_context();
    amp.options.execution_surface = there;
    amp.options.cli_path = None;
    let error = mcp::blocking::add(&amp, "fs", &stdio.into(), false).unwrap_err();
    assert_eq!(error.kind(), "invalid_configuration");
    assert_eq!(fake.calls(), []);
}

#[test]
fn governed_execution_changes_no_permissions_servers_or_credentials() {
    let fake = fake(CURRENT);
    let reference = |name: &str| (name.to_owned(), json!(format!("{name}-value")));
    // Written out again: they are the contract, not what the code happens to ask for.
    let names = [
        "authority_ref",
        "credential_lease_ref",
        "connector_instance_ref",
        "connector_binding_ref",
        "provider_account_ref",
        "native_auth_assertion_ref",
        "target_ref",
        "operation_policy_ref",
    ];
    let mut map: serde_json::Map<String, Value> = names.into_iter().map(reference).collect();
    map.insert("command".into(), json!(fake.path().canonicalize().unwrap()));
    map.insert("clear_env".into(), json!(true));
    map.insert("env".into(), json!({"PATH": "/usr/bin:/bin", "KEY": "governed-secret"}));
    let authority = GovernedAuthority::try_from(Value::Object(map)).unwrap();
    let amp = AmpContext::from(Options::default().with_governed_authority(authority));
    let server: mcp::NewServer = McpHttpServer::new("https://h").unwrap().into();
    let mut secret = McpHttpServer::new("https://h").unwrap();
    secret.headers.insert("K".into(), "v".into());
    for refused in [
        done(permissions::blocking::add(
            &amp,
            "Bash",
            PermissionAction::Allow,
            &PermissionAddOptions::default(),
        )),
        done(mcp::blocking::add(&amp, "x", &server, false)),
        done(mcp::blocking::add(&amp, "x", &secret.into(), true)),
        done(mcp::blocking::oauth_login(&amp, "x", &OauthLogin::default())),
        done(mcp::blocking::oauth_logout(&amp, "x")),
        done(mcp::blocking::oauth_status(&amp, "x")),
        done(review::blocking::review(
            &amp,
            &review::ReviewOptions::default().with_dangerously_allow_all(true),
        )),
    ] {
        let error = refused.unwrap_err();
        assert!(error.kind() == "invalid_configuration" && error.to_string().contains("governed"), "{error}");
    }
    assert_eq!(fake.calls(), []);
    usage::blocking::usage(&amp, &usage::UsageRange::default()).unwrap();
    let env = &fake.calls()[0].env;
    assert_eq!(env.get("KEY").map(String::as_str), Some("governed-secret"));
    assert!(!env.contains_key("HOME") && !env.contains_key("AMP_SDK_VERSION"), "{env:?}");
}

#[test]
fn options_of_the_cli_come_before_the_command() {
    let fake = fake(CURRENT);
    let mut amp = fake.amp_context();
    amp.options.settings_file = Some("/s.json".into());
    amp.options.log_level = Some("debug".into());
    let server = McpStdioServer::new("npx").unwrap().with_args(["-y", "pkg"]);
    mcp::blocking::add(&amp, "fs", &server.into(), true).unwrap();
    assert_eq!(
        fake.calls()[0].args.join(" "),
        "--settings-file /s.json --log-level debug mcp add fs --workspace -- npx -y pkg"
    );
}

#[test]
fn commands_reach_another_machine_and_their_words_arrive_unchanged() {
    let fake = fake(CURRENT);
    let dir = tempfile::tempdir().unwrap();
    let there = fake.path().parent().unwrap().display();
    let body = format!("for word; do last=$word; done; PATH={there}:/usr/bin:/bin exec sh -c \"$last\"");
    let ssh = SshSurface::new("build").with_ssh_path(program(dir.path(), "ssh", &body));
    let mut amp = fake.amp_context();
    amp.options.cli_path = None;
    amp.options.execution_surface = ExecutionSurface::Ssh(ssh);
    amp.options.env.insert("AMP_API_KEY".into(), "k ey".into());
    amp.stdin = Some(b"input\n".to_vec());
    threads::blocking::rename(&amp, "T-1", "it's $HOME; \"x\"").unwrap();
    let call = &fake.calls()[0];
    assert_eq!(call.args, ["threads", "rename", "T-1", "it's $HOME; \"x\""]);
    assert_eq!((call.stdin.as_str(), call.env["AMP_API_KEY"].as_str()), ("input\n", "k ey"));
}
