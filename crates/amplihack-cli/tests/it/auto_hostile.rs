//! Agents and checks that do what they should not: the run tells the truth, starts nothing of theirs, and deletes nothing of the user's.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Run, Sandbox};

use crate::auto::{assert_ended, auto, claude};
use crate::world::{amplihack, prepare};

/// The directory of the only worktree that was kept.
fn kept(sandbox: &Sandbox) -> Option<PathBuf> {
    let mut trees =
        fs::read_dir(sandbox.home().join(".local/share/amplihack/worktrees/work")).ok()?.flatten();
    trees.next().map(|entry| entry.path())
}

#[test]
fn programs_that_an_agent_configured_in_git_are_not_started_by_the_run() {
    for args in [&["--verify", "true"][..], &["--verify", "true", "--worktree"]] {
        let sandbox = claude(
            "git config filter.x.clean \"touch '$HOME/started'; cat\"; git config filter.x.process 'touch /dev/null'; \
             echo '* filter=x' > .gitattributes; echo n > n; result done",
        );
        assert_ended(&auto(&sandbox, args).output(), "verified", 0);
        assert!(!sandbox.home().join("started").exists());
    }
}

#[test]
fn a_repository_inside_that_has_no_commit_does_not_end_the_run() {
    let sandbox = claude("git init -q inner; echo n > n; result done");
    let output = auto(&sandbox, &["--verify", "test -e n"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!(last["changed"], true, "{output}");
}

#[test]
fn a_history_that_was_pruned_does_not_end_the_run() {
    let sandbox = claude(
        "git checkout -q --orphan anew && echo n > n && git add -A && git commit -qm anew && git branch -q -D main; \
         git reflog expire --all --expire=now && git gc -q --prune=now && result done",
    );
    sandbox.write("work/file", "one\n");
    sandbox.run("git", ["add", "file"]).assert_code(0);
    sandbox.run("git", ["commit", "-qm", "one"]).assert_code(0);
    let output = auto(&sandbox, &["--verify", "test -e n"]).output();
    let last = assert_ended(&output, "verified", 0);
    assert_eq!(last["changed"], true, "{output}");
    output.assert_stdout_has("there is no diff: git cannot compare the files: ");
}

#[test]
fn a_worktree_with_files_that_git_ignores_is_kept() {
    let sandbox = claude("echo report > report.out; result done");
    sandbox.write("work/.git/info/exclude", "*.out\n");
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e report.out"]).output();
    assert_ended(&output, "verified", 0);
    output.assert_stdout_has("it holds files that git ignores (report.out)");
    let report = kept(&sandbox).unwrap().join("report.out");
    assert_eq!(fs::read_to_string(report).unwrap(), "report\n");
}

#[test]
fn a_branch_in_the_way_is_gone_round() {
    let sandbox = claude("echo n > n; result done");
    sandbox.run("git", ["branch", "amplihack"]).assert_code(0);
    let output = auto(&sandbox, &["--worktree", "--verify", "test -e n"]).output();
    assert_ended(&output, "verified", 0);
    let branches = sandbox.run("git", ["branch", "--list", "amplihack-*"]).stdout_text();
    assert_eq!(branches.lines().count(), 1, "{branches}");
}

#[test]
fn what_passed_has_to_pass_on_the_files_that_the_check_left() {
    let run = |verify: &str| {
        let sandbox = claude("echo n > n; result done");
        auto(&sandbox, &["--max-turns", "1", "--verify", verify]).output()
    };
    // The work that passed is not what the user finds.
    assert_ended(&run("test -e n && mv n elsewhere"), "max_turns", 1);
    let hidden = "git add -A && git stash list | grep -q . || git stash -q";
    assert_ended(&run(&format!("test -e n && {{ {hidden}; }}")), "max_turns", 1);
    // What a check writes down does not matter, even if it is new each time.
    assert_ended(&run("test -e n && date +%N >> times"), "verified", 0);
    assert_ended(&run("test -e n && echo lock > made"), "verified", 0);
}

#[test]
fn many_checks_have_one_deadline() {
    let sandbox = claude("result done");
    let nap = "sleep 3";
    let output =
        auto(&sandbox, &["--deadline", "5s", "--verify", nap, "--verify", nap, "--verify", nap]).output();
    assert_ended(&output, "deadline", 5);
}

#[test]
fn a_directory_may_have_a_line_break_in_its_name() {
    let sandbox = claude("echo n > n; result done");
    let inside = sandbox.work().join("a\nb");
    for place in [sandbox.work().join("a"), inside.clone()] {
        fs::create_dir(&place).unwrap();
        let git = |args: &[&str]| {
            let mut command = sandbox.command("git");
            command.arg("-C").arg(&place).args(args);
            Run::new(command).output().assert_code(0);
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    }
    for more in [&[][..], &["--worktree"]] {
        let mut command = sandbox.command(amplihack());
        command.current_dir(&inside).args(["auto", "--agent", "claude", "--json", "--task", "do it"]);
        command.args(["--verify", "test -e n"]).args(more);
        let last = assert_ended(&Run::new(command).output(), "verified", 0);
        assert_eq!(last["changed"], true);
    }
    assert!(inside.join("n").exists());
}

#[test]
fn an_agents_words_are_no_commands_to_the_terminal() {
    let sandbox = claude(
        r#"printf '{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1","result":"\\u001b]0;title\\u0007boom"}\n'; exit 1"#,
    );
    let output =
        prepare(&sandbox, &["auto", "--agent", "claude", "--task", "do it", "--max-turns", "2"]).output();
    output.assert_code(1).assert_stdout_has("[U+001B]]0;title[U+0007]boom");
    output.assert_stderr_has("[U+001B]]0;title[U+0007]boom");
    assert!(!output.to_string().contains(['\u{1b}', '\u{7}']), "{output}");
}

#[test]
fn what_cannot_begin_is_refused_in_words_and_leaves_nothing() {
    let sandbox = claude("result done");
    let place = |name: &OsStr| {
        let place = sandbox.root().join(name);
        fs::create_dir(&place).unwrap();
        place
    };
    let refused = |place: &Path, args: &[&str]| {
        let mut command = sandbox.command(amplihack());
        command.current_dir(place).args(args);
        let output = Run::new(command).output();
        output.assert_code(1).assert_stderr_has("hint: ");
        let sessions = fs::read_dir(sandbox.home().join(".amplihack/sessions"));
        assert_eq!(sessions.map_or(0, Iterator::count), 0, "{output}");
        output
    };
    let auto = ["auto", "--agent", "claude", "--task", "do it", "--verify", "true"];
    let output = refused(&place(OsStr::from_bytes(b"caf\xe9")), &auto);
    output.assert_stderr_has("is not UTF-8");
    let unborn = place(OsStr::new("unborn"));
    let mut command = sandbox.command("git");
    command.args(["init", "-q"]).arg(&unborn);
    Run::new(command).output().assert_code(0);
    let output = refused(&unborn, &[&auto[..], &["--worktree"]].concat());
    output.assert_stderr_has("unborn has no commit yet").assert_stderr_has("commit something");
}
