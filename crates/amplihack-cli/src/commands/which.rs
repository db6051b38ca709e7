//! `amplihack which`: the agent in charge, for shells and programs.

use amplihack_utils::agent_binary::{System, resolve_in};
use amplihack_utils::env::Env;
use serde_json::json;

use crate::cli::WhichArgs;
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Prints the agent that is in charge of the current directory. Reads only.
pub(crate) fn run(args: &WhichArgs, env: &Env) -> Result<u8, Failure> {
    let resolved = resolve_in(&current_dir()?, env, &System::new(env), jiff::Timestamp::now());
    if args.json {
        let answer = json!({
            "agent": resolved.agent.name(),
            "source": resolved.source.name(),
            "file": resolved.source.file(),
            "session": resolved.session.as_ref().map(ToString::to_string),
        });
        ui::data(&format!("{answer}\n"))?;
    } else {
        ui::data(&format!("{}\n", resolved.agent))?;
    }
    Ok(0)
}
