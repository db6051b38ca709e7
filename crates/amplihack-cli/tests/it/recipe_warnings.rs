//! What a launch warns about, seen through every front end of recipes: on stderr, and in the step's result.

use amplihack_testkit::{Output, Run, Sandbox, Script};
use serde_json::Value;

use crate::routing::ASKS;
use crate::scene::repository;
use crate::world::run;

const RUNNER: &str = env!("CARGO_BIN_EXE_recipe-runner-rs");

/// A setting, the agent that it concerns, and a part of what the launch says about it.
const CASES: [(&str, &str, &str, &str); 3] = [
    ("AMPLIHACK_PROMPT_DELIVERY", "tempfile", "claude", "requested tempfile is unsupported; degrading to "),
    ("AMPLIHACK_PROMPT_DELIVERY", "bogus", "claude", "AMPLIHACK_PROMPT_DELIVERY"),
    ("UNRELATED", "1", "amplifier", "without a guard"),
];

fn runner(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command(RUNNER);
    command.arg("asks.yaml").args(args);
    Run::new(command).output()
}

#[track_caller]
fn assert_warned(output: &Output, says: &str) {
    assert!(output.stderr_text().contains(says), "{says}: {}", output.stderr_text());
    let result: Value = serde_json::from_str(&output.stdout_text()).unwrap();
    let warnings = result["step_results"][0]["warnings"].to_string();
    assert!(warnings.contains(says), "{says}: {result}");
}

#[test]
fn no_front_end_of_recipes_swallows_a_warning() {
    for (name, value, agent, says) in CASES {
        let mut sandbox = repository(&["claude", "amplifier"]);
        sandbox.write("work/asks.yaml", ASKS);
        sandbox.set(name, value);
        let output = runner(&sandbox, &["--agent-binary", agent, "--output-format", "json"]);
        output.assert_code(0).assert_stderr_has("warning: b: ");
        assert_warned(&output, says);
        let output = runner(&sandbox, &["--agent-binary", agent, "--output-format", "json", "--progress"]);
        assert_warned(&output, says);
        let output = run(&sandbox, &["recipe", "run", "asks.yaml", "--agent", agent, "--format", "json"]);
        assert_warned(&output, says);
        for progress in ["lines", "none"] {
            let args =
                ["recipe", "run", "asks.yaml", "--agent", agent, "--format", "json", "--runner", RUNNER];
            let output = run(&sandbox, &[&args[..], &["--progress", progress]].concat());
            output.assert_code(0);
            assert_warned(&output, says);
        }
        sandbox.write("work/outer.yaml", "name: outer\nsteps:\n  - {id: o, type: recipe, recipe: asks}\n");
        let output = run(&sandbox, &["recipe", "run", "outer.yaml", "--agent", agent]);
        output.assert_stderr_has(says);
        run(&sandbox, &["auto", "--agent", agent, "--max-turns", "1", "--task", "hi"])
            .assert_stderr_has(says);
        sandbox.write("work/tasks", "hi\n");
        for race in [&[][..], &["--race"]] {
            let args = ["parallel", "--task-file", "tasks", "--agents", agent, "--max-turns", "1"];
            run(&sandbox, &[&args[..], race].concat()).assert_stderr_has(says);
        }
    }
}

#[test]
fn what_is_in_order_has_no_warnings() {
    let sandbox = repository(&["claude"]);
    sandbox.write("work/asks.yaml", ASKS);
    // What looks like a warning in a script's own output is the script's.
    sandbox.write(
        "work/asks.yaml",
        "name: w\nsteps:\n  - {id: b, type: bash, command: 'echo warning: mine >&2'}\n",
    );
    let output = runner(&sandbox, &["--output-format", "json"]);
    output.assert_code(0).assert_stderr("");
    assert!(!output.stdout_text().contains("warnings"), "{}", output.stdout_text());
}

