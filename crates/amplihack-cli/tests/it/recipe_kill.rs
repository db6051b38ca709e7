//! Recipes whose runner is killed at any instant, and ends that a user asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use amplihack_testkit::{Sandbox, Script, long, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::fakes::RECIPE_OPTIONS;
use crate::world::{prepare, run};

/// Thirty steps: serial ones, a group with an agent and a recipe in it, a recipe with a group, agents.
fn recipes(sandbox: &Sandbox) {
    let bash = |id: &str, more: &str| {
        format!(
            "  - {{id: {id}, command: \"sleep 0.01; echo {id} >> ran; echo value-{id}\", output: {id}{more}}}\n"
        )
    };
    let group = ", parallel_group: g";
    let mut top = "name: thirty\ncontext: {seed: s}\nsteps:\n".to_owned();
    for id in ["a1", "a2", "a3", "a4", "a5", "a6"] {
        top += &bash(id, "");
    }
    for id in ["g1", "g2", "g3", "g4"] {
        top += &bash(id, group);
    }
    top += "  - {id: g5, prompt: \"{{a1}} and {{seed}}\", output: g5, parallel_group: g}\n";
    top += "  - {id: g6, recipe: inner, context: {given: \"{{a2}}\"}, parallel_group: g}\n";
    for id in ["b1", "b2", "b3"] {
        top += &bash(id, "");
    }
    top += "  - {id: skipped, command: \"echo skipped >> ran\", condition: \"b1 == 'other'\"}\n";
    top += "  - {id: soft, command: \"echo soft >> ran; exit 3\", continue_on_error: true}\n";
    top += "  - {id: p1, prompt: \"{{b1}}\", output: p1}\n";
    top += "  - {id: r1, recipe: inner, context: {given: \"{{b2}}\"}}\n";
    for id in ["c1", "c2", "c3"] {
        top += &bash(id, "");
    }
    top +=
        "  - {id: last, command: \"printf '%s,' {{a6}} {{g1}} {{g5}} {{i3}} {{p1}} {{c3}}\", output: last}\n";
    let mut inner = "name: inner\nsteps:\n".to_owned();
    inner += &bash("i1", ", parallel_group: h");
    inner += &bash("i2", ", parallel_group: h");
    inner += "  - {id: i3, command: \"sleep 0.01; echo i3 >> ran; echo {{given}}\", output: i3}\n";
    sandbox.write("work/thirty.yaml", top);
    sandbox.write("work/inner.yaml", inner);
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    amplihack_testkit::create_repository(&sandbox.work());
    sandbox.fake("amplifier");
    sandbox.script_for("amplifier", &Script::new().sleep_ms(10).print("the agent's answer\n"));
    recipes(&sandbox);
    sandbox
}

fn whole_run() -> Vec<&'static str> {
    [&["recipe", "run", "thirty.yaml"][..], &RECIPE_OPTIONS].concat()
}

fn journal(sandbox: &Sandbox) -> Option<(String, Vec<Value>)> {
    let runs = std::fs::read_dir(sandbox.home().join(".amplihack/recipe-runs")).ok()?;
    let run: PathBuf = runs.into_iter().next()?.ok()?.path();
    let text = std::fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let id = run.file_name()?.to_str()?.to_owned();
    Some((id, whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()))
}

/// How often each step ran.
fn ran(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for id in std::fs::read_to_string(sandbox.work().join("ran")).unwrap_or_default().lines() {
        *counts.entry(id.to_owned()).or_default() += 1;
    }
    counts
}

