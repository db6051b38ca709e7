//! `amplihack demo`: scenes that show on this machine what amplihack does, against a scripted model.

mod agents;
mod worktree;

use amplihack_probe::drive::{Bench, DriveError};
use amplihack_probe::model::ModelServer;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use tokio::runtime::Runtime;

use crate::cli::DemoArgs;
use crate::commands::{current_dir, runtime};
use crate::ui::{self, Failure};

/// One thing to show.
struct Scene {
    /// What a user calls it.
    name: &'static str,
    /// What is shown.
    title: &'static str,
    /// What would happen without amplihack.
    without: &'static str,
    /// Shows it; returns whether everything held.
    show: fn(&mut Stage<'_>) -> Result<bool, Failure>,
}

/// All scenes, in the order in which they are shown.
const SCENES: &[Scene] = &[
    Scene {
        name: "agents",
        title: "each agent that is found does the main job: a hostile prompt, a harmless call, a forbidden call",
        without: "a shell could change the prompt, no descendant would know its agent, and the forbidden commit would be made",
        show: agents::show,
    },
    Scene {
        name: "worktree",
        title: "an unattended task in a worktree of its own, which ends when a check passes",
        without: "\"done\" would be what the agent says, in your own checkout, and past your hooks",
        show: worktree::show,
    },
];

/// The names of all scenes.
pub(crate) const NAMES: [&str; SCENES.len()] = {
    let mut names = [""; SCENES.len()];
    let mut number = 0;
    while number < SCENES.len() {
        names[number] = SCENES[number].name;
        number += 1;
    }
    names
};

/// What every scene stands on.
struct Stage<'a> {
    env: &'a Env,
    config: Config,
    runtime: Runtime,
    server: ModelServer,
    bench: Bench,
    /// The built-in agent even where there are real ones.
    scripted: bool,
}

/// Shows all scenes, or the one that is named; 1 if anything did not hold.
pub(crate) fn run(args: &DemoArgs, env: &Env) -> Result<u8, Failure> {
    if args.list {
        let line = |scene: &Scene| format!("{:<10}{}", scene.name, scene.title);
        let lines: Vec<String> = SCENES.iter().map(line).collect();
        return ui::data(&format!("{}\n", lines.join("\n"))).map(|()| 0);
    }
    let config = Config::load(env, &current_dir()?, &[])?;
    let runtime = runtime()?;
    let server = runtime.block_on(ModelServer::start()).map_err(|source| DriveError::Io {
        what: "the loopback model server could not be started",
        source,
    })?;
    let bench = Bench::new(env.get("PATH"))?;
    ui::data(&format!(
        "A scripted model server answers on http://{}; no account, no network beyond this machine.\n",
        server.address()
    ))?;
    let mut stage = Stage { env, config, runtime, server, bench, scripted: args.scripted };
    let mut holds = true;
    for scene in SCENES.iter().filter(|scene| args.scene.as_deref().is_none_or(|name| name == scene.name)) {
        ui::data(&format!("\n{}: {}\nWithout amplihack, {}.\n", scene.name, scene.title, scene.without))?;
        holds &= (scene.show)(&mut stage)?;
    }
    Ok(u8::from(!holds))
}

/// The beginning of a line about something that holds or not.
const fn mark(holds: bool) -> &'static str {
    if holds { "ok  " } else { "FAIL" }
}
