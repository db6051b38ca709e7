//! `amplihack auto --resume` after every end: in the agent's session, in the recorded directory, with new limits.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Sandbox, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::auto::{assert_ended, auto, claude, directory, ended, events};
use crate::world::prepare;

/// What the sandbox has until the file `go` is there, and an agent that is done at once from then on.
fn ends_until_go(body: &str) -> Sandbox {
    claude(&format!("if [ -e \"$HOME/go\" ]; then echo x > done; result done; exit; fi\n{body}"))
}

fn id(sandbox: &Sandbox) -> String {
    directory(sandbox).file_name().unwrap().to_str().unwrap().to_owned()
}

fn resume(sandbox: &Sandbox, args: &[&str]) -> Output {
    prepare(sandbox, &[&["auto", "--json", "--resume", &id(sandbox)], args].concat()).output()
}

/// The number of the first turn after the resume, and the number of turns that it may come to.
fn first_turn(output: &Output) -> (u64, u64) {
    let turn = events(output).into_iter().find(|event| event["type"] == "turn").unwrap();
    (turn["turn"].as_u64().unwrap(), turn["of"].as_u64().unwrap())
}

#[test]
fn a_run_continues_after_every_end_in_the_agents_session() {
    let cases: [(&str, &[&str], &str, i32); 6] = [
        ("result working", &["--max-turns", "2"], "max_turns", 1),
        ("say hi; say ho 2; sleep 60", &["--budget-tokens", "20"], "budget", 5),
        ("say hi; sleep 60", &["--deadline", "1s"], "deadline", 5),
        ("say hi; sleep 60", &["--idle-timeout", "1s"], "stalled", 1),
        ("say hi; exit 3", &[], "no_result", 1),
        ("say hi; kill -INT $(cut -d' ' -f4 /proc/$PPID/stat); sleep 60", &[], "interrupted", 130),
    ];
    for (body, limits, end, code) in cases {
        let sandbox = ends_until_go(body);
        let output = auto(&sandbox, &[&["--verify", "test -e done"], limits].concat()).output();
        let before = assert_ended(&output, end, code);
        let turns = before["turns"].as_u64().unwrap();
        let launches = sandbox.runs().len();
        fs::write(sandbox.home().join("go"), "").unwrap();
        let resumed = resume(&sandbox, &[]);
        let last = assert_ended(&resumed, "verified", 0);
        assert_eq!(first_turn(&resumed).0, turns + 1, "{end}: {resumed}");
        assert!(last["used"]["input_tokens"].as_u64() > before["used"]["input_tokens"].as_u64(), "{end}");
        let words: Vec<String> =
            sandbox.runs()[launches].args().iter().map(amplihack_testkit::Bytes::lossy).collect();
        assert!(words.contains(&"--resume=s1".to_owned()), "{end}: {words:?}");
        // What was changed is told from the beginning of the run.
        assert!(fs::read_to_string(directory(&sandbox).join("diff.patch")).unwrap().contains("+++ b/done"));
        procs::assert_none(&sandbox.everything());
    }
}

