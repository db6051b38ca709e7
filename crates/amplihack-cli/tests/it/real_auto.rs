//! Unattended runs of the real CLIs against the scripted model.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, RecordedBody, ReplyUsage, ScriptedReply};
use amplihack_testkit::{Output, Run, procs};
use rustix::process::Signal;
use serde_json::Value;

use crate::auto::{assert_ended, directory, ended};
use crate::world::World;

fn text(status: &str) -> ScriptedReply {
    ScriptedReply::Text(format!(
        "so far\nAMPLIHACK-STATUS: {{\"status\": \"{status}\", \"summary\": \"it's so\"}}"
    ))
}

fn tool(command: &str) -> ScriptedReply {
    ScriptedReply::Tool { command: command.to_owned() }
}

/// `amplihack auto` of `agent` in the world, with every permission and `args`.
fn auto(world: &World, agent: AgentBinary, args: &[&str]) -> Output {
    let mut all = vec!["auto", "--agent", agent.name(), "--permissions", "full", "--json"];
    if !args.contains(&"--task-file") {
        all.extend(["--task", "the one task of this run"]);
    }
    all.extend(args);
    let output = Run::new(world.command(&all)).timeout(Duration::from_mins(4)).output();
    procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    output
}

/// What the run says that it used is what the model says.
#[track_caller]
fn assert_used(world: &World, last: &Value) {
    let (used, sent) = (&last["used"], world.server.usage("run"));
    assert_eq!(
        (
            &used["input_tokens"],
            &used["cache_read_tokens"],
            &used["output_tokens"],
            &used["cache_write_tokens"]
        ),
        (&sent.input.into(), &sent.cached.into(), &sent.output.into(), &0.into()),
        "{last}\n{sent:?}"
    );
}

/// A task of three turns, whose check fails twice and then passes.
fn ends_verified(agent: AgentBinary) {
    let step = || [tool("echo x >> steps"), text("done")];
    let script = ModelScript::new([step(), step(), step()].concat()).over_conversation();
    World::with(agent, script, |world| {
        let output = auto(world, agent, &["--verify", "test $(wc -l < steps) -eq 3"]);
        let last = assert_ended(&output, "verified", 0);
        assert_eq!(last["turns"], 3, "{output}");
        assert_eq!(world.server.usage("run").replies, 6, "{output}");
        assert_used(world, &last);
        // One session: what was said before is in each later call, once.
        let requests = world.server.requests("run");
        let said = requests
            .iter()
            .rev()
            .map(|request| request.request_texts())
            .find(|said| !said.is_empty())
            .unwrap();
        let times =
            |part: &str| said.iter().filter(|said| said.role == "user" && said.text.contains(part)).count();
        assert_eq!(times("the one task of this run"), 1, "{said:#?}");
        assert_eq!(times("the check failed"), 2, "{said:#?}");
    });
}

#[test]
fn claude_ends_verified_after_three_turns() {
    ends_verified(AgentBinary::Claude);
}

#[test]
fn codex_ends_verified_after_three_turns() {
    ends_verified(AgentBinary::Codex);
}

#[test]
fn copilot_ends_verified_after_three_turns() {
    ends_verified(AgentBinary::Copilot);
}

/// Claims that never hold, calls that never work, work that never ends.
fn ends_for_what_it_was(agent: AgentBinary) {
    World::with(agent, ModelScript::new([text("done")]), |world| {
        let output = auto(world, agent, &["--verify", "false", "--max-turns", "3"]);
        assert_eq!(assert_ended(&output, "stalled", 1)["turns"], 2);
        world.server.set_script("run", ModelScript::new([text("working")]));
        let output = auto(world, agent, &["--verify", "true", "--max-turns", "2"]);
        assert_ended(&output, "max_turns", 1);
        world.server.set_script("run", ModelScript::new([tool("cat there-is-no-such-file")]));
        let output = auto(world, agent, &[]);
        let last = assert_ended(&output, "stalled", 1);
        assert!(last["reason"].as_str().unwrap().contains("failed 5 times"), "{last}");
    });
}

