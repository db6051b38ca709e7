//! Messages of the first hour: each names what failed and for which thing, and the command that helps.

use std::path::Path;

use amplihack_testkit::{Output, Run, Sandbox, Script};

use crate::fakes::{bare, fakes};
use crate::world::{amplihack, prepare, run};

#[test]
fn a_prompt_without_quotes_is_shown_with_them() {
    let sandbox = bare();
    let tip = |args: &[&str]| {
        let output = run(&sandbox, args);
        let text = output.assert_code(2).assert_stdout("").stderr_text();
        text.lines().find_map(|line| line.trim().strip_prefix("tip: ").map(str::to_owned)).unwrap_or_default()
    };
    assert_eq!(
        tip(&["claude", "-p", "fix", "the", "bug"]),
        "a prompt is one argument; quote it: 'fix the bug'"
    );
    assert_eq!(
        tip(&["claude", "-p", "--model", "opus", "fix", "the", "bug", "--timeout", "5min"]),
        "a prompt is one argument; quote it: 'fix the bug'"
    );
    assert_eq!(
        tip(&["auto", "fix", "it"]),
        "a task is given with --task: amplihack auto --task 'Fix the build'"
    );
    assert_eq!(tip(&["version"]), "`amplihack --version` prints the version");
    assert_eq!(tip(&["claude", "--modle", "x"]), "a similar argument exists: '--model'");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let sandbox = fakes();
    for args in [
        &["parallel", "--agents", "claude", "--task-file", "nope.txt"][..],
        &["claude", "--prompt-file", "nope.txt"],
    ] {
        run(&sandbox, args)
            .assert_code(1)
            .assert_stdout("")
            .assert_stderr_has("error: cannot read nope.txt: No such file or directory");
    }
    let output = run(&sandbox, &["recipe", "validate", "nope.yaml"]);
    output.assert_code(3).assert_stderr_has("there is no file ").assert_nowhere("searched");
}

#[test]
fn a_worktree_outside_of_a_repository_says_so() {
    let mut sandbox = Sandbox::new();
    sandbox.fake("claude");
    let path = format!("{}:/usr/bin:/bin", sandbox.bin().display());
    sandbox.set("PATH", path);
    let output = run(&sandbox, &["auto", "--agent", "claude", "--task", "x", "--worktree"]);
    let directory = sandbox.work().canonicalize().unwrap();
    output.assert_stderr_has(&format!(
        "error: --worktree needs a git repository; {} is not in one\nhint: run git init and commit",
        directory.display()
    ));
    assert_eq!(sandbox.runs(), []);
}

#[test]
fn an_error_before_the_run_is_json_where_json_was_asked_for() {
    let sandbox = bare();
    for (args, code, kind) in [
        (&["claude", "-p", "--output", "json", "hi"][..], 3, "agent_not_found"),
        (&["claude", "-p", "--output", "stream-json", "hi"], 3, "agent_not_found"),
        (&["claude", "-p", "--output", "json", "--no-such-flag", "hi"], 2, "usage"),
    ] {
        let output = run(&sandbox, args);
        assert_eq!(output.assert_code(code).json()["error"]["kind"], kind, "{args:?}");
    }
}

fn silent_for_ever() -> Sandbox {
    let mut sandbox = fakes();
    sandbox.script(&Script::new().sleep_ms(600_000));
    sandbox
}

#[test]
fn a_run_that_its_time_limit_ended_says_which_limit() {
    let sandbox = silent_for_ever();
    let output = run(&sandbox, &["claude", "-p", "--no-hooks", "--timeout", "300ms", "hi"]);
    output.assert_code(5).assert_stderr_has("error: ended after 300 ms (--timeout)\n");
    let output = run(&sandbox, &["claude", "--no-hooks", "--output", "json", "--timeout", "300ms", "hi"]);
    assert_eq!(output.assert_code(5).json()["message"], "ended after 300 ms, its time limit");
    output.assert_stderr_has("error: ended after 300 ms (--timeout)\n");
    let args = ["claude", "--no-hooks", "--output", "json", "--idle-timeout", "300ms", "hi"];
    let output = run(&sandbox, &args);
    assert_eq!(output.assert_code(5).json()["message"], "ended after 300 ms without output");
    output.assert_stderr_has("error: ended after 300 ms without output (--idle-timeout)\n");
}

/// What Amp prints without a key, in pieces as a pipe may give them.
fn asks_for_login() -> Sandbox {
    let mut sandbox = fakes();
    let script = Script::new().print("No API key").sleep_ms(50).print(
        " found. Starting login flow...\nIf your browser does not open automatically, visit:\n\nhttps://x.example\n",
    );
    sandbox.script_for("amp", &script.sleep_ms(600_000)).set("AMPLIHACK_STOP_GRACE_SECONDS", "0");
    sandbox
}