#[test]
fn limits_of_a_resume_count_from_there_and_without_them_the_old_ones_begin_anew() {
    let sandbox = claude("say hi; result working");
    let check = ["--verify", "test -e done"];
    let run = |args: &[&str]| auto(&sandbox, &[&check, args].concat()).output();
    assert_ended(&run(&["--max-turns", "2"]), "max_turns", 1);
    let again = resume(&sandbox, &[]);
    assert_eq!(assert_ended(&again, "max_turns", 1)["turns"], 4);
    assert_eq!(first_turn(&again), (3, 4));
    let five = resume(&sandbox, &["--max-turns", "5"]);
    assert_eq!(assert_ended(&five, "max_turns", 1)["turns"], 9);
    // Each turn uses 19 tokens: so much more, and not so much in all.
    let tokens = resume(&sandbox, &["--budget-tokens", "30"]);
    assert_eq!(assert_ended(&tokens, "budget", 5)["turns"], 11);
    let deadline = resume(&sandbox, &["--deadline", "1ms", "--budget-tokens", "1000"]);
    assert_eq!(assert_ended(&deadline, "deadline", 5)["turns"], 11);
    let dollars = resume(&sandbox, &["--budget-usd", "0.30", "--deadline", "1h", "--budget-tokens", "1000"]);
    assert_eq!(assert_ended(&dollars, "budget", 5)["turns"], 13);
    // Another check, in the place of the one that cannot pass.
    let checked = resume(&sandbox, &["--verify", "true", "--max-turns", "1", "--budget-usd", "9"]);
    assert!(!checked.stdout_text().contains("test -e done"), "{checked}");
    // It was never red, so that it shows nothing.
    assert_eq!(assert_ended(&checked, "max_turns", 1)["baseline"], "green");
    for option in ["--worktree", "--commit", "--submodules"] {
        let refused = resume(&sandbox, &[option]);
        refused.assert_code(2);
        assert!(refused.stdout_text().contains("decided when a run begins"), "{refused}");
    }
}

#[test]
fn other_checks_of_a_resume_are_run_before_its_next_turn() {
    let sandbox = ends_until_go("result working");
    let check = ["--verify", "test -e done", "--max-turns", "1"];
    assert_ended(&auto(&sandbox, &[&check[..], &["--strict-verify"]].concat()).output(), "max_turns", 1);
    let launches = sandbox.runs().len();
    for args in [&["--verify", "true"][..], &[]] {
        let refused = resume(&sandbox, args);
        refused.assert_code(1);
        assert!(refused.stdout_text().contains("every check passes already"), "{refused}");
    }
    assert_eq!(sandbox.runs().len(), launches);
    fs::write(sandbox.home().join("go"), "").unwrap();
    let turned = resume(&sandbox, &["--verify", "test -s done"]);
    assert_eq!(assert_ended(&turned, "verified", 0)["baseline"], "red");
    assert_eq!(sandbox.runs().len(), launches + 1);
}

#[test]
fn bounds_of_a_killed_run_that_its_resume_does_not_name_stay_as_they_are() {
    let cases: [([&str; 4], [&str; 2], &str, i32); 2] = [
        (["--budget-tokens", "100", "--max-turns", "30"], ["--max-turns", "9"], "budget", 5),
        (["--budget-tokens", "90", "--max-turns", "4"], ["--budget-tokens", "900"], "max_turns", 1),
    ];
    for (limits, more, end, code) in cases {
        let sandbox = claude(
            "say hi; if [ $n -gt 1 ]; then while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; fi; result working",
        );
        let mut running = auto(&sandbox, &[&["--verify", "test -e done"], &limits[..]].concat()).spawn();
        running.until("the second turn", |running| {
            String::from_utf8_lossy(&running.stdout_so_far()).matches("\"writing\"").count() == 2
        });
        running.signal(Signal::KILL);
        running.wait();
        fs::write(sandbox.home().join("go"), "").unwrap();
        let resumed = resume(&sandbox, &more);
        let last = assert_ended(&resumed, end, code);
        if end == "budget" {
            assert!(last["reason"].as_str().unwrap().contains("of 100 tokens"), "{resumed}");
        } else {
            assert_eq!(last["turns"], 4, "{resumed}");
        }
        procs::assert_none(&sandbox.everything());
    }
}

#[test]
fn a_complete_run_answers_with_its_result_and_starts_nothing() {
    for (args, end) in [(&["--verify", "true"][..], "verified"), (&[], "claimed")] {
        let sandbox = claude("echo x > new; result done");
        let first = assert_ended(&auto(&sandbox, args).output(), end, 0);
        let journal = directory(&sandbox).join("auto.jsonl");
        let (before, launches) = (fs::read(&journal).unwrap(), sandbox.starts().len());
        let again = resume(&sandbox, &["--max-turns", "3"]);
        assert_eq!(assert_ended(&again, end, 0), first);
        let shown = prepare(&sandbox, &["auto", "--resume", &id(&sandbox)]).output();
        shown.assert_code(0).assert_stdout_has(end).assert_stdout_has("turns: 1");
        assert_eq!((fs::read(&journal).unwrap(), sandbox.starts().len()), (before, launches));
    }
}

