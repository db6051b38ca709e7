//! What `verified` stands on: the checks before the first turn, their own files, their time.

use std::fs;

use amplihack_testkit::{Output, Sandbox, procs};
use serde_json::Value;

use crate::auto::{assert_ended, auto, claude, directory, events};
use crate::world::prepare;

/// `amplihack auto` for a person.
fn told(sandbox: &Sandbox, args: &[&str]) -> Output {
    let all = [&["auto", "--agent", "claude", "--task", "do it"][..], args].concat();
    prepare(sandbox, &all).output()
}

fn shown(sandbox: &Sandbox) -> Value {
    let id = directory(sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    prepare(sandbox, &["sessions", "show", &id, "--json"]).output().json()
}

#[test]
fn a_check_that_turned_is_told_from_one_that_was_green_already() {
    let sandbox = claude("echo x > made; result done");
    let output = auto(&sandbox, &["--verify", "test -e made"]).output();
    assert_eq!(assert_ended(&output, "verified", 0)["baseline"], "red");
    let shown = shown(&sandbox);
    assert_eq!(
        (&shown["baseline"]["outcome"], &shown["baseline"]["checks"][0]["command"]),
        (&"red".into(), &"test -e made".into())
    );
    fs::remove_file(sandbox.work().join("made")).unwrap();
    told(&sandbox, &["--verify", "test -e made"])
        .assert_code(0)
        .assert_stdout_has("verified (red → green): the check passed\n")
        .assert_stderr_has("before the first turn: red: `test -e made`");
    let green = auto(&sandbox, &["--verify", "true", "--verify", "test -e made"]).output();
    assert_eq!(assert_ended(&green, "verified", 0)["baseline"], "green");
    let green = told(&sandbox, &["--verify", "true"]);
    assert!(
        green.assert_code(0).stdout_text().starts_with("was green already: verified: the check passed\n"),
        "{green}"
    );
    fs::remove_file(sandbox.work().join("made")).unwrap();
    told(&sandbox, &["--verify", "true", "--verify", "test -e made"])
        .assert_stdout_has("verified (red → green: 1 of 2 checks): the check passed\n");
    let skipped = auto(&sandbox, &["--verify", "true", "--no-baseline"]).output();
    assert_eq!(assert_ended(&skipped, "verified", 0)["baseline"], "skipped");
    assert!(
        told(&sandbox, &["--verify", "true", "--no-baseline"])
            .stdout_text()
            .starts_with("verified: the check")
    );
    // Without a check there is nothing to tell.
    assert!(assert_ended(&auto(&sandbox, &[]).output(), "nothing_done", 1).get("baseline").is_none());
}

#[test]
fn a_check_that_cannot_run_is_refused_before_the_agent_is_asked() {
    let sandbox = claude("result done");
    sandbox.write("work/check.sh", "exit 0\n");
    sandbox.run("git", ["add", "-A"]).assert_code(0);
    sandbox.run("git", ["commit", "-qm", "check"]).assert_code(0);
    for (check, said) in
        [("pytset -q", "pytset"), ("./check.sh", "ermission denied"), ("exit 127", "exit code 127")]
    {
        for more in [&[][..], &["--worktree"]] {
            let output = told(&sandbox, &[&["--verify", check][..], more].concat());
            output
                .assert_code(1)
                .assert_stderr_has(said)
                .assert_stderr_has("hint: ")
                .assert_stderr_has("--no-baseline");
        }
    }
    let hangs = auto(&sandbox, &["--verify", "echo so far; sleep 60", "--verify-timeout", "1s"]).output();
    hangs
        .assert_code(1)
        .assert_stdout_has("\"verify_cannot_run\"")
        .assert_stdout_has("took too long")
        .assert_stdout_has("so far");
    assert!(sandbox.runs().is_empty());
    let worktrees = sandbox.run("git", ["worktree", "list"]).stdout_text();
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    procs::assert_none(&sandbox.everything());
    // The agent is to make it.
    let makes = claude("printf '#!/bin/sh\\n' > check.sh; chmod +x check.sh; result done");
    let output = auto(&makes, &["--verify", "./check.sh", "--no-baseline"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!(last["check_changed"], serde_json::json!(["check.sh"]));
}

#[test]
fn what_the_checks_write_before_the_first_turn_is_no_work() {
    let sandbox = claude("result done ',\\\"changes\\\":true'");
    let output = auto(&sandbox, &["--verify", "echo x >> report", "--max-turns", "1"]).output();
    assert_eq!(assert_ended(&output, "nothing_done", 1)["changed"], true);
    output.assert_stdout_has("the checks changed files before the first turn: report");
}

#[test]
fn a_check_that_the_agent_changed_is_named() {
    let cheat = "echo 'exit 0' > check.sh; result done";
    let sandbox = claude(cheat);
    sandbox.write("work/check.sh", "test -e work-done\n");
    sandbox.run("git", ["add", "-A"]).assert_code(0);
    sandbox.run("git", ["commit", "-qm", "check"]).assert_code(0);
    let output = auto(&sandbox, &["--verify", "sh ./check.sh", "--worktree"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!(last["check_changed"], serde_json::json!(["check.sh"]));
    let headline = "verified (red → green), but the check itself was changed: check.sh\n";
    told(&sandbox, &["--verify", "sh ./check.sh", "--worktree"]).assert_stdout_has(headline);
    // With the original check it is not done, and the agent hears it.
    let strict = ["--verify", "sh ./check.sh", "--worktree", "--strict-verify"];
    let output = auto(&sandbox, &strict).output();
    let last = assert_ended(&output, "stalled", 1);
    assert_eq!(last["turns"], 2);
    output.assert_stdout_has("with the original check.sh");
    assert!(sandbox.runs().last().unwrap().prompt().contains("with the original check.sh"));
    assert!(!directory(&sandbox).join("copy").exists());
}

#[test]
fn strict_verification_lets_honest_work_pass_and_wants_a_check_that_turns() {
    let honest = claude("echo '# a comment' >> check.sh; echo x > work-done; result done");
    honest.write("work/check.sh", "test -e work-done && test -e dependency\n");
    honest.write("work/.gitignore", "dependency\n");
    honest.write("work/dependency", "");
    honest.run("git", ["add", "-A"]).assert_code(0);
    honest.run("git", ["commit", "-qm", "check"]).assert_code(0);
    let strict = ["--verify", "sh ./check.sh", "--strict-verify"];
    let last = assert_ended(&auto(&honest, &strict).output(), "verified", 0);
    assert_eq!(last["check_changed"], serde_json::json!(["check.sh"]));
    told(&honest, &["--verify", "true", "--strict-verify"])
        .assert_code(1)
        .assert_stderr_has("every check passes already");
    told(&honest, &["--verify", "true", "--strict-verify", "--no-baseline"]).assert_code(2);
    let mut outside = honest.command(crate::world::amplihack());
    outside.current_dir(honest.root()).args([
        "auto",
        "--agent",
        "claude",
        "--task",
        "x",
        "--verify",
        "false",
        "--strict-verify",
    ]);
    amplihack_testkit::Run::new(outside).output().assert_code(1).assert_stderr_has("needs a git repository");
    assert_eq!(honest.runs().len(), 1);
}

#[test]
fn a_check_has_a_limit_of_its_own_and_is_shown_while_it_runs() {
    let sandbox = claude("echo x >> f; result done");
    let check = "test ! -e f || sleep 60";
    let output =
        auto(&sandbox, &["--verify", check, "--verify-timeout", "700ms", "--max-turns", "1"]).output();
    assert_ended(&output, "max_turns", 1);
    output.assert_stdout_has("took too long");
    let checking: Vec<Value> =
        events(&output).into_iter().filter(|event| event["type"] == "checking").collect();
    assert_eq!((&checking[0]["turn"], &checking[1]["turn"]), (&0.into(), &1.into()));
    assert_eq!(checking[1]["command"], check);
    procs::assert_none(&sandbox.everything());
}

#[test]
fn what_a_check_writes_where_git_ignores_it_is_no_change() {
    let sandbox = claude("result done ',\\\"changes\\\":true'");
    sandbox.write("work/.gitignore", "report\n");
    sandbox.run("git", ["add", "-A"]).assert_code(0);
    sandbox.run("git", ["commit", "-qm", "ignore"]).assert_code(0);
    let output = auto(&sandbox, &["--verify", "echo x >> report", "--max-turns", "1"]).output();
    assert_eq!(assert_ended(&output, "nothing_done", 1)["changed"], false);
}

#[test]
fn original_checks_run_where_the_agent_put_a_file_in_the_place_of_their_directory() {
    let sandbox = claude("rm -r tests; echo x > tests; echo x > made; result done");
    sandbox.write("work/tests/a", "");
    sandbox.run("git", ["add", "-A"]).assert_code(0);
    sandbox.run("git", ["commit", "-qm", "tests"]).assert_code(0);
    // Something is run that may read tests, and names none.
    let output = auto(&sandbox, &["--verify", "uname && test -f made", "--strict-verify"]).output();
    assert_ended(&output, "verified", 0);
    output.assert_stdout_has("with the original tests/a");
}

#[test]
fn a_run_whose_repository_the_agent_removes_has_an_end() {
    let sandbox = claude("echo x > made; rm -rf .git; result done");
    let told = sandbox.root().join("told");
    let notify = format!("echo $AMPLIHACK_RUN_OUTCOME > {}", told.display());
    for more in [&[][..], &["--max-turns", "1"]] {
        let args = [&["--verify", "test -e made", "--strict-verify", "--notify", &notify], more].concat();
        let output = auto(&sandbox, &args).output();
        let last = assert_ended(&output, "failed", 1);
        assert!(last["reason"].as_str().unwrap().contains("the work cannot be checked"), "{output}");
        assert_eq!(fs::read_to_string(&told).unwrap(), "failed\n");
        fs::remove_file(sandbox.work().join("made")).unwrap();
        fs::remove_file(&told).unwrap();
        for git in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "again", "--allow-empty"]] {
            sandbox.run("git", git.iter().copied()).assert_code(0);
        }
    }
}
