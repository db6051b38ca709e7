//! Journeys of several launches in one run: tasks side by side, a race, a recipe.

use std::path::Path;

use amplihack_testkit::Output;
use serde_json::Value;

use super::cell::{CHANGED, CHECK, Cell, TASK, assert_unchanged, claim};
use super::unattended::comes_home;

/// A recipe whose agent step writes and whose shell step looks.
const RECIPE: &str = "name: write\nsteps:\n  \
    - {id: write, agent: \"amplihack:core:builder\", prompt: \"Write the file changed.txt.\", output: said}\n  \
    - {id: look, command: \"cat changed.txt\", output: seen}\n";

/// Two tasks side by side, each in a worktree of its own; each is taken in by the command of its row.
pub(super) fn parallel(cell: &Cell<'_>) {
    cell.play(cell.script(&claim("done")));
    let tasks = cell.world.sandbox.write("tasks", format!("{TASK}\n{TASK} Again.\n"));
    let output = side_by_side(cell, &tasks, &["--agents", cell.agent.name()]);
    output.assert_code(0);
    assert_eq!(output.stdout_text().matches("verified").count(), 2, "{output}");
    assert_eq!(output.stderr_text().matches("verified (red → green)").count(), 2, "{output}");
    let rows = kept(cell);
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for row in &rows {
        in_its_worktree(cell, row, "verified", &output);
    }
    // Both wrote the same file, which is said before one of them is taken in.
    output.assert_stdout_has(CHANGED);
    comes_home(cell, &output, &rows[0]);
    cell.assert_guarded(&output);
}

/// One task for two: the winner's change is taken in by the command that is printed.
pub(super) fn race(cell: &Cell<'_>) {
    cell.play(cell.script(&claim("done")));
    let task = cell.world.sandbox.write("task", TASK);
    let agents = format!("{0},{0}", cell.agent);
    let output = side_by_side(cell, &task, &["--race", "--agents", &agents]);
    output.assert_code(0).assert_stdout_has("(won)");
    let rows = kept(cell);
    assert_eq!(rows.len(), 2, "{rows:#?}");
    let winner = rows.iter().find(|row| row["state"] == "verified").unwrap_or_else(|| panic!("{rows:#?}"));
    in_its_worktree(cell, winner, "verified", &output);
    comes_home(cell, &output, winner);
    cell.assert_guarded(&output);
}

/// A recipe with an agent's step and a shell's that reads what the agent wrote.
pub(super) fn recipe(cell: &Cell<'_>) {
    cell.play(cell.script("It is written."));
    cell.world.sandbox.write("work/.claude/agents/core/builder.md", "You build.");
    cell.world.sandbox.write("work/write.yaml", RECIPE);
    let run = ["recipe", "run", "write.yaml", "--agent", cell.agent.name(), "--permissions", "full"];
    let output = cell.amplihack(&[&run[..], &["-f", "json"]].concat());
    output.assert_code(0);
    let result = output.json();
    assert_eq!(
        (&result["success"], &result["context"]["seen"]),
        (&true.into(), &"changed".into()),
        "{output}"
    );
    assert_eq!(result["step_results"][0]["agent"]["run"]["end"], "success", "{output}");
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
    let shown = cell.amplihack(&["recipe", "runs", "show", result["run_id"].as_str().unwrap()]);
    shown.assert_code(0).assert_stdout_has("write");
}

fn side_by_side(cell: &Cell<'_>, tasks: &Path, more: &[&str]) -> Output {
    let tasks = tasks.display().to_string();
    let own = ["parallel", "--task-file", &tasks, "--permissions", "full", "--verify", CHECK];
    cell.amplihack(&[&own[..], more].concat())
}

/// What is kept of the unattended runs, oldest first.
fn kept(cell: &Cell<'_>) -> Vec<Value> {
    let listed = cell.amplihack(&["sessions", "list", "--json"]);
    listed.assert_code(0);
    let ids = listed.json()["unattended"].as_array().unwrap().clone();
    let show =
        |run: &Value| cell.amplihack(&["sessions", "show", run["id"].as_str().unwrap(), "--json"]).json();
    ids.iter().map(show).collect()
}

#[track_caller]
fn in_its_worktree(cell: &Cell<'_>, run: &Value, state: &str, output: &Output) {
    assert_eq!(run["state"], state, "{run}\n{output}");
    let tree = run["worktree"]["path"].as_str().unwrap_or_else(|| panic!("{run}"));
    cell.assert_changed(Path::new(tree), output);
    assert_unchanged(&cell.checkout(), output);
}
