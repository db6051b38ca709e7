//! Unattended runs whose process is killed at any moment, and go on.

use std::fs;
use std::time::Duration;

use amplihack_testkit::{Sandbox, long, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::auto::{auto, claude, directory, ended, plays};
use crate::world::prepare;

/// An agent that works on a file step by step, whatever was done before: three steps, then it is done. It leaves a tool in a
/// session of its own running while it works.
const BODY: &str = r#"
setsid sleep 31 &
say begins
done=$(cat steps 2>/dev/null | wc -l)
sleep 0.03
if [ $done -lt 3 ]; then echo step$done >> steps; call a "step$done" false; sleep 0.03; fi
if [ $(wc -l < steps) -ge 3 ]; then result done; else result working; fi
kill $!
"#;

/// Goes on with the run until nobody kills it; gives the end.
fn go_on(sandbox: &Sandbox) -> Value {
    let id = directory(sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let output = prepare(sandbox, &["auto", "--resume", &id, "--json"]).output();
    output.assert_code(0);
    ended(&output)
}

/// Every line of the run's journal, which must be whole.
fn journal(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(directory(sandbox).join("auto.jsonl")).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_killed_run_ends_as_if_undisturbed() {
    let rounds: u64 = if long() { 100 } else { 10 };
    for round in 0..rounds {
        let sandbox = claude(BODY);
        let args = ["--verify", "test $(wc -l < steps) -eq 3", "--notify", "echo told >> \"$HOME/told\""];
        let mut running = auto(&sandbox, &args).spawn();
        running.until_stdout_has("\"began\"");
        // Anywhere from the first event to about the end.
        std::thread::sleep(Duration::from_millis(round * 7919 % 701));
        running.signal(Signal::KILL);
        let killed = running.wait();
        // The end is written down before it is printed, so a kill in between leaves a run that is over.
        let text = fs::read_to_string(directory(&sandbox).join("auto.jsonl")).unwrap();
        let over =
            text.split_inclusive('\n').any(|line| line.contains("\"notified\"") && line.ends_with('\n'));
        if !over && !killed.stdout_text().contains("\"type\":\"ended\"") {
            let last = go_on(&sandbox);
            assert_eq!(last["end"], "verified", "round {round}: {last}");
        }
        procs::assert_none_soon(&sandbox.everything(), Duration::from_secs(10));
        let steps = fs::read_to_string(sandbox.work().join("steps")).unwrap();
        assert_eq!(steps, "step0\nstep1\nstep2\n", "round {round}");
        let entries = journal(&sandbox);
        let of = |kind: &str| entries.iter().filter(|entry| entry["entry"] == kind).count();
        assert_eq!((of("began"), of("based"), of("ended"), of("notified")), (1, 1, 1, 1), "round {round}");
        // Each turn was answered once, in order.
        let turns: Vec<u64> = entries
            .iter()
            .filter(|entry| entry["entry"] == "answered")
            .map(|entry| entry["turn"].as_u64().unwrap())
            .collect();
        assert_eq!(turns, (1..=turns.len() as u64).collect::<Vec<_>>(), "round {round}");
        assert!(fs::read_to_string(sandbox.home().join("told")).unwrap_or_default().lines().count() <= 1);
    }
}

#[test]
fn a_resume_first_ends_what_the_dead_process_left() {
    let mut sandbox = claude("");
    let ignores = "trap '' TERM INT HUP; while :; do sleep 0.1; done";
    plays(&mut sandbox, "claude", &format!("if [ $n = 1 ]; then say hi; {ignores}; fi; result done"));
    let mut running = auto(&sandbox, &["--verify", "true"]).spawn();
    running.until_stdout_has("\"writing\"");
    running.signal(Signal::KILL);
    running.wait();
    let left = procs::with_marker(&sandbox.everything());
    assert!(!left.is_empty(), "the agent ignores the signal of its parent's death");
    let last = go_on(&sandbox);
    assert_eq!((&last["end"], &last["turns"]), (&"verified".into(), &1.into()));
    procs::assert_none(&sandbox.everything());
    // It is the same session, told what happened.
    let runs = sandbox.runs();
    let words: Vec<String> = runs[1].args().iter().map(amplihack_testkit::Bytes::lossy).collect();
    assert!(
        words.contains(&"--resume=s1".to_owned()) && runs[1].prompt().contains("interrupted"),
        "{words:?}"
    );
}

#[test]
fn a_run_has_one_driver() {
    let sandbox = claude("say hi; sleep 60");
    let mut running = auto(&sandbox, &[]).spawn();
    running.until_stdout_has("\"writing\"");
    let id = directory(&sandbox).file_name().unwrap().to_str().unwrap().to_owned();
    let second = prepare(&sandbox, &["auto", "--resume", &id]).output();
    second.assert_code(1).assert_stderr_has("driven by another process");
    prepare(&sandbox, &["sessions", "show", &id]).output().assert_stdout_has("state: running");
    running.signal(Signal::INT);
    running.wait().assert_code(130);
}