/// How often each step of a recipe's path has a recorded end.
fn ended(entries: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry["entry"] == "end") {
        *counts.entry(entry["path"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// What a run ends with, without times and ids.
fn outcome(stdout: &str) -> Value {
    let result: Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    let steps: Vec<Value> = result["step_results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            let output = if step["type"] == "recipe" { &Value::Null } else { &step["output"] };
            serde_json::json!([step["step_id"], step["status"], output])
        })
        .collect();
    serde_json::json!({ "success": result["success"], "steps": steps, "context": result["context"] })
}

#[test]
fn a_run_whose_runner_is_killed_at_any_instant_ends_as_if_nothing_had_been() {
    let whole = sandbox();
    let begun = Instant::now();
    let output = run(&whole, &whole_run());
    output.assert_code(0);
    let took = begun.elapsed();
    let expected = outcome(&output.stdout_text());
    assert_eq!(
        expected["context"]["last"],
        "value-a6,value-g1,the agent's answer,value-b2,the agent's answer,value-c3,"
    );
    let rounds: u32 = if long() { 200 } else { 20 };
    for round in 0..rounds {
        let sandbox = sandbox();
        // Spread over the whole run, and never twice at the same instant.
        let part = f64::from(round) + f64::from(Instant::now().elapsed().subsec_nanos() % 1000) / 1000.0;
        let instant = took.mul_f64(part / f64::from(rounds));
        let running = prepare(&sandbox, &whole_run()).spawn();
        sleep(instant);
        running.signal(Signal::KILL);
        running.wait();
        let Some((id, before)) = journal(&sandbox).filter(|(_, before)| !before.is_empty()) else { continue };
        if before.iter().any(|entry| entry["entry"] == "recipe_end" && entry["path"] == "") {
            continue;
        }
        let (recorded, counted) = (ended(&before), ran(&sandbox));
        let output = run(&sandbox, &["recipe", "run", "--resume", &id, "-f", "json", "--progress", "none"]);
        output.assert_code(0);
        assert_eq!(outcome(&output.stdout_text()), expected, "round {round}");
        let (_, after) = journal(&sandbox).unwrap();
        for (path, count) in ended(&after) {
            assert_eq!(count, 1, "round {round}: {path} ended twice");
            if recorded.contains_key(&path) {
                let launches = |entries: &[Value]| {
                    entries
                        .iter()
                        .filter(|entry| entry["entry"] == "launch" && entry["path"] == path.as_str())
                        .count()
                };
                assert_eq!(
                    launches(&before),
                    launches(&after),
                    "round {round}: {path} was recorded and ran again"
                );
            }
        }
        for (id, times) in ran(&sandbox) {
            // Steps of the recipe that is there twice run twice; one that was cut short may have begun twice.
            let usual = if id.starts_with('i') { 2 } else { 1 };
            assert!(times <= usual + 1, "round {round}: {id} ran {times} times, {counted:?} before");
        }
        procs::assert_none_soon(&sandbox.marker("x")[2..], Duration::from_secs(10));
    }
}

#[test]
fn ctrl_c_ends_everything_and_says_how_to_go_on() {
    let sandbox = sandbox();
    sandbox.write(
        "work/slow.yaml",
        "name: slow\nsteps:\n  - {id: a, command: \"echo a >> ran\"}\n  - {id: b, command: \"sleep 600 & sleep 600\", parallel_group: g}\n  \
         - {id: c, command: \"touch begun; sleep 600\", parallel_group: g}\n",
    );
    let mut running = prepare(&sandbox, &["recipe", "run", "slow.yaml"]).spawn();
    let begun = sandbox.work().join("begun");
    running.until("the steps", |_| begun.exists());
    running.signal_group(Signal::INT);
    let output = running.wait();
    output.assert_code(130);
    let (id, entries) = journal(&sandbox).unwrap();
    output.assert_stderr_has(&format!("amplihack recipe run --resume {id}"));
    assert_eq!(ended(&entries).into_keys().collect::<Vec<_>>(), ["0"]);
    procs::assert_none_soon(&sandbox.marker("x")[2..], Duration::from_secs(10));
    run(&sandbox, &["recipe", "runs", "list"]).assert_code(0).assert_stdout_has("interrupted");
    // The step that was done is not done again.
    std::fs::write(&begun, "").unwrap();
    let mut running = prepare(&sandbox, &["recipe", "run", "--resume", "latest"]).spawn();
    sandbox.write("work/slow-marker", "");
    running.until("the journal", |_| {
        journal(&sandbox)
            .is_some_and(|(_, entries)| entries.iter().filter(|entry| entry["entry"] == "launch").count() > 4)
    });
    running.signal(Signal::TERM);
    running.wait().assert_code(143);
    assert_eq!(ran(&sandbox)["a"], 1);
}

#[test]
fn a_complete_run_answers_with_its_result() {
    let sandbox = sandbox();
    let first = run(&sandbox, &whole_run());
    first.assert_code(0);
    let (id, before) = journal(&sandbox).unwrap();
    let counted = ran(&sandbox);
    let again = run(&sandbox, &["recipe", "run", "--resume", &id, "-f", "json", "--progress", "none"]);
    again.assert_code(0);
    assert_eq!(outcome(&again.stdout_text()), outcome(&first.stdout_text()));
    run(&sandbox, &["recipe", "run", "--resume", &id]).assert_code(0).assert_stdout_has("thirty");
    assert_eq!((journal(&sandbox).unwrap().1, ran(&sandbox)), (before, counted));
}

#[test]
fn a_signal_at_any_instant_is_in_the_journal_or_came_after_the_end() {
    let whole = sandbox();
    let begun = Instant::now();
    run(&whole, &whole_run()).assert_code(0);
    let took = begun.elapsed().mul_f64(1.1);
    let rounds: u32 = if long() { 200 } else { 12 };
    for round in 0..rounds {
        let sandbox = sandbox();
        let signal = [Signal::INT, Signal::TERM, Signal::HUP][round as usize % 3];
        let mut running = prepare(&sandbox, &whole_run()).spawn();
        // Half of them in the last steps.
        let part = f64::from(round / 2) / f64::from(rounds / 2);
        let part = if round % 2 == 0 { part } else { 0.8 + part / 5.0 };
        sleep(took.mul_f64(part));
        if !running.is_running() {
            continue;
        }
        running.signal(signal);
        let output = running.wait();
        let state = journal(&sandbox)
            .filter(|(_, entries)| !entries.is_empty())
            .map(|(id, _)| run(&sandbox, &["recipe", "runs", "show", &id, "--json"]).json()["state"].clone());
        match (output.code, state) {
            (Some(0), Some(state)) => assert_eq!(state, "completed", "round {round}: {output}"),
            // It came before the run was there.
            (code, None) => assert!(code != Some(0), "round {round}: {output}"),
            (code, Some(state)) => {
                assert_eq!(
                    (code, state),
                    (Some(128 + signal.as_raw()), "interrupted".into()),
                    "round {round}: {output}"
                );
            }
        }
        procs::assert_none_soon(&sandbox.marker("x")[2..], Duration::from_secs(10));
    }
}
