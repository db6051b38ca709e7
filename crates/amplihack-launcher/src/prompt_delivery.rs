//! Building an agent's command with its prompt applied.

use std::ffi::OsString;
use std::path::Path;

pub use amplihack_agent::DeliveryError;
pub use amplihack_agent::command::DeliveredCommand;
use amplihack_agent::{AgentCommand, Installed, Options, RunMode};
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::PromptDelivery;

/// The command that runs `prompt` headless in `project_path`, the prompt delivered as `requested`.
///
/// Probes nothing: the program is looked up on PATH when it is spawned, and the newest proved version is assumed. The
/// command's stdin is `/dev/null`, or a pipe that takes [`DeliveredCommand::stdin_payload`] and is then closed. Keep
/// the handle until the child is reaped.
///
/// ```no_run
/// use amplihack_launcher::flag_matrix::AgentBinary;
/// use amplihack_launcher::prompt_delivery::build_tool_command_with_prompt_delivery;
/// use amplihack_utils::prompt_delivery::PromptDelivery;
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
    let extra: Vec<OsString> = extra_args.iter().map(OsString::from).collect();
    let (installed, options) = (Installed::assumed(agent), Options::default());
    AgentCommand {
        extra: &extra,
        ..AgentCommand::new(&installed, RunMode::Headless, Some(prompt), &options, project_path)
    }
    .deliver(requested)
}
