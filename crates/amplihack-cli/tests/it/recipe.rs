//! `amplihack recipe`: what is refused before the first step, agents, outputs, what is printed.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Sandbox, Script, procs};
use serde_json::Value;

use crate::fakes::{fakes, forget};
use crate::world::{prepare, run};

fn sandbox(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    amplihack_testkit::create_repository(&sandbox.work());
    for (name, text) in files {
        sandbox.write(format!("work/{name}"), text);
    }
    sandbox
}

fn result(sandbox: &Sandbox, args: &[&str], code: i32) -> Value {
    let args: Vec<&str> = ["recipe", "run"].iter().chain(args).chain(&["-f", "json"]).copied().collect();
    let output = run(sandbox, &args);
    output.assert_code(code);
    output.json()
}

#[test]
fn a_mistake_in_a_recipe_below_is_told_before_the_first_step() {
    let sandbox = sandbox(&[
        ("top.yaml", "name: top\nsteps:\n  - {id: a, command: touch ran}\n  - {id: r, recipe: below}\n"),
        (
            "below.yaml",
            "name: below\nsteps:\n  - {id: x, command: 'true', condition: \"a == 1\"}\n  - {id: y, command: 'true', condition: \"b\"}\n  \
             - {id: z, command: 'true', condition: \"c == 'open\"}\n",
        ),
    ]);
    for args in [
        &["recipe", "run", "top.yaml"][..],
        &["recipe", "validate", "top.yaml"],
        &["recipe", "run", "top.yaml", "--dry-run"],
    ] {
        let output = run(&sandbox, args);
        output.assert_code(1).assert_stdout("").assert_stderr_has("below.yaml:5:").assert_stderr_has("^");
    }
    assert!(!sandbox.work().join("ran").exists());
    assert!(!sandbox.home().join(".amplihack/recipe-runs").exists());
}

#[test]
fn results_say_what_each_process_returned() {
    let sandbox = sandbox(&[
        (
            "t.yaml",
            "name: t\nsteps:\n  - {id: a, command: 'echo 1.10', output: v}\n  - {id: b, command: 'exit 3', fatal: false}\n  \
         - {id: c, command: 'kill -9 $$', fatal: false}\n  - {id: d, command: 'sleep 600', timeout: 1, fatal: false}\n  - {id: e, recipe: u}\n",
        ),
        ("u.yaml", "name: u\nsteps:\n  - {id: x, command: 'echo {{v}}', output: w}\n"),
    ]);
    let result = result(&sandbox, &["t.yaml"], 0);
    let steps = result["step_results"].as_array().unwrap();
    let facts: Vec<Value> = steps
        .iter()
        .map(|step| {
            serde_json::json!([
                step["step_id"],
                step["type"],
                step["status"],
                step["exit_code"],
                step["signal"]
            ])
        })
        .collect();
    assert_eq!(
        serde_json::json!(facts),
        serde_json::json!([
            ["a", "bash", "completed", 0, null],
            ["b", "bash", "failed", 3, null],
            ["c", "bash", "failed", null, 9],
            ["d", "bash", "failed", null, 15],
            ["e", "recipe", "completed", null, null],
        ])
    );
    assert!(steps[3]["error"].as_str().unwrap().contains("timed out after 1s"), "{result}");
    assert_eq!(steps[4]["step_results"][0]["output"], "1.10");
    assert_eq!((&result["schema_version"], &result["success"]), (&1.into(), &true.into()));
}

#[test]
fn every_agent_gets_prompt_and_definition() {
    for agent in AgentBinary::ALL {
        let mut sandbox = fakes();
        sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
        sandbox.write("work/.claude/agents/core/thing.md", "YOU ARE A THING");
        // Amplifier takes prompts as an argument only.
        let size = if agent == AgentBinary::Amplifier { 64 << 10 } else { 300_000 };
        let big = "x".repeat(size);
        sandbox.write("work/big.json", serde_json::json!({ "big": big }).to_string());
        sandbox.write(
            "work/a.yaml",
            "name: a\nsteps:\n  - {id: p, agent: 'any:thing', prompt: 'do {{big}}', output: v, fatal: false}\n",
        );
        let args =
            ["recipe", "run", "a.yaml", "--agent", agent.name(), "--no-hooks", "--context-file", "big.json"];
        // Claude reads the definition from a file, which is gone afterwards.
        let keep = "cat $(tr '\\0' '\\n' </proc/$PPID/cmdline | sed -n 's/^--append-system-prompt-file=//p') >\"$HOME/kept\"";
        sandbox.script_for("claude", &Script::new().shell(keep));
        run(&sandbox, &args);
        let record = sandbox.only_run();
        let parts = record.argv.iter().chain(&record.stdin);
        let mut whole: String = parts.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).collect();
        if agent == AgentBinary::Claude {
            assert!(!whole.contains("YOU ARE A THING"), "it stands in the command line");
            whole += &std::fs::read_to_string(sandbox.home().join("kept")).unwrap();
        }
        assert!(whole.contains("YOU ARE A THING"), "{agent}");
        assert!(whole.contains("do xxx") && whole.len() > size, "{agent}: {} bytes", whole.len());
    }
}

