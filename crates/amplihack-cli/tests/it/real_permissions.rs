//! What `--permissions` really lets the real CLIs do when nobody is there to be asked.

use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};

use crate::world::World;

/// What happened of three tool calls of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Did {
    /// A shell command that only makes a file.
    touch: bool,
    /// Any other shell command, writing in the working directory.
    shell: bool,
    /// The same command, writing neither there nor where temporary files go.
    outside: bool,
    /// The agent's own file-writing tool, where it has one.
    write: bool,
}

const NOTHING: Did = Did { touch: false, shell: false, outside: false, write: false };

const EVERYTHING: Did = Did { touch: true, shell: true, outside: true, write: true };

/// What `agent` does with all three tool calls under `level`.
fn did(agent: AgentBinary, level: &str) -> Option<Did> {
    let mut did = None;
    World::with(agent, ModelScript::default(), |world| {
        let work = world.sandbox.work();
        let file = |name: &str| work.join(name);
        let outside = Path::new("/var/tmp").join(world.sandbox.marker("outside"));
        world.server.set_script(
            "run",
            ModelScript::new([
                ScriptedReply::Tool { command: format!("touch '{}'", file("touched").display()) },
                ScriptedReply::Tool {
                    command: format!(
                        "seq 3 | tee '{}' '{}' | sha256sum",
                        file("piped").display(),
                        outside.display()
                    ),
                },
                ScriptedReply::Write { path: file("written").display().to_string(), text: "text".to_owned() },
                ScriptedReply::Text(HELLO.to_owned()),
            ]),
        );
        let args = [agent.name(), "-p", "--prompt", "go", "--permissions", level];
        world.run(&args).assert_code(0).assert_stdout_has(HELLO);
        did = Some(Did {
            touch: file("touched").exists(),
            shell: file("piped").exists(),
            outside: std::fs::remove_file(&outside).is_ok(),
            write: file("written").exists(),
        });
    });
    did
}

#[track_caller]
fn assert_levels(agent: AgentBinary, levels: &[(&str, Did)]) {
    for (level, expected) in levels {
        if let Some(did) = did(agent, level) {
            assert_eq!(did, *expected, "{agent} {level}");
        }
    }
}

#[test]
fn claude_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Claude,
        &[("ask", NOTHING), ("edit", Did { touch: true, write: true, ..NOTHING }), ("full", EVERYTHING)],
    );
}

#[test]
fn codex_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Codex,
        &[
            ("ask", NOTHING),
            ("edit", Did { touch: true, shell: true, ..NOTHING }),
            // Codex was offered no tool that writes files: its shell does.
            ("full", Did { write: false, ..EVERYTHING }),
        ],
    );
}

#[test]
fn copilot_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Copilot,
        &[("ask", NOTHING), ("edit", Did { write: true, ..NOTHING }), ("full", EVERYTHING)],
    );
}

/// Headless, Gemini does not offer a tool for which it would have to ask, so a model that asks for the shell first is not
/// heard any further: writing is asked for alone.
#[test]
fn gemini_keeps_its_permission_levels() {
    let agent = AgentBinary::Gemini;
    assert_levels(agent, &[("ask", NOTHING), ("edit", NOTHING), ("full", EVERYTHING)]);
    for (level, expected) in [("ask", false), ("edit", true)] {
        World::with(agent, ModelScript::default(), |world| {
            let file = world.sandbox.work().join("written");
            let write = ScriptedReply::Write { path: file.display().to_string(), text: "text".to_owned() };
            world.server.set_script("run", ModelScript::new([write, ScriptedReply::Text(HELLO.to_owned())]));
            let args = [agent.name(), "-p", "--prompt", "go", "--permissions", level];
            world.run(&args).assert_code(0).assert_stdout_has(HELLO);
            assert_eq!(file.exists(), expected, "{level}");
        });
    }
}
