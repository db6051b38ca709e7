//! `demo` on a bare machine, with real agents, and with broken ones.

use std::path::PathBuf;

use amplihack_testkit::{Output, Sandbox, real};

use crate::scene::{files, program, shown};
use crate::world::{amplihack, run, run_in_loopback};

/// A machine with nothing: an empty home, the system's own programs.
fn bare() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for name in ["LANG", "TERM", "FAKE_AGENT_LOG"] {
        sandbox.unset(name);
    }
    sandbox.set("PATH", "/usr/bin:/bin");
    sandbox
}

/// What the demo showed, its port and its times replaced.
fn text(sandbox: &Sandbox, output: &Output) -> String {
    let lines = shown(sandbox, output);
    let mask = |line: &str| {
        let (before, after) = (line.split_once("127.0.0.1:"), line.split_once(" after "));
        match (before, after) {
            (Some((start, rest)), _) => {
                format!("{start}127.0.0.1:[PORT]{}\n", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            (_, Some((start, _))) => format!("{start} after [TIME]\n"),
            _ => format!("{line}\n"),
        }
    };
    lines.lines().map(mask).collect()
}

fn nothing_is_left(sandbox: &Sandbox) {
    for part in ["tmp", "work"] {
        let left: Vec<PathBuf> = std::fs::read_dir(sandbox.root().join(part))
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_bare_machine_sees_the_main_job() {
    let sandbox = bare();
    let output = run_in_loopback(&sandbox, &["demo"]);
    insta::assert_snapshot!(text(&sandbox, &output));
    output.assert_code(0).assert_nowhere("\u{1b}");
    assert_eq!(files(&sandbox.home()), Vec::<PathBuf>::new(), "the home is untouched");
    nothing_is_left(&sandbox);
}

#[test]
fn real_agents_are_shown_where_they_are_installed() {
    let mut sandbox = bare();
    let mut expected = Vec::new();
    for agent in ["claude", "copilot", "codex", "gemini"] {
        if let Some(program) = real::real_agent(agent) {
            sandbox.set(format!("AMPLIHACK_{}_PATH", agent.to_uppercase()), program);
            expected.push(agent);
        }
    }
    if expected.is_empty() {
        return;
    }
    let output = run_in_loopback(&sandbox, &["demo"]);
    output.assert_code(0).assert_stderr("");
    let rows = output.stdout_text();
    let rows: Vec<&str> = rows.lines().filter(|line| line.ends_with(" holds   │")).collect();
    assert_eq!(rows.len(), expected.len(), "{output}");
    for (agent, row) in expected.iter().zip(rows) {
        assert!(row.starts_with(&format!("│ {agent} ")), "{row}");
        for cell in ["intact by stdin", "┆ ran ", "┆ stopped "] {
            assert!(row.contains(cell), "{row}");
        }
    }
    let written = files(&sandbox.home());
    assert_eq!(written, [sandbox.home().join(".amplihack/versions.json")], "only the version cache");
    nothing_is_left(&sandbox);
}

/// One agent that works, one that cannot be started, one that only says its version.
fn with_broken_agents() -> Sandbox {
    let mut sandbox = bare();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox.link("amplihack-scripted-agent", amplihack());
    let version = r#"[ "$1" = --version ] && echo 2.1.332 && exit"#;
    program(&sandbox, "claude", &format!("#!/bin/sh\n{version}\nexec amplihack-scripted-agent \"$@\"\n"));
    program(&sandbox, "copilot", "#!/no/such/interpreter\n");
    program(
        &sandbox,
        "codex",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.171.0 && exit\necho broken >&2\nexit 3\n",
    );
    sandbox
}

#[test]
fn a_broken_agent_is_a_failed_row_and_the_others_are_shown() {
    let sandbox = with_broken_agents();
    let output = run(&sandbox, &["demo"]);
    insta::assert_snapshot!(text(&sandbox, &output));
    output.assert_code(1);
    nothing_is_left(&sandbox);
}

/// The row says what the files say, not what the guard says: an agent that asks the guard and runs the call all the same.
#[test]
fn an_agent_that_does_not_obey_the_guard_does_not_hold() {
    let sandbox = with_broken_agents();
    for name in ["codex", "copilot"] {
        std::fs::remove_file(sandbox.bin().join(name)).unwrap();
    }
    let version = r#"[ "$1" = --version ] && echo 2.1.332 && exit"#;
    let text = format!("#!/bin/sh\n{version}\n> forbidden.txt\nexec amplihack-scripted-agent \"$@\"\n");
    program(&sandbox, "claude", &text);
    let output = run(&sandbox, &["demo"]);
    output.assert_code(1).assert_stdout_has("FAIL a forbidden tool call, `git commit --no-verify`: ran\n");
    output.assert_stdout_has("does not hold");
}

#[test]
fn the_scripted_agent_can_be_asked_for() {
    let sandbox = with_broken_agents();
    let output = run(&sandbox, &["demo", "--scripted"]);
    output.assert_code(0).assert_stdout_has("As you asked: the built-in scripted agent takes the place");
    output.assert_nowhere("does not hold").assert_nowhere("codex");
}

/// The journey of an unattended task: a check that fails, a worktree, the end, the diff, the check that passes.
#[test]
fn a_scene_is_shown_alone() {
    let sandbox = bare();
    let output = run_in_loopback(&sandbox, &["demo", "worktree"]);
    output
        .assert_code(0)
        .assert_stdout_has("the end is `verified`: the check turned from red to green")
        .assert_stdout_has("+echo \"Hello, $1.\"");
    output.assert_stdout_has("ok   the check passes in the checkout").assert_nowhere("FAIL");
    output.assert_nowhere("descendant");
    assert_eq!(files(&sandbox.home()), Vec::<PathBuf>::new(), "the home is untouched");
    nothing_is_left(&sandbox);
}

#[test]
fn scenes_are_listed_and_an_unknown_one_is_a_usage_error_that_names_them() {
    let sandbox = bare();
    let listed = run(&sandbox, &["demo", "--list"]);
    listed.assert_code(0).assert_stdout_has("agents ").assert_stdout_has("worktree ");
    run(&sandbox, &["demo", "moon"]).assert_code(2).assert_stderr_has("agents, worktree");
}

/// Without git there is no worktree; all else is shown.
#[test]
fn a_scene_that_needs_git_says_so() {
    let mut sandbox = bare();
    for name in ["sh", "bash", "env", "cat", "touch"] {
        sandbox.link(name, &PathBuf::from("/usr/bin").join(name));
    }
    sandbox.set("PATH", sandbox.bin());
    let output = run(&sandbox, &["demo", "worktree"]);
    output.assert_code(0).assert_stdout_has("not shown: git is not installed");
}
