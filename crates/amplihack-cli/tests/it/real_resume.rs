//! Continued runs and sessions of the real CLIs, in the default set-up: judged by the files on disk.

use std::fs;
use std::path::PathBuf;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Run, procs};
use rustix::process::Signal;

use crate::auto::{assert_ended, directory, events};
use crate::world::World;

fn text(status: &str) -> ScriptedReply {
    ScriptedReply::Text(format!(
        "so far\nAMPLIHACK-STATUS: {{\"status\": \"{status}\", \"summary\": \"it's so\"}}"
    ))
}

fn tool(command: &str) -> ScriptedReply {
    ScriptedReply::Tool { command: command.to_owned() }
}

/// A run in a worktree that Ctrl-C ends in the middle of a tool call continues from another directory.
fn continues_after_ctrl_c(agent: AgentBinary) {
    // The model plays this in each turn: the first one does not come to its end.
    let work = "if [ -e steps ]; then echo y > more; else echo x > steps; sleep 60; fi";
    let script = ModelScript::new([tool(work), text("done")]);
    World::with(agent, script, |world| {
        let args = ["auto", "--agent", agent.name(), "--permissions", "full", "--task", "the task", "--json"];
        let more = ["--worktree", "--verify", "test -s steps -a -s more", "--max-turns", "3"];
        let mut running = Run::new(world.command(&[&args[..], &more].concat())).spawn();
        running.until_stdout_has("\"began\"");
        let shown = String::from_utf8_lossy(&running.stdout_so_far()).into_owned();
        let began: serde_json::Value =
            shown.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
        let tree = PathBuf::from(began["directory"].as_str().unwrap());
        // The file is there before its text is.
        running
            .until("the tool call", |_| fs::metadata(tree.join("steps")).is_ok_and(|found| found.len() > 0));
        running.signal(Signal::INT);
        let ended = running.wait();
        assert_ended(&ended, "interrupted", 130);
        procs::assert_none(&world.everything());
        let id = directory(&world.sandbox).file_name().unwrap().to_string_lossy().into_owned();
        let mut command = world.command(&["auto", "--resume", &id, "--json"]);
        command.current_dir(world.sandbox.root());
        let resumed = Run::new(command).output();
        assert_ended(&resumed, "verified", 0);
        assert_eq!(events(&resumed)[0]["directory"], began["directory"], "{resumed}");
        assert_eq!(fs::read_to_string(tree.join("more")).unwrap(), "y\n");
        assert!(!world.sandbox.work().join("more").exists() && !world.sandbox.root().join("more").exists());
        procs::assert_none(&world.everything());
    });
}

#[test]
fn claude_continues_after_ctrl_c() {
    continues_after_ctrl_c(AgentBinary::Claude);
}

#[test]
fn codex_continues_after_ctrl_c() {
    continues_after_ctrl_c(AgentBinary::Codex);
}

#[test]
fn copilot_continues_after_ctrl_c() {
    continues_after_ctrl_c(AgentBinary::Copilot);
}

/// A session that is resumed from another directory works in its own.
fn resumes_in_its_directory(agent: AgentBinary) {
    World::with(
        agent,
        ModelScript::new([tool("echo x >> written"), ScriptedReply::Text(HELLO.to_owned())]),
        |world| {
            let first = [agent.name(), "--output", "json", "--permissions", "full", "--prompt", "hi"];
            world.run(&first).assert_code(0);
            let elsewhere = world.sandbox.root().join("elsewhere");
            fs::create_dir(&elsewhere).unwrap();
            let again = [
                "sessions",
                "resume",
                "latest",
                "--prompt",
                "more",
                "--permissions",
                "full",
                "--output",
                "json",
            ];
            let mut command = world.command(&again);
            command.current_dir(&elsewhere);
            Run::new(command).output().assert_code(0).assert_stdout_has(HELLO);
            assert_eq!(fs::read_to_string(world.sandbox.work().join("written")).unwrap(), "x\nx\n");
            assert!(!elsewhere.join("written").exists());
        },
    );
}

#[test]
fn claude_resumes_in_its_directory() {
    resumes_in_its_directory(AgentBinary::Claude);
}

#[test]
fn codex_resumes_in_its_directory() {
    resumes_in_its_directory(AgentBinary::Codex);
}