#[test]
fn an_answer_that_is_not_what_outputs_asks_for_is_a_failure() {
    let mut sandbox = fakes();
    sandbox.script_for("amplifier", &Script::new().print("Sure: {\"count\": \"three\"}\n"));
    sandbox.write(
        "work/a.yaml",
        "name: a\nsteps:\n  - id: p\n    prompt: count\n    parse_json: true\n    outputs: {type: object, properties: {count: {type: integer}}}\n",
    );
    let result = result(&sandbox, &["a.yaml", "--agent", "amplifier", "--no-hooks", "--progress", "none"], 1);
    let step = &result["step_results"][0];
    assert!(step["error"].as_str().unwrap().contains("at /count"), "{step}");
    // It was asked once more.
    assert_eq!((&step["attempts"], sandbox.runs().len()), (&2.into(), 2));
    assert_eq!(step["agent"]["agent"], "amplifier");
    assert!(step["agent"]["session"].is_string(), "{step}");
}

#[test]
fn nothing_is_left_of_what_steps_put_into_the_background() {
    let sandbox = sandbox(&[(
        "t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'sleep 600 & echo started'}\n  - {id: b, command: 'kill -0 $(pgrep -n -x sleep) && echo alive'}\n",
    )]);
    let result = result(&sandbox, &["t.yaml"], 0);
    assert_eq!(result["step_results"][0]["output"], "started");
    procs::assert_none_soon(&sandbox.marker("x")[2..], Duration::from_secs(10));
}

#[test]
fn a_run_is_refused_that_would_be_too_deep() {
    let mut sandbox = sandbox(&[("t.yaml", "name: t\nsteps:\n  - {id: a, command: 'touch ran'}\n")]);
    for depth in ["6", "x"] {
        sandbox.set("AMPLIHACK_SESSION_DEPTH", depth);
        run(&sandbox, &["recipe", "run", "t.yaml"]).assert_code(1).assert_stderr_has("this run");
    }
    assert!(!sandbox.work().join("ran").exists());
}

#[test]
fn progress_for_people_and_for_programs() {
    let sandbox = sandbox(&[(
        "t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'echo hi'}\n  - {id: s, command: 'true', condition: 'no'}\n  - {id: f, command: 'exit 1'}\n",
    )]);
    let output = run(&sandbox, &["recipe", "run", "t.yaml"]);
    output.assert_code(1);
    for part in [
        "--- starting: t",
        "--- executing: t",
        "▶ a",
        "✓ a",
        "⊘ s",
        "✗ f",
        "Command failed (exit 1)",
        "--resume",
    ] {
        output.assert_stderr_has(part);
    }
    let output = prepare(&sandbox, &["recipe", "run", "t.yaml", "--progress", "jsonl"]).output();
    let lines: Vec<Value> =
        output.stderr_text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let step = ["step_start", "step_end"];
    assert_eq!(kinds, [&["recipe_start"][..], &step, &step, &step, &["recipe_end"]].concat());
}

#[test]
fn a_failed_run_goes_on_where_it_failed() {
    let sandbox = sandbox(&[(
        "t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'echo a >> ran; echo A', output: a}\n  - {id: b, command: 'echo b >> ran; test -e there'}\n  \
         - {id: c, command: 'echo {{a}}', output: c}\n",
    )]);
    result(&sandbox, &["t.yaml"], 1);
    sandbox.write("work/there", "");
    let result = result(&sandbox, &["--resume", "latest"], 0);
    assert_eq!(result["context"]["c"], "A");
    assert_eq!(std::fs::read_to_string(sandbox.work().join("ran")).unwrap(), "a\nb\nb\n");
    // One that is complete answers with its result, and runs nothing again.
    let again = run(&sandbox, &["recipe", "run", "--resume", "latest"]);
    again.assert_code(0).assert_stdout_has("SUCCESS");
    let output = run(&sandbox, &["recipe", "runs", "show", "latest"]);
    output.assert_code(0).assert_stdout_has("completed").assert_stdout_has("c (");
    // A recipe that was changed meanwhile is not the one that was begun.
    sandbox.write("work/t2.yaml", "name: t2\nsteps:\n  - {id: a, command: 'exit 1'}\n");
    run(&sandbox, &["recipe", "run", "t2.yaml"]).assert_code(1);
    sandbox.write("work/t2.yaml", "name: t2\nsteps:\n  - {id: a, command: 'exit 0'}\n");
    run(&sandbox, &["recipe", "run", "--resume", "latest"])
        .assert_code(1)
        .assert_stderr_has("t2.yaml is not as it was");
}

