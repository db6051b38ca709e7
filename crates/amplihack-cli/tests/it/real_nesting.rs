//! A real agent that launches another one from a tool call.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};

use crate::real_agents::greeting;
use crate::world::{World, amplihack};

/// A shell command that writes variables of its environment to `file`, `unset` for those that are not there.
fn variables(file: &str, names: &[&str]) -> String {
    let values: Vec<String> = names.iter().map(|name| format!("\"${{{name}-unset}}\"")).collect();
    format!("printf '%s\\n' {} > {file}", values.join(" "))
}

fn lines(world: &World, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.sandbox.work().join(file)).expect(file);
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn codex_within_claude_gets_its_own_prompt_and_a_clean_environment() {
    let agents = [(AgentBinary::Claude, "outer"), (AgentBinary::Codex, "inner")];
    World::with_all(&agents, greeting(), |world| {
        let names = ["AMPLIHACK_SESSION_DEPTH", "AMPLIHACK_AGENT_BINARY", "CLAUDECODE"];
        let nested = format!(
            "{}; '{}' codex -p --permissions full --prompt \"the inner one's words\"",
            variables("outer", &names),
            amplihack().display()
        );
        let outer = [ScriptedReply::Tool { command: nested }, ScriptedReply::Text(HELLO.to_owned())];
        world.server.set_script("outer", ModelScript::new(outer));
        let inner = [
            ScriptedReply::Tool { command: variables("inner", &names) },
            ScriptedReply::Text("INNER END".to_owned()),
        ];
        world.server.set_script("inner", ModelScript::new(inner));
        let output =
            world.run(&["claude", "-p", "--permissions", "full", "--prompt", "the outer one's words"]);
        output.assert_code(0).assert_stdout_has(HELLO);
        assert_eq!(lines(world, "outer"), ["1", "claude", "1"]);
        assert_eq!(lines(world, "inner"), ["2", "codex", "unset"]);
        assert!(world.server.prompts("inner").iter().any(|said| said == "the inner one's words"));
        assert!(world.server.prompts("outer").iter().all(|said| said != "the inner one's words"));
        assert_eq!(world.server.find_text("outer", "INNER END")[0].role, "tool");
    });
}

#[test]
fn copilot_within_copilot_is_given_what_the_outer_one_withheld() {
    World::with(AgentBinary::Copilot, greeting(), |world| {
        let names = ["AMPLIHACK_SESSION_DEPTH", "COPILOT_PROVIDER_BASE_URL", "COPILOT_OFFLINE"];
        let nested = format!(
            "test $AMPLIHACK_SESSION_DEPTH = 1 || exit 9; {}; '{}' copilot -p --prompt 'inner words' && echo INNER-$((6 * 7))",
            variables("outer", &names),
            amplihack().display()
        );
        let replies = [ScriptedReply::Tool { command: nested }, ScriptedReply::Text(HELLO.to_owned())];
        world.server.set_script("run", ModelScript::new(replies));
        let output = world.run(&["copilot", "-p", "--permissions", "full", "--prompt", "outer words"]);
        output.assert_code(0).assert_stdout_has(HELLO);
        assert_eq!(lines(world, "outer"), ["1", "unset", "unset"], "Copilot hides them from its tools");
        assert!(world.server.prompts("run").iter().any(|said| said.trim_end().ends_with("inner words")));
        assert_eq!(world.server.find_text("run", "INNER-42")[0].role, "tool");
    });
}
