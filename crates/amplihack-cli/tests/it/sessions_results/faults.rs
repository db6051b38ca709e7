//! What stands in the way of a result: settings of the agent, other checkouts, killed drivers, records that cannot be read.

use std::fs;
use std::time::Duration;

use amplihack_testkit::procs;
use rustix::process::Signal;

use super::{git, other_checkout, ran, repository, sessions, state, worktrees};
use crate::auto::{auto, claude, directory};
use crate::remote::world::{Kind, World};
use crate::world::{amplihack, prepare};

#[test]
fn a_merge_was_made_where_it_says_so() {
    // The agent asks for a squash, and the message is longer than an argument of git may be.
    let sandbox = repository("echo new > b; git config branch.main.mergeOptions --squash");
    let id = ran(&sandbox, &[]);
    sandbox.write("work/own", "own\n");
    git(&sandbox, "add own && git commit -qm mine");
    let message = "x".repeat(131_050);
    sessions(&sandbox, &["merge", &id, "-m", &message])
        .assert_code(0)
        .assert_stdout_has("merged into main")
        .assert_stdout_has("+1 −0");
    assert_eq!(git(&sandbox, "log -1 --format=%P").split(' ').count(), 2);
    assert_eq!(
        (git(&sandbox, "show HEAD:b"), git(&sandbox, "status --porcelain")),
        ("new".into(), String::new())
    );
    assert!(git(&sandbox, "log -1 --format=%B").ends_with(&message));
    // A strategy that drops the work is taken back, and said.
    let sandbox = repository("echo new > b; git config pull.twohead ours");
    let id = ran(&sandbox, &["--commit"]);
    sandbox.write("work/own", "own\n");
    git(&sandbox, "add own && git commit -qm mine");
    let before = state(&sandbox);
    sessions(&sandbox, &["merge", &id])
        .assert_code(1)
        .assert_stderr_has("does not merge it")
        .assert_stderr_has("nothing was changed in");
    assert_eq!(state(&sandbox), before);
}

#[test]
fn a_run_in_the_users_own_files_is_taken_back_where_it_worked() {
    let sandbox = repository("sed -i s/5/agent/ a; echo new > b");
    auto(&sandbox, &["--verify", "true", "--max-turns", "1"]).output().assert_code(0);
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let other = other_checkout(&sandbox);
    for file in ["a", "b"] {
        fs::copy(sandbox.work().join(file), other.join(file)).unwrap();
    }
    let script =
        format!("cd '{}' && '{}' sessions discard --force {id}", other.display(), amplihack().display());
    sandbox.run("sh", ["-c", &script]).assert_code(0);
    assert_eq!(git(&sandbox, "status --porcelain"), "");
    assert_eq!(fs::read_to_string(other.join("b")).unwrap(), "new\n");
    assert!(fs::read_to_string(other.join("a")).unwrap().contains("agent"));
}

#[test]
fn a_killed_run_is_discarded_with_what_its_driver_left() {
    let sandbox =
        claude("echo new > b; say hi; trap '' TERM INT HUP; while :; do sleep 0.1; echo x >> c; done");
    sandbox.write("work/a", "1\n");
    git(&sandbox, "add . && git commit -qm before");
    for verb in [&["discard", "--force", "latest"][..], &["prune", "--older-than", "0s", "--force"]] {
        let mut running = auto(&sandbox, &["--worktree"]).spawn();
        running.until_stdout_has("\"writing\"");
        running.signal(Signal::KILL);
        running.wait();
        assert!(!procs::with_marker(&sandbox.everything()).is_empty(), "the agent lives on");
        // What only says what it would do ends nobody.
        sessions(&sandbox, &["prune", "--older-than", "0s", "--dry-run"]);
        assert!(!procs::with_marker(&sandbox.everything()).is_empty(), "the agent lives on");
        sessions(&sandbox, &["discard", "latest"]).assert_code(1).assert_stderr_has("is not discarded");
        procs::assert_none_soon(&sandbox.everything(), Duration::from_secs(10));
        assert_eq!(git(&sandbox, "for-each-ref refs/amplihack"), "");
        sessions(&sandbox, verb).assert_code(0);
        assert_eq!((worktrees(&sandbox), git(&sandbox, "branch --list amplihack*").as_str()), (1, ""));
        let kept = git(&sandbox, "for-each-ref --format='%(refname)' refs/amplihack/discarded");
        assert_eq!(git(&sandbox, &format!("show {kept}:b")), "new");
        git(&sandbox, &format!("update-ref -d {kept}"));
        let left = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap().flatten();
        for one in left.filter(|one| one.path().join("auto.jsonl").is_file()) {
            fs::remove_dir_all(one.path()).unwrap();
        }
    }
}

