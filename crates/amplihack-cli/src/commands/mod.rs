//! Commands, a file for each verb: parse, call, render.

pub(crate) mod amp;
pub(crate) mod audit;
mod auto;
pub(crate) mod completions;
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
pub(crate) mod sandbox;
pub(crate) mod sessions;
pub(crate) mod stream;
mod telemetry;
mod uninstall;
mod which;

use amplihack_agent::AgentBinary;
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_launcher::discover::ChosenAgent;

use crate::cli::{AmpArgs, AmplihackCli, AmplihackCommand, CopilotArgs};
use crate::ui::{self, CommandFailure};

/// Runs the command and returns the exit code.
pub(crate) fn run_command(cli: AmplihackCli, env: &Env) -> Result<u8, CommandFailure> {
    match cli.command {
        AmplihackCommand::Claude(args) => launch::run_launch(Some(AgentBinary::Claude), args, env),
        AmplihackCommand::Copilot(CopilotArgs { command: Some(command), .. }) => {
            copilot::run_copilot_command(command, env)
        }
        AmplihackCommand::Copilot(args) => launch::run_launch(Some(AgentBinary::Copilot), args.launch, env),
        AmplihackCommand::Codex(args) => launch::run_launch(Some(AgentBinary::Codex), args, env),
        AmplihackCommand::Amplifier(args) => launch::run_launch(Some(AgentBinary::Amplifier), args, env),
        AmplihackCommand::Amp(AmpArgs { command: Some(command), .. }) => amp::run_amp_command(command, env),
        AmplihackCommand::Amp(args) => launch::run_launch(Some(AgentBinary::Amp), args.launch, env),
        AmplihackCommand::Gemini(args) => launch::run_launch(Some(AgentBinary::Gemini), args, env),
        AmplihackCommand::Launch(args) => launch::run_launch(None, args, env),
        AmplihackCommand::Which(args) => which::print_agent_in_charge(&args, env),
        AmplihackCommand::Doctor(args) => doctor::run_doctor(&args, env),
        AmplihackCommand::Demo(args) => demo::run_demo(&args, env),
        AmplihackCommand::Install(args) => install::run_install(&args, env),
        AmplihackCommand::Uninstall(args) => uninstall::run_uninstall(&args, env),
        AmplihackCommand::Recipe(command) => recipe::run_recipe_command(command, env),
        AmplihackCommand::Auto(args) => auto::run_auto_command(args, env),
        AmplihackCommand::Parallel(args) => parallel::run_parallel(args, env),
        AmplihackCommand::Remote(command) => remote::run_remote_command(*command, env),
        AmplihackCommand::Sessions(command) => sessions::run_sessions_command(command, env),
        AmplihackCommand::Stream(command) => stream::run_stream_command(command),
        AmplihackCommand::Config(command) => config::run_config_command(command, env),
        AmplihackCommand::Policy(command) => policy::run_policy_command(command, env),
        AmplihackCommand::Audit(command) => audit::run_audit_command(command, env),
        AmplihackCommand::Sandbox(command) => sandbox::run_sandbox_command(command, env),
        AmplihackCommand::Completions(args) => completions::print_completions(&args),
        AmplihackCommand::Help(args) => help::show_help(&args, env),
        AmplihackCommand::Man(args) => man::print_man_page(&args),
    }
}

/// The current directory, without which nothing can be said of a repository.
fn current_dir() -> Result<std::path::PathBuf, CommandFailure> {
    std::env::current_dir()
        .map_err(|error| CommandFailure::from_io_error("cannot use the current directory", &error))
}

/// The agent of a launch in `cwd` that names none. A default that is not installed is replaced by an agent that is, which is said.
fn choose_agent(cwd: &std::path::Path, env: &Env, config: &LayeredConfig) -> AgentBinary {
    let chosen = ChosenAgent::find_here(cwd, env, config);
    if chosen.instead_of.is_some() {
        ui::print_note("note", chosen);
    }
    chosen.agent
}

/// Lets a table for a terminal break its cells to fit.
fn fit_terminal(table: &mut comfy_table::Table) {
    if let Some(width) = ui::stdout_width().and_then(|width| u16::try_from(width).ok()) {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(width);
    }
}

/// Files that a run may have open at once, with room to spare: pipes, journals, the guard's socket, the runtimes of its threads.
const RUN_FILES: u64 = 64;
/// Files that each further run at the same time has open: fifty of them fit into the usual limit of 1,024.
const FURTHER_RUN_FILES: u64 = 16;

/// Checks, before anything is shown or recorded, that no run of those that go on at once would fail half-way for want of open files.
fn check_open_files(at_once: usize) -> Result<(), CommandFailure> {
    let further = u64::try_from(at_once.saturating_sub(1)).unwrap_or(u64::MAX);
    amplihack_sys::check_open_files(further.saturating_mul(FURTHER_RUN_FILES).saturating_add(RUN_FILES))
        .map_err(|error| CommandFailure::from_io_error("no run can be started", &error))
}

/// A runtime on this thread; the agent's pipes and its end are all that it waits for.
fn build_runtime() -> Result<tokio::runtime::Runtime, CommandFailure> {
    amplihack_session::build_runtime()
        .map_err(|error| CommandFailure::from_io_error("the runtime could not be started", &error))
}
