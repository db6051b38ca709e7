//! Worktrees of runs beside what else is there: names that differ in case, the user's own worktrees, a worktree that is made again.

use std::fs;

use amplihack_testkit::Sandbox;

use crate::auto::{assert_ended, auto, claude, directory, ended};
use crate::world::{amplihack, prepare};

fn repository(body: &str) -> Sandbox {
    let sandbox = claude(&format!("{{ {body}\n}} >&2; result done"));
    git(&sandbox, "git commit -q --allow-empty -m before");
    sandbox
}

fn git(sandbox: &Sandbox, script: &str) -> String {
    let output = sandbox.run("sh", ["-ec", script]);
    output.assert_code(0);
    output.stdout_text().trim().to_owned()
}

#[test]
fn names_that_differ_in_case_and_neighbors_of_our_own_file_are_work() {
    let hidden = "mkdir -p .claude/runtime; echo x > .claude/runtime/launcher_context_notes.md";
    for (body, finds) in [
        ("mkdir Sub; echo precious > Sub/f; echo x > A.TXT", "A.TXT"),
        (hidden, ".claude/runtime/launcher_context_notes.md"),
    ] {
        let sandbox = repository(body);
        git(
            &sandbox,
            "git config core.ignorecase true; mkdir sub; echo s > sub/g; echo t > a.txt; echo .claude/ > .gitignore",
        );
        git(&sandbox, "git add . && git commit -qm more");
        let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
        assert_eq!(ended(&output)["changed"], true, "{output}");
        let kept = git(&sandbox, "git worktree list --porcelain | sed -n 's/^worktree //p' | tail -1");
        assert!(fs::exists(format!("{kept}/{finds}")).unwrap(), "{finds}: {output}");
    }
}

#[test]
fn a_worktree_is_made_again_beside_the_users_own() {
    let body = "test -e \"$HOME/again\" || { echo 1 > p; git add p; git commit -qm x; git checkout -q --detach; \
        echo 2 > q; git add q; git commit -qm y; git rev-parse HEAD > \"$HOME/commit\"; }; echo more >> \"$HOME/again\"";
    let sandbox = repository(body);
    git(
        &sandbox,
        "git worktree add -q ../usb -b usb && cd ../usb && git commit -q --allow-empty -m mine && echo s > s && git add s",
    );
    let output = auto(&sandbox, &["--worktree", "--verify", "false", "--max-turns", "1"]).output();
    assert_ended(&output, "max_turns", 1);
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let tree =
        git(&sandbox, "git worktree list --porcelain | sed -n 's/^worktree //p' | grep share/amplihack");
    fs::remove_dir_all(&tree).unwrap();
    // A disk that is not there just now.
    git(&sandbox, "mv ../usb ../usb.off");
    prepare(&sandbox, &["auto", "--resume", &id, "--max-turns", "1", "--json"]).output();
    assert!(fs::exists(format!("{tree}/p")).unwrap());
    git(&sandbox, "mv ../usb.off ../usb");
    assert_eq!(git(&sandbox, "cd ../usb && git status --porcelain"), "A  s");
    let commit = fs::read_to_string(sandbox.home().join("commit")).unwrap();
    let pinned = git(&sandbox, &format!("git rev-parse refs/amplihack/kept/{id}"));
    assert_eq!(pinned, commit.trim(), "the commit on a detached HEAD is kept");
}

#[test]
fn an_empty_check_is_no_check() {
    let sandbox = repository("");
    for empty in ["", "  "] {
        let output = auto(&sandbox, &["--verify", empty]).output();
        output.assert_code(2);
        assert!(sandbox.runs().is_empty(), "{output}");
    }
}

#[test]
fn a_worktree_that_the_agent_moved_is_found() {
    let body = "echo precious > p; git add p; git worktree unlock \"$PWD\"; git worktree move \"$PWD\" \"$HOME/moved\"";
    let sandbox = repository(body);
    auto(&sandbox, &["--worktree", "--max-turns", "1"]).output();
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let sessions = |verb: &str| prepare(&sandbox, &["sessions", verb, &id]).output();
    sessions("discard").assert_code(1).assert_stderr_has("moved");
    assert!(sandbox.home().join("moved/p").exists());
    sessions("merge").assert_code(0);
    assert_eq!(fs::read_to_string(sandbox.work().join("p")).unwrap(), "precious\n");
}

#[test]
fn commits_on_refs_of_the_worktree_alone_are_not_discarded() {
    let body = "git checkout -q --detach; echo 1 > p; git add p; git commit -qm x; git update-ref refs/worktree/keep HEAD; \
        git rev-parse HEAD > \"$HOME/commit\"; git checkout -q -; git reflog expire --expire=now --all";
    let sandbox = repository(body);
    auto(&sandbox, &["--worktree", "--max-turns", "1"]).output();
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let discard = |more: &[&str]| prepare(&sandbox, &[&["sessions", "discard", &id], more].concat()).output();
    discard(&[]).assert_code(1).assert_stderr_has("not merged");
    discard(&["--force"]).assert_code(0);
    let commit = fs::read_to_string(sandbox.home().join("commit")).unwrap();
    let commits = git(&sandbox, "git rev-list --glob=refs/amplihack/*");
    assert!(commits.contains(commit.trim()), "{commits}");
}

#[test]
fn a_worktree_lies_and_starts_where_it_can() {
    let sandbox = repository("");
    git(&sandbox, "mkdir new && ln -s .git link");
    let start = ["--worktree", "--verify", "true"];
    let script =
        format!("cd new && exec '{}' auto --agent claude --task t --worktree", amplihack().display());
    let output = sandbox.run("sh", ["-c", &script]);
    output.assert_code(1).assert_stderr_has("has no such directory");
    let place = sandbox.work().join("link").display().to_string();
    let output = auto(&sandbox, &[&start[..], &["--worktree-dir", &place]].concat()).output();
    output.assert_code(2);
    assert!(sandbox.runs().is_empty(), "{output}");
    assert_eq!(git(&sandbox, "git worktree list").lines().count(), 1);
}

#[test]
fn a_run_whose_changes_cannot_be_told_is_no_success() {
    let sandbox = repository("echo p > p.txt; rm -f .git");
    let output = auto(&sandbox, &["--worktree", "--max-turns", "2"]).output();
    assert_ended(&output, "failed", 1);
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let output = prepare(&sandbox, &["auto", "--resume", &id, "--max-turns", "2", "--json"]).output();
    let last = assert_ended(&output, "failed", 1);
    assert!(last["reason"].as_str().unwrap().contains("could not be determined"), "{last}");
}
