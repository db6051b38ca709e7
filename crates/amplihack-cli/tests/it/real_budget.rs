//! Budgets over the nested agents of the real CLIs, in the default set-up: home, policy and guard as they are.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ReplyUsage, ScriptedReply};
use amplihack_testkit::{Output, Run, procs};
use serde_json::{Value, json};

use crate::auto::assert_ended;
use crate::world::World;

/// 200 tokens a reply.
const USAGE: ReplyUsage = ReplyUsage { input: 100, cached: 40, output: 60, reasoning: 0 };

fn tool(command: impl Into<String>) -> ScriptedReply {
    ScriptedReply::Tool { command: command.into() }
}

fn done() -> ScriptedReply {
    ScriptedReply::Text("so\nAMPLIHACK-STATUS: {\"status\": \"done\", \"summary\": \"it is so\"}".to_owned())
}

/// The call by which `agent` starts a nested one that is told `word`.
fn nest(agent: AgentBinary, word: &str) -> ScriptedReply {
    let prompt = format!("{word}: do it");
    let (tool, input) = match agent {
        AgentBinary::Codex => ("multi_agent_v1.spawn_agent", json!({ "message": prompt })),
        AgentBinary::Copilot => (
            "task",
            json!({ "name": "n", "description": "d", "prompt": prompt, "agent_type": "general-purpose", "mode": "sync" }),
        ),
        AgentBinary::Gemini => ("invoke_agent", json!({ "agent_name": "generalist", "prompt": prompt })),
        _ => ("Agent", json!({ "description": "d", "prompt": prompt, "subagent_type": "general-purpose" })),
    };
    ScriptedReply::Call { tool: tool.to_owned(), input }
}

/// Whether nested agents of `agent` have agents of their own.
fn nests_twice(agent: AgentBinary) -> bool {
    matches!(agent, AgentBinary::Claude | AgentBinary::Copilot)
}

/// An agent that starts one that starts another one, which plays `innermost`.
fn nested(agent: AgentBinary, innermost: &[ScriptedReply]) -> ModelScript {
    let script = |replies: &[ScriptedReply]| ModelScript::new(replies.to_vec()).with_usage(USAGE);
    // It waits for those that it does not wait for by itself. A bare sleep is refused by Claude.
    let wait = tool("timeout 6 tail -f /dev/null || true");
    let outermost = script(&[nest(agent, "LEVEL-1"), wait.clone(), done()]).over_conversation();
    if nests_twice(agent) {
        let middle =
            script(&[tool("echo 1"), nest(agent, "LEVEL-2"), ScriptedReply::Text("1 ends".to_owned())]);
        outermost.with_nested("LEVEL-2", script(innermost)).with_nested("LEVEL-1", middle)
    } else {
        outermost.with_nested("LEVEL-1", script(innermost))
    }
}

fn auto(world: &World, agent: AgentBinary, args: &[&str]) -> Output {
    let all = ["auto", "--agent", agent.name(), "--permissions", "full", "--json", "--task", "the task"];
    let output = Run::new(world.command(&[&all, args].concat())).timeout(Duration::from_mins(4)).output();
    procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    output
}

fn tokens(last: &Value) -> u64 {
    ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"]
        .map(|field| last["used"][field].as_u64().unwrap())
        .iter()
        .sum()
}

/// Work that goes on and on, without a call that is the same as another.
fn endless() -> Vec<ScriptedReply> {
    (0..60).map(|number| tool(format!("timeout 0.4 tail -f /dev/null; echo {number}"))).collect()
}

/// What a run reports is what the model was asked for, however deep; and a budget ends it at most one request for each running agent late.
fn counts_nested_agents(agent: AgentBinary) {
    let few = [tool("echo 2"), tool("echo 3"), ScriptedReply::Text("ends".to_owned())];
    World::with(agent, nested(agent, &few), |world| {
        let output = auto(world, agent, &["--verify", "true"]);
        let last = assert_ended(&output, "verified", 0);
        let sent = world.server.usage("run");
        assert!(sent.replies >= 6, "no nested agent was asked: {sent:?}\n{output}");
        assert_eq!(tokens(&last), sent.input + sent.cached + sent.output, "{sent:?}\n{output}");
    });
    World::with(agent, nested(agent, &endless()), |world| {
        let output = auto(world, agent, &["--budget-tokens", "2000"]);
        let last = assert_ended(&output, "budget", 5);
        // The tenth reply uses it up.
        let running = if nests_twice(agent) { 3 } else { 2 };
        let replies = world.server.usage("run").replies;
        assert!((10..=10 + running).contains(&replies), "{replies} replies\n{output}");
        assert!((2000..=2000 + 200 * running).contains(&tokens(&last)), "{last}");
    });
}

