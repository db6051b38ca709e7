//! `amplihack parallel`: many tasks side by side, and races.

use std::fs;

use amplihack_testkit::{Output, Sandbox, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::auto::{claude, plays};
use crate::world::prepare;

/// The table, as a program gets it.
fn table(output: &Output) -> Vec<Value> {
    let last: Value = serde_json::from_str(output.stdout_text().lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "table", "{output}");
    last["runs"].as_array().unwrap().clone()
}

fn worktrees(sandbox: &Sandbox) -> String {
    sandbox.run("git", ["worktree", "list", "--porcelain"]).assert_code(0).stdout_text()
}

/// Counts how many of it are at work while it is, and does what its task says. The first waits for a second, however busy the machine is.
const WORKER: &str = r#"
mkdir -p "$HOME/at-work"; : > "$HOME/at-work/$$"
for look in $(seq 100); do
    count=$(ls "$HOME/at-work" | wc -l)
    [ "$count" -gt 1 ] || [ -e "$HOME/met" ] && break
    sleep 0.1
done
: > "$HOME/met"; echo "$count" >> "$HOME/counts"; sleep 0.3
rm "$HOME/at-work/$$"
own=$(git rev-parse --git-dir)
[ -e "$own/fails" ] && exit 3
case "$(tr '\0' '\n' < /proc/$PPID/cmdline; cat)" in
*"fail at"*) : > "$own/fails"; exit 3 ;;
*"write some"*) echo x > written; result done ;;
*) result done ;;
esac
"#;

#[test]
fn twelve_tasks_over_three_agents_run_four_at_once() {
    let mut sandbox = claude(WORKER);
    // Amp and Claude write the same kind of stream; the third is another Claude by another path.
    sandbox.fake("amp");
    plays(&mut sandbox, "amp", WORKER);
    sandbox.fake("amplifier");
    plays(
        &mut sandbox,
        "amplifier",
        &WORKER.replace("result done", "echo 'AMPLIHACK-STATUS: {\"status\":\"done\"}'"),
    );
    let tasks: String = (0..12)
        .map(|number| match number {
            0..4 => "only look\n",
            4..9 => "write something\n",
            _ => "fail at it\n",
        })
        .collect();
    sandbox.write("tasks", tasks);
    let file = sandbox.root().join("tasks");
    let file = file.to_str().unwrap();
    let args = ["parallel", "--task-file", file, "--agents", "claude,amp,amplifier", "--max", "4"];
    let more = ["--verify", "true", "--max-turns", "2", "--json"];
    let output = prepare(&sandbox, &[&args[..], &more[..]].concat()).output();
    output.assert_code(1);
    let rows = table(&output);
    assert_eq!(rows.len(), 12);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row["agent"], ["claude", "amp", "amplifier"][number % 3]);
        let failed = number >= 9;
        assert_eq!(row["end"] == "verified", !failed, "{row}");
        assert_eq!(row["branch"].is_string(), (4..9).contains(&number), "{row}");
    }
    let counts = fs::read_to_string(sandbox.home().join("counts")).unwrap();
    let most = counts.lines().map(|count| count.trim().parse::<u32>().unwrap()).max().unwrap();
    assert!((2..=4).contains(&most), "{most} at once");
    // Work is kept, all else is gone, and nothing is locked.
    let list = worktrees(&sandbox);
    assert_eq!(list.matches("worktree ").count(), 1 + 5, "{list}");
    assert!(!list.contains("locked") && !list.contains("prunable"), "{list}");
    assert_eq!(sandbox.run("git", ["status", "--porcelain"]).stdout_text(), "");
    procs::assert_none(&sandbox.everything());
}

#[test]
fn a_person_gets_one_table() {
    let sandbox = claude("result done");
    sandbox.write("tasks", "one\ntwo\n");
    let file = sandbox.root().join("tasks");
    let args = ["parallel", "--task-file", file.to_str().unwrap(), "--agents", "claude", "--verify", "true"];
    let output = prepare(&sandbox, &args).output();
    output.assert_code(0).assert_stderr_has("task 1 (one): turn 1 of 10: claude, execute");
    assert_eq!(output.stdout_text().matches("verified").count(), 2);
    output.assert_stdout_has("check   cost").assert_stdout_has("   1  one ");
    sandbox.write("empty", "\n\n");
    let empty = sandbox.root().join("empty");
    let none = prepare(&sandbox, &["parallel", "--task-file", empty.to_str().unwrap()]).output();
    none.assert_code(2).assert_stderr_has("holds no task");
}

#[test]
fn a_signal_ends_all_and_begins_none() {
    let sandbox = claude("say hi; sleep 60");
    sandbox.write("tasks", "one\ntwo\nthree\n");
    let file = sandbox.root().join("tasks");
    let args =
        ["parallel", "--task-file", file.to_str().unwrap(), "--agents", "claude", "--max", "2", "--json"];
    let mut running = prepare(&sandbox, &args).spawn();
    running.until("both agents", |running| {
        String::from_utf8_lossy(&running.stdout_so_far()).matches("\"writing\"").count() == 2
    });
    running.signal(Signal::TERM);
    let output = running.wait();
    output.assert_code(143);
    let rows = table(&output);
    assert_eq!((&rows[0]["end"], &rows[1]["end"]), (&"interrupted".into(), &"interrupted".into()));
    assert_eq!(rows[2]["error"], "given_up");
    assert_eq!(sandbox.runs().len(), 2);
    assert_eq!(worktrees(&sandbox).matches("worktree ").count(), 1);
    procs::assert_none(&sandbox.everything());
}

#[test]
fn a_race_has_one_winner_and_the_others_are_ended_with_their_work_kept() {
    let mut sandbox = claude("echo slow > slow; say hi; sleep 60");
    sandbox.fake("amp");
    plays(&mut sandbox, "amp", "sleep 0.5; echo fast > fast; result done");
    sandbox.write("task", "be the first\nat it\n");
    let file = sandbox.root().join("task");
    let args = ["parallel", "--race", "--task-file", file.to_str().unwrap(), "--agents", "claude,amp"];
    let more = ["--verify", "test -e fast", "--permissions", "full", "--json"];
    let args: Vec<&str> = args
        .iter()
        .chain(more.iter())
        .copied()
        .filter(|arg| *arg != "full" && *arg != "--permissions")
        .collect();
    let output = prepare(&sandbox, &args).output();
    output.assert_code(0);
    let rows = table(&output);
    assert_eq!((&rows[0]["end"], &rows[0]["won"]), (&"interrupted".into(), &false.into()));
    assert_eq!((&rows[1]["end"], &rows[1]["won"]), (&"verified".into(), &true.into()));
    for (row, file) in rows.iter().zip(["slow", "fast"]) {
        let tree = row["worktree"].as_str().unwrap();
        assert!(std::path::Path::new(tree).join(file).exists(), "{row}");
    }
    assert!(!worktrees(&sandbox).contains("locked"));
    procs::assert_none(&sandbox.everything());
}
