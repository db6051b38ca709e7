//! Prompts that begin with a command of an agent's own: said before the launch, no success without a model, and text in recipes.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, ModelScript, ScriptedReply};
use amplihack_testkit::Run;

use crate::world::World;

fn done() -> ModelScript {
    ModelScript::new([ScriptedReply::Text(DONE.to_owned())]).over_conversation()
}

#[test]
fn claude_answers_some_commands_without_its_model_and_that_is_no_success() {
    World::with(AgentBinary::Claude, done(), |world| {
        for (prompt, word) in [("/clear now do it", "/clear"), ("/model opus then refactor", "/model")] {
            let output = world.run(&["claude", "--output", "json", "--prompt", prompt]);
            let report = output.assert_code(1).json();
            assert_eq!(
                (&report["end"], &report["kind"]),
                (&"no_result".into(), &"no_result".into()),
                "{report:#}"
            );
            output.assert_stderr_has(&format!("the prompt begins with {word}"));
            // In text as well, where the answer passes through.
            world.run(&["claude", "-p", "--prompt", prompt]).assert_code(1).assert_stderr_has(word);
        }
        // It asks its server for the account by itself.
        let asked = world.server.prompts("run");
        assert!(asked.iter().all(|said| said == "Hi"), "no model was asked: {asked:?}");
        let path = "/etc/hosts is wrong";
        let output = world.run(&["claude", "-p", "--prompt", path]);
        output.assert_code(0).assert_stdout(format!("{DONE}\n")).assert_stderr("");
        assert_eq!(world.server.find_text("run", path).len(), 1);
    });
}

#[test]
fn claude_runs_a_command_that_asks_its_model() {
    World::with(AgentBinary::Claude, done(), |world| {
        let output = world.run(&["claude", "-p", "--prompt", "/init"]);
        output.assert_code(0).assert_stdout(format!("{DONE}\n")).assert_stderr_has("/init");
        assert!(!world.server.requests("run").is_empty());
    });
}

/// A recipe's value is text for `agent`, whatever it begins with.
fn is_text(agent: AgentBinary, prompt: &str) {
    World::with(agent, done(), |world| {
        let recipe = format!(
            "name: words\ncontext: {{v: {prompt:?}}}\nsteps:\n  - {{id: a, type: agent, prompt: '{{{{v}}}}'}}\n"
        );
        world.sandbox.write("work/words.yaml", recipe);
        let output = world.run(&["recipe", "run", "words.yaml", "--agent", agent.name(), "-f", "json"]);
        let result = output.assert_code(0).json();
        assert_eq!(result["step_results"][0]["output"], DONE, "{result:#}");
        assert!(!world.server.find_text("run", prompt).is_empty(), "the model read the whole text\n{output}");
    });
}

#[test]
fn claude_reads_a_recipes_value_as_text() {
    is_text(AgentBinary::Claude, "/clear now do it");
}

#[test]
fn codex_reads_a_recipes_value_as_text() {
    is_text(AgentBinary::Codex, "/clear now do it");
}

#[test]
fn copilot_reads_a_recipes_value_as_text() {
    is_text(AgentBinary::Copilot, "/compact");
}

#[test]
fn gemini_reads_a_recipes_value_as_text() {
    for prompt in ["/model opus then refactor", "/exit"] {
        is_text(AgentBinary::Gemini, prompt);
    }
}

#[test]
fn claude_reads_an_unattended_task_as_text_and_so_does_the_recipe_runner() {
    let task = "/clear now do it";
    World::with(AgentBinary::Claude, done(), |world| {
        world.run(&["auto", "--agent", "claude", "--max-turns", "1", "--task", task]);
        assert!(!world.server.find_text("run", task).is_empty(), "the model read the task");
    });
    World::with(AgentBinary::Claude, done(), |world| {
        let recipe = format!("name: words\nsteps:\n  - {{id: a, type: agent, prompt: {task:?}}}\n");
        world.sandbox.write("work/words.yaml", recipe);
        let runner = env!("CARGO_BIN_EXE_recipe-runner-rs");
        let mut command = world.sandbox.command(runner);
        command.env("AMPLIHACK_LAUNCHER_BINARY", crate::world::amplihack()).args([
            "words.yaml",
            "--agent-binary",
            "claude",
        ]);
        Run::new(command).output().assert_code(0);
        assert!(!world.server.find_text("run", task).is_empty(), "the model read the step's text");
    });
}
