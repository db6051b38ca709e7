//! Nothing is lost with a worktree: whatever an agent does in one is still on disk after the run, and is named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Sandbox};
use serde_json::Value;

use crate::auto::{assert_ended, auto, claude, ended, events};
use crate::world::prepare;

/// What an agent does, a word of the reason that the run gives, and the shell command that finds the work in the worktree.
struct Situation {
    name: &'static str,
    does: &'static str,
    says: &'static str,
    finds: &'static str,
}

const fn situation(
    name: &'static str,
    does: &'static str,
    says: &'static str,
    finds: &'static str,
) -> Situation {
    Situation { name, does, says, finds }
}

/// Those that users met, here and elsewhere.
const REPORTED: &[Situation] = &[
    situation(
        "a file in a submodule that is not checked out",
        "echo work > sub/new.txt",
        "sub",
        "grep work sub/new.txt",
    ),
    situation(
        "assume-unchanged",
        "git update-index --assume-unchanged a; echo work >> a",
        "changes",
        "grep work a",
    ),
    situation(
        "skip-worktree",
        "git update-index --skip-worktree a; echo work >> a",
        "changes",
        "grep work a",
    ),
    situation(
        "a commit on a detached HEAD",
        "git checkout -q --detach; echo work > f; git add f; git commit -qm w",
        "detached HEAD",
        "git show HEAD:f",
    ),
    situation(
        "a commit on a detached HEAD that was left",
        "git checkout -q --detach; echo work > f; git add f; git commit -qm w; git checkout -q -",
        "commits",
        "git show HEAD@{1}:f",
    ),
    situation(
        "a half-done rebase",
        "echo 1 > a; git commit -qam 1; echo 2 > a; git commit -qam 2; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -qi HEAD~2 2>&-",
        "rebase",
        "git show ORIG_HEAD:a | grep 2",
    ),
    situation(
        "another branch",
        "git checkout -qb other; echo work > f; git add f; git commit -qm w; git checkout -q -",
        "branch other",
        "git show other:f",
    ),
    situation("a stash", "echo work >> a; git stash -q", "stash", "git show stash@{0}:a | grep work"),
    situation("a repository inside", "git init -q inner; echo work > inner/f", "inner", "grep work inner/f"),
    situation(
        "a file that git ignores",
        "echo work > secret.ignored",
        "secret.ignored",
        "grep work secret.ignored",
    ),
];

/// Ten more.
const MORE: &[Situation] = &[
    situation(
        "a half-done merge",
        "git checkout -qb o; echo 1 > a; git commit -qam 1; git checkout -q -; echo 2 > a; git commit -qam 2; git merge -q o >&2",
        "merge",
        "grep '<<<<<<<' a",
    ),
    situation(
        "a half-done cherry-pick",
        "git checkout -qb o; echo 1 > a; git commit -qam 1; git checkout -q -; echo 2 > a; git commit -qam 2; git cherry-pick o >&2",
        "cherry-pick",
        "git rev-parse CHERRY_PICK_HEAD",
    ),
    situation("a half-done bisect", "git bisect start >&2", "bisect", "git bisect log"),
    situation(
        "a commit that was taken back",
        "echo work > f; git add f; git commit -qm w; git reset -q --hard HEAD~1",
        "commits",
        "git show ORIG_HEAD:f",
    ),
    situation(
        "staged and gone from the files",
        "echo work > a; git add a; git show HEAD:a > a",
        "index",
        "git show :a | grep work",
    ),
    situation(
        "a tracked file that is ignored, changed",
        "echo work >> tracked.ignored",
        "changes",
        "grep work tracked.ignored",
    ),
    situation(
        "a file that was added by force",
        "echo work > new.ignored; git add -f new.ignored",
        "changes",
        "grep work new.ignored",
    ),
    situation(
        "files outside a sparse checkout",
        "git sparse-checkout set --no-cone /a >&2; mkdir -p d; echo work > d/f",
        "changes",
        "grep work d/f",
    ),
    situation(
        "a repository inside, with a commit, that git ignores",
        "git init -q r.ignored; cd r.ignored; echo work > f; git add f; git commit -qm w; cd ..",
        "r.ignored",
        "git -C r.ignored show HEAD:f",
    ),
    situation("a mode", "chmod +x a", "changes", "test -x a"),
    situation(
        "a mode, with modes switched off",
        "git config core.fileMode false; chmod +x a",
        "changes",
        "test -x a",
    ),
    situation(
        "an exclude of the agent's own",
        "echo work > f; echo f >> \"$(git rev-parse --git-path info/exclude)\"",
        "f",
        "grep work f",
    ),
    situation(
        "a tag",
        "echo work > f; git add f; git commit -qm w; git tag t; git reset -q --hard HEAD~1",
        "t",
        "git show t:f",
    ),
];

