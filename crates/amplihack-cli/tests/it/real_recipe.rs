//! The judges: one recipe with every kind of step, its agent steps done by the real Claude Code, Codex and Copilot.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};

use crate::world::World;

const TOP: &str = r#"name: all-kinds
context: {who: "it's me"}
steps:
  - {id: shell, command: "printf '%s' {{who}}", output: said}
  - id: ask
    agent: "amplihack:core:judge"
    prompt: "Report on {{said}}."
    parse_json: true
    output: report
    outputs: {type: object, required: [verdict], properties: {verdict: {type: string}}}
  - {id: gate, command: "echo passed", condition: "report.verdict == 'good'", output: gate}
  - {id: closed, command: "touch never", condition: "report.verdict != 'good'"}
  - {id: left, prompt: "And left?", parallel_group: g, output: left}
  - {id: right, command: "echo right", parallel_group: g, output: right}
  - {id: below, recipe: below, context: {given: "{{report.verdict}}"}, parallel_group: g}
  - {id: end, command: "echo {{gate}} {{right}} {{made}}", output: end}
"#;
const BELOW: &str = "name: below\nsteps:\n  - {id: make, command: \"echo made-{{given}}\", output: made}\n";

fn recipe_runs(agent: AgentBinary) {
    let answer = "Here it is:\n```json\n{\"verdict\": \"good\"}\n```\n";
    World::with(agent, ModelScript::new([ScriptedReply::Text(answer.to_owned())]), |world| {
        world.sandbox.write("work/top.yaml", TOP);
        world.sandbox.write("work/below.yaml", BELOW);
        world.sandbox.write("work/.claude/agents/core/judge.md", "You judge reports. JUDGE-DEFINITION");
        let output = world.run(&["recipe", "run", "top.yaml", "--agent", agent.name(), "-f", "json"]);
        output.assert_code(0);
        let result = output.json();
        assert_eq!(result["context"]["end"], "passed right made-good", "{output}");
        let step = &result["step_results"][1];
        assert_eq!(
            (&step["status"], &step["output"]),
            (&"completed".into(), &"{\"verdict\":\"good\"}".into())
        );
        assert_eq!(step["agent"]["agent"], agent.name());
        assert!(step["agent"]["usage"]["input_tokens"].as_u64() > Some(0), "{step}");
        assert_eq!(result["step_results"][3]["status"], "skipped");
        assert!(!world.sandbox.work().join("never").exists());
        // The prompt arrived with its value, and the definition with it.
        let prompts = world.server.prompts("run");
        assert!(prompts.iter().any(|said| said.contains("Report on it's me.")), "{prompts:#?}");
        let session = step["agent"]["session"].as_str().unwrap();
        world.run(&["sessions", "show", session]).assert_code(0).assert_stdout_has(agent.name());
        assert!(world.server.stray_requests().is_empty());
    });
}

#[test]
fn claude_does_the_agent_steps_of_a_recipe() {
    recipe_runs(AgentBinary::Claude);
}

#[test]
fn codex_does_the_agent_steps_of_a_recipe() {
    recipe_runs(AgentBinary::Codex);
}

#[test]
fn copilot_does_the_agent_steps_of_a_recipe() {
    recipe_runs(AgentBinary::Copilot);
}

#[test]
fn gemini_does_the_agent_steps_of_a_recipe() {
    recipe_runs(AgentBinary::Gemini);
}
