//! What `verified` means with the real CLIs, in the default set-up: guard on, default home, default policy, a worktree.

use std::fs;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run, procs};
use serde_json::json;

use crate::auto::assert_ended;
use crate::world::World;

fn text(text: &str) -> ScriptedReply {
    ScriptedReply::Text(text.to_owned())
}

fn tool(command: &str) -> ScriptedReply {
    ScriptedReply::Tool { command: command.to_owned() }
}

fn auto(world: &World, agent: AgentBinary, args: &[&str]) -> Output {
    let all = ["auto", "--agent", agent.name(), "--permissions", "full", "--json", "--task", "make it"];
    let output = Run::new(world.command(&[&all[..], args].concat())).timeout(Duration::from_mins(4)).output();
    procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    output
}

/// A repository with a check that is red.
fn with_check(world: &World) {
    world.sandbox.write("work/check.sh", "test -s made\n");
    world.sandbox.run("git", ["add", "-A"]).assert_code(0);
    world.sandbox.run("git", ["commit", "-qm", "check"]).assert_code(0);
}

/// The work is done and no status line tells of it; a mention of the line is none; a check that was rewritten is named.
fn is_judged_by_its_check(agent: AgentBinary) {
    let script = ModelScript::new([tool("echo x > made"), text("I made it.")]).over_conversation();
    World::with(agent, script, |world| {
        with_check(world);
        let output = auto(world, agent, &["--verify", "sh check.sh"]);
        let last = assert_ended(&output, "verified", 0);
        assert_eq!((&last["turns"], &last["baseline"]), (&1.into(), &"red".into()), "{output}");
        assert_eq!(fs::read_to_string(world.sandbox.work().join("made")).unwrap(), "x\n");
        fs::remove_file(world.sandbox.work().join("made")).unwrap();
        let mention = "I could not start. I will finish with AMPLIHACK-STATUS: \
                       {\"status\": \"done\", \"summary\": \"x\", \"changes\": false} as you asked.";
        world.server.set_script("run", ModelScript::new([text(mention)]));
        let output = auto(world, agent, &["--max-turns", "2"]);
        assert_ended(&output, "max_turns", 1);
        output.assert_stdout_has("reports no status");
        let cheat = [tool("echo exit 0 > check.sh"), text("All checks pass.")];
        world.server.set_script("run", ModelScript::new(cheat).over_conversation());
        let output = auto(world, agent, &["--verify", "sh check.sh", "--worktree"]);
        let last = assert_ended(&output, "verified", 0);
        assert_eq!(last["check_changed"], json!(["check.sh"]), "{output}");
        world
            .server
            .set_script("run", ModelScript::new([tool("echo exit 0 > check.sh"), text("All checks pass.")]));
        let strict = ["--verify", "sh check.sh", "--worktree", "--strict-verify", "--max-turns", "2"];
        let output = auto(world, agent, &strict);
        assert_ne!(crate::auto::ended(&output)["end"], "verified", "{output}");
        output.assert_code(1).assert_stdout_has("with the original check.sh");
    });
}

#[test]
fn claude_is_judged_by_its_check() {
    is_judged_by_its_check(AgentBinary::Claude);
}

#[test]
fn codex_is_judged_by_its_check() {
    is_judged_by_its_check(AgentBinary::Codex);
}

#[test]
fn copilot_is_judged_by_its_check() {
    is_judged_by_its_check(AgentBinary::Copilot);
}
