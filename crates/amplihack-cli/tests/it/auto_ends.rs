//! Ends of unattended runs: each is verified, and what leads nowhere ends early.

use amplihack_testkit::{Output, Sandbox, procs};
use serde_json::{Value, json};

use crate::auto::{assert_ended, auto, claude, events};
use crate::world::prepare;

/// The words of the agent's status line, with `more` in its object.
fn claims(status: &str, changes: bool) -> String {
    format!("result {status} ',\\\"changes\\\":{changes}'")
}

/// Claims that a passing check made the end `limit` a success.
#[track_caller]
fn assert_verified_at(output: &Output, limit: &str) {
    let last = assert_ended(output, "verified", 0);
    assert_eq!(last["limit"], limit, "{output}");
}

const DONE: &[&str] = &["--verify", "test -e made"];

#[test]
fn every_end_is_verified() {
    let run = |body: &str, args: &[&str]| {
        let sandbox = claude(body);
        let output = auto(&sandbox, &[DONE, args].concat()).output();
        procs::assert_none(&sandbox.everything());
        output
    };
    assert_verified_at(&run("echo x > made; result working", &["--max-turns", "1"]), "max_turns");
    assert_verified_at(&run("echo x > made; say a; sleep 60", &["--deadline", "2s"]), "deadline");
    let endless = "echo x > made; i=0; while :; do i=$((i+1)); call $i true$i false; sleep 0.05; done";
    assert_verified_at(&run(endless, &["--budget-tokens", "100"]), "budget");
    assert_verified_at(&run("echo x > made; say a; sleep 60", &["--idle-timeout", "700ms"]), "stalled");
    assert_verified_at(&run("echo x > made; exit 3", &[]), "no_result");
    assert_verified_at(&run("echo x > made; result blocked", &[]), "failed");
    // After the deadline a check has a short time of its own.
    let hangs = ["--verify", "test ! -e made || sleep 60", "--verify-timeout", "1s", "--deadline", "2s"];
    let sandbox = claude("echo x > made; say a; sleep 60");
    let output = auto(&sandbox, &hangs).output();
    assert_ended(&output, "deadline", 5);
    output.assert_stdout_has("took too long");
    // A check that still fails changes nothing, and runs once.
    let output = run("result working", &["--max-turns", "1"]);
    assert_ended(&output, "max_turns", 1);
    let checks = events(&output).into_iter().filter(|event| event["type"] == "checked").count();
    assert_eq!(checks, 1, "{output}");
}

#[test]
fn the_limit_stands_beside_the_success() {
    let sandbox = claude("echo x > made; result working");
    let args =
        ["auto", "--agent", "claude", "--task", "do it", "--verify", "test -e made", "--max-turns", "1"];
    let output = prepare(&sandbox, &args).output();
    output.assert_code(0).assert_stdout_has("verified (red → green, at max_turns): ");
}

#[test]
fn a_check_that_was_green_proves_nothing_of_work_that_was_not_done() {
    // Nothing changed, nobody claims anything, and the check passed before: that is no success.
    for (body, end, code) in
        [("result working", "max_turns", 1), ("exit 3", "no_result", 1), ("result blocked", "failed", 1)]
    {
        let output = auto(&claude(body), &["--verify", "true", "--max-turns", "2"]).output();
        assert_ended(&output, end, code);
    }
    let output =
        auto(&claude("echo x >> f; result working"), &["--verify", "true", "--max-turns", "2"]).output();
    assert_verified_at(&output, "max_turns");
    assert_eq!(assert_ended(&output, "verified", 0)["baseline"], "green");
    // What a person asked for as an end is one.
    let denied = r#"echo '{"type":"system","subtype":"permission_denied","tool_name":"Bash"}'; echo x > made; result done"#;
    let sandbox = claude(denied);
    let output = auto(&sandbox, &[DONE, &["--fail-on-denial"]].concat()).output();
    assert_ne!(crate::auto::ended(&output)["end"], "verified", "{output}");
}

