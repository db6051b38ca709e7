//! The bridge, with fake runners: what they are called with, what they may see, and what is left of them.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_compat::bridge::{
    BridgeError, RunnerBridgeRequest, RunnerNotice, RunnerResponse, run_external_runner,
};
use amplihack_config::env::Env;
use amplihack_setup::shim::CopilotShim;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_testkit::Sandbox;

/// A sandbox with a runner that tells its version, writes down how it was called, and then does `script`.
fn runner(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo recipe-runner 0.3.6; exit; }}\n\
         for word; do printf '%s\\n' \"$word\"; done > \"$HOME/args\"\nenv | sort > \"$HOME/env\"\n{script}\n"
    );
    let path = sandbox.write("bin/recipe-runner-rs", text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
}

fn bridged(
    sandbox: &Sandbox,
    request: &RunnerBridgeRequest,
) -> (Result<RunnerResponse, BridgeError>, Vec<String>) {
    bridged_in(sandbox.env(), request)
}

fn bridged_in(
    env: &Env,
    request: &RunnerBridgeRequest,
) -> (Result<RunnerResponse, BridgeError>, Vec<String>) {
    let mut notices = Vec::new();
    let response =
        run_external_runner(request, env, &mut |notice: RunnerNotice| notices.push(notice.to_string()));
    (response, notices)
}

fn request(sandbox: &Sandbox) -> RunnerBridgeRequest {
    RunnerBridgeRequest::new("test-recipe", sandbox.work())
}

