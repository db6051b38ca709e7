//! The scripted agent against the scripted model.

use std::path::Path;

use amplihack_config::env::Env;
use amplihack_probe::loopback::DUMMY_KEY;
use amplihack_probe::model::{
    DONE, ModelScenario, ModelScript, ModelServer, ObservedDelivery, ScriptedReply,
};
use amplihack_probe::scripted::{self, ScriptedStreams};
use serde_json::Value;

struct Outcome {
    code: u8,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

async fn run(base_url: &str, args: &[&str], stdin: &str) -> Outcome {
    let args = args.iter().map(Into::into).collect();
    let stdin = stdin.to_owned();
    let env = Env::from_iter([
        ("PATH", "/usr/bin:/bin"),
        ("ANTHROPIC_BASE_URL", base_url),
        ("ANTHROPIC_API_KEY", DUMMY_KEY),
    ]);
    tokio::task::spawn_blocking(move || {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut streams =
            ScriptedStreams { stdin: &mut stdin.as_bytes(), stdout: &mut stdout, stderr: &mut stderr };
        let code = scripted::main(args, &env, &mut streams);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome { code, stdout: text(stdout), stderr: text(stderr) }
    })
    .await
    .unwrap()
}

const FULL: [&str; 2] = ["-p", "--dangerously-skip-permissions"];

fn touch(path: &Path) -> String {
    format!("echo ran >> '{}'; cat '{}'", path.display(), path.display())
}

#[tokio::test]
async fn a_prompt_arrives_on_either_channel_and_the_text_is_printed() {
    let server = ModelServer::start().await.unwrap();
    let prompt = "it's \"quoted\" $HOME `id`\n漢字\n\n".repeat(2000);
    let outcome = run(&server.base_url(ModelScenario::Text, "stdin"), &["-p"], &prompt).await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "FAKE-HELLO\n"), "{}", outcome.stderr);
    assert_eq!(server.observed_delivery("stdin", &prompt), ObservedDelivery::Exact);
    let outcome =
        run(&server.base_url(ModelScenario::Text, "argv"), &["-p", "--", "--help"], "not read").await;
    assert_eq!(outcome.code, 0);
    assert_eq!(server.prompts("argv"), ["--help"]);
}

#[tokio::test]
async fn a_tool_call_is_run_and_its_events_have_claudes_shape() {
    let server = ModelServer::start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let sentinel = dir.path().join("sentinel");
    server.set_command("r", &touch(&sentinel));
    let args = [&FULL[..], &["--output-format", "stream-json", "--verbose", "--model", "m"]].concat();
    let outcome = run(&server.base_url(ModelScenario::Tool, "r"), &args, "go").await;
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(std::fs::read_to_string(sentinel).unwrap(), "ran\n");
    let events = outcome.events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["system", "assistant", "user", "assistant", "result"]);
    assert_eq!(events[0]["model"], "m");
    assert_eq!(events[0]["permissionMode"], "bypassPermissions");
    let (call, result) = (&events[1]["message"]["content"][0], &events[2]["message"]["content"][0]);
    assert_eq!(call["type"], "tool_use");
    assert_eq!(call["id"], result["tool_use_id"]);
    assert_eq!((&result["content"], &result["is_error"]), (&"ran".into(), &false.into()));
    let end = &events[4];
    assert_eq!(
        (&end["subtype"], &end["result"], &end["num_turns"]),
        (&"success".into(), &DONE.into(), &2.into())
    );
    let totals = server.usage("r");
    assert_eq!(end["usage"]["input_tokens"], totals.input);
    assert_eq!(end["usage"]["cache_read_input_tokens"], totals.cached);
    assert_eq!(end["usage"]["output_tokens"], totals.output);
    assert!(events.iter().all(|event| event["session_id"] == events[0]["session_id"]));
    assert_eq!(server.find_text("r", "ran")[0].role, "tool");
}

#[tokio::test]
async fn every_turn_of_a_long_script_is_taken_and_an_endless_one_ends() {
    let server = ModelServer::start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let sentinel = dir.path().join("sentinel");
    server.set_command("turns", &touch(&sentinel));
    let outcome = run(&server.base_url(ModelScenario::Turns(5), "turns"), &FULL, "go").await;
    assert_eq!((outcome.code, outcome.stdout.trim()), (0, DONE));
    assert_eq!(std::fs::read_to_string(sentinel).unwrap().lines().count(), 5);
    server.set_command("loop", ":");
    let outcome = run(&server.base_url(ModelScenario::Loop, "loop"), &FULL, "go").await;
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("maximum number of turns"), "{}", outcome.stdout);
}

