//! Journeys of one unattended run: in the checkout, in a worktree, continued after Ctrl-C.

use std::path::PathBuf;

use amplihack_probe::model::ScriptedReply;
use amplihack_testkit::{Output, Run};
use rustix::process::Signal;
use serde_json::Value;

use super::cell::{CHECK, Cell, TASK, assert_unchanged, claim, printed};

/// `auto` in the checkout, with a check that fails before and passes after.
pub(super) fn auto(cell: &Cell<'_>) {
    cell.play(cell.script(&claim("done")));
    let output = cell.amplihack(&run_of(cell, &[]));
    ends_verified(cell, &output);
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
}

/// `auto --worktree`: the change is in the worktree that is named, and comes home by the command that is printed.
pub(super) fn worktree(cell: &Cell<'_>) {
    cell.play(cell.script(&claim("done")));
    let output = cell.amplihack(&run_of(cell, &["--worktree"]));
    let run = ends_verified(cell, &output);
    let tree = PathBuf::from(run["worktree"]["path"].as_str().unwrap_or_else(|| panic!("{run}")));
    output.assert_stdout_has(&tree.display().to_string());
    cell.assert_changed(&tree, &output);
    assert_unchanged(&cell.checkout(), &output);
    comes_home(cell, &output, &run);
    cell.assert_guarded(&output);
}

/// Ctrl-C in the middle of the work, then the command that is printed.
pub(super) fn resumed(cell: &Cell<'_>) {
    let mut replies = cell.script(&claim("done"));
    replies.insert(0, ScriptedReply::Tool { command: "touch begun; sleep 20".to_owned() });
    cell.play(replies);
    let begun = cell.checkout().join("begun");
    let mut running = Run::new(cell.world.command(&run_of(cell, &[]))).spawn();
    running.until("the agent's first call", |_| begun.exists());
    running.signal(Signal::INT);
    let output = running.wait();
    output.assert_code(130);
    assert_unchanged(&cell.checkout(), &output);
    cell.play(cell.script(&claim("done")));
    let output = cell.typed(&printed(&output, "amplihack auto --resume"));
    ends_verified(cell, &output);
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
}

/// The words of an unattended run of the task.
pub(super) fn run_of<'a>(cell: &Cell<'a>, more: &[&'a str]) -> Vec<&'a str> {
    let own =
        ["auto", "--agent", cell.agent.name(), "--permissions", "full", "--task", TASK, "--verify", CHECK];
    [&own[..], more].concat()
}

/// The run ended verified, and says so to people and programs. Returns what is kept of it.
#[track_caller]
pub(super) fn ends_verified(cell: &Cell<'_>, output: &Output) -> Value {
    output.assert_code(0).assert_stdout_has("verified (red → green): ");
    let more = printed(output, "amplihack sessions show");
    cell.typed(&more).assert_code(0).assert_stdout_has("state: verified").assert_stdout_has("+changed");
    let shown = cell.typed(&format!("{more} --json"));
    shown.assert_code(0);
    let run = shown.json();
    assert_eq!(run["state"], "verified", "{run}");
    run
}

/// The branch of `run` is there, and the command that is printed for it brings the change into the checkout.
#[track_caller]
pub(super) fn comes_home(cell: &Cell<'_>, output: &Output, run: &Value) {
    let branch = run["worktree"]["branch"].as_str().unwrap_or_else(|| panic!("{run}"));
    cell.world.sandbox.run("git", ["rev-parse", "--verify", "--quiet", branch]).assert_code(0);
    let id = run["id"].as_str().unwrap_or_else(|| panic!("{run}"));
    let taken = cell.typed(&printed(output, &format!("amplihack sessions merge {id}")));
    taken.assert_code(0);
    cell.assert_changed(&cell.checkout(), &taken);
}
