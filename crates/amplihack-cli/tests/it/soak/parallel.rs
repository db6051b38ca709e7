//! Many unattended runs: at once, and a few at a time one after the other.

use amplihack_testkit::{Sandbox, procs};

use super::watch::Quarters;
use super::{assert_nothing_is_left, names, sized, tell};
use crate::auto::claude;
use crate::world::prepare;

/// Some runs leave work, some none; some agents fail, all leave a tool behind.
const WORKER: &str = r#"
setsid sleep 60 &
say "hello"
own=$(git rev-parse --git-dir)
echo x >> "$HOME/begun"
case "$(tr '\0' '\n' < /proc/$PPID/cmdline; cat)" in
*"write some"*) echo x > written; result done ;;
*"fail once"*) [ -e "$own/failed" ] || { : > "$own/failed"; exit 3; }; result done ;;
*) result done ;;
esac
"#;

fn parallel(runs: usize, at_once: usize) -> (Sandbox, Quarters) {
    let sandbox = claude(WORKER);
    let task = |number: usize| ["only look\n", "write something\n", "fail once\n"][number % 3];
    sandbox.write("tasks", (0..runs).map(task).collect::<String>());
    let file = sandbox.root().join("tasks");
    let max = at_once.to_string();
    let args = ["parallel", "--task-file", file.to_str().unwrap(), "--agents", "claude", "--max", &max];
    let more = ["--verify", "true", "--max-turns", "3", "--json"];
    let run = prepare(&sandbox, &[&args[..], &more[..]].concat());
    let mut running = run.timeout(std::time::Duration::from_secs(sized(200, 1800))).spawn();
    let begun = sandbox.home().join("begun");
    let quarters = Quarters::of(&mut running, runs, || {
        std::fs::metadata(&begun).map_or(0, |found| usize::try_from(found.len()).unwrap_or(0) / 2)
    });
    let output = running.wait();
    output.assert_code(0);
    let last: serde_json::Value = serde_json::from_str(output.stdout_text().lines().last().unwrap()).unwrap();
    let rows = last["runs"].as_array().unwrap();
    assert_eq!(rows.len(), runs);
    assert!(rows.iter().all(|row| row["end"] == "verified"), "{last}");
    assert_nothing_is_left(&sandbox);
    (sandbox, quarters)
}

/// Claims that git knows of no tree but those with work, and nothing is locked.
#[track_caller]
fn assert_trees(sandbox: &Sandbox, runs: usize) {
    let list = sandbox.run("git", ["worktree", "list", "--porcelain"]).assert_code(0).stdout_text();
    let written = (0..runs).filter(|number| number % 3 == 1).count();
    assert_eq!(list.matches("worktree ").count(), 1 + written, "{list}");
    assert!(!list.contains("locked") && !list.contains("prunable"), "{list}");
    assert_eq!(names(&sandbox.home().join(".local/share/amplihack/worktrees/work")).len(), written);
    assert_eq!(sandbox.run("git", ["status", "--porcelain"]).stdout_text(), "");
    procs::assert_none(&sandbox.everything());
}

#[test]
fn many_runs_at_once_leave_nothing() {
    let runs = sized(9, 50);
    let (sandbox, quarters) = parallel(runs, runs);
    tell(&format!("{runs} runs at once: {quarters}"));
    assert_trees(&sandbox, runs);
}

#[test]
fn many_runs_after_each_other_do_not_grow() {
    // One file that each run leaves open is more, between the second quarter and the last, than chance allows.
    let runs = sized(20, 200);
    let (sandbox, quarters) = parallel(runs, 3);
    tell(&format!("{runs} runs, three at a time: {quarters}"));
    quarters.assert_level(512, 3);
    assert_trees(&sandbox, runs);
}
