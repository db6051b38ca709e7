//! One unattended run of many turns.

use amplihack_testkit::Sandbox;

use super::watch::Quarters;
use super::{assert_nothing_is_left, names, sized, tell};
use crate::auto::{assert_ended, auto, claude, directory};

/// One turn: some words, calls of a tool, a tool that stays behind, a line of work. The last one of so many says that it is done.
const TURN: &str = r#"
setsid sleep 60 &
say "$(printf 'a%.0s' $(seq 2000))"
for i in 1 2 3; do call "$n-$i" "look $n $i" false; done
echo "step $n" >> steps
if [ $n -ge TURNS ]; then result done; else result working; fi
"#;

/// How many turns were begun.
fn begun(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("turns-claude")).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}

#[test]
fn a_run_of_many_turns_does_not_grow() {
    let turns: usize = sized(24, 600);
    let sandbox = claude(&TURN.replace("TURNS", &turns.to_string()));
    let most = (turns + 1).to_string();
    let verify = format!("test $(wc -l < steps) -ge {turns}");
    let run = auto(&sandbox, &["--max-turns", &most, "--verify", &verify]);
    let mut running = run.timeout(std::time::Duration::from_secs(sized(120, 3600))).spawn();
    let quarters = Quarters::of(&mut running, turns, || begun(&sandbox));
    let last = assert_ended(&running.wait(), "verified", 0);
    assert_eq!(last["turns"], turns);
    tell(&format!("{turns} turns of one run: {quarters}"));
    quarters.assert_level(512, 1);
    assert_nothing_is_left(&sandbox);
    // A run's directory holds the same files, however many turns there were.
    let run = names(&directory(&sandbox));
    let known = [
        "append",
        "auto.jsonl",
        "baseline.json",
        "diff.patch",
        "index",
        "lock",
        "objects",
        "processes",
        "schema.json",
        "spans.jsonl",
    ];
    assert!(run.iter().all(|name| known.contains(&name.as_str())), "{run:?}");
    let runs = names(&sandbox.home().join(".amplihack/sessions"));
    assert_eq!(runs.len(), 1 + turns, "the run and the journal of each turn");
    crate::world::run(&sandbox, &["sessions", "prune", "--older-than", "0s"]).assert_code(0);
    assert_eq!(names(&sandbox.home().join(".amplihack/sessions")).len(), 0);
}
