//! `amplihack completions`.

use clap::CommandFactory;

use crate::cli::{AmplihackCli, CompletionsArgs};
use crate::ui::{self, CommandFailure};

/// Prints the completion script of a shell.
pub(crate) fn print_completions(args: &CompletionsArgs) -> Result<u8, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut AmplihackCli::command(), "amplihack", &mut script);
    ui::print_data(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
