//! The arguments that another launcher hands on to an agent: `amplihack claude -- ARGS`, as recipe runners before this one
//! called it.

use std::ffi::OsString;
use std::path::Path;

use super::{AgentCommand, AgentRunOptions, PermissionLevel};
use crate::error::DeliveryError;
use crate::installed::Installed;
use crate::matrix::{AgentCapability, RunMode};
use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::PromptDelivery;

/// A headless run, for a launcher that passes arguments on.
#[derive(Clone, Copy)]
pub struct RelayRun<'a> {
    /// The agent.
    pub agent: AgentBinary,
    /// The prompt; it must fit into one argument.
    pub prompt: &'a str,
    /// The system prompt. An agent that takes none finds it in front of the prompt.
    pub system: &'a str,
    /// Working directory of the agent.
    pub cwd: &'a Path,
    /// The model.
    pub model: Option<&'a str>,
    /// The agent may use its tools without asking, where that has to be said.
    pub allow_tools: bool,
}

/// The arguments behind `--`.
///
/// # Errors
/// Those of [`AgentCommand::deliver`], for any agent but Claude: no channel holds the prompt, or the agent takes no model, for example.
pub fn relay_args(run: RelayRun<'_>) -> Result<Vec<OsString>, DeliveryError> {
    let RelayRun { agent, prompt, system, cwd, model, allow_tools } = run;
    if agent == AgentBinary::Claude {
        // The one form that launchers and their tests know by heart.
        let mut args: Vec<OsString> = ["-p", prompt, "--system-prompt", system].map(OsString::from).to_vec();
        args.extend(["--add-dir".into(), cwd.into()]);
        args.extend(model.iter().flat_map(|model| ["--model".into(), (*model).into()]));
        return Ok(args);
    }
    let installed = Installed::from_agent(agent);
    let can = |what| installed.can(what, RunMode::Headless).is_ok();
    let full = AgentCapability::Permissions(PermissionLevel::Full);
    let options = AgentRunOptions {
        model: model.map(OsString::from),
        add_dirs: if can(AgentCapability::AddDir) { vec![cwd.to_owned()] } else { Vec::new() },
        permissions: (allow_tools && agent == AgentBinary::Copilot && can(full))
            .then_some(PermissionLevel::Full),
        ..AgentRunOptions::default()
    };
    let whole = format!("{system}\n\n{prompt}");
    let command = AgentCommand::new(&installed, RunMode::Headless, Some(&whole), &options, cwd);
    let delivered = command.deliver(PromptDelivery::Argv)?;
    Ok(delivered.command.get_args().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_gets_prompt_and_system_prompt() {
        for agent in AgentBinary::ALL {
            let args = relay_args(RelayRun {
                agent,
                prompt: "do it",
                system: "you are",
                cwd: Path::new("/w"),
                model: None,
                allow_tools: true,
            })
            .unwrap();
            let all = args.iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join("\u{1}");
            assert!(all.contains("do it") && all.contains("you are"), "{agent}: {args:?}");
        }
    }

    #[test]
    fn claude_gets_what_the_predecessor_gave_it() {
        let args = relay_args(RelayRun {
            agent: AgentBinary::Claude,
            prompt: "p",
            system: "s",
            cwd: Path::new("/w"),
            model: Some("haiku"),
            allow_tools: true,
        });
        assert_eq!(args.unwrap(), ["-p", "p", "--system-prompt", "s", "--add-dir", "/w", "--model", "haiku"]);
    }
}
