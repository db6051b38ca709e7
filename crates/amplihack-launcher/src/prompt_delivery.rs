//! Building an agent's command with its prompt applied.

use std::ffi::OsString;
use std::path::Path;

pub use amplihack_agent::DeliveryError;
pub use amplihack_agent::command::DeliveredCommand;
use amplihack_agent::{AgentCommand, AgentRunOptions, Installed, RunMode};
use amplihack_config::LayeredConfig;
use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::{PromptDelivery, from_env_in};

/// Prompt delivery that `config` requests.
pub fn requested_delivery(config: &LayeredConfig) -> PromptDelivery {
    if amplihack_sys::sabotage::is_active("delivery-variable") {
        return PromptDelivery::Auto;
    }
    // The configuration holds a known word; a test there keeps both lists equal.
    PromptDelivery::parse(config.prompt_delivery()).unwrap_or(PromptDelivery::Auto)
}

/// The command that runs `prompt` headless in `project_path`, the prompt delivered as `requested`.
///
/// Probes nothing: the program is looked up on PATH when it is spawned, and the newest proved version is assumed. The
/// command's stdin is `/dev/null`, or a pipe that takes [`DeliveredCommand::stdin_payload`] and is then closed. Keep
/// the handle until the child is reaped.
///
/// ```no_run
/// use amplihack_launcher::flag_matrix::AgentBinary;
/// use amplihack_launcher::prompt_delivery::build_tool_command_with_prompt_delivery;
/// use amplihack_config::prompt_delivery::PromptDelivery;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut delivered = build_tool_command_with_prompt_delivery(
///     AgentBinary::Claude,
///     std::env::current_dir()?.as_path(),
///     &[],
///     "Summarize this repository",
///     PromptDelivery::Auto,
/// )?;
/// let mut child = delivered.command.spawn()?;
/// let status = child.wait()?;
/// drop(delivered.delivery_handle);
/// # let _ = status;
/// # Ok(())
/// # }
/// ```
///
/// The warnings hold what differs from the request; for `Auto` also that `AMPLIHACK_PROMPT_DELIVERY` has an unknown value,
/// which [`from_env`](amplihack_config::prompt_delivery::from_env) takes for `Auto`.
///
/// # Errors
///
/// [`DeliveryError`] says which channel failed and which agents could take the prompt; nothing was started.
pub fn build_tool_command_with_prompt_delivery(
    agent: AgentBinary,
    project_path: &Path,
    extra_args: &[String],
    prompt: &str,
    requested: PromptDelivery,
) -> Result<DeliveredCommand, DeliveryError> {
    build_in(agent, project_path, extra_args, prompt, requested, &Env::from_process())
}

fn build_in(
    agent: AgentBinary,
    project_path: &Path,
    extra_args: &[String],
    prompt: &str,
    requested: PromptDelivery,
    env: &Env,
) -> Result<DeliveredCommand, DeliveryError> {
    let extra: Vec<OsString> = extra_args.iter().map(OsString::from).collect();
    let (installed, options) = (Installed::from_agent(agent), AgentRunOptions::default());
    let mut delivered = AgentCommand {
        extra: &extra,
        ..AgentCommand::new(&installed, RunMode::Headless, Some(prompt), &options, project_path)
    }
    .deliver(requested)?;
    // `from_env` has no other way to say that it took an unknown value for `auto`.
    if requested == PromptDelivery::Auto {
        delivered.warnings.extend(from_env_in(env).1);
    }
    Ok(delivered)
}

#[cfg(test)]
mod tests {
    use amplihack_config::prompt_delivery::{DeliveryWarning, ENV_VAR_NAME};

    use super::*;

    #[test]
    fn an_unknown_value_of_the_variable_is_in_the_warnings_of_a_request_that_may_come_from_it() {
        let warnings = |value: &str, requested| {
            let env = Env::empty().with_variable(ENV_VAR_NAME, value);
            build_in(AgentBinary::Claude, Path::new("/"), &[], "hi", requested, &env).unwrap().warnings
        };
        assert_eq!(warnings("pigeon", PromptDelivery::Auto), [DeliveryWarning::UnknownRequest]);
        assert_eq!(warnings("pigeon", PromptDelivery::Argv), []);
        assert_eq!(warnings("stdin", PromptDelivery::Auto), []);
    }
}
