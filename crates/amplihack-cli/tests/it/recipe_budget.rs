//! One budget and one deadline for all steps of a recipe, sub-recipes and groups included.

use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ReplyUsage, ScriptedReply};
use amplihack_testkit::{Output, Run, Sandbox, procs};
use serde_json::Value;

use crate::auto::claude;
use crate::world::{World, prepare};

/// Two agents side by side, one in a sub-recipe beside them, and one after them.
const TOP: &str = "name: top\nsteps:\n  - {id: a, prompt: 'do a', parallel_group: g}\n  - {id: b, prompt: 'do b', parallel_group: g}\n  - {id: c, recipe: below, parallel_group: g}\n  - {id: d, prompt: 'do d'}\n";
const BELOW: &str = "name: below\nsteps:\n  - {id: c1, prompt: 'do c1'}\n";

/// Calls without end, 19 tokens each.
const ENDLESS: &str = "i=0; while :; do i=$((i+1)); call $i true$i false; sleep 0.05; done";

fn write(sandbox: &Sandbox) {
    sandbox.write("work/top.yaml", TOP);
    sandbox.write("work/below.yaml", BELOW);
}

fn recipe(sandbox: &Sandbox, args: &[&str]) -> Output {
    let all = ["recipe", "run", "top.yaml", "--agent", "claude", "-f", "json"];
    prepare(sandbox, &[&all[..], args].concat()).output()
}

fn tokens(used: &Value) -> u64 {
    ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"]
        .map(|field| used[field].as_u64().unwrap())
        .iter()
        .sum()
}

#[test]
fn all_agent_steps_share_one_budget_and_the_report_has_the_sum() {
    let sandbox = claude(ENDLESS);
    write(&sandbox);
    let output = recipe(&sandbox, &["--budget-tokens", "400"]);
    output.assert_code(5);
    let result = output.json();
    let used = tokens(&result["usage"]);
    // Each of three writes on until it hears, later on a busy machine; two with budgets of their own would have used twice as much.
    assert!((400..800).contains(&used), "{used}\n{output}");
    assert!(result["bound"].as_str().unwrap().contains("of 400 tokens are used"), "{output}");
    for step in [
        &result["step_results"][0],
        &result["step_results"][1],
        &result["step_results"][2]["step_results"][0],
    ] {
        assert_eq!(step["agent"]["run"]["end"], "budget", "{step}");
    }
    procs::assert_none(&sandbox.everything());
    // With a new limit it continues, and what was used before still counts.
    let id = result["run_id"].as_str().unwrap();
    let again = |budget: &str| {
        prepare(&sandbox, &["recipe", "run", "--resume", id, "-f", "json", "--budget-tokens", budget])
            .output()
    };
    let refused = again("400");
    refused.assert_code(5);
    assert!(
        refused.json()["step_results"][0]["error"].as_str().unwrap().contains("not begun: "),
        "{refused}"
    );
}

#[test]
fn a_recipe_within_its_budget_reports_what_its_agents_used() {
    let sandbox = claude("say x; result done");
    write(&sandbox);
    let output = recipe(&sandbox, &["--budget-tokens", "1000", "--budget-usd", "5"]);
    output.assert_code(0);
    let result = output.json();
    // Four agents, of which each states 19 tokens and $0.25.
    assert_eq!((tokens(&result["usage"]), &result["usage"]["cost_usd"]), (4 * 19, &1.0.into()), "{output}");
    assert_eq!(result["bound"], Value::Null);
    let text = prepare(&sandbox, &["recipe", "run", "top.yaml", "--agent", "claude"]).output();
    text.assert_code(0).assert_stdout_has("agents used 76 tokens, $1.0000");
}

#[test]
fn a_recipe_stops_at_its_budget_in_dollars_and_refuses_what_cannot_be_counted() {
    let sandbox = claude("say x; sleep 0.3; result done");
    sandbox.write(
        "work/top.yaml",
        "name: top\nsteps:\n  - {id: a, prompt: a}\n  - {id: b, prompt: b}\n  - {id: c, prompt: c}\n",
    );
    let output = recipe(&sandbox, &["--budget-usd", "0.4"]);
    output.assert_code(5);
    let result = output.json();
    assert_eq!(result["usage"]["cost_usd"], 0.5, "{output}");
    assert!(result["step_results"][2]["error"].as_str().unwrap().contains("not begun: "), "{output}");
    let args = ["recipe", "run", "top.yaml", "--agent", "codex", "--budget-usd", "1"];
    prepare(&sandbox, &args).output().assert_code(2).assert_stderr_has("prices.codex");
}

#[test]
fn a_deadline_ends_shell_steps_and_agent_steps() {
    for step in ["command: 'sleep 60'", "prompt: 'do it'"] {
        let sandbox = claude("sleep 60");
        sandbox.write("work/top.yaml", format!("name: top\nsteps:\n  - {{id: a, {step}}}\n"));
        let began = Instant::now();
        let output = recipe(&sandbox, &["--deadline", "1s"]);
        output.assert_code(5);
        assert!(began.elapsed() < Duration::from_secs(30), "{output}");
        assert!(output.json()["bound"].as_str().unwrap().contains("deadline"), "{output}");
        procs::assert_none_soon(&sandbox.everything(), Duration::from_secs(5));
    }
}

/// The real agent in the default set-up, three of them at once.
#[test]
fn claude_shares_one_budget_among_the_steps_of_a_recipe() {
    let work: Vec<ScriptedReply> = (0..60)
        .map(|number| ScriptedReply::Tool {
            command: format!("timeout 0.4 tail -f /dev/null; echo {number}"),
        })
        .collect();
    let script =
        ModelScript::new(work).with_usage(ReplyUsage { input: 100, cached: 40, output: 60, reasoning: 0 });
    World::with(AgentBinary::Claude, script, |world| {
        write(&world.sandbox);
        let args = ["recipe", "run", "top.yaml", "--agent", "claude", "--permissions", "full", "-f", "json"];
        let command = world.command(&[&args[..], &["--budget-tokens", "3000"]].concat());
        let output = Run::new(command).timeout(Duration::from_mins(3)).output();
        output.assert_code(5);
        let (result, sent) = (output.json(), world.server.usage("run"));
        // The fifteenth request uses it up.
        assert!((15..=15 + 3).contains(&sent.replies), "{sent:?}\n{output}");
        assert!((3000..=3000 + 3 * 200).contains(&tokens(&result["usage"])), "{output}");
        procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    });
}
