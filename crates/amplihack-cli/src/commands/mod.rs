//! One file a verb: parse, call, render.

pub(crate) mod amp;
pub(crate) mod audit;
mod auto;
mod completions;
mod config;
pub(crate) mod copilot;
pub(crate) mod demo;
mod doctor;
mod help;
mod install;
mod launch;
mod man;
mod parallel;
pub(crate) mod policy;
mod prune;
pub(crate) mod recipe;
pub(crate) mod remote;
pub(crate) mod sessions;
pub(crate) mod stream;
mod telemetry;
mod uninstall;
mod which;

use amplihack_agent::AgentBinary;
use amplihack_utils::env::Env;

use crate::cli::{AmpArgs, Cli, Command, CopilotArgs};
use crate::ui::Failure;

/// Runs the command and returns the exit code.
pub(crate) fn run(cli: Cli, env: &Env) -> Result<u8, Failure> {
    match cli.command {
        Command::Claude(args) => launch::run(Some(AgentBinary::Claude), args, env),
        Command::Copilot(CopilotArgs { command: Some(command), .. }) => copilot::run(command, env),
        Command::Copilot(args) => launch::run(Some(AgentBinary::Copilot), args.launch, env),
        Command::Codex(args) => launch::run(Some(AgentBinary::Codex), args, env),
        Command::Amplifier(args) => launch::run(Some(AgentBinary::Amplifier), args, env),
        Command::Amp(AmpArgs { command: Some(command), .. }) => amp::run(command, env),
        Command::Amp(args) => launch::run(Some(AgentBinary::Amp), args.launch, env),
        Command::Gemini(args) => launch::run(Some(AgentBinary::Gemini), args, env),
        Command::Launch(args) => launch::run(None, args, env),
        Command::Which(args) => which::run(&args, env),
        Command::Doctor(args) => doctor::run(&args, env),
        Command::Demo(args) => demo::run(&args, env),
        Command::Install(args) => install::run(&args, env),
        Command::Uninstall(args) => uninstall::run(&args, env),
        Command::Recipe(command) => recipe::run(command, env),
        Command::Auto(args) => auto::run(args, env),
        Command::Parallel(args) => parallel::run(args, env),
        Command::Remote(command) => remote::run(*command, env),
        Command::Sessions(command) => sessions::run(command, env),
        Command::Stream(command) => stream::run(command),
        Command::Config(command) => config::run(command, env),
        Command::Policy(command) => policy::run(command, env),
        Command::Audit(command) => audit::run(command, env),
        Command::Completions(args) => completions::run(&args),
        Command::Help(args) => help::run(&args, env),
        Command::Man(args) => man::run(&args),
    }
}

/// The current directory, without which nothing can be said of a repository.
fn current_dir() -> Result<std::path::PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::system("the current directory cannot be used", &error))
}

/// A runtime on this thread; the agent's pipes and its end are all that it waits for.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    amplihack_session::runtime().map_err(|error| Failure::system("the runtime could not be started", &error))
}