#[tokio::test]
async fn without_permission_nothing_runs_and_the_result_says_so() {
    let server = ModelServer::start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let sentinel = dir.path().join("sentinel");
    server.set_command("r", &touch(&sentinel));
    let outcome =
        run(&server.base_url(ModelScenario::Tool, "r"), &["-p", "--output-format", "json"], "go").await;
    assert_eq!(outcome.code, 0);
    assert!(!sentinel.exists());
    let result = &outcome.events()[0];
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert_eq!(server.find_text("r", "requires approval")[0].role, "tool");
}

#[tokio::test]
async fn every_failure_has_exit_code_1_and_a_reason() {
    let server = ModelServer::start().await.unwrap();
    for status in [400, 401, 429, 500] {
        let base = server.base_url(ModelScenario::Error(status), "r");
        let outcome = run(&base, &["-p", "--output-format", "json"], "go").await;
        let result = &outcome.events()[0];
        assert_eq!((outcome.code, &result["is_error"]), (1, &true.into()));
        assert_eq!(result["api_error_status"], status);
        assert!(
            run(&base, &["-p"], "go")
                .await
                .stdout
                .starts_with(&format!("API Error: {status} scripted error"))
        );
    }
    let base = server.base_url(ModelScenario::Text, "unasked");
    for (args, stdin) in [(&["-p"][..], " \n"), (&["-p", "--no-such-flag"], "go"), (&[], "go")] {
        let outcome = run(&base, args, stdin).await;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{args:?}");
        assert!(!outcome.stderr.is_empty());
    }
    assert_eq!(server.requests("unasked").len(), 0);
    let outcome = run("http://192.0.2.1", &["-p"], "go").await;
    assert!(outcome.code == 1 && outcome.stderr.contains("192.0.2.1"), "{}", outcome.stderr);
}

#[tokio::test]
async fn a_failed_command_is_told_to_the_model() {
    let server = ModelServer::start().await.unwrap();
    let replies = [
        ScriptedReply::Tool { command: "echo broken; exit 7".to_owned() },
        ScriptedReply::Text("end".to_owned()),
    ];
    server.set_script("r", ModelScript::new(replies));
    let outcome = run(&server.base_url(ModelScenario::Script, "r"), &FULL, "go").await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "end\n"));
    assert_eq!(server.find_text("r", "broken")[0].text, "Exit code 7\nbroken");
}

#[tokio::test]
async fn the_version_has_the_form_of_claudes() {
    let outcome = run("unset", &["--version"], "").await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "9.9.9 (amplihack scripted agent)\n"));
}

#[tokio::test]
async fn a_hook_of_a_plugin_stops_a_call_and_the_model_is_told_why() {
    let server = ModelServer::start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let hooks = serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "command", "command": "grep -q forbidden && echo 'not that' >&2 && exit 2; exit 0"},
    ]}]}});
    std::fs::create_dir(dir.path().join("hooks")).unwrap();
    std::fs::write(dir.path().join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let (forbidden, harmless) = (dir.path().join("forbidden"), dir.path().join("harmless"));
    let calls = [&forbidden, &harmless].map(|path| ScriptedReply::Tool { command: touch(path) });
    server
        .set_script("r", ModelScript::new(calls.into_iter().chain([ScriptedReply::Text("end".to_owned())])));
    let plugin = dir.path().to_str().unwrap();
    let args = [&FULL[..], &["--plugin-dir", plugin]].concat();
    let outcome = run(&server.base_url(ModelScenario::Script, "r"), &args, "go").await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "end\n"), "{}", outcome.stderr);
    assert!(!forbidden.exists() && harmless.exists());
    assert_eq!(server.find_text("r", "not that")[0].role, "tool");
    // Without the plugin both run.
    let outcome = run(&server.base_url(ModelScenario::Script, "r"), &FULL, "go").await;
    assert!(outcome.code == 0 && forbidden.exists());
}