#[test]
fn a_second_discard_keeps_the_first() {
    let sandbox = repository("echo new > b");
    let id = ran(&sandbox, &[]);
    sessions(&sandbox, &["discard", "--force", &id]).assert_code(0);
    let first = git(&sandbox, &format!("rev-parse refs/amplihack/discarded/{id}"));
    git(&sandbox, &format!("checkout -q -b amplihack/{id} && echo e > e && git add e && git commit -qm e"));
    let second = git(&sandbox, "rev-parse HEAD");
    git(&sandbox, "checkout -q main");
    let kept = format!("refs/amplihack/discarded/{id}");
    sessions(&sandbox, &["discard", "--force", &id])
        .assert_code(0)
        .assert_stdout_has(&format!("git merge {kept}-2"));
    assert_eq!(git(&sandbox, &format!("rev-parse {kept} {kept}-2")), format!("{first}\n{second}"));
}

#[test]
fn what_the_setup_made_is_known_or_nothing_is_taken() {
    let sandbox = repository("echo new > b");
    let id = ran(&sandbox, &["--setup", "echo s > made"]);
    let (objects, away) = (directory(&sandbox).join("objects"), directory(&sandbox).join("away"));
    fs::rename(&objects, &away).unwrap();
    for verb in ["diff", "commit", "merge"] {
        sessions(&sandbox, &[verb, &id]).assert_code(1).assert_stderr_has("compare the files");
    }
    fs::rename(&away, &objects).unwrap();
    sessions(&sandbox, &["diff", &id, "--name-only"]).assert_code(0).assert_stdout("b\n");
}

#[test]
fn a_record_that_cannot_be_read_stays() {
    let sandbox = claude("");
    prepare(&sandbox, &["claude", "--prompt", "hi", "--output", "json"]).output();
    let all = fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap().flatten();
    let record = all.map(|one| one.path()).find(|one| one.join("run.json").is_file()).unwrap();
    fs::write(record.join("auto.jsonl"), "{}\n").unwrap();
    let prune = || sessions(&sandbox, &["prune", "--older-than", "0s", "--force"]);
    prune().assert_code(1).assert_stderr_has("stays: ");
    assert!(record.exists());
    fs::remove_file(record.join("auto.jsonl")).unwrap();
    prune().assert_code(0);
    assert!(!record.exists());
    // What is known of other machines hides nothing else, and is not hidden.
    fs::write(sandbox.home().join(".amplihack/remote-state.json"), "no json").unwrap();
    sessions(&sandbox, &["list"])
        .assert_code(0)
        .assert_stderr_has("sessions on other machines are not shown");
}

#[test]
fn the_work_of_a_remote_session_is_merged_and_errors_are_not_nothing() {
    World::with(Kind::Local, |world| {
        let id = world.start_one("echo new > made; git add made; git commit -qm made");
        world.wait(std::slice::from_ref(&id));
        world.run(&["pull", &id]).assert_code(0);
        sessions(&world.sandbox, &["diff", &id]).assert_code(0).assert_stdout_has("+new");
        let packed = world.sandbox.work().join(".git/packed-refs");
        world.git(&["pack-refs", "--all"]);
        let refs = fs::read(&packed).unwrap();
        fs::write(&packed, "no refs\n").unwrap();
        sessions(&world.sandbox, &["merge", &id]).assert_code(1).assert_stderr_has("list the branches");
        fs::write(&packed, refs).unwrap();
        sessions(&world.sandbox, &["merge", &id]).assert_code(0).assert_stdout_has("merged into main");
        assert_eq!(fs::read_to_string(world.sandbox.work().join("made")).unwrap(), "new\n");
    });
}
