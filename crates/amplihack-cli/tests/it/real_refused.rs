//! Calls that an agent refuses itself: nothing runs, no hook is asked, and the guard is not said to be off.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, ModelScript, ScriptedMessage, ScriptedPart, ScriptedReply};
use serde_json::{Value, json};

use crate::world::World;

/// A run in which the model asks for each of `calls`, and for a command then, which is there in the end.
fn goes_on(agent: AgentBinary, calls: &[(&str, Value)]) {
    for (tool, input) in calls {
        World::with(agent, ModelScript::default(), |world| {
            let part = ScriptedPart::Call { tool: (*tool).to_owned(), input: input.clone() };
            let call = ScriptedMessage { parts: vec![part], ..ScriptedMessage::default() };
            let replies = [
                ScriptedReply::Message(call),
                ScriptedReply::Tool { command: "touch gone-on".to_owned() },
                ScriptedReply::Text(DONE.to_owned()),
            ];
            world.server.set_script("run", ModelScript::new(replies));
            let arguments = ["--prompt", "go", "--permissions", "full", "--output", "stream-json"];
            let output = world.run(&[&[agent.name()], &arguments[..]].concat());
            output.assert_code(0);
            assert!(world.sandbox.work().join("gone-on").exists(), "{tool} {input}: {output}");
        });
    }
}

#[test]
fn claude_goes_on_after_what_it_refuses() {
    let url = json!({"url": "no url", "prompt": "x"});
    let calls =
        [("Hammer", json!({})), ("Read", json!({})), ("Bash", json!({"command": 3})), ("WebFetch", url)];
    goes_on(AgentBinary::Claude, &calls);
}

#[test]
fn codex_goes_on_after_what_it_refuses() {
    let (patch, nowhere) =
        (json!({"cmd": "apply_patch <<'E'\nno patch\nE"}), json!({"cmd": "ls", "workdir": "/nowhere"}));
    let shell = [json!({}), json!({"cmd": 3}), patch, nowhere];
    goes_on(AgentBinary::Codex, &shell.map(|input| ("exec_command", input)));
    goes_on(AgentBinary::Codex, &[("hammer", json!({})), ("view_image", json!({"path": "/nowhere.png"}))]);
}

#[test]
fn copilot_goes_on_after_what_it_refuses() {
    let calls = [
        ("hammer", json!({})),
        ("bash", json!({})),
        // This one asks the guard, who cannot read it.
        ("bash", json!({"command": 3})),
        ("view", json!({"path": "relative"})),
        ("edit", json!({"path": "x"})),
    ];
    goes_on(AgentBinary::Copilot, &calls);
}

#[test]
fn gemini_goes_on_after_what_it_refuses() {
    let calls = [
        ("hammer", json!({})),
        ("run_shell_command", json!({})),
        ("run_shell_command", json!({"command": ""})),
        ("run_shell_command", json!({"command": "ls", "dir_path": "/etc"})),
        ("read_file", json!({"file_path": "/etc/hostname"})),
        ("write_file", json!({"file_path": "/etc/x", "content": "x"})),
        ("web_fetch", json!({"prompt": "no address"})),
    ];
    goes_on(AgentBinary::Gemini, &calls);
}
