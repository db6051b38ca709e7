//! `amplihack parallel --resume`: finished tasks keep their results, what was ended continues, and the rest begins.

use std::fs;

use amplihack_testkit::{Output, Run, Running, Sandbox, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::auto::{claude, plays};
use crate::world::{amplihack, prepare};

/// The first two tasks are done at once, the others when the file `go` is there.
const WORKER: &str = r#"
words=$(tr '\0' '\n' < /proc/$PPID/cmdline; cat)
own=$(git rev-parse --git-dir)
case "$words" in *"quick"*) : > "$own/quick" ;; esac
echo x >> "$HOME/launches"
say hi
if [ ! -e "$own/quick" ]; then while [ ! -e "$HOME/go" ]; do sleep 0.02; done; fi
echo x > done; result done
"#;

fn sandbox() -> Sandbox {
    let sandbox = claude(WORKER);
    sandbox.write("tasks", "quick one\nquick two\nslow three\nslow four\nslow five\n");
    sandbox
}

fn args(sandbox: &Sandbox) -> Vec<String> {
    let file = sandbox.root().join("tasks").to_str().unwrap().to_owned();
    [
        "parallel",
        "--agents",
        "claude",
        "--json",
        "--max",
        "2",
        "--verify",
        "test -e done",
        "--task-file",
        &file,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn start(sandbox: &Sandbox) -> Running {
    let args = args(sandbox);
    let mut running = prepare(sandbox, &args.iter().map(String::as_str).collect::<Vec<_>>()).spawn();
    running.until("two slow agents", |running| {
        let shown = String::from_utf8_lossy(&running.stdout_so_far()).into_owned();
        shown.matches("\"writing\"").count() == 4
    });
    running
}

/// The id of the group, which was printed before anything else.
fn id(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output).into_owned();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let first = lines.iter().find(|line| line["type"] == "parallel").unwrap();
    assert_eq!(first["tasks"], 5);
    first["id"].as_str().unwrap().to_owned()
}

fn rows(output: &Output) -> Vec<Value> {
    let last: Value = serde_json::from_str(output.stdout_text().lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "table", "{output}");
    last["runs"].as_array().unwrap().clone()
}

fn ends(output: &Output) -> Vec<String> {
    rows(output).iter().map(|row| row["end"].as_str().unwrap().to_owned()).collect()
}

fn launches(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.home().join("launches")).unwrap().lines().count()
}

#[test]
fn a_group_that_was_ended_in_the_middle_is_completed() {
    for signal in [Signal::INT, Signal::KILL] {
        let sandbox = sandbox();
        let running = start(&sandbox);
        running.signal(signal);
        let ended = running.wait();
        let id = id(&ended.stdout);
        if signal == Signal::INT {
            ended.assert_code(130);
            assert_eq!(ends(&ended), ["verified", "verified", "interrupted", "interrupted", "not_begun"]);
        }
        assert_eq!(launches(&sandbox), 4);
        fs::write(sandbox.home().join("go"), "").unwrap();
        // From anywhere, in the directory that is recorded.
        let mut command = sandbox.command(amplihack());
        command.current_dir(sandbox.root()).args(["parallel", "--json", "--resume", &id]);
        let resumed = Run::new(command).output();
        resumed.assert_code(0);
        assert_eq!(ends(&resumed), ["verified"; 5]);
        // The two that were done are not done again; the two that were ended are the same runs.
        assert_eq!(launches(&sandbox), 7);
        if signal == Signal::INT {
            let runs = |output: &Output| -> Vec<Value> {
                rows(output).iter().take(4).map(|row| row["run"].clone()).collect()
            };
            assert_eq!(runs(&ended), runs(&resumed));
        }
        for row in rows(&resumed) {
            let tree = std::path::PathBuf::from(row["worktree"].as_str().unwrap());
            assert!(tree.join("done").exists(), "{row}");
        }
        // A group that is complete prints its table again, and starts nothing.
        let again = prepare(&sandbox, &["parallel", "--json", "--resume", &id]).output();
        again.assert_code(0);
        assert_eq!((rows(&again), launches(&sandbox)), (rows(&resumed), 7));
        procs::assert_none(&sandbox.everything());
    }
}