#[test]
fn a_resume_works_in_the_recorded_directory_from_anywhere() {
    let sandbox = ends_until_go("result working");
    assert_ended(&auto(&sandbox, &["--verify", "test -e done", "--max-turns", "1"]).output(), "max_turns", 1);
    fs::write(sandbox.home().join("go"), "").unwrap();
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let from = |directory: &Path| {
        let mut command = sandbox.command(crate::world::amplihack());
        command.current_dir(directory).args(["auto", "--json", "--resume", &id(&sandbox)]);
        amplihack_testkit::Run::new(command).output()
    };
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.work(), &moved).unwrap();
    let gone = from(&elsewhere);
    gone.assert_code(3);
    assert_eq!(gone.json()["error"]["kind"], "directory_gone", "{gone}");
    fs::rename(&moved, sandbox.work()).unwrap();
    assert_ended(&from(&elsewhere), "verified", 0);
    assert!(sandbox.work().join("done").exists() && !elsewhere.join("done").exists());
}

/// The worktree of the run, and its branch.
fn worktree(sandbox: &Sandbox) -> (PathBuf, String) {
    let text = fs::read_to_string(directory(sandbox).join("auto.jsonl")).unwrap();
    let began: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let tree = &began["worktree"];
    (tree["path"].as_str().unwrap().into(), tree["branch"].as_str().unwrap().to_owned())
}

#[test]
fn a_missing_worktree_is_made_again_from_its_branch() {
    let commit = "echo kept > kept; git add kept; git -c user.name=a -c user.email=a@b commit -qm kept; result working";
    let sandbox = ends_until_go(commit);
    let args = ["--worktree", "--verify", "test -e done -a -e kept", "--max-turns", "1"];
    assert_ended(&auto(&sandbox, &args).output(), "max_turns", 1);
    let (path, branch) = worktree(&sandbox);
    fs::remove_dir_all(&path).unwrap();
    fs::write(sandbox.home().join("go"), "").unwrap();
    assert_ended(&resume(&sandbox, &[]), "verified", 0);
    assert!(path.join("done").exists() && path.join("kept").exists());
    let list = sandbox.run("git", ["worktree", "list", "--porcelain"]).stdout_text();
    assert!(list.contains(&format!("branch refs/heads/{branch}")), "{list}");

    let sandbox = ends_until_go(commit);
    assert_ended(&auto(&sandbox, &args).output(), "max_turns", 1);
    let (path, branch) = worktree(&sandbox);
    fs::remove_dir_all(&path).unwrap();
    sandbox.run("git", ["worktree", "prune"]).assert_code(0);
    sandbox.run("git", ["branch", "-D", &branch]).assert_code(0);
    let gone = resume(&sandbox, &[]);
    gone.assert_code(3);
    assert_eq!(gone.json_lines().last().unwrap()["error"]["kind"], "worktree_gone", "{gone}");
}

#[test]
fn a_worktree_that_was_removed_since_it_held_nothing_is_made_again() {
    let sandbox = ends_until_go("say hi; sleep 60");
    let mut running = auto(&sandbox, &["--worktree", "--verify", "test -e done"]).spawn();
    running.until_stdout_has("\"writing\"");
    running.signal(Signal::TERM);
    let output = running.wait();
    assert_ended(&output, "interrupted", 143);
    let (path, _) = worktree(&sandbox);
    assert!(!path.exists());
    fs::write(sandbox.home().join("go"), "").unwrap();
    let resumed = resume(&sandbox, &[]);
    assert_eq!(ended(&resumed)["end"], "verified", "{resumed}");
    assert!(path.join("done").exists());
    procs::assert_none(&sandbox.everything());
}
