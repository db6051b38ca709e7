//! What the real Copilot does with arguments that were written for Claude.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};

use crate::world::World;

/// Whether Copilot ran `touch`, and whether it wrote a file with its own tool, when it was called with `args`.
fn did(args: &[&str]) -> Option<(bool, bool)> {
    let mut did = None;
    World::with(AgentBinary::Copilot, ModelScript::default(), |world| {
        let file = |name: &str| world.sandbox.work().join(name);
        world.server.set_script(
            "run",
            ModelScript::new([
                ScriptedReply::Tool { command: format!("touch '{}'", file("touched").display()) },
                ScriptedReply::Write { path: file("written").display().to_string(), text: "text".to_owned() },
                ScriptedReply::Text(HELLO.to_owned()),
            ]),
        );
        let args = [&["copilot", "shim", "--"], args, &["-p", "go"]].concat();
        world.run(&args).assert_code(0).assert_stdout_has(HELLO);
        did = Some((file("touched").exists(), file("written").exists()));
    });
    did
}

#[test]
fn copilot_does_what_claudes_flags_grant_and_no_more() {
    for (args, expected) in [
        (&["--dangerously-skip-permissions"][..], (true, true)),
        (&["--dangerously-skip-permissions=false"], (false, false)),
        (&["--permission-mode", "plan"], (false, false)),
        (&["--permission-mode", "acceptEdits"], (false, true)),
        (&["--allowedTools", "Bash(touch:*)"], (true, false)),
        (&["--allowed-tools", "Bash(mkdir:*),Write"], (false, true)),
        (&["--allow-all-tools", "--disallowed-tools", "Bash(touch:*)"], (false, true)),
        (&["--allow-all-tools", "--disallowedTools", "Write"], (true, false)),
    ] {
        if let Some(did) = did(args) {
            assert_eq!(did, expected, "{args:?}");
        }
    }
}
