//! `amplihack which`: the agent in charge, for shells and programs.

use amplihack_config::agent_binary::{SystemLiveness, resolve_in};
use amplihack_config::env::Env;
use serde_json::json;

use crate::cli::WhichArgs;
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Prints the agent that is in charge of the current directory. Reads only.
pub(crate) fn print_agent_in_charge(args: &WhichArgs, env: &Env) -> Result<u8, CommandFailure> {
    let resolved = resolve_in(&current_dir()?, env, &SystemLiveness::new(env), jiff::Timestamp::now());
    if args.json {
        let answer = json!({
            "agent": resolved.agent.name(),
            "source": resolved.source.name(),
            "file": resolved.source.file(),
            "session": resolved.session.as_ref().map(ToString::to_string),
        });
        ui::print_data(&format!("{answer}\n"))?;
    } else {
        ui::print_data(&format!("{}\n", resolved.agent))?;
    }
    Ok(0)
}
