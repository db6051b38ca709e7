//! `amplihack copilot …`: what becomes of arguments that were written for Claude, and Copilot called with them.

use std::ffi::OsString;

use amplihack_hooks::registration::quoted;
use amplihack_launcher::copilot::{Normalized, Warning, normalize, shim};
use amplihack_session::become_program;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use clap::{Args, Subcommand};

use crate::commands::current_dir;
use crate::ui::{self, Failure};

// Commands about Copilot: without a doc comment, which would take the place of the command's own.
#[derive(Debug, Subcommand)]
pub(crate) enum CopilotCommand {
    /// Print the arguments for Copilot, quoted for a shell; never widens a permission
    Normalize(NormalizeArgs),
    /// Run Copilot with translated arguments, as a link named `copilot` to amplihack does
    Shim(ShimArgs),
}

// Options of `copilot normalize`.
#[derive(Debug, Args)]
pub(crate) struct NormalizeArgs {
    /// Print an array of strings
    #[arg(long)]
    json: bool,
    /// Arguments for Copilot, which may include Claude Code's flags
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

// Options of `copilot shim`.
#[derive(Debug, Args)]
pub(crate) struct ShimArgs {
    /// Arguments for Copilot, which may include Claude Code's flags
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

impl CopilotCommand {
    /// Whether errors are told as JSON.
    pub(crate) fn json(&self) -> bool {
        matches!(self, Self::Normalize(NormalizeArgs { json: true, .. }))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run(command: CopilotCommand, env: &Env) -> Result<u8, Failure> {
    match command {
        CopilotCommand::Normalize(args) => print(&args),
        CopilotCommand::Shim(args) => Err(become_copilot(&args.args, env)),
    }
}

fn print(args: &NormalizeArgs) -> Result<u8, Failure> {
    let Normalized { argv, warnings } = normalize(&args.args)?;
    let words = argv.into_iter().map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|word| {
        Failure::input(format!("an argument is not UTF-8 and cannot be printed: {}", word.to_string_lossy()))
    })?;
    show(&warnings);
    let text = if args.json {
        ui::line(&words)?
    } else {
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ") + "\n"
    };
    ui::data(&text)?;
    Ok(0)
}

/// Becomes the real Copilot with `args`. Returns only if that fails.
pub(crate) fn become_copilot(args: &[OsString], env: &Env) -> Failure {
    let prepared = || {
        let config = Config::load(env, &current_dir()?, &[])?;
        Ok::<_, Failure>(shim::command(args, env, &config)?)
    };
    match prepared() {
        Ok((command, warnings)) => {
            show(&warnings);
            become_program(command).into()
        }
        Err(failure) => failure,
    }
}

fn show(warnings: &[Warning]) {
    for warning in warnings {
        ui::note("warning", warning);
    }
}
