//! A run of a real agent as amplihack starts it for its stream, with the scripted model behind it.

use std::ffi::OsString;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::ModelScript;
use amplihack_testkit::programs::tool_server_path;
use amplihack_testkit::{Output, Run};
use serde_json::{Map, Value};

use super::normal::Normalizer;
use super::scenario::{Book, Own};
use crate::real_streams::stream_command;
use crate::world::World;

/// The lines of the agent's stdout, without what differs from run to run; `None` where the agent is not installed.
pub(super) fn play(agent: AgentBinary, name: &str) -> Option<Vec<String>> {
    let mut lines = None;
    World::with(agent, ModelScript::default(), |world| {
        let work = world.sandbox.work().canonicalize().unwrap();
        let scenario = Book::open(agent, name, &work, &tool_server_path());
        for (name, bytes) in &scenario.files {
            world.sandbox.write(format!("work/{name}"), bytes);
        }
        for (name, value) in &scenario.own.env {
            match value.as_str() {
                "" => world.sandbox.unset(name),
                value => world.sandbox.set(name, value),
            };
        }
        add_settings(world, &scenario.own.settings);
        world.server.set_script("run", scenario.script);
        if let Some(before) = &scenario.before {
            run(world, agent, before, &Own::default());
        }
        let output = run(world, agent, &scenario.prompt, &scenario.own);
        lines = Some(Normalizer::new(world).lines(&output.stdout_text()));
    });
    lines
}

fn run(world: &World, agent: AgentBinary, prompt: &str, own: &Own) -> Output {
    let (words, stdin) = stream_command(world, agent, prompt, false);
    let mut started = world.sandbox.command(&words[0]);
    let is_given = |word: &&OsString| own.without.iter().all(|without| ***word != **without);
    started.args(words[1..].iter().filter(is_given));
    started.args(&own.flags);
    Run::new(started).stdin(stdin).output()
}

/// Adds to the settings that a Gemini in this world has.
fn add_settings(world: &World, more: &Map<String, Value>) {
    if more.is_empty() {
        return;
    }
    let path = world.sandbox.home().join(".gemini/settings.json");
    let mut settings: Map<String, Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings.extend(more.clone());
    std::fs::write(&path, Value::Object(settings).to_string()).unwrap();
}
