//! Exploration.
use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, Reply, Script};
use crate::world::World;

fn look(agent: AgentBinary) {
    let out = std::path::Path::new("/tmp/explore").join(agent.name());
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let call = |n: u8| Reply::Tool { command: format!("mkdir -p /tmp/explore/{0}; cp -r $HOME /tmp/explore/{0}/home{n}; echo ok", agent.name()) };
    World::with(agent, Script::new([call(1), call(2), call(3), Reply::Text(DONE.to_owned())]), |world| {
        let otel = world.sandbox.home().join("otel.jsonl");
        world.sandbox.set("COPILOT_OTEL_ENABLED", "true");
        world.sandbox.set("COPILOT_OTEL_EXPORTER_TYPE", "file");
        world.sandbox.set("COPILOT_OTEL_FILE_EXPORTER_PATH", otel);
        let output = world.run(&[agent.name(), "--prompt", "go", "--permissions", "full", "--no-hooks", "--output", "stream-json", "--include-raw"]);
        std::fs::write(out.join("stream"), &output.stdout).unwrap();
        std::fs::write(out.join("stderr"), &output.stderr).unwrap();
        let _ = std::process::Command::new("cp").arg("-r").arg(world.sandbox.home()).arg(out.join("homeend")).status();
    });
}
#[test]
fn explore_codex() { look(AgentBinary::Codex); }
#[test]
fn explore_copilot() { look(AgentBinary::Copilot); }

#[test]
fn explore_claude() { look(AgentBinary::Claude); }
