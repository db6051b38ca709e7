//! `amplihack completions`.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::ui::{self, Failure};

/// Prints the completion script of a shell.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "amplihack", &mut script);
    ui::data(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
