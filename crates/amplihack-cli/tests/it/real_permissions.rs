//! What `--permissions` really lets the real CLIs do when nobody is there to be asked.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, Reply, Script};

use crate::world::World;

/// Which of three tool calls of the model happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Did {
    /// A shell command that only makes a file.
    touch: bool,
    /// Any other shell command.
    shell: bool,
    /// The agent's own file-writing tool, where it has one.
    write: bool,
}

const NOTHING: Did = Did { touch: false, shell: false, write: false };

/// What `agent` does with all three tool calls under `level`.
fn did(agent: AgentBinary, level: Option<&str>) -> Option<Did> {
    let mut did = None;
    World::with(agent, Script::default(), |world| {
        let work = world.sandbox.work();
        let file = |name: &str| work.join(name);
        world.server.script(
            "run",
            Script::new([
                Reply::Tool { command: format!("touch '{}'", file("touched").display()) },
                Reply::Tool { command: format!("seq 3 | tee '{}' | sha256sum", file("piped").display()) },
                Reply::Write { path: file("written").display().to_string(), text: "text".to_owned() },
                Reply::Text(HELLO.to_owned()),
            ]),
        );
        let mut args = vec![agent.name(), "-p", "--prompt", "go"];
        args.extend(level.iter().flat_map(|level| ["--permissions", *level]));
        world.run(&args).assert_code(0).assert_stdout_has(HELLO);
        did = Some(Did {
            touch: file("touched").exists(),
            shell: file("piped").exists(),
            write: file("written").exists(),
        });
    });
    did
}

#[track_caller]
fn assert_levels(agent: AgentBinary, levels: &[(Option<&str>, Did)]) {
    for (level, expected) in levels {
        if let Some(did) = did(agent, *level) {
            assert_eq!(did, *expected, "{agent} {level:?}");
        }
    }
}

#[test]
fn claude_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Claude,
        &[
            (Some("ask"), NOTHING),
            (Some("edit"), Did { touch: true, shell: false, write: true }),
            (Some("full"), Did { touch: true, shell: true, write: true }),
        ],
    );
}

#[test]
fn codex_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Codex,
        &[
            (Some("ask"), NOTHING),
            (Some("edit"), Did { touch: true, shell: true, write: false }),
            (Some("full"), Did { touch: true, shell: true, write: false }),
        ],
    );
}

#[test]
fn copilot_keeps_its_permission_levels() {
    assert_levels(
        AgentBinary::Copilot,
        &[
            (Some("ask"), NOTHING),
            (Some("edit"), Did { touch: false, shell: false, write: true }),
            (Some("full"), Did { touch: true, shell: true, write: true }),
        ],
    );
}