#[test]
fn claude_ends_for_what_it_was() {
    ends_for_what_it_was(AgentBinary::Claude);
}

#[test]
fn codex_ends_for_what_it_was() {
    ends_for_what_it_was(AgentBinary::Codex);
}

#[test]
fn copilot_ends_for_what_it_was() {
    ends_for_what_it_was(AgentBinary::Copilot);
}

/// A budget of tokens ends an agent that goes on and on, at most one request of the model late.
fn keeps_its_budget(agent: AgentBinary) {
    let usage = ReplyUsage { input: 100, cached: 40, output: 60, reasoning: 0 };
    let script = ModelScript::new([tool("sleep 0.3; echo on and on")]).with_usage(usage);
    World::with(agent, script, |world| {
        let output = auto(world, agent, &["--budget-tokens", "900"]);
        assert_ended(&output, "budget", 5);
        // The fifth reply is over the budget.
        let replies = world.server.usage("run").replies;
        assert!((5..=6).contains(&replies), "{replies} replies\n{output}");
    });
}

#[test]
fn claude_keeps_its_budget() {
    keeps_its_budget(AgentBinary::Claude);
}

#[test]
fn codex_keeps_its_budget() {
    keeps_its_budget(AgentBinary::Codex);
}

#[test]
fn copilot_keeps_its_budget() {
    keeps_its_budget(AgentBinary::Copilot);
}

/// A run that is killed in the middle of a tool call goes on in the agent's session, and nothing is left of what it was.
fn goes_on_after_a_kill(agent: AgentBinary) {
    let script = ModelScript::new([tool("echo x >> steps; sleep 1"), text("done")]);
    World::with(agent, script, |world| {
        let args = ["auto", "--agent", agent.name(), "--permissions", "full", "--task", "the task", "--json"];
        let mut running = Run::new(world.command(&args)).args(["--verify", "test -s steps"]).spawn();
        let steps = world.sandbox.work().join("steps");
        running.until("the tool call", |_| steps.exists());
        running.signal(Signal::KILL);
        running.wait();
        let id = directory(&world.sandbox).file_name().unwrap().to_string_lossy().into_owned();
        let output = Run::new(world.command(&["auto", "--resume", &id, "--json"])).output();
        assert_ended(&output, "verified", 0);
        // Copilot names its session at its end only, and may not have kept one that was killed: the turn begins anew then.
        let went_on = !world.server.find_text("run", "You were interrupted").is_empty();
        assert!(went_on || agent == AgentBinary::Copilot, "{output}");
        procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    });
}

#[test]
fn claude_goes_on_after_a_kill() {
    goes_on_after_a_kill(AgentBinary::Claude);
}

#[test]
fn codex_goes_on_after_a_kill() {
    goes_on_after_a_kill(AgentBinary::Codex);
}

#[test]
fn copilot_goes_on_after_a_kill() {
    goes_on_after_a_kill(AgentBinary::Copilot);
}

/// Codex is held to the schema of a claim, in a session that goes on too, and the object is the claim.
#[test]
fn codex_answers_by_a_schema() {
    let object = |status: &str| {
        ScriptedReply::Text(format!("{{\"status\":\"{status}\",\"summary\":\"it's so\",\"changes\":false}}"))
    };
    let script = ModelScript::new([object("working"), object("done")]).over_conversation();
    World::with(AgentBinary::Codex, script, |world| {
        let output = auto(world, AgentBinary::Codex, &["--verify", "true"]);
        assert_eq!(assert_ended(&output, "verified", 0)["turns"], 2);
        let mut calls = 0;
        for request in world.server.requests("run").iter().filter(|request| request.dialect.is_some()) {
            let RecordedBody::Json(body) = &request.body else { panic!("{request:?}") };
            let statuses = &body["text"]["format"]["schema"]["properties"]["status"]["enum"];
            assert_eq!(*statuses, serde_json::json!(["done", "working", "blocked"]), "{}", body["text"]);
            calls += 1;
        }
        assert_eq!(calls, 2);
    });
}