#[test]
fn runs_that_ended_long_ago_can_be_removed() {
    let sandbox = sandbox(&[("t.yaml", "name: t\nsteps:\n  - {id: a, command: 'exit 1'}\n")]);
    run(&sandbox, &["recipe", "run", "t.yaml"]).assert_code(1);
    let kept = || std::fs::read_dir(sandbox.home().join(".amplihack/recipe-runs")).unwrap().count();
    let prune = |more: &[&str]| run(&sandbox, &[&["recipe", "runs", "prune"], more].concat());
    prune(&["--older-than", "1h"]).assert_stdout("");
    let named = prune(&["--older-than", "0s", "--dry-run"]).assert_code(0).stdout_text();
    assert_eq!((named.lines().count(), kept()), (1, 1));
    prune(&["--older-than", "0s"]).assert_stdout(named);
    assert_eq!(kept(), 0);
}

/// Of a run that goes on, what an earlier runner came to is no longer how it stands; and nobody takes its directory away.
#[test]
fn a_run_that_goes_on_after_a_failure_is_shown_as_it_stands_and_kept() {
    let sandbox = sandbox(&[(
        "t.yaml",
        "name: t\nsteps:\n  - {id: a, command: test -e there}\n  - {id: b, command: 'echo on >> ran; sleep 600'}\n",
    )]);
    run(&sandbox, &["recipe", "run", "t.yaml"]).assert_code(1);
    sandbox.write("work/there", "");
    let resumed = prepare(&sandbox, &["recipe", "run", "--resume", "latest"]).spawn();
    let ran = sandbox.work().join("ran");
    while !ran.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let state = || run(&sandbox, &["recipe", "runs", "list", "--json"]).json()["runs"][0].clone();
    assert_eq!((&state()["state"], &state()["failed"]), (&"running".into(), &0.into()));
    run(&sandbox, &["recipe", "runs", "prune", "--older-than", "0s"]).assert_code(0).assert_stdout("");
    resumed.signal(rustix::process::Signal::KILL);
    resumed.wait();
    assert_eq!(state()["state"], "killed");
    // Who goes on with it has it before it says so.
    let directory = state()["directory"].as_str().unwrap().to_owned();
    let lock = std::fs::File::open(format!("{directory}/lock")).unwrap();
    lock.lock().unwrap();
    run(&sandbox, &["recipe", "runs", "prune", "--older-than", "0s"]).assert_code(0).assert_stdout("");
    assert_eq!(state()["state"], "killed");
    drop(lock);
    run(&sandbox, &["recipe", "runs", "prune", "--older-than", "0s"]).assert_code(0);
    assert!(!std::path::Path::new(&directory).exists());
}

#[test]
fn what_is_no_recipe_and_no_directory_is_told_as_what_it_is() {
    let sandbox = sandbox(&[("t.yaml", "name: t\nsteps:\n  - {id: a, command: 'true'}\n")]);
    sandbox.run("/usr/bin/mkfifo", [sandbox.work().join("pipe")]).assert_code(0);
    for (args, code, why) in [
        (&["./pipe"][..], 3, "it is not a regular file"),
        (&["."], 3, "it is not a regular file"),
        (&["./none"], 3, "there is no such file"),
        (&["t.yaml", "-w", "t.yaml"], 1, "t.yaml cannot be used: not a directory"),
        (&["t.yaml", "--audit-dir", "t.yaml"], 1, "no audit can be written into t.yaml: "),
    ] {
        run(&sandbox, &[&["recipe", "run"], args].concat()).assert_code(code).assert_stderr_has(why);
    }
    assert!(!sandbox.home().join(".amplihack/recipe-runs").exists(), "nothing was begun");
}

#[test]
fn a_pipe_in_the_place_of_a_journal_is_waited_for_by_nobody() {
    let sandbox = sandbox(&[("t.yaml", "name: t\nsteps:\n  - {id: a, command: 'true'}\n")]);
    run(&sandbox, &["recipe", "run", "t.yaml"]).assert_code(0);
    let pipe = sandbox.home().join(".amplihack/recipe-runs/pipe/journal.jsonl");
    std::fs::create_dir(pipe.parent().unwrap()).unwrap();
    sandbox.run("/usr/bin/mkfifo", [&pipe]).assert_code(0);
    let list = prepare(&sandbox, &["recipe", "runs", "list"]).timeout(Duration::from_secs(20)).output();
    list.assert_code(0).assert_stdout_has("completed").assert_stderr_has("not a regular file");
}