#[test]
fn amp_without_a_key_ends_headless_with_what_to_do() {
    let sandbox = asks_for_login();
    let expected = "amp has no API key; run `amp login`, or set AMP_API_KEY";
    let output = run(&sandbox, &["amp", "-p", "hi"]);
    output.assert_code(1).assert_stderr_has(&format!("error: {expected}\n"));
    output.assert_stdout_has("Starting login flow");
    let output = run(&sandbox, &["amp", "--output", "json", "hi"]);
    let end = output.assert_code(1).json();
    assert_eq!((&end["kind"], &end["message"]), (&"auth".into(), &expected.into()));
}

#[test]
fn what_amp_prints_arrives_as_it_is() {
    let mut sandbox = fakes();
    sandbox.script_for("amp", &Script::new().print("one").sleep_ms(20).print(" two\n").exit(3));
    run(&sandbox, &["amp", "-p", "hi"]).assert_code(3).assert_stdout("one two\n");
    sandbox.set("AMP_API_KEY", "k");
    run(&sandbox, &["amp", "-p", "hi"]).assert_code(3).assert_stdout("one two\n");
}

/// A repository with the fake of one agent.
fn only(agent: &str) -> Sandbox {
    let sandbox = bare();
    sandbox.fake(agent);
    sandbox
}

const INSTEAD: &str = "note: using codex: no agent is named, and copilot, the default, is not installed; choose one with --agent or AMPLIHACK_AGENT_BINARY\n";

#[test]
fn where_no_agent_is_named_one_that_is_installed_is_used() {
    let mut sandbox = only("codex");
    let used = |output: &Output, sandbox: &Sandbox| {
        output.assert_code(0);
        sandbox.only_run().name
    };
    run(&sandbox, &["doctor"]).assert_code(0).assert_stdout_has("starts codex");
    let output = run(&sandbox, &["launch", "-p", "--no-hooks", "hi"]);
    assert_eq!(used(&output, &sandbox), "codex");
    output.assert_stderr_has(INSTEAD);
    // Whoever names an agent, or has the default, hears nothing.
    run(&sandbox, &["codex", "-p", "--no-hooks", "hi"]).assert_code(0).assert_nowhere("note: using");
    sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
    run(&sandbox, &["launch", "-p", "--no-hooks", "hi"]).assert_code(3).assert_nowhere("note: using");
    let copilot = only("copilot");
    run(&copilot, &["launch", "-p", "--no-hooks", "hi"]).assert_code(0).assert_nowhere("note: using");
}

#[test]
fn an_agent_that_can_be_guarded_comes_first_and_recipes_choose_alike() {
    let sandbox = only("amp");
    sandbox.fake("gemini");
    let output = run(&sandbox, &["launch", "--dry-run", "--no-hooks", "-p", "hi"]);
    output.assert_code(0).assert_stderr_has("note: using gemini: ");
    sandbox.write("work/ask.yaml", "name: ask\nsteps:\n  - {id: a, agent: x, prompt: hi}\n");
    sandbox.write("work/bash.yaml", "name: bash\nsteps:\n  - {id: a, command: 'true'}\n");
    run(&sandbox, &["recipe", "run", "ask.yaml", "--dry-run"]).assert_stderr_has("note: using gemini: ");
    run(&sandbox, &["recipe", "run", "bash.yaml", "--dry-run"]).assert_nowhere("note: using");
}

#[test]
fn a_machine_without_an_agent_is_told_so() {
    let output = run(&bare(), &["doctor"]);
    let text = output.assert_code(0).stdout_text();
    assert!(text.starts_with("Agents\n  claude: not found; install it: "), "{text}");
    assert!(
        text.ends_with("no agent was found: install one of those above, then run `amplihack doctor` again\n")
    );
}

const MISTAKES: &str = r#"name: seven
steps:
  - id: one
    command: echo
    timeout: "abc"
  - id: two
    agent: amplihack:nobody
  - id: three
    command: touch ran
    conditon: "1 == 2"
  - id: four
    recipe: no-such-recipe
  - id: five
    command: echo
    condition: "a =="
  - id: six
    command: echo {{nothing_sets_it}}
"#;

