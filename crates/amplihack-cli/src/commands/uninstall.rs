//! `amplihack uninstall`: everything as it was.

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_setup::install::uninstall_hooks;

use crate::cli::UninstallArgs;
use crate::commands::{current_dir, install};
use crate::ui::{self, CommandFailure};

/// Takes back what was installed, and tells what became of each file.
pub(crate) fn run_uninstall(args: &UninstallArgs, env: &Env) -> Result<u8, CommandFailure> {
    let scope = install::resolve_scope(args.scope, &current_dir()?, env)?;
    let agents = if args.agent.is_empty() { &AgentBinary::ALL[..] } else { &args.agent };
    let done = uninstall_hooks(agents, &scope, env)?;
    if args.json {
        ui::print_data(&format!("{:#}\n", install::as_json(&done)))?;
    } else {
        ui::print_data(&install::as_text(&done, env))?;
    }
    Ok(0)
}