#[test]
fn a_new_limit_continues_what_ended_at_its_limit_and_without_one_it_stays() {
    let sandbox = claude(
        "echo x >> \"$HOME/launches\"; if [ -e \"$HOME/go\" ]; then echo x > done; result done; else result working; fi",
    );
    sandbox.write("tasks", "one\ntwo\n");
    let mut all = args(&sandbox);
    all.extend(["--max-turns".to_owned(), "1".to_owned()]);
    let first = prepare(&sandbox, &all.iter().map(String::as_str).collect::<Vec<_>>()).output();
    first.assert_code(1);
    assert_eq!(ends(&first), ["max_turns"; 2]);
    let id = first.json_lines()[0]["id"].as_str().map(str::to_owned);
    let id = id.or_else(|| first.json_lines()[1]["id"].as_str().map(str::to_owned)).unwrap();
    fs::write(sandbox.home().join("go"), "").unwrap();
    let same = prepare(&sandbox, &["parallel", "--json", "--resume", &id]).output();
    same.assert_code(1);
    assert_eq!((ends(&same), launches(&sandbox)), (vec!["max_turns".to_owned(); 2], 2));
    let told = prepare(&sandbox, &["parallel", "--resume", &id]).output();
    told.assert_code(1).assert_stderr_has(&format!("amplihack parallel --resume {id}"));
    let more = prepare(&sandbox, &["parallel", "--json", "--resume", &id, "--max-turns", "2"]).output();
    more.assert_code(0);
    assert_eq!(ends(&more), ["verified"; 2]);
    prepare(&sandbox, &["parallel", "--resume", "nobody"]).output().assert_code(3);
    prepare(&sandbox, &["parallel", "--resume", &id, "--max", "3"]).output().assert_code(2);
    prepare(&sandbox, &["parallel", "--resume", &id, "--one-per-line"]).output().assert_code(2);
    prepare(&sandbox, &["parallel", "--resume", &id, "--commit"]).output().assert_code(2);
}

#[test]
fn a_kill_does_not_lift_the_budget_of_a_group() {
    let sandbox = sandbox();
    let mut all = args(&sandbox);
    // Each launch uses 19 tokens: two are done, and two that go on are counted when they are resumed.
    all.extend(["--budget-tokens".to_owned(), "110".to_owned()]);
    let mut running = prepare(&sandbox, &all.iter().map(String::as_str).collect::<Vec<_>>()).spawn();
    running.until("two slow agents", |running| {
        String::from_utf8_lossy(&running.stdout_so_far()).matches("\"writing\"").count() == 4
    });
    running.signal(Signal::KILL);
    let id = id(&running.wait().stdout);
    fs::write(sandbox.home().join("go"), "").unwrap();
    let resumed = prepare(&sandbox, &["parallel", "--json", "--resume", &id]).output();
    assert_ne!(resumed.code, Some(0), "{resumed}");
    assert!(resumed.stdout_text().contains("of 110 tokens"), "{resumed}");
    assert_ne!(ends(&resumed)[4], "verified", "{resumed}");
    let more = ["parallel", "--json", "--resume", &id, "--budget-tokens", "900"];
    let completed = prepare(&sandbox, &more).output();
    completed.assert_code(0);
    assert_eq!(ends(&completed), ["verified"; 5]);
    procs::assert_none(&sandbox.everything());
}

#[test]
fn a_race_that_was_killed_is_run_to_its_end() {
    let wait = "say hi; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done; ";
    let mut sandbox = claude(&format!("{wait} sleep 60"));
    sandbox.fake("amp");
    plays(&mut sandbox, "amp", &format!("{wait} echo x > done; result done"));
    sandbox.write("task", "be first\n");
    let file = sandbox.root().join("task");
    let args =
        ["parallel", "--race", "--json", "--agents", "claude,amp", "--verify", "test -e done", "--task-file"];
    let mut running = prepare(&sandbox, &[&args[..], &[file.to_str().unwrap()]].concat()).spawn();
    running.until("both agents", |running| {
        String::from_utf8_lossy(&running.stdout_so_far()).matches("\"writing\"").count() == 2
    });
    running.signal(Signal::KILL);
    let killed = running.wait();
    let lines: Vec<Value> =
        killed.stdout_text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let first = lines.iter().find(|line| line["type"] == "parallel").unwrap();
    let id = first["id"].as_str().unwrap();
    fs::write(sandbox.home().join("go"), "").unwrap();
    for _ in 0..2 {
        let resumed = prepare(&sandbox, &["parallel", "--json", "--resume", id]).output();
        resumed.assert_code(0);
        assert_eq!(ends(&resumed), ["interrupted", "verified"]);
        assert_eq!((&rows(&resumed)[0]["won"], &rows(&resumed)[1]["won"]), (&false.into(), &true.into()));
    }
    procs::assert_none(&sandbox.everything());
}