#[test]
fn all_mistakes_of_a_recipe_are_told_at_once() {
    let sandbox = bare();
    sandbox.write("work/seven.yaml", MISTAKES);
    let output = run(&sandbox, &["recipe", "validate", "seven.yaml"]);
    let text = output.assert_code(1).assert_stdout("").stderr_text();
    assert!(text.starts_with("error: the recipe has 5 mistakes; nothing was started\n"), "{text}");
    let told: Vec<&str> = text
        .lines()
        .skip(1)
        .filter(|line| line.starts_with("error: ") || line.starts_with("warning: "))
        .collect();
    assert_eq!(
        told,
        [
            "error: `timeout` must be an integer from 0 to 18446744073",
            "error: step `two` is an agent step without a `prompt`",
            "warning: agent `amplihack:nobody` not found: the step runs without a system prompt",
            "error: unrecognized field `conditon` in a step",
            "error: sub-recipe `no-such-recipe` not found",
            "error: condition of step `five`: unexpected end of expression: expected a value",
            "warning: step `six`: nothing sets `nothing_sets_it`; its placeholder is empty",
        ]
    );
    assert!(text.contains("did you mean `condition`?"), "{text}");
    let json = run(&sandbox, &["recipe", "validate", "--json", "seven.yaml"]).assert_code(1).json();
    let count = |key: &str| json[key].as_array().unwrap().len();
    assert_eq!((count("errors"), count("warnings")), (5, 2), "{json:#}");
}

#[test]
fn a_step_with_an_unknown_key_does_not_run() {
    let sandbox = bare();
    sandbox.write(
        "work/typo.yaml",
        "name: typo\nx-note: fine\nsteps:\n  - {id: a, command: 'touch ran', conditon: '1 == 2', x-mine: 1}\n",
    );
    run(&sandbox, &["recipe", "run", "typo.yaml"])
        .assert_code(1)
        .assert_stderr_has("did you mean `condition`?");
    assert!(!sandbox.work().join("ran").exists());
}

/// `amplihack` with `words` on a terminal of 80 columns.
fn on_terminal(sandbox: &Sandbox, words: &str) -> String {
    let mut command = sandbox.command(Path::new("/usr/bin/script"));
    let line = format!("/usr/bin/stty cols 80 rows 24; {} {words}", amplihack().display());
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color");
    Run::new(command).output().stdout_text().replace("\r\n", "\n")
}

#[test]
fn reports_fit_a_terminal_and_have_colors_there() {
    let mut sandbox = bare();
    let text = on_terminal(&sandbox, "doctor");
    assert!(text.contains("\u{1b}[1mAgents\u{1b}[0m"), "{text:?}");
    let plain = |line: &str| {
        let parts: Vec<&str> = line.split('\u{1b}').collect();
        let rest = parts[1..].iter().map(|part| part.split_once('m').map_or(*part, |(_, text)| text));
        std::iter::once(parts[0]).chain(rest).collect::<String>()
    };
    sandbox.write(
        "work/.claude/recipes/long.yaml",
        format!("name: long\ndescription: {}\nsteps: [{{id: a, command: 'true'}}]\n", "word ".repeat(40)),
    );
    for words in ["doctor", "policy list", "policy explain 'rm -rf / && git push --force'", "recipe list"] {
        let text = on_terminal(&sandbox, words);
        let wide: Vec<String> = text
            .lines()
            .map(plain)
            .filter(|line| line.chars().count() > 80 && line.trim().contains(' '))
            .collect();
        assert_eq!(wide, Vec::<String>::new(), "{words}");
    }
    let denied = on_terminal(&sandbox, "policy check 'rm -rf /'");
    assert!(denied.contains("\u{1b}[1m\u{1b}[31mdeny\u{1b}[0m by "), "{denied:?}");
    let error = on_terminal(&sandbox, "sessions show nothing");
    assert!(error.contains("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{error:?}");
    sandbox.set("NO_COLOR", "1");
    for words in ["doctor", "policy check 'rm -rf /'", "sessions show nothing"] {
        assert!(!on_terminal(&sandbox, words).contains('\u{1b}'), "{words}");
    }
    let piped = prepare(&sandbox, &["doctor"]).env("NO_COLOR", "").output();
    assert!(!piped.stdout_text().contains('\u{1b}'));
}

#[test]
fn no_time_at_all_is_no_timeout() {
    let sandbox = bare();
    for words in [&["claude", "--timeout", "0s", "hi"][..], &["auto", "--deadline", "0s", "--task", "x"]] {
        run(&sandbox, words).assert_code(2).assert_stderr_has("give a longer one, or leave the option out");
    }
}

#[test]
fn an_installed_guard_leaves_prompts_alone_unless_asked() {
    let sandbox = Sandbox::new();
    let answer = |session: &str| {
        let payload =
            format!(r#"{{"hook_event_name":"UserPromptSubmit","session_id":"{session}","prompt":"add it"}}"#);
        prepare(&sandbox, &["hook", "user-prompt-submit", "--host", "claude"])
            .stdin(payload)
            .output()
            .stdout_text()
    };
    assert_eq!(answer("one"), "");
    sandbox.write("home/.config/amplihack/config.toml", "prompt_reminder = true\n");
    assert!(answer("two").contains("hooks-workflow-classification"));
}