#[test]
fn another_program_may_run_a_recipe() {
    let mut sandbox = fakes();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    let runner = std::path::Path::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    sandbox.write(
        "work/t.yaml",
        "name: t\ncontext: {v: none}\nsteps:\n  - {id: a, command: 'printf %s \"{{v}}\" | wc -c; printf %s \"{{w}}\"', output: o}\n",
    );
    // A value that does not fit into an argument comes through a private file, and leaves none behind.
    let big = serde_json::json!({ "v": "x".repeat(200_000) }).to_string();
    sandbox.write("work/big.json", big);
    let given = [
        "t.yaml",
        "--runner",
        runner.to_str().unwrap(),
        "--context-file",
        "big.json",
        "-c",
        "w=$(touch ran)",
    ];
    let found = result(&sandbox, &given, 0);
    assert_eq!(found["step_results"][0]["output"], "200000\n$(touch ran)");
    let left = std::fs::read_dir(sandbox.root().join("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with("recipe-context")).count(), 0);
    assert!(!sandbox.work().join("ran").exists());

    let output = run(&sandbox, &["recipe", "run", "t.yaml", "--runner", "external"]);
    output.assert_code(3).assert_stderr_has("recipe-runner-rs was not found");
    sandbox.set("RECIPE_RUNNER_RS_PATH", runner);
    let output = run(&sandbox, &["recipe", "run", "t.yaml", "--runner", "external"]);
    output
        .assert_code(0)
        .assert_stderr_has("[amplihack] recipe-runner --- executing: ")
        .assert_stderr_has("work/t.yaml");
    output.assert_stdout_has("Recipe 't': SUCCESS");
}

#[test]
fn a_step_that_calls_copilot_as_if_it_were_claude_is_understood() {
    let mut sandbox = fakes();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox.script(&Script::new().print("said\n").exit(3));
    sandbox.write(
        "work/t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'copilot --dangerously-skip-permissions --system-prompt S -p P; echo $?', output: o}\n",
    );
    let found = result(&sandbox, &["t.yaml", "--agent", "copilot"], 0);
    assert_eq!(found["step_results"][0]["output"], "said\n3");
    let words: Vec<_> = sandbox
        .only_run()
        .argv
        .iter()
        .skip(1)
        .map(|word| String::from_utf8_lossy(&word.0).into_owned())
        .collect();
    assert_eq!(words, ["--allow-all-tools", "--allow-all-paths", "-p", "S\n\nP"]);
    let shims = std::fs::read_dir(sandbox.home().join(".amplihack/shims")).unwrap();
    assert_eq!(shims.count(), 0, "the stand-in goes with its run");
}

#[test]
fn megabytes_reach_an_agent_step_whole_or_are_refused_by_their_size() {
    let mut sandbox = fakes();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox.write("work/a.yaml", "name: a\nsteps:\n  - {id: p, prompt: 'do {{big}} now', fatal: false}\n");
    let step = |agent: &str, size: usize| {
        sandbox.write("work/big.json", serde_json::json!({ "big": "y".repeat(size) }).to_string());
        let args = ["recipe", "run", "a.yaml", "--agent", agent, "--no-hooks", "--context-file", "big.json"];
        let output = run(&sandbox, &args);
        let runs = sandbox.runs();
        forget(&sandbox);
        (output, runs)
    };
    for (agent, size) in
        [("claude", 9_000_000), ("copilot", 10_000_000), ("amp", 10_000_000), ("codex", 1_000_000)]
    {
        let (output, runs) = step(agent, size);
        assert_eq!(runs.len(), 1, "{output}");
        let stdin = String::from_utf8(runs[0].stdin.clone().unwrap().0).unwrap();
        assert!(stdin.starts_with("do yyy") && stdin.contains("y now"), "{agent}");
        assert_eq!(stdin.matches('y').count(), size, "{agent}");
    }
    // The real Claude was shown to refuse it.
    let (output, runs) = step("claude", 10_000_000);
    assert_eq!(runs.len(), 0);
    output.assert_stdout_has("the prompt has 10000007 bytes");
}

/// The most memory that the process `pid` has had, in kB; 0 once it is gone.
fn peak(pid: rustix::process::Pid) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[test]
fn much_output_is_kept_in_a_file_and_not_in_memory() {
    let sandbox = sandbox(&[(
        "t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'head -c 300000000 /dev/zero | tr \"\\\\0\" x'}\n",
    )]);
    let mut running = prepare(&sandbox, &["recipe", "run", "t.yaml", "-f", "json"]).spawn();
    let mut most = 0;
    running.until("the end", |running| {
        most = most.max(peak(running.pid()));
        !running.is_running()
    });
    let output = running.wait();
    output.assert_code(0);
    assert_eq!(output.json()["step_results"][0]["output_bytes"], 300_000_000);
    assert!(most > 0 && most < 50_000, "{most} kB");
}
