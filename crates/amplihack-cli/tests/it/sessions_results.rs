//! `sessions diff|apply|commit|merge|discard`: results come home, and what is refused has changed nothing.

mod faults;
mod surroundings;

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Sandbox};
use serde_json::Value;

use crate::auto::{auto, claude, directory, plays};
use crate::world::{prepare, run};

/// A run with a worktree whose agent played `body`; its id.
fn ran(sandbox: &Sandbox, more: &[&str]) -> String {
    let args = ["--worktree", "--verify", "true", "--max-turns", "1", "--task", "Say it\n\nand why"];
    auto(sandbox, &[&args[..], more].concat()).output().assert_code(0);
    directory(sandbox).file_name().unwrap().to_str().unwrap().to_owned()
}

fn repository(body: &str) -> Sandbox {
    let sandbox = claude(&format!("{{ {body}\n}} >&2; result done"));
    sandbox.write("work/a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    git(&sandbox, "add . && git commit -qm before");
    sandbox
}

fn git(sandbox: &Sandbox, words: &str) -> String {
    let output = sandbox.run("sh", ["-c", &format!("git {words}")]);
    output.assert_code(0);
    output.stdout_text().trim().to_owned()
}

fn sessions(sandbox: &Sandbox, args: &[&str]) -> Output {
    run(sandbox, &[&["sessions"], args].concat())
}

/// Everything that a refusal must leave alone: files, index, HEAD, branches.
fn state(sandbox: &Sandbox) -> String {
    git(sandbox, "status --porcelain && git rev-parse HEAD && git for-each-ref && git diff")
}

fn worktrees(sandbox: &Sandbox) -> usize {
    git(sandbox, "worktree list").lines().count()
}

#[test]
fn the_printed_command_brings_the_work_into_the_checked_out_branch() {
    let sandbox = repository("echo new > b; chmod +x a; git update-index --assume-unchanged a; echo 10 >> a");
    let text = ["auto", "--agent", "claude", "--task", "Say it\n\nand why", "--worktree", "--verify", "true"];
    let output = prepare(&sandbox, &text).output();
    output.assert_code(0).assert_stdout_has("diff: +2 −0 in 2 files");
    let printed = output.stdout_text();
    let command = printed.lines().find_map(|line| line.strip_prefix("take it in: amplihack ")).unwrap();
    assert!(command.starts_with("sessions merge "), "{printed}");
    let words: Vec<&str> = command.split(' ').collect();
    // A diff is what git takes, and says what it will be.
    let id = words[2];
    sessions(&sandbox, &["diff", id, "--name-only"]).assert_code(0).assert_stdout_has("a\nb\n");
    sessions(&sandbox, &["diff", id, "--stat"]).assert_code(0).assert_stdout_has("2 files changed");
    let patch = sandbox.write("patch", &sessions(&sandbox, &["diff", id]).stdout);
    git(&sandbox, &format!("apply --check {}", patch.display()));
    run(&sandbox, &words).assert_code(0).assert_stdout_has("merged into main").assert_stdout_has("+2 −0");
    assert_eq!(fs::read_to_string(sandbox.work().join("b")).unwrap(), "new\n");
    assert!(fs::read_to_string(sandbox.work().join("a")).unwrap().ends_with("10\n"));
    assert_eq!(git(&sandbox, "status --porcelain"), "");
    assert_eq!(git(&sandbox, "log -1 --format=%B"), "Say it\n\nand why");
    assert_eq!(git(&sandbox, "ls-files -s a | cut -c1-6"), "100755");
    // Once more is nothing, and then nothing is lost with the worktree.
    run(&sandbox, &words).assert_code(0).assert_stdout_has("nothing to merge");
    sessions(&sandbox, &["discard", id]).assert_code(0);
    assert_eq!((worktrees(&sandbox), git(&sandbox, "branch --list amplihack*").as_str()), (1, ""));
}

#[test]
fn a_merge_that_conflicts_names_the_files_and_changes_nothing() {
    let sandbox = repository("sed -i s/5/agent/ a");
    let id = ran(&sandbox, &[]);
    git(&sandbox, "checkout -q main && sed -i s/5/user/ a && git commit -qam mine");
    let before = state(&sandbox);
    let refused = sessions(&sandbox, &["merge", &id]);
    refused.assert_code(1).assert_stderr_has("conflicts with").assert_stderr_has("in a");
    assert_eq!(state(&sandbox), before);
    sessions(&sandbox, &["apply", &id]).assert_code(1).assert_stderr_has("in a");
    assert_eq!(state(&sandbox), before);
    // Work of the user that is not committed is not overwritten either.
    git(&sandbox, "reset -q --hard HEAD~1 && echo more >> a");
    let before = state(&sandbox);
    for verb in ["merge", "apply"] {
        sessions(&sandbox, &[verb, &id]).assert_code(1).assert_stderr_has("not committed");
        assert_eq!(state(&sandbox), before, "{verb}");
    }
    assert!(sandbox.run("git", ["rev-parse", "--verify", "-q", "MERGE_HEAD"]).code != Some(0));
}

#[test]
fn changes_are_applied_three_way_and_not_committed() {
    let sandbox =
        repository("sed -i s/9/agent/ a; printf 'x\\000y' > binary; ln -s a link; rm -f gone; chmod +x b");
    sandbox.write("work/gone", "g\n");
    sandbox.write("work/b", "b\n");
    git(&sandbox, "add . && git commit -qm files");
    let id = ran(&sandbox, &[]);
    // The user has gone on, in the same file as well.
    git(&sandbox, "mv a moved && sed -i s/1/user/ moved && git commit -qam mine");
    // The second part of an id is enough, and its beginning too.
    let part = &id.rsplit('-').next().unwrap()[..8];
    sessions(&sandbox, &["apply", part]).assert_code(0).assert_stdout_has("not committed");
    let moved = fs::read_to_string(sandbox.work().join("moved")).unwrap();
    assert!(moved.starts_with("user\n") && moved.ends_with("agent\n"), "{moved}");
    assert_eq!(fs::read(sandbox.work().join("binary")).unwrap(), b"x\0y");
    assert_eq!(fs::read_link(sandbox.work().join("link")).unwrap(), Path::new("a"));
    assert!(!sandbox.work().join("gone").exists());
    assert_eq!(git(&sandbox, "log -1 --format=%s"), "mine");
}

#[test]
fn a_commit_has_the_task_as_its_message_and_runs_nothing_of_the_agents() {
    let body = "echo new > b; h=$(git rev-parse --git-common-dir)/hooks; mkdir -p $h; \
        for n in pre-commit commit-msg post-commit pre-merge-commit post-merge post-checkout reference-transaction; do \
        printf '#!/bin/sh\ntouch \"$HOME/sprung\"\n' > $h/$n; chmod +x $h/$n; done";
    let sandbox = repository(body);
    let id = ran(&sandbox, &[]);
    let made = sessions(&sandbox, &["commit", &id, "--json"]).json();
    let branch = format!("amplihack/{id}");
    assert_eq!((&made["branch"], &made["stat"]["files"]), (&branch.as_str().into(), &1.into()));
    assert_eq!(
        git(&sandbox, &format!("log -1 --format=%B%an {branch}")),
        "Say it\n\nand why\nTester".replace("Tester", &git(&sandbox, "config user.name"))
    );
    sessions(&sandbox, &["commit", &id]).assert_code(0).assert_stdout_has("nothing to commit");
    sessions(&sandbox, &["merge", &id, "-m", "other"]).assert_code(0);
    assert_eq!(git(&sandbox, "show HEAD:b"), "new");
    assert!(!sandbox.home().join("sprung").exists());
    // The same at the end of a run. What the setup made is not the agent's.
    let other = repository("echo new > b");
    let id = ran(&other, &["--commit", "--setup", "echo s > made"]);
    assert_eq!(git(&other, &format!("log -1 --format=%s amplihack/{id}")), "Say it");
    assert_eq!(git(&other, &format!("diff --name-only main amplihack/{id}")), "b");
    prepare(&other, &["auto", "--agent", "claude", "--task", "t", "--commit"])
        .output()
        .assert_code(2)
        .assert_stderr_has("needs --worktree");
}

#[test]
fn what_is_discarded_can_be_brought_back() {
    let sandbox = repository(
        "echo one > b; git add b; git commit -qm b; echo two > c; git checkout -q --detach; echo three > d; git add d; git commit -qm d",
    );
    let id = ran(&sandbox, &[]);
    sessions(&sandbox, &["discard", &id])
        .assert_code(1)
        .assert_stderr_has("is not discarded: it holds changes")
        .assert_stderr_has("--force");
    assert_eq!(worktrees(&sandbox), 2);
    let output = sessions(&sandbox, &["discard", "--force", "latest"]);
    output.assert_code(0).assert_stdout_has("detached HEAD");
    assert_eq!((worktrees(&sandbox), git(&sandbox, "branch --list amplihack*").as_str()), (1, ""));
    let text = output.stdout_text();
    let undo = text.lines().find_map(|line| line.strip_prefix("bring it back: git ")).unwrap();
    git(&sandbox, "gc -q --prune=now");
    git(&sandbox, undo);
    for (file, line) in [("b", "one\n"), ("c", "two\n"), ("d", "three\n")] {
        assert_eq!(fs::read_to_string(sandbox.work().join(file)).unwrap(), line);
    }
    sessions(&sandbox, &["merge", &id]).assert_code(1).assert_stderr_has("are gone");
}

#[test]
fn a_run_in_the_users_own_files_can_be_taken_back() {
    let sandbox = repository("sed -i s/5/agent/ a; echo new > b");
    auto(&sandbox, &["--verify", "true", "--max-turns", "1"]).output().assert_code(0);
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    sessions(&sandbox, &["diff", &id]).assert_code(0).assert_stdout_has("+agent");
    sessions(&sandbox, &["merge", &id]).assert_code(1).assert_stderr_has("no branch to merge");
    sessions(&sandbox, &["apply", &id]).assert_code(1).assert_stderr_has("already");
    sessions(&sandbox, &["discard", &id]).assert_code(1);
    sessions(&sandbox, &["discard", "--force", &id]).assert_code(0).assert_stdout_has("sessions apply");
    assert_eq!(git(&sandbox, "status --porcelain"), "");
    sessions(&sandbox, &["apply", &id]).assert_code(0);
    assert_eq!(git(&sandbox, "status --porcelain"), "M a\n?? b");
}

#[test]
fn prune_takes_the_worktree_along_or_refuses() {
    let sandbox = repository("echo new >> b");
    let id = ran(&sandbox, &[]);
    let record = sandbox.home().join(".amplihack/sessions").join(&id);
    let prune = |more: &[&str]| sessions(&sandbox, &[&["prune", "--older-than", "0s"], more].concat());
    prune(&[]).assert_code(1).assert_stderr_has("is not discarded");
    assert!(record.exists() && worktrees(&sandbox) == 2);
    sessions(&sandbox, &["merge", &id]).assert_code(0);
    prune(&[]).assert_code(0).assert_stdout_has(&id);
    assert!(!record.exists() && worktrees(&sandbox) == 1);
    assert_eq!(git(&sandbox, "branch --list amplihack*"), "");
    let id = ran(&sandbox, &[]);
    // Of one whose directory was removed by hand, the branch goes.
    sessions(&sandbox, &["commit", &id]).assert_code(0);
    let tree = sandbox.home().join(".local/share/amplihack/worktrees/work").join(&id);
    fs::remove_dir_all(&tree).unwrap();
    prune(&[]).assert_code(1).assert_stderr_has("commits that are not merged");
    prune(&["--force"]).assert_code(0).assert_stderr_has(&format!("refs/amplihack/discarded/{id}"));
    assert_eq!(worktrees(&sandbox), 1);
}

/// The worktree's own repository, when the user stands in another checkout of it.
fn other_checkout(sandbox: &Sandbox) -> PathBuf {
    let other = sandbox.root().join("other");
    git(sandbox, &format!("worktree add -q -b second {}", other.display()));
    other
}

#[test]
fn the_checkout_in_which_the_user_stands_is_the_one() {
    let sandbox = repository("echo new > b");
    let id = ran(&sandbox, &[]);
    let other = other_checkout(&sandbox);
    let script =
        format!("cd '{}' && '{}' sessions merge {id}", other.display(), crate::world::amplihack().display());
    sandbox.run("sh", ["-c", &script]).assert_code(0).assert_stdout_has("merged into second");
    assert!(other.join("b").exists() && !sandbox.work().join("b").exists());
}

#[test]
fn a_table_of_tasks_says_what_each_did_and_how_it_is_taken_in() {
    let mut sandbox = claude("echo x > shared; result done");
    sandbox.fake("amp");
    plays(&mut sandbox, "amp", "printf '1\n2\n' > shared; echo y > own; result done");
    sandbox.write("tasks", "First of the tasks\nSecond one, with more words than a table has room for\n");
    let file = sandbox.root().join("tasks");
    let args =
        ["parallel", "--task-file", file.to_str().unwrap(), "--agents", "claude,amp", "--verify", "true"];
    let output = prepare(&sandbox, &args).output();
    let text = output.stdout_text();
    output.assert_code(0).assert_stdout_has("First of the tasks").assert_stdout_has("+3 −0 in 2 files");
    output.assert_stdout_has("tasks 1 and 2 both changed shared");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("amplihack ")).collect();
    assert_eq!(commands.len(), 2, "{text}");
    run(&sandbox, &commands[0].split(' ').collect::<Vec<_>>()).assert_code(0);
    run(&sandbox, &commands[1].split(' ').collect::<Vec<_>>()).assert_code(1).assert_stderr_has("shared");
    assert_eq!(fs::read_to_string(sandbox.work().join("shared")).unwrap(), "x\n");
    // The list has it all at 80 columns.
    let list = sessions(&sandbox, &["list"]);
    let text = list.stdout_text();
    list.assert_stdout_has("Second one, with more words");
    list.assert_stdout_has("$0.2500");
    list.assert_stdout_has("amplihack/");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let object: Value = sessions(&sandbox, &["list", "--json"]).json();
    let runs = object["unattended"].as_array().unwrap();
    let first = runs.iter().find(|run| run["task"] == "First of the tasks").unwrap();
    assert_eq!((&first["stat"]["added"], &first["files"][0]), (&1.into(), &"shared".into()));
}
