//! Five newcomers, each up to the first success: the commands are those of the pages that they would read, and whether it is a
//! success is read from files. Agents, home, policy and guard are what a user has.

use std::fs;
use std::path::Path;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::page::{self, Block};
use amplihack_testkit::procs::Sweep;
use amplihack_testkit::{NetNs, Sandbox, skip_test, workspace};

use crate::scene::{files, program};
use crate::tutorial::ssh;
use crate::world::{World, amplihack, real};

/// The longest that a first success may take, once the program is built.
const PATIENCE: Duration = Duration::from_mins(5);

/// The part of the page at `path` under the heading `heading`, or all of it.
fn section(path: &str, heading: Option<&str>) -> Vec<Block> {
    let text = fs::read_to_string(workspace().join(path)).unwrap();
    let Some(heading) = heading else { return page::blocks(&text) };
    let part =
        text.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("{path} has no {heading}"));
    let end = part.find("\n## ").unwrap_or(part.len());
    page::blocks(&part[..end])
}

/// The line of the page at `path` that begins with `start`, without its comment.
fn line(path: &str, start: &str) -> String {
    let text = fs::read_to_string(workspace().join(path)).unwrap();
    let found = text.lines().find(|line| line.starts_with(start));
    let found = found.unwrap_or_else(|| panic!("{path} has no line that begins with {start}"));
    found.split("  #").next().unwrap_or_default().trim().to_owned()
}

/// Replies of a model that writes a line into `steps`, and reports that it is done.
fn honest_replies() -> [ScriptedReply; 2] {
    let claim = "AMPLIHACK-STATUS: {\"status\": \"done\", \"summary\": \"written\"}";
    [ScriptedReply::Tool { command: "echo line >> steps".to_owned() }, ScriptedReply::Text(claim.to_owned())]
}

/// Replies of a model that also tries to commit past the hooks.
fn forbidden_replies() -> ModelScript {
    let [write, end] = honest_replies();
    let commit = "git commit --no-verify --allow-empty -m past-the-hooks".to_owned();
    ModelScript::new([write, ScriptedReply::Tool { command: commit }, end])
}

/// Runs `blocks` in the world's checkout.
fn typed(world: &World, page: &str, blocks: &[Block]) -> String {
    if !world.sandbox.bin().join("amplihack").exists() {
        world.sandbox.link("amplihack", amplihack());
    }
    page::run(&world.sandbox, page, blocks, PATIENCE).concat()
}

/// One line that a page has among others.
fn typed_line(world: &World, page: &str, command: &str) -> String {
    let block = Block { line: 1, conditions: Vec::new(), commands: format!("{command}\n"), expected: None };
    typed(world, page, &[block])
}

/// No branch has the commit that the policy forbids.
#[track_caller]
fn assert_nothing_past_the_hooks(sandbox: &Sandbox) {
    let log = sandbox.run("git", ["log", "--all", "--format=%s"]);
    log.assert_code(0).assert_nowhere("past-the-hooks");
}