/// A budget of dollars ends it too, over turns: what the session cost before counts once.
#[test]
fn claude_keeps_its_budget_in_dollars() {
    let agent = AgentBinary::Claude;
    World::with(agent, ModelScript::new([tool("echo on and on"), tool("true"), text("working")]), |world| {
        let output = auto(world, agent, &["--verify", "true", "--max-turns", "1"]);
        let turn = ended(&output)["used"]["cost_usd"].as_f64().unwrap();
        assert!(turn > 0.0, "{output}");
        // Of the third turn one reply is over the budget, and one may be under way.
        let budget = format!("{:.6}", turn * 2.2);
        let before = world.server.usage("run").replies;
        let output = auto(world, agent, &["--budget-usd", &budget]);
        let last = assert_ended(&output, "budget", 5);
        assert_eq!(last["turns"], 3);
        let replies = world.server.usage("run").replies - before;
        assert!((7..=8).contains(&replies), "{replies} replies\n{output}");
    });
}

/// A denied call is told, and ends the run only where that was asked for.
fn tells_what_was_denied(agent: AgentBinary) {
    let script = ModelScript::new([tool("git commit --allow-empty --no-verify -m x"), text("done")]);
    World::with(agent, script, |world| {
        let output = auto(world, agent, &["--verify", "true"]);
        let last = assert_ended(&output, "verified", 0);
        assert_eq!(last["denied"].as_array().unwrap().len(), 1, "{last}");
        let output = auto(world, agent, &["--verify", "true", "--fail-on-denial"]);
        assert_ended(&output, "denied", 4);
    });
}

#[test]
fn claude_tells_what_was_denied() {
    tells_what_was_denied(AgentBinary::Claude);
}

#[test]
fn codex_tells_what_was_denied() {
    tells_what_was_denied(AgentBinary::Codex);
}

#[test]
fn copilot_tells_what_was_denied() {
    tells_what_was_denied(AgentBinary::Copilot);
}

/// A plan of 150 KB and a task of 200 KB arrive, shell words and quotes in them as they are.
fn takes_long_tasks(agent: AgentBinary) {
    World::with(agent, ModelScript::new([text("done")]), |world| {
        for size in [150, 200] {
            let task =
                format!("$(touch pwned) `it's` \"so\" {size}\n{}", "plan it all\n".repeat(size * 1024 / 12));
            world.sandbox.write("task", &task);
            let file = world.sandbox.root().join("task").display().to_string();
            let output = auto(world, agent, &["--task-file", &file, "--verify", "true"]);
            assert_ended(&output, "verified", 0);
            let told = world.server.find_text("run", task.trim_end());
            assert!(told.iter().any(|said| said.role == "user"), "{size} KB did not arrive");
        }
        assert!(!world.sandbox.work().join("pwned").exists());
    });
}

#[test]
fn claude_takes_long_tasks() {
    takes_long_tasks(AgentBinary::Claude);
}

#[test]
fn codex_takes_long_tasks() {
    takes_long_tasks(AgentBinary::Codex);
}

#[test]
fn copilot_takes_long_tasks() {
    takes_long_tasks(AgentBinary::Copilot);
}

/// An account that the model does not accept goes to the other agent.
#[test]
fn claude_goes_over_to_codex_when_its_key_is_not_accepted() {
    let agents = [(AgentBinary::Claude, "run"), (AgentBinary::Codex, "other")];
    World::with_all(&agents, ModelScript::new([ScriptedReply::Error { status: 401 }]), |world| {
        world.server.set_script("other", ModelScript::new([text("done")]));
        let output = auto(world, AgentBinary::Claude, &["--fallback", "codex", "--verify", "true"]);
        let last = assert_ended(&output, "verified", 0);
        assert_eq!(last["turns"], 2);
        output.assert_stdout_has("continuing with codex");
        let told = world.server.find_text("other", "the one task of this run");
        assert!(told.iter().any(|said| said.role == "user"));
    });
}