/// A repository with a submodule and an ignored file that is tracked, whose fake Claude plays `body`.
fn repository(body: &str) -> Sandbox {
    let sandbox = claude(body);
    sandbox.write("sub/s", "s\n");
    sandbox.write("work/a", "a\n");
    sandbox.write("work/.gitignore", "*.ignored\n");
    sandbox.write("work/tracked.ignored", "t\n");
    let script = "cd ../sub && git init -q && git add . && git commit -qm s && cd ../work && \
        git -c protocol.file.allow=always submodule --quiet add ../sub sub && git add -f . && git commit -qm more";
    sandbox.run("sh", ["-c", script]).assert_code(0);
    sandbox
}

/// The worktree that a run says it keeps, and why.
fn kept(output: &Output) -> Option<(PathBuf, String)> {
    let kept: Value = events(output).into_iter().find(|event| event["type"] == "kept")?;
    Some((kept["worktree"].as_str()?.into(), kept["reason"].as_str()?.to_owned()))
}

fn all_are_kept(situations: &[Situation]) {
    for Situation { name, does, says, finds } in situations {
        let sandbox = repository(&format!("{{ {does}\n}} >&2; result done"));
        let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
        assert_eq!(ended(&output)["changed"], true, "{name}: {output}");
        let (tree, reason) = kept(&output).unwrap_or_else(|| panic!("{name}: not kept: {output}"));
        assert!(reason.contains(says), "{name}: {reason}");
        let found = sandbox.run("sh", ["-c", &format!("cd '{}' && {finds}", tree.display())]);
        assert_eq!(found.code, Some(0), "{name}: {found}");
        // The diff applies where the run began, whatever else it could not hold.
        applies(&sandbox, &tree, name);
    }
}

/// Claims that the run's diff can be applied to the commit that the run began with.
fn applies(sandbox: &Sandbox, tree: &Path, name: &str) {
    let id = tree.file_name().unwrap().to_str().unwrap();
    let patch = sandbox.home().join(".amplihack/sessions").join(id).join("diff.patch");
    if fs::metadata(&patch).unwrap().len() > 0 {
        let checked = sandbox.run("git", ["apply", "--check", patch.to_str().unwrap()]);
        assert_eq!(checked.code, Some(0), "{name}: {checked}");
    }
}

#[test]
fn what_was_reported_as_lost_is_kept_and_named() {
    all_are_kept(REPORTED);
}

#[test]
fn what_else_could_be_lost_is_kept_and_named() {
    all_are_kept(MORE);
}

#[test]
fn a_worktree_that_holds_nothing_goes_with_its_branch() {
    let sandbox = repository("cat a >&2; git status >&2; git log >&2; result done");
    let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
    assert_eq!(ended(&output)["changed"], false, "{output}");
    assert_eq!(kept(&output), None, "{output}");
    assert_eq!(sandbox.run("git", ["worktree", "list"]).stdout_text().lines().count(), 1);
    assert_eq!(sandbox.run("git", ["branch", "--list", "amplihack*"]).stdout_text(), "");
}

/// Puts a git before the real one that plays `body` in the worktree `$tree` before it removes that for the first time.
fn before_the_removal(sandbox: &Sandbox, body: &str) {
    let real = sandbox.run("sh", ["-c", "command -v git"]).stdout_text().trim().to_owned();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *'worktree remove'*) for tree in \"$@\"; do :; done\n\
        if mkdir \"$HOME/removing\" 2>/dev/null; then (\n{body}\n) >&2; fi;; esac\nexec {real} \"$@\"\n"
    );
    let wrapper = sandbox.bin().join("git");
    fs::write(&wrapper, text.replace("REAL", &real)).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_appears_while_a_worktree_is_removed_is_kept() {
    let sandbox = repository("result done");
    before_the_removal(&sandbox, "echo late > \"$tree/late\"");
    let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
    assert!(sandbox.home().join("removing").exists(), "{output}");
    let (tree, reason) = kept(&output).unwrap_or_else(|| panic!("not kept: {output}"));
    assert_eq!(reason, "it holds changes");
    assert_eq!(fs::read_to_string(tree.join("late")).unwrap(), "late\n");
}