fn lines(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.home().join(file)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn nothing_is_left(sandbox: &Sandbox) {
    let left: Vec<PathBuf> =
        std::fs::read_dir(sandbox.root().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

const SUCCESS: &str = r#"echo '{"recipe_name": "test-recipe", "success": true, "step_results": [{"step_id": "a", "status": "completed", "output": "x"}], "context": {"k": "v"}}'"#;

#[test]
fn a_runner_is_called_as_the_predecessor_calls_it_and_answers() {
    let mut sandbox = runner(SUCCESS);
    sandbox.set("ANTHROPIC_API_KEY", "secret").set("GITHUB_TOKEN", "passes").set("XDG_RUNTIME_DIR", "/x");
    let request = RunnerBridgeRequest {
        context: vec![("task".into(), "it's \"one\"\n$HOME".into()), ("n".into(), "0012".into())],
        recipe_dirs: vec!["recipes".into(), "/abs".into()],
        dry_run: true,
        auto_stage: false,
        ..request(&sandbox)
    };
    let (response, notices) = bridged(&sandbox, &request);
    let response = response.unwrap();
    assert!(response.success && response.exit_code == 0);
    assert_eq!((&*response.steps[0].id, &*response.steps[0].output), ("a", "x"));
    assert_eq!(
        notices,
        [
            "[amplihack] recipe-runner --- starting: test-recipe",
            "[amplihack] recipe-runner --- executing: test-recipe"
        ]
    );
    let work = sandbox.work().canonicalize().unwrap().display().to_string();
    let recipes = format!("{work}/recipes");
    let expected = [
        "test-recipe",
        "--output-format",
        "json",
        "-C",
        &work,
        "--dry-run",
        "--no-auto-stage",
        "-R",
        &recipes,
        "-R",
        "/abs",
        "--set",
        "task=it's \"one\"",
        "$HOME",
        "--set",
        "n=0012",
    ];
    assert_eq!(lines(&sandbox, "args"), expected);
    let seen = lines(&sandbox, "env");
    assert!(
        seen.contains(&format!("CLAUDE_PROJECT_DIR={work}")) && seen.contains(&"GITHUB_TOKEN=passes".into())
    );
    let hidden = |name: &str| !seen.iter().any(|line| line.starts_with(name));
    assert!(hidden("ANTHROPIC_API_KEY") && hidden("XDG_RUNTIME_DIR") && hidden("FAKE_AGENT_LOG"), "{seen:?}");
    nothing_is_left(&sandbox);
}

#[test]
fn a_project_directory_that_is_set_is_kept_even_if_it_is_empty() {
    let mut sandbox = runner(SUCCESS);
    sandbox.set("CLAUDE_PROJECT_DIR", "");
    bridged(&sandbox, &request(&sandbox)).0.unwrap();
    assert!(lines(&sandbox, "env").contains(&"CLAUDE_PROJECT_DIR=".into()));
}

#[test]
fn a_large_value_is_there_for_the_runner_in_a_private_file_and_gone_after_it() {
    let script = format!(
        "for word; do case $word in big=file://*) f=${{word#big=file://}}; \
         stat -c %a \"$f\" \"${{f%/*}}\" > \"$HOME/modes\"; cp \"$f\" \"$HOME/value\";; esac; done\n{SUCCESS}"
    );
    let sandbox = runner(&script);
    let value = "é".repeat(16_384);
    let request = RunnerBridgeRequest {
        context: vec![("big".into(), value.clone()), ("small".into(), "file:///etc/passwd".into())],
        ..request(&sandbox)
    };
    bridged(&sandbox, &request).0.unwrap();
    assert_eq!(lines(&sandbox, "modes"), ["600", "700"]);
    assert_eq!(std::fs::read_to_string(sandbox.home().join("value")).unwrap(), value);
    assert_eq!(lines(&sandbox, "args").last().unwrap(), "small=file:///etc/passwd");
    nothing_is_left(&sandbox);
}

#[test]
fn more_values_than_arguments_hold_still_reach_the_runner() {
    let sandbox = runner(SUCCESS);
    let context = (0..300).map(|key| (format!("k{key}"), "a".repeat(32_767))).collect();
    bridged(&sandbox, &RunnerBridgeRequest { context, ..request(&sandbox) }).0.unwrap();
    let args = lines(&sandbox, "args");
    assert_eq!(args.iter().filter(|word| word.starts_with('k')).count(), 300);
    nothing_is_left(&sandbox);
}

#[test]
fn each_bad_end_is_an_error_of_its_own() {
    for (script, kind, exit) in [
        ("echo '{\"success\": true}'; kill -KILL $$", "runner_signalled", ExitKind::Failed),
        ("kill -TERM $$", "runner_signalled", ExitKind::Failed),
        ("echo '{\"success\": true}'; exit 1", "runner_contradicts_itself", ExitKind::Failed),
        ("echo cause >&2; exit 3", "runner_failed", ExitKind::Failed),
        ("", "runner_output_empty", ExitKind::Failed),
        ("echo INFO; echo '{\"success\": true}'", "runner_output_malformed", ExitKind::Failed),
        (
            "printf '{\"success\": true, \"x\": \"'; head -c 11000000 /dev/zero | tr '\\0' a; echo '\"}'",
            "runner_output_too_large",
            ExitKind::Failed,
        ),
    ] {
        let sandbox = runner(script);
        let context = vec![("big".into(), "x".repeat(40_000))];
        let error = bridged(&sandbox, &RunnerBridgeRequest { context, ..request(&sandbox) }).0.unwrap_err();
        assert_eq!((error.kind(), error.exit_kind()), (kind, exit), "{script}: {error}");
        nothing_is_left(&sandbox);
    }
    let sandbox = runner("echo '{\"success\": false, \"step_results\": []}'; exit 1");
    let response = bridged(&sandbox, &request(&sandbox)).0.unwrap();
    assert!(!response.success && response.exit_code == 1, "a failure that is told of is an answer");
}

#[test]
fn a_runner_beyond_its_deadline_is_ended_with_all_that_it_started() {
    let sandbox = runner("sleep 600 & sleep 600");
    let request = RunnerBridgeRequest {
        deadline: Some(Duration::from_millis(300)),
        context: vec![("big".into(), "x".repeat(40_000))],
        ..request(&sandbox)
    };
    let (response, notices) = bridged(&sandbox, &request);
    let error = response.unwrap_err();
    assert!(matches!(error, BridgeError::TimedOut) && error.exit_kind() == ExitKind::Budget, "{error}");
    assert!(!notices.iter().any(|notice| notice.contains("still running")), "{notices:?}");
    nothing_is_left(&sandbox);
}

#[test]
fn old_silent_and_missing_runners_are_refused_before_they_run() {
    let mut sandbox = runner(SUCCESS);
    let with = |sandbox: &Sandbox, text: &str| {
        sandbox.write("bin/recipe-runner-rs", format!("#!/bin/sh\n{text}\ntouch \"$HOME/args\"\n"));
        let (response, notices) = bridged(sandbox, &request(sandbox));
        assert_eq!(notices, ["[amplihack] recipe-runner --- starting: test-recipe"]);
        response.unwrap_err()
    };
    for (text, kind) in [
        ("echo recipe-runner 0.3.4; exit", "runner_version_too_old"),
        ("echo recipe-runner 0.3.5-rc1; exit", "runner_version_too_old"),
        ("echo recipe-runner new; exit", "runner_version_unreadable"),
        ("exit 0", "runner_version_unknown"),
        ("echo recipe-runner 0.3.6; exit 1", "runner_version_unknown"),
    ] {
        let error = with(&sandbox, text);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.hint().unwrap().contains("update it"));
    }
    let bin = sandbox.bin();
    std::fs::remove_file(bin.join("recipe-runner-rs")).unwrap();
    sandbox.set("PATH", &bin);
    let error = bridged(&sandbox, &request(&sandbox)).0.unwrap_err();
    assert_eq!((error.kind(), error.exit_kind()), ("runner_not_found", ExitKind::NotFound));
    assert!(!sandbox.home().join("args").exists());
}

#[test]
fn what_cannot_be_asked_for_starts_nothing() {
    let mut sandbox = runner(SUCCESS);
    let keyed =
        |key: &str| RunnerBridgeRequest { context: vec![(key.into(), "v".into())], ..request(&sandbox) };
    for (asked, kind) in [
        (keyed(""), "bad_context_key"),
        (keyed("a=b"), "bad_context_key"),
        (keyed("a\0b"), "bad_context_key"),
        (RunnerBridgeRequest { recipe: "--update".into(), ..request(&sandbox) }, "bad_recipe"),
        (
            RunnerBridgeRequest { working_dir: sandbox.work().join("missing"), ..request(&sandbox) },
            "directory",
        ),
        (RunnerBridgeRequest { runner: Some(sandbox.work()), ..request(&sandbox) }, "runner_not_found"),
    ] {
        assert_eq!(bridged(&sandbox, &asked).0.unwrap_err().kind(), kind);
    }
    sandbox.set("RECIPE_RUNNER_INSTALL_TIMEOUT", "soon");
    assert_eq!(bridged(&sandbox, &request(&sandbox)).0.unwrap_err().kind(), "bad_install_timeout");
    assert!(!sandbox.home().join("args").exists());
}

#[test]
fn below_copilot_the_shim_is_first_on_path_for_as_long_as_the_run() {
    let mut sandbox = runner(&format!("command -v copilot > \"$HOME/copilot\"\n{SUCCESS}"));
    let program = sandbox.write("opt/amplihack", "#!/bin/sh\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let directory = sandbox.root().join("run/bin");
    let asked = RunnerBridgeRequest {
        copilot: Some(CopilotShim { directory: directory.clone(), program }),
        ..request(&sandbox)
    };
    let real = sandbox.fake("copilot");
    let mut called = |agent: &str| {
        sandbox.set("AMPLIHACK_AGENT_BINARY", agent);
        bridged(&sandbox, &asked).0.unwrap();
        assert!(!directory.exists());
        lines(&sandbox, "copilot").remove(0)
    };
    assert_eq!(called("copilot"), directory.join("copilot").display().to_string());
    assert_eq!(called("claude"), real.display().to_string());
}