#[test]
fn a_run_without_checks_is_never_verified() {
    for body in ["echo x > made; result working", "echo x > made; answer none"] {
        let output = auto(&claude(body), &["--max-turns", "2"]).output();
        assert_ended(&output, "max_turns", 1);
        assert!(!output.stdout_text().contains("\"checked\""), "{output}");
    }
}

#[test]
fn a_status_line_that_was_forgotten_costs_no_turn() {
    let sandbox = claude("echo x > made; answer 'all done'");
    let last = assert_ended(&auto(&sandbox, DONE).output(), "verified", 0);
    assert_eq!(last["turns"], 1);
    // A mention of the line is none.
    let mention = r#"answer 'I will finish with AMPLIHACK-STATUS: {\"status\":\"done\",\"summary\":\"x\",\"changes\":false} as you asked.'"#;
    let output = auto(&claude(mention), &["--max-turns", "2"]).output();
    assert_ended(&output, "max_turns", 1);
    output.assert_stdout_has("reports no status");
}

#[test]
fn a_claim_without_the_change_that_was_asked_for_is_nothing_done() {
    let output = auto(&claude("result done"), &[]).output();
    assert_eq!(assert_ended(&output, "nothing_done", 1)["turns"], 2);
    output.assert_stdout_has("no file changed");
    let none = claims("done", false);
    let last = assert_ended(&auto(&claude(&none), &[]).output(), "claimed", 0);
    let reason = last["reason"].as_str().unwrap();
    assert!(reason.contains("no change was asked for") && reason.contains("nothing changed"), "{last}");
    let expects = auto(&claude(&none), &["--expect-changes"]).output();
    assert_ended(&expects, "nothing_done", 1);
    let expects = auto(&claude(&none), &["--expect-changes", "--verify", "true"]).output();
    assert_ended(&expects, "nothing_done", 1);
    let work = format!("echo x > made; {none}");
    assert_ended(&auto(&claude(&work), &["--expect-changes"]).output(), "claimed", 0);
}

/// The ends of runs that would otherwise use up their turns.
fn stalls(body: &str, args: &[&str]) -> Value {
    assert_ended(&auto(&claude(body), args).output(), "stalled", 1)
}

#[test]
fn turns_that_lead_nowhere_are_a_stall() {
    // The output differs each time, the files do not.
    let last = stalls("result done", &["--verify", "date +%N; false"]);
    assert_eq!(
        (&last["turns"], last["reason"].as_str().unwrap()),
        (&2.into(), "the same check failed twice, and no file changed in between")
    );
    let silent = stalls("echo x > f; answer none; true", &["--verify", "date +%N; false"]);
    assert_eq!(silent["turns"], json!(2), "{silent}");
    // Work in between is no stall, whatever the check leaves behind.
    let output =
        auto(&claude("echo x >> f; result done"), &["--verify", "echo y >> g; false", "--max-turns", "3"])
            .output();
    assert_ended(&output, "max_turns", 1);
    let output =
        auto(&claude("result done"), &["--verify", "echo y >> g; false", "--max-turns", "3"]).output();
    assert_ended(&output, "stalled", 1);
}

#[test]
fn tasks_of_one_line_begin_with_the_work_and_longer_ones_with_a_look() {
    let phases = |task: &str| -> Vec<Value> {
        let sandbox: Sandbox = claude("result working");
        let output = auto(&sandbox, &["--task", task, "--max-turns", "3"]).output();
        events(&output)
            .into_iter()
            .filter(|event| event["type"] == "turn")
            .map(|event| event["phase"].clone())
            .collect()
    };
    assert_eq!(phases("fix it\n"), ["execute", "go_on", "go_on"]);
    assert_eq!(phases("fix it\nand that"), ["clarify", "plan", "execute"]);
}