#[test]
fn claude_counts_nested_agents() {
    counts_nested_agents(AgentBinary::Claude);
}

#[test]
fn codex_counts_nested_agents() {
    counts_nested_agents(AgentBinary::Codex);
}

#[test]
fn copilot_counts_nested_agents() {
    counts_nested_agents(AgentBinary::Copilot);
}

#[test]
fn gemini_counts_nested_agents() {
    counts_nested_agents(AgentBinary::Gemini);
}

/// A nested agent of Codex that begins with the history of the first one is charged for its own requests only.
#[test]
fn codex_counts_forked_agents_once() {
    let agent = AgentBinary::Codex;
    let fork = ScriptedReply::Call {
        tool: "multi_agent_v1.spawn_agent".to_owned(),
        input: json!({ "message": "LEVEL-1: do it", "fork_context": true }),
    };
    let script = |replies: &[ScriptedReply]| ModelScript::new(replies.to_vec()).with_usage(USAGE);
    let inner = script(&[tool("echo 2"), ScriptedReply::Text("ends".to_owned())]);
    let wait = tool("timeout 4 tail -f /dev/null || true");
    let outer =
        script(&[tool("echo 1"), fork, wait, done()]).over_conversation().with_nested("LEVEL-1", inner);
    World::with(agent, outer, |world| {
        let output = auto(world, agent, &["--verify", "true"]);
        let last = assert_ended(&output, "verified", 0);
        let sent = world.server.usage("run");
        assert_eq!(tokens(&last), sent.input + sent.cached + sent.output, "{sent:?}\n{output}");
    });
}

/// Calls of nested agents count against `--max-calls`.
fn cuts_nested_calls(agent: AgentBinary) {
    World::with(agent, nested(agent, &endless()), |world| {
        let output = auto(world, agent, &["--max-calls", "8", "--max-turns", "1"]);
        assert_ended(&output, "max_turns", 1);
        let replies = world.server.usage("run").replies;
        assert!((8..=12).contains(&replies), "{replies} replies\n{output}");
    });
}

#[test]
fn claude_cuts_nested_calls() {
    cuts_nested_calls(AgentBinary::Claude);
}

#[test]
fn codex_cuts_nested_calls() {
    cuts_nested_calls(AgentBinary::Codex);
}

#[test]
fn copilot_cuts_nested_calls() {
    cuts_nested_calls(AgentBinary::Copilot);
}

#[test]
fn gemini_cuts_nested_calls() {
    cuts_nested_calls(AgentBinary::Gemini);
}

/// Four agents at once use one budget up, at most one request each late, and those that wait are not begun.
#[test]
fn claude_shares_one_budget_among_parallel_runs() {
    let agent = AgentBinary::Claude;
    World::with(agent, ModelScript::new(endless()).with_usage(USAGE), |world| {
        world.sandbox.write("tasks", "one\ntwo\nthree\nfour\nfive\n");
        let file = world.sandbox.root().join("tasks").display().to_string();
        let args =
            ["parallel", "--agents", "claude", "--permissions", "full", "--json", "--task-file", &file];
        let more = ["--max", "4", "--budget-tokens", "3000"];
        let output =
            Run::new(world.command(&[&args[..], &more].concat())).timeout(Duration::from_mins(4)).output();
        output.assert_code(5);
        let table: Value = serde_json::from_str(output.stdout_text().lines().last().unwrap()).unwrap();
        let rows = table["runs"].as_array().unwrap();
        assert!(rows[..4].iter().all(|row| row["end"] == "budget"), "{output}");
        assert!(rows[4]["reason"].as_str().unwrap().starts_with("not begun: "), "{output}");
        let replies = world.server.usage("run").replies;
        // The fifteenth uses it up.
        assert!((15..=15 + 4).contains(&replies), "{replies} replies\n{output}");
        procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    });
}
