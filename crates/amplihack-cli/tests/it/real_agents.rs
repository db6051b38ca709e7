//! The judges: real Claude Code, Codex and Copilot, launched through `amplihack`, get prompts from a scripted model's view.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ObservedDelivery, ScriptedReply};
use amplihack_testkit::Output;
use amplihack_testkit::procs::ArgvWatch;

use crate::world::{World, prepare};

/// Everything that shells and files mangle. Starts with a dash.
const HOSTILE: &str = "-dash don't \"quote\" $HOME $(id) `id` \\ ; | & 漢字 \u{1f980} %s";

pub(crate) fn greeting() -> ModelScript {
    ModelScript::new([ScriptedReply::Text(HELLO.to_owned())])
}

/// A hostile prompt of exactly `bytes` bytes with `marker` on every line, and newlines at its end where they fit.
fn prompt(bytes: usize, marker: &str) -> String {
    let end = if bytes > 1 { "\n\n" } else { "" };
    let line = format!("{HOSTILE} {marker}\n");
    let mut text: String = line.repeat(bytes / line.len() + 1);
    let mut length = bytes - end.len();
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    text.truncate(length);
    text + &"x".repeat(bytes - end.len() - length) + end
}

/// Whether the model saw `text` as the user's words, changed only as the matrix's note says.
#[track_caller]
fn assert_arrived(world: &World, agent: AgentBinary, text: &str) {
    let shorten = |text: &String| format!("{} bytes: {text:.300}", text.len());
    let prompts = world.server.prompts("run");
    let arrived = if agent == AgentBinary::Copilot {
        // It trims blanks at the end and puts the date before the prompt.
        let end = format!("</current_datetime>\n\n{}", text.trim_end());
        prompts.iter().any(|said| said.starts_with("<current_datetime>") && said.trim_end().ends_with(&end))
    } else {
        world.server.observed_delivery("run", text) == ObservedDelivery::Exact
    };
    let seen: Vec<String> = prompts.iter().map(shorten).collect();
    assert!(arrived, "{agent} did not hand on {:.200} ({} bytes): {seen:#?}", text, text.len());
}

/// amplihack had nothing to tell about the prompt's way; warnings of the agent's own are not looked at.
#[track_caller]
pub(crate) fn assert_nothing_noticed(output: &Output) {
    for words in ["degrading to", "a prompt by", "removed from the prompt", "descendants can learn"] {
        assert!(!output.stderr_text().contains(words), "{output}");
    }
}

/// Sends prompts of all sizes through `amplihack <agent> -p --prompt-file`; `largest` is the last size.
fn prompts_arrive(agent: AgentBinary, largest: usize) {
    World::with(agent, greeting(), |world| {
        for bytes in [1, 4096, 4097, 65_536, largest] {
            let marker = world.sandbox.marker(&format!("prompt{bytes}"));
            let text = prompt(bytes, &marker);
            assert_eq!(text.len(), bytes);
            let file = world.sandbox.write("prompt.txt", &text);
            let watch = ArgvWatch::start(&marker);
            let output = world.run(&[agent.name(), "-p", "--prompt-file", file.to_str().unwrap()]);
            let seen = watch.finish();
            output.assert_code(0).assert_stdout_has(HELLO);
            assert_nothing_noticed(&output);
            assert_arrived(world, agent, &text);
            if bytes > 4096 {
                // A program in JavaScript goes by the name of what runs it.
                let name = if agent == AgentBinary::Gemini { "node" } else { agent.name() };
                seen.assert_unseen_while_running(name);
            } else if bytes > 1 {
                assert!(!seen.hits.is_empty(), "a prompt of {bytes} bytes travels on argv");
            }
        }
        assert!(world.server.stray_requests().is_empty());
    });
}

#[test]
fn claude_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Claude, 680_000);
}

#[test]
fn codex_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Codex, 680_000);
}

#[test]
fn copilot_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Copilot, 175_000);
}

#[test]
fn gemini_takes_every_prompt_unchanged() {
    prompts_arrive(AgentBinary::Gemini, 680_000);
}

/// A prompt that is the name of a sub-command is a prompt.
fn names_of_commands_arrive(agent: AgentBinary) {
    World::with(agent, greeting(), |world| {
        for word in ["help", "review", "mcp"] {
            let output = world.run(&[agent.name(), "-p", &format!("--prompt={word}")]);
            output.assert_code(0).assert_stdout_has(HELLO);
            assert_arrived(world, agent, word);
        }
    });
}

#[test]
fn claude_takes_names_of_commands_as_prompts() {
    names_of_commands_arrive(AgentBinary::Claude);
}

#[test]
fn codex_takes_names_of_commands_as_prompts() {
    names_of_commands_arrive(AgentBinary::Codex);
}

#[test]
fn copilot_takes_names_of_commands_as_prompts() {
    names_of_commands_arrive(AgentBinary::Copilot);
}

#[test]
fn gemini_takes_names_of_commands_as_prompts() {
    names_of_commands_arrive(AgentBinary::Gemini);
}

#[test]
fn a_prompt_on_stdin_reaches_a_real_agent() {
    World::with(AgentBinary::Codex, greeting(), |world| {
        let output = prepare(&world.sandbox, &["codex"]).stdin("piped words").output();
        output.assert_code(0).assert_stdout_has(HELLO);
        assert_arrived(world, AgentBinary::Codex, "piped words");
    });
}