/// In a pipeline: a result that a script can read, a change, and a check that decides.
#[test]
fn a_pipeline_has_a_result_and_a_checked_change_of_a_real_agent() {
    World::with(AgentBinary::Claude, ModelScript::new(honest_replies()), |world| {
        program(&world.sandbox, "npm", "#!/bin/sh\ntest \"$(wc -l < steps)\" -ge 2\n");
        let page = "docs/how-to/use-in-ci.md";
        typed(world, page, &section(page, None));
        let result = fs::read(world.sandbox.work().join("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["end"], "success", "{result:#}");
        let steps = fs::read_to_string(world.sandbox.work().join("steps")).unwrap();
        assert_eq!(steps, "line\nline\n");
    });
}

/// Overnight: two tasks, two real agents, each change in a branch of its own in the morning.
#[test]
fn two_agents_overnight_leave_two_branches_with_the_change() {
    let agents = [(AgentBinary::Claude, "run"), (AgentBinary::Codex, "other")];
    World::with_all(&agents, forbidden_replies(), |world| {
        world.server.set_script("other", forbidden_replies());
        world.sandbox.write("work/README", "a project\n");
        for args in [&["add", "."][..], &["commit", "--quiet", "-m", "one"]] {
            world.sandbox.run("git", args).assert_code(0);
        }
        world.sandbox.write("work/tasks.txt", "Write a line\nWrite another line\n");
        let command = line("README.md", "amplihack parallel ");
        // What the README leaves to the reader: what the agents may do, and what decides.
        let shown =
            typed_line(world, "README.md", &format!("{command} --permissions full --verify 'test -s steps'"));
        let branches = ["for-each-ref", "--format=%(refname:short)", "refs/heads/amplihack"];
        let branches = world.sandbox.run("git", branches).stdout_text();
        assert_eq!(branches.lines().count(), 2, "{branches}");
        assert!(!world.sandbox.work().join("steps").exists(), "the checkout is as it was");
        // Each goes home by the command of its row.
        let merges =
            shown.lines().map(str::trim).filter(|line| line.starts_with("amplihack sessions merge "));
        let merges: Vec<&str> = merges.collect();
        assert_eq!(merges.len(), 2, "{shown}");
        for merge in merges {
            typed_line(world, "the table", merge);
        }
        assert_eq!(fs::read_to_string(world.sandbox.work().join("steps")).unwrap(), "line\n");
        assert_nothing_past_the_hooks(&world.sandbox);
    });
}

/// Whoever secures: the guard is put into the agent's own settings, and a session without amplihack does not get past it.
#[test]
fn an_installed_guard_stops_a_plain_session_and_the_audit_says_why() {
    World::with(AgentBinary::Claude, forbidden_replies(), |world| {
        typed_line(world, "docs/installing.md", &line("docs/installing.md", "amplihack install --verify"));
        let claude = real(AgentBinary::Claude).unwrap();
        let said = typed_line(
            world,
            "a plain session",
            &format!(
                "{} -p --permission-mode bypassPermissions 'Write a line' < /dev/null",
                claude.display()
            ),
        );
        assert_eq!(fs::read_to_string(world.sandbox.work().join("steps")).unwrap(), "line\n", "{said}");
        assert_nothing_past_the_hooks(&world.sandbox);
        let page = "docs/how-to/unblock-a-call.md";
        let asked = line(page, "amplihack audit show --decision ask");
        let denied = typed_line(world, page, &asked.replace("ask", "deny"));
        assert!(denied.contains("deny  guards/") && denied.contains("--no-verify"), "{denied}");
        typed(world, page, &section(page, None));
    });
}

/// Whoever runs machines: a session on a second ssh server, whose work is brought home.
#[test]
fn a_session_on_a_second_machine_is_completed() {
    if !Path::new("/usr/sbin/sshd").exists() {
        return skip_test("there is no sshd");
    }
    let mut sandbox = Sandbox::new();
    sandbox.link("amplihack", amplihack());
    ssh(&mut sandbox);
    let _sweep = Sweep::new(sandbox.root().display().to_string());
    let page = "docs/tutorial/ten-minutes.md";
    let here = Block {
        line: 1,
        conditions: Vec::new(),
        commands: "mkdir ~/tour && cd ~/tour\n".to_owned(),
        expected: None,
    };
    let blocks = [
        vec![here],
        section(page, Some("## 6. Start a session in the background")),
        section(page, Some("## 7. Run the session on another machine")),
    ]
    .concat();
    NetNs::new()
        .on_thread(|| page::run(&sandbox, page, &blocks, PATIENCE))
        .expect("a thread may enter the namespace that this test made");
    let host = sandbox.home().join("tour/host/home");
    let written: Vec<_> = files(&host).into_iter().filter(|path| path.ends_with("repo/haiku.txt")).collect();
    assert_eq!(written.len(), 1, "what the agent wrote there: {written:?}");
}

/// A Rust program: the example that the page names, against the fake CLI.
#[test]
fn a_rust_program_has_typed_messages_without_an_account() {
    // Cargo has built what this line of the page runs.
    line("docs/amp-sdk/getting-started.md", "`cargo run -p amplihack-amp-sdk --example progress`");
    let sandbox = Sandbox::new();
    let example = amplihack().parent().unwrap().join("examples/progress");
    if !example.exists() {
        return skip_test("cargo has not built the example; `cargo xtask examples` runs it");
    }
    let output = sandbox.run(&example, [""; 0]);
    output.assert_code(0);
    assert!(output.stdout_text().lines().count() > 3, "{output}");
}