#[test]
fn a_branch_that_moves_while_its_worktree_is_removed_stays() {
    let sandbox = repository("result done");
    before_the_removal(&sandbox, "cd \"$tree\"; echo late > a; REAL commit -qam late");
    let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
    assert!(sandbox.home().join("removing").exists(), "{output}");
    let branch = sandbox.run("git", ["branch", "--list", "--format=%(refname)", "amplihack*"]).stdout_text();
    assert_eq!(sandbox.run("git", ["show", &format!("{}:a", branch.trim())]).stdout_text(), "late\n");
}

/// A run that is killed while its worktree is removed, or just after it, goes on in a new one.
#[test]
fn a_removal_is_written_down_before_it_is_done() {
    let sandbox = repository("result done");
    let journal = "\"$HOME/.amplihack/sessions/$(basename \"$tree\")/auto.jsonl\"";
    before_the_removal(&sandbox, &format!("cp {journal} \"$HOME/seen\""));
    let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
    assert_eq!(kept(&output), None, "{output}");
    let began = events(&output).remove(0);
    let tree = PathBuf::from(began["directory"].as_str().unwrap());
    let id = tree.file_name().unwrap().to_str().unwrap();
    assert!(!tree.exists());
    let seen = fs::read_to_string(sandbox.home().join("seen")).unwrap();
    assert!(seen.lines().last().unwrap().contains("worktree_removed"), "{seen}");
    let journal = sandbox.home().join(".amplihack/sessions").join(id).join("auto.jsonl");
    fs::write(&journal, seen).unwrap();
    let output = prepare(&sandbox, &["auto", "--resume", id, "--json"]).output();
    assert!(!output.stdout_text().contains("worktree_gone"), "{output}");
    assert_ended(&output, "verified", 0);
}

#[test]
fn a_diff_holds_everything_to_the_byte() {
    let body = r#"
        printf 'x\000\377y' > binary; head -c 20000000 /dev/zero | tr '\0' '1' | fold -w 99 > large
        chmod +x a; ln -s a link; git mv b moved; printf 'one\r\ntwo\r\n' > crlf; printf 'no end' > open
        echo q > 'a name with  blanks'; echo q > 'quo"te'; printf q > "$(printf 'line\nbreak')"; echo q > 'ünï'
        printf 'z' >> binary-before; rm gone; result done"#;
    let sandbox = repository(body);
    sandbox.write("work/b", "1\n2\n3\n4\n5\n6\n7\n8\n");
    sandbox.write("work/binary-before", [0, 1, 2, 255]);
    sandbox.write("work/gone", "g\n");
    sandbox
        .run("sh", ["-c", "git add . && git commit -qm before && git config diff.noprefix true"])
        .assert_code(0);
    let output = auto(&sandbox, &["--worktree", "--verify", "true", "--max-turns", "1"]).output();
    let (tree, _) = kept(&output).unwrap_or_else(|| panic!("{output}"));
    let id = tree.file_name().unwrap().to_str().unwrap();
    let patch = sandbox.home().join(".amplihack/sessions").join(id).join("diff.patch");
    assert!(fs::metadata(&patch).unwrap().len() > 20_000_000);
    sandbox.run("git", ["apply", "--check", patch.to_str().unwrap()]).assert_code(0);
    sandbox.run("git", ["apply", "--index", patch.to_str().unwrap()]).assert_code(0);
    // Both have the same files now.
    let written = "git add -A && git write-tree";
    let here = sandbox.run("sh", ["-c", written]).stdout_text();
    let there = sandbox.run("sh", ["-c", &format!("cd '{}' && {written}", tree.display())]).stdout_text();
    assert_eq!(here, there);
    assert_eq!(here.trim().len(), 40);
}
