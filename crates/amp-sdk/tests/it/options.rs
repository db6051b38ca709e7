//! Options: what each of them makes of the CLI's command line, directory and files.

use amp_sdk::{
    ContinueThread, ExecutionSurface, McpConfig, McpHttpServer, McpStdioServer, Options, mode, plan_run,
    visibility,
};
use serde_json::{Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on};

/// The words of a run under changed options.
fn words(change: impl FnOnce(&mut Options)) -> String {
    let fake = Fake::new("exit 0");
    let mut options = fake.options();
    change(&mut options);
    let planned = plan_run(&"x".into(), &options).unwrap();
    planned.argv.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The private settings of a run under changed options.
fn settings(change: impl FnOnce(&mut Options)) -> Value {
    let fake = Fake::new("exit 0");
    let mut options = fake.options();
    change(&mut options);
    plan_run(&"x".into(), &options).unwrap().settings.unwrap_or_default()
}

/// What the CLI finds in the file behind `flag`.
fn file(flag: &str, change: impl FnOnce(&mut Options)) -> Value {
    let fake = Fake::new(&format!(
        "cat >/dev/null; while [ $# -gt 0 ]; do [ \"$1\" = {flag} ] && cat \"$2\" >\"$AMP_TEST_DIR/file\"; shift; done; {RESULT}"
    ));
    let mut options = fake.options();
    change(&mut options);
    block_on(amp_sdk::run("x", options)).unwrap();
    serde_json::from_str(&fake.read("file")).unwrap()
}

fn refused(change: impl FnOnce(&mut Options)) -> String {
    let fake = Fake::new("exit 0");
    let mut options = fake.options();
    change(&mut options);
    let error = plan_run(&"x".into(), &options).unwrap_err();
    assert_eq!(error.kind(), "invalid_configuration", "{error}");
    error.to_string()
}

#[test]
fn a_run_is_one_prompt_and_a_stream_of_json() {
    assert_eq!(words(|_| {}), "--execute --stream-json");
}

#[test]
fn the_directory_is_that_of_the_cli() {
    let fake = Fake::new(&format!("cat >/dev/null; pwd >\"$AMP_TEST_DIR/cwd\"; {RESULT}"));
    let options = fake.options().with_cwd(fake.path("home"));
    block_on(amp_sdk::run("x", options)).unwrap();
    assert_eq!(fake.read("cwd").trim(), fake.path("home").canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_mode_is_passed_on() {
    assert_eq!(words(|given| given.mode = Some(mode::SMART.into())), "--execute --stream-json --mode smart");
    assert_eq!(
        words(|given| given.mode = Some("of-a-plugin".into())),
        "--execute --stream-json --mode of-a-plugin"
    );
}

#[test]
fn every_visibility_that_the_cli_has_is_passed_on() {
    for (name, word) in [
        (visibility::PRIVATE, "private"),
        (visibility::WORKSPACE, "workspace"),
        (visibility::GROUP, "group"),
        (visibility::UNLISTED, "unlisted"),
    ] {
        let words = words(|given| given.visibility = Some(name.into()));
        assert_eq!(words, format!("--execute --stream-json --visibility {word}"));
    }
}

#[test]
fn the_latest_thread_goes_on() {
    let words = words(|given| given.continue_thread = Some(ContinueThread::Last));
    assert_eq!(words, "threads continue --last --execute --stream-json");
}

#[test]
fn a_thread_goes_on_by_its_id() {
    let words = words(|given| given.continue_thread = Some("T-abc123-def456".into()));
    assert_eq!(words, "threads continue T-abc123-def456 --execute --stream-json");
    for absent in ["nil", "null", "undefined", ""] {
        refused(|given| given.continue_thread = Some(absent.into()));
    }
}

#[test]
fn a_settings_file_is_passed_on_and_its_keys_stay() {
    let path = "/some/settings.json";
    assert_eq!(
        words(|given| given.settings_file = Some(path.into())),
        format!("--execute --stream-json --settings-file {path}")
    );
}

#[test]
fn a_log_file_is_passed_on() {
    assert_eq!(
        words(|given| given.log_file = Some("/l.log".into())),
        "--execute --stream-json --log-file /l.log"
    );
}

#[test]
fn labels_are_passed_on() {
    let words = words(|given| given.labels = vec!["a".into(), "B-2".into()]);
    assert_eq!(words, "--execute --stream-json --label a --label B-2");
}

#[test]
fn labels_are_at_most_twenty_of_letters_digits_and_hyphens() {
    let many: Vec<String> = (0..20).map(|at| format!("l-{at}")).collect();
    words(|given| given.labels = many.clone());
    words(|given| given.labels = vec!["a".repeat(32)]);
    assert!(
        refused(|given| given.labels = [many.clone(), vec!["x".into()]].concat()).starts_with("use labels: ")
    );
    for label in ["", "has space", "-x", "a_b", "é", &"a".repeat(33)] {
        let text = refused(|given| given.labels = vec!["x".into(), label.into()]);
        assert!(text.starts_with("use labels[1]: "), "{text}");
    }
}

#[test]
fn thinking_is_asked_for() {
    assert_eq!(words(|given| given.thinking = true), "--execute --stream-json-thinking");
}

#[test]
fn no_context_of_an_ide_is_asked_for() {
    assert_eq!(words(|given| given.no_ide = true), "--execute --stream-json --no-ide");
}

#[test]
fn no_notifications_are_asked_for() {
    assert_eq!(words(|given| given.no_notifications = true), "--execute --stream-json --no-notifications");
}

#[test]
fn no_colors_are_asked_for() {
    assert_eq!(words(|given| given.no_color = true), "--execute --stream-json --no-color");
}

#[test]
fn a_directory_of_skills_is_in_the_settings() {
    assert_eq!(settings(|given| given.skills = Some("/s".into())), json!({"amp.skills.path": "/s"}));
}

#[test]
fn every_tool_may_run_without_a_question() {
    let settings = settings(|given| given.dangerously_allow_all = Some(true));
    assert_eq!(settings, json!({"amp.dangerouslyAllowAll": true}));
}

#[test]
fn silence_of_five_minutes_ends_a_run() {
    assert_eq!(Options::default().stream_timeout_ms, 300_000);
    let fake = Fake::new(&format!("{INIT}; sleep 5"));
    let options = fake.options().with_stream_timeout_ms(200);
    let error = block_on(amp_sdk::run("x", options)).unwrap_err();
    assert_eq!(error.kind(), "stream_timeout");
}

#[test]
fn a_server_that_is_a_program_is_configured() {
    let mut server = McpStdioServer::new("npx").unwrap();
    server.args = vec!["-y".into(), "@modelcontextprotocol/server-filesystem".into(), "/tmp".into()];
    server.env.insert("KEY".into(), "v".into());
    let found = file("--mcp-config", |given| {
        given.mcp_config = Some(McpConfig::new().with_stdio("filesystem", &server));
    });
    let args = ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"];
    assert_eq!(found, json!({"filesystem": {"command": "npx", "args": args, "env": {"KEY": "v"}}}));
    McpStdioServer::new(" ").unwrap_err();
}

#[test]
fn a_server_behind_an_address_is_configured() {
    let mut server = McpHttpServer::new("https://api.example.com/mcp").unwrap();
    server.headers.insert("Authorization".into(), "Bearer token".into());
    let found = file("--mcp-config", |given| {
        given.mcp_config = Some(McpConfig::new().with_http("remote_api", &server));
    });
    let headers = json!({"Authorization": "Bearer token"});
    assert_eq!(found, json!({"remote_api": {"url": "https://api.example.com/mcp", "headers": headers}}));
    McpHttpServer::new("").unwrap_err();
}

#[test]
fn servers_may_be_a_map_or_a_text_of_json() {
    let map = json!({"fs": {"command": "npx"}});
    for config in [McpConfig::try_from(map.clone()).unwrap(), map.to_string().as_str().into()] {
        assert_eq!(file("--mcp-config", |given| given.mcp_config = Some(config)), map);
    }
    assert!(
        refused(|given| given.mcp_config = Some("{\"fs\": hunter2".into())).starts_with("use mcp_config: ")
    );
}

#[test]
fn nulls_in_maps_are_dropped() {
    let map = json!({
        "fs": {"command": "npx", "env": {"A": "1", "B": null}},
        "api": {"url": "https://h", "headers": {"X": null, "Y": "2"}},
    });
    let found = file("--mcp-config", |given| given.mcp_config = Some(McpConfig::try_from(map).unwrap()));
    let expected = json!({"fs": {"command": "npx", "env": {"A": "1"}}, "api": {"url": "https://h", "headers": {"Y": "2"}}});
    assert_eq!(found, expected);
    let rule = json!({"tool": "Bash", "action": "ask", "matches": null, "context": null, "to": null});
    let rule = amp_sdk::Permission::try_from(rule).unwrap();
    assert_eq!(rule.to_value(), json!({"tool": "Bash", "action": "ask"}));
}

#[test]
fn the_surface_may_be_a_map() {
    let map = json!({"surface_kind": "ssh_exec", "transport_options": {"destination": "build", "ssh_user": "me", "port": 2222}});
    let ExecutionSurface::Ssh(ssh) = ExecutionSurface::try_from(map).unwrap() else { panic!() };
    assert_eq!((ssh.destination.as_str(), ssh.user.as_deref(), ssh.port), ("build", Some("me"), Some(2222)));
    assert_eq!(ExecutionSurface::try_from(json!({})).unwrap(), ExecutionSurface::Local);
    assert_eq!(
        ExecutionSurface::try_from(json!({"surface_kind": "guest_bridge"})).unwrap_err().kind(),
        "unsupported_capability"
    );
}

#[test]
fn a_place_for_the_run_is_passed_on_with_its_project_and_files() {
    let place = words(|given| given.executor = Some("local".into()));
    assert_eq!(place, "--execute --stream-json --executor local");
    let orb = words(|given| {
        let options =
            given.clone().with_executor("orb").with_project("o/r").with_attach(["a.png", "b c.txt"]);
        *given = options;
    });
    assert_eq!(orb, "--execute --stream-json --executor orb --project o/r --attach a.png --attach b c.txt");
    let runner = words(|given| {
        given.executor = Some("runner:r1".into());
        given.runner_dir = Some("/srv/app".into());
    });
    assert_eq!(runner, "--execute --stream-json --executor runner:r1 --runner-dir /srv/app");
}

#[test]
fn what_belongs_to_another_place_is_refused() {
    type Change = fn(Options) -> Options;
    let changes: [(Change, &str); 10] = [
        (|given| given.with_executor("cloud"), "executor"),
        (|given| given.with_executor("runner: "), "executor"),
        (|given| given.with_executor("orb").with_continue_thread("T-1"), "executor"),
        (|given| given.with_project("o/r"), "project"),
        (|given| given.with_executor("local").with_project("o/r"), "project"),
        (|given| given.with_executor("orb").with_project("-x"), "project"),
        (|given| given.with_attach(["a"]), "attach"),
        (|given| given.with_executor("orb").with_attach(["a", "-b"]), "attach[1]"),
        (|given| given.with_executor("orb").with_runner_dir("/d"), "runner_dir"),
        (|given| given.with_executor("runner:r").with_runner_dir("d"), "runner_dir"),
    ];
    for (change, name) in changes {
        let said = refused(|given| *given = change(given.clone()));
        assert!(said.starts_with(&format!("use {name}: ")), "{said}");
    }
    // An older CLI is not known to have them.
    let fake = Fake::new("exit 0");
    let old = fake.options().with_cli_version(amp_sdk::Version::new(0, 0, 1)).with_executor("orb");
    assert_eq!(plan_run(&"x".into(), &old).unwrap_err().kind(), "unsupported_capability");
    // No stream of messages goes to another place.
    let messages = vec![amp_sdk::create_user_message("x")].into();
    let error = plan_run(&messages, &fake.options().with_executor("orb")).unwrap_err();
    assert!(error.to_string().starts_with("use executor: "), "{error}");
}

#[test]
fn types_of_options_are_those_of_the_crate() {
    let env: amp_sdk::Env = [("HOME", "/h")].into_iter().collect();
    let version: amp_sdk::Version = "0.0.5".parse().unwrap();
    let options = Options::default().with_base_env(env.clone()).with_cli_version(version.clone());
    assert_eq!((options.base_env, options.cli_version), (Some(env), Some(version)));
}
