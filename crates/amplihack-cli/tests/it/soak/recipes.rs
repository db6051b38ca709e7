//! Recipes: one of many steps, and runs of one with everything in it for an hour.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amplihack_testkit::{Sandbox, Script, long};

use super::watch::Quarters;
use super::{assert_nothing_is_left, names, sized, tell};
use crate::scene::files;
use crate::world::{prepare, run};

/// Steps of every kind: bash, agents, a group, a recipe; a failure that is passed over; a process that a step leaves behind.
const EVERYTHING: &str = "\
name: everything
context: {seed: s}
steps:
  - {id: a, command: 'echo {{seed}}; sleep 60 & disown', output: a}
  - {id: g1, command: 'sleep 0.01; echo one', output: g1, parallel_group: g}
  - {id: g2, prompt: 'say {{a}}', output: g2, parallel_group: g}
  - {id: g3, recipe: inner, context: {given: '{{a}}'}, parallel_group: g}
  - {id: soft, command: 'exit 3', continue_on_error: true}
  - {id: big, command: 'head -c 300000 /dev/zero | tr \"\\\\0\" x', output: big}
  - {id: uses, command: 'printf %s {{big}} | wc -c', output: uses}
  - {id: slow, command: 'sleep 60', timeout: 1, continue_on_error: true, condition: \"seed == 'slow'\"}
  - {id: r, recipe: inner, context: {given: '{{g1}}'}}
";

const INNER: &str = "\
name: inner
steps:
  - {id: i1, command: 'echo {{given}}', output: i1}
  - {id: i2, prompt: 'say {{i1}}', output: i2}
";

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    amplihack_testkit::create_repository(&sandbox.work());
    sandbox.fake("amplifier");
    sandbox.script_for("amplifier", &Script::new().print("the agent's answer\n"));
    sandbox.write("work/everything.yaml", EVERYTHING);
    sandbox.write("work/inner.yaml", INNER);
    sandbox
}

/// The files below a run's directory and their bytes, all together.
fn weight(directory: &Path) -> (usize, u64) {
    let files = files(directory);
    let bytes = files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|found| found.len());
    (files.len(), bytes.sum())
}

#[test]
fn runs_of_recipes_leave_their_directories_and_nothing_else() {
    let sandbox = sandbox();
    let runs = sandbox.home().join(".amplihack/recipe-runs");
    let sessions = sandbox.home().join(".amplihack/sessions");
    let end = Instant::now() + sized(Duration::ZERO, Duration::from_hours(1));
    let (mut rounds, mut firsts, mut other) = (0, BTreeMap::new(), None);
    while rounds < 4 || Instant::now() < end {
        let before = names(&runs);
        let words = ["recipe", "run", "everything.yaml", "--agent", "amplifier", "--progress", "none"];
        let slow = if rounds % 10 == 3 { "seed=slow" } else { "seed=quick" };
        let args = [&words[..], &["--set", slow, "-f", "json"]].concat();
        let output = run(&sandbox, &args);
        output.assert_code(0);
        assert_eq!(output.json()["context"]["uses"], 300_000);
        rounds += 1;
        assert_nothing_is_left(&sandbox);
        let after = names(&runs);
        let new: Vec<&String> = after.difference(&before).collect();
        assert_eq!((new.len(), after.len()), (1, rounds), "one directory for each run");
        // Every run weighs what the first of its kind did, but for times and numbers.
        let (count, bytes) = weight(&runs.join(new[0]));
        let first: &mut (usize, u64) = firsts.entry(slow).or_insert((count, bytes));
        assert_eq!(count, first.0, "files in run {rounds} and in the first");
        assert!(bytes.abs_diff(first.1) < 4 << 10, "{bytes} bytes in run {rounds}, {} in the first", first.1);
        // Its three agents have a journal each, and all else of the home is as after the second run, however many follow.
        assert_eq!(names(&sessions).len(), 3 * rounds, "journals of agents after {rounds} runs");
        let outside = |file: &PathBuf| !file.starts_with(&runs) && !file.starts_with(&sessions);
        let elsewhere = files(&sandbox.home()).into_iter().filter(outside).count();
        if rounds == 2 {
            other = Some(elsewhere);
        }
        assert!(other.is_none_or(|other| other == elsewhere), "{other:?} files elsewhere, then {elsewhere}");
        if long() && rounds % 500 == 0 {
            tell(&format!("{rounds} recipe runs"));
        }
    }
    tell(&format!("{rounds} recipe runs, with files and bytes of {firsts:?}"));
}

#[test]
fn a_run_of_many_steps_does_not_grow() {
    let steps: usize = sized(80, 2000);
    let sandbox = sandbox();
    let mut recipe = "name: many\nrecursion: {max_total_steps: 100000}\nsteps:\n".to_owned();
    for number in 0..steps {
        let _ = match number % 4 {
            // What is asked again and again has the same name.
            0 => writeln!(recipe, "  - {{id: s{number}, prompt: 'say it', output: last}}"),
            1 => writeln!(recipe, "  - {{id: s{number}, recipe: inner, context: {{given: '{number}'}}}}"),
            _ => writeln!(recipe, "  - {{id: s{number}, command: 'echo {{{{last}}}}', output: last}}"),
        };
    }
    sandbox.write("work/many.yaml", recipe);
    let words = ["recipe", "run", "many.yaml", "--agent", "amplifier", "--progress", "none", "-f", "json"];
    let mut running = prepare(&sandbox, &words).timeout(Duration::from_secs(sized(120, 3600))).spawn();
    let runs = sandbox.home().join(".amplihack/recipe-runs");
    let journal = || -> Option<usize> {
        let run = names(&runs).pop_first()?;
        let text = std::fs::read_to_string(runs.join(run).join("journal.jsonl")).ok()?;
        Some(text.lines().filter(|line| line.contains("\"entry\":\"end\"")).count())
    };
    // A recipe among the steps counts for three.
    let quarters = Quarters::of(&mut running, steps * 3 / 2, || journal().unwrap_or_default());
    running.wait().assert_code(0);
    tell(&format!("{steps} steps of one recipe: {quarters}"));
    // Each step's result is kept until it is printed.
    quarters.assert_level(512 + steps as u64 * 4, 1);
    assert_nothing_is_left(&sandbox);
}
