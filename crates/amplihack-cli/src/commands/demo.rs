//! `amplihack demo`: scenes that show on this machine what amplihack does, against a scripted model.

mod agents;
mod worktree;

use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_probe::bench::ProbeBench;
use amplihack_probe::drive::DriveError;
use amplihack_probe::model::ModelServer;
use tokio::runtime::Runtime;

use crate::cli::DemoArgs;
use crate::commands::{build_runtime, current_dir};
use crate::ui::{self, CommandFailure};

/// A scene of the demo.
struct DemoScene {
    /// Name by which a user calls the scene.
    name: &'static str,
    /// Title: a sentence about what is shown.
    title: &'static str,
    /// Consequence without amplihack.
    without: &'static str,
    /// Shows it; returns whether everything held.
    show: fn(&mut DemoContext<'_>) -> Result<bool, CommandFailure>,
}

/// All scenes, in the order in which they are shown.
const SCENES: &[DemoScene] = &[
    DemoScene {
        name: "agents",
        title: "each agent that is found does the main job: a hostile prompt, a harmless call, a forbidden call",
        without: "a shell could change the prompt, no descendant would know its agent, and the forbidden commit would be made",
        show: agents::show_agents,
    },
    DemoScene {
        name: "worktree",
        title: "an unattended task in a worktree of its own, which ends when a check passes",
        without: "\"done\" would be what the agent says, in your own checkout, and past your hooks",
        show: worktree::show_worktree,
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

/// Environment, configuration and bench that every scene uses.
struct DemoContext<'a> {
    env: &'a Env,
    config: LayeredConfig,
    runtime: Runtime,
    bench: ProbeBench,
    /// The built-in agent even where there are real ones.
    scripted: bool,
}

/// Shows all scenes, or the one that is named; 1 if anything did not hold.
pub(crate) fn run_demo(args: &DemoArgs, env: &Env) -> Result<u8, CommandFailure> {
    if args.list {
        let line = |scene: &DemoScene| format!("{:<10}{}", scene.name, scene.title);
        let lines: Vec<String> = SCENES.iter().map(line).collect();
        return ui::print_data(&format!("{}\n", lines.join("\n"))).map(|()| 0);
    }
    let config = LayeredConfig::load(env, &current_dir()?, &[])?;
    let runtime = build_runtime()?;
    let server = runtime.block_on(ModelServer::start()).map_err(|source| DriveError::Io {
        what: "the loopback model server could not be started",
        source,
    })?;
    let bench = ProbeBench::new(env.get("PATH"), server)?;
    ui::print_data(&format!(
        "A scripted model server answers on http://{}; no account, no network beyond this machine.\n",
        bench.server().address()
    ))?;
    let mut stage = DemoContext { env, config, runtime, bench, scripted: args.scripted };
    let mut holds = true;
    for scene in SCENES.iter().filter(|scene| args.scene.as_deref().is_none_or(|name| name == scene.name)) {
        ui::print_data(&format!(
            "\n{}: {}\nWithout amplihack, {}.\n",
            scene.name, scene.title, scene.without
        ))?;
        holds &= (scene.show)(&mut stage)?;
    }
    Ok(u8::from(!holds))
}

/// The beginning of a line about something that holds or not, or could not be seen in time.
const fn result_mark(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "ok  ",
        Some(false) => "FAIL",
        None => "?   ",
    }
}
