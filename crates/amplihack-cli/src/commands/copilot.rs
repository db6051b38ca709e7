//! `amplihack copilot …`: what becomes of arguments that were written for Claude, and Copilot called with them.

use std::ffi::OsString;

use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_hooks::registration::shell_quoted;
use amplihack_launcher::copilot::{NormalizeWarning, NormalizedArguments, normalize};
use amplihack_session::become_program;
use amplihack_setup::shim;
use clap::{Args, Subcommand};

use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

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
    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        matches!(self, Self::Normalize(NormalizeArgs { json: true, .. }))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_copilot_command(command: CopilotCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        CopilotCommand::Normalize(args) => print_normalized(&args),
        CopilotCommand::Shim(args) => Err(become_copilot(&args.args, env)),
    }
}

fn print_normalized(args: &NormalizeArgs) -> Result<u8, CommandFailure> {
    let NormalizedArguments { argv, warnings } = normalize(&args.args)?;
    let words = argv.into_iter().map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|word| {
        CommandFailure::bad_input(format!(
            "an argument is not UTF-8 and cannot be printed: {}",
            word.to_string_lossy()
        ))
    })?;
    show_warnings(&warnings);
    let text = if args.json {
        ui::json_line(&words)?
    } else {
        words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ") + "\n"
    };
    ui::print_data(&text)?;
    Ok(0)
}

/// Becomes the real Copilot with `args`. Returns only if that fails.
pub(crate) fn become_copilot(args: &[OsString], env: &Env) -> CommandFailure {
    let prepared = || {
        let config = LayeredConfig::load(env, &current_dir()?, &[])?;
        Ok::<_, CommandFailure>(shim::copilot_command(args, env, &config)?)
    };
    match prepared() {
        Ok((command, warnings)) => {
            show_warnings(&warnings);
            become_program(command).into()
        }
        Err(failure) => failure,
    }
}

fn show_warnings(warnings: &[NormalizeWarning]) {
    for warning in warnings {
        ui::print_note("warning", warning);
    }
}
