//! Ten facts about one task, in the default set-up: every real agent does it, and a program that knows no agent tells them.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, ModelScript, ScriptedReply};

use crate::world::World;

#[path = "../../../amplihack-agent/examples/ten_facts.rs"]
#[expect(dead_code, reason = "a program of its own, for users to read")]
mod ten_facts;

const PATCH: &str = "apply_patch <<'END'\n*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\nEND";

/// A file is written and a command fails; the answer comes then.
fn tells(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        let path = world.sandbox.work().canonicalize().unwrap().join("made.txt").display().to_string();
        // Codex offers no tool for a whole file; its shell takes patches.
        let write = match agent {
            AgentBinary::Codex => ScriptedReply::Tool { command: PATCH.to_owned() },
            _ => ScriptedReply::Write { path, text: "made\n".to_owned() },
        };
        let replies = [
            write,
            ScriptedReply::Tool { command: "exit 3".to_owned() },
            ScriptedReply::Text(DONE.to_owned()),
        ];
        world.server.set_script("run", ModelScript::new(replies));
        let output =
            world.run(&[agent.name(), "--prompt", "go", "--permissions", "full", "--output", "stream-json"]);
        output.assert_code(0);
        assert_eq!(std::fs::read_to_string(world.sandbox.work().join("made.txt")).unwrap(), "made\n");
        let mut text = Vec::new();
        ten_facts::RunFacts::read(output.stdout.as_slice()).unwrap().write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let facts: Vec<&str> = text.lines().collect();
        let sent = world.server.usage("run");
        let [files, commands, plan, agents, tokens, _, denied, limits, answer, end] = facts[..] else {
            panic!("{text}")
        };
        assert!(files.contains("made.txt (Add)") || files.contains("made.txt (Write)"), "{agent}: {text}");
        assert!(!files.contains(','), "{agent}: {text}");
        assert!(commands.contains("exit 3") && commands.ends_with("` -> 3"), "{agent}: {text}");
        assert_eq!(tokens, format!("tokens: {} in, {} out", sent.input, sent.output), "{agent}");
        let rest = [plan, agents, denied, limits, answer, end];
        let expected = [
            "plan: none",
            "sub-agents: none",
            "denied: none",
            "limits: none",
            &format!("answer: {DONE}"),
            "end: success",
        ];
        assert_eq!(rest, expected, "{agent}: {text}");
    });
}

#[test]
fn claude_tells_ten_facts() {
    tells(AgentBinary::Claude);
}

#[test]
fn codex_tells_ten_facts() {
    tells(AgentBinary::Codex);
}

#[test]
fn copilot_tells_ten_facts() {
    tells(AgentBinary::Copilot);
}

#[test]
fn gemini_tells_ten_facts() {
    tells(AgentBinary::Gemini);
}