#[test]
fn the_external_runners_last_words_are_shown_and_kept() {
    let sandbox = repository(&[]);
    sandbox.write("work/asks.yaml", ASKS);
    sandbox.write(
        "bin/old-runner",
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo recipe-runner 0.4.0; exit; }\necho boom >&2\nexit 4\n",
    );
    let runner = sandbox.root().join("bin/old-runner");
    sandbox.run("chmod", ["755", runner.to_str().unwrap()]).assert_code(0);
    for progress in ["lines", "none"] {
        let args =
            ["recipe", "run", "asks.yaml", "--runner", runner.to_str().unwrap(), "--progress", progress];
        let output = run(&sandbox, &args);
        let stderr = output.stderr_text();
        assert!(stderr.contains("failed with exit code 4: boom"), "{progress}: {stderr}");
        assert!(progress == "none" || stderr.lines().any(|line| line == "boom"), "{stderr}");
        assert!(stderr.contains("starting: asks\n"), "the banner has the recipe's name: {stderr}");
    }
}

#[test]
fn an_external_runners_steps_keep_their_words_and_nothing_took_no_time() {
    let sandbox = repository(&[]);
    sandbox.write("work/asks.yaml", ASKS);
    let answer = r#"{"success": true, "step_results": [{"step_id": "a", "status": "running"}, {"step_id": "b", "status": "pending"}]}"#;
    sandbox.write(
        "bin/old-runner",
        format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo recipe-runner 0.4.0; exit; }}\necho '{answer}'\n"
        ),
    );
    let runner = sandbox.root().join("bin/old-runner");
    sandbox.run("chmod", ["755", runner.to_str().unwrap()]).assert_code(0);
    let args = ["recipe", "run", "asks.yaml", "--runner", runner.to_str().unwrap()];
    let result = run(&sandbox, &[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(result["step_results"][0]["status"], "running");
    assert_eq!(result["step_results"][1]["status"], "pending");
    let shown = run(&sandbox, &args).stdout_text();
    assert!(shown.contains("SUCCESS (0.0s)"), "{shown}");
}

#[test]
fn an_unknown_form_of_output_is_refused() {
    let sandbox = repository(&["claude"]);
    sandbox.write("work/asks.yaml", ASKS);
    for form in ["xml", "yaml", ""] {
        runner(&sandbox, &["--output-format", form]).assert_code(2).assert_stderr_has("--output-format");
    }
    assert!(sandbox.runs().is_empty(), "nothing was started");
}

#[test]
fn nested_copilot_calls_are_normalised_by_both_runners() {
    let sandbox = repository(&["copilot"]);
    let recipe = "name: n\nsteps:\n  - {id: b, type: bash, command: \"copilot --append-system-prompt SYS -p 'do it'\"}\n";
    sandbox.write("work/asks.yaml", recipe);
    runner(&sandbox, &["--agent-binary", "copilot"]).assert_code(0);
    run(&sandbox, &["recipe", "run", "asks.yaml", "--agent", "copilot"]).assert_code(0);
    let runs = sandbox.runs();
    assert_eq!(runs.len(), 2);
    let args: Vec<Vec<String>> =
        runs.iter().map(|run| run.argv.iter().map(amplihack_testkit::Bytes::lossy).collect()).collect();
    assert_eq!(args[0], args[1]);
    assert!(args[0].iter().any(|arg| arg == "SYS\n\ndo it"), "{args:?}");
}

/// What a launch decided is found in the diagnostics, and the prompt is not.
#[test]
fn a_log_of_a_launch_has_what_was_decided() {
    let mut sandbox = repository(&["claude"]);
    sandbox.script(&Script::new());
    let args =
        ["--log-level", "trace", "--log-file", "../log.jsonl", "claude", "-p", "--prompt", "zimtstern"];
    run(&sandbox, &args).assert_code(0);
    let log = std::fs::read_to_string(sandbox.root().join("log.jsonl")).unwrap();
    let decided = log.lines().find(|line| line.contains("launch decided")).expect("a line of the launch");
    for part in [
        "\"agent\":\"claude\"",
        "version",
        "\"requested\":\"auto\"",
        "\"channel\":\"argv\"",
        "\"prompt_bytes\":9",
    ] {
        assert!(decided.contains(part), "{part}: {decided}");
    }
    assert!(!log.contains("zimtstern"), "{log}");
    run(&sandbox, &["--log-level", "loud", "which"]).assert_code(2);
}
