//! State of this machine, as data: prompt channels, the agent in charge, each agent, the tools around them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::{AgentBinary, AgentCapability, Installed, RowTrust, RunMode, agent_profile};
use amplihack_config::LayeredConfig;
use amplihack_config::agent_binary::{ResolvedAgent, SystemLiveness, resolve_in};
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::{
    AUTO_TEMPFILE_THRESHOLD_BYTES, DeliveryMode, DeliveryWarning, PromptDelivery, select_delivery,
};
use amplihack_hooks::guard::{ENGINE_VAR, check_engine};
use amplihack_hooks::registration::{HookProgram, RegistrationFacts, build_hooks};
use amplihack_launcher::discover::{ChosenAgent, VersionSource, discover_with_problem};
use amplihack_launcher::prompt_delivery::requested_delivery;
use amplihack_launcher::proofs::{self, GuardProof};
use amplihack_session::probe_program;
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::sabotage;

use crate::install::{AgentRegistration, InstallScope, inspect_registration};

/// The prompt that `doctor` calls long.
const LONG_PROMPT_BYTES: usize = 65_536;

/// The whole report.
#[derive(Debug)]
pub struct DoctorReport {
    /// Delivery that is requested for prompts.
    pub requested: PromptDelivery,
    /// Prompts up to this size travel on argv.
    pub auto_threshold: usize,
    /// The prompt channels of each agent.
    pub channels: Vec<AgentChannels>,
    /// The agent in charge here, and the source that says so.
    pub resolved: ResolvedAgent,
    /// The agent that a launch starts which names none.
    pub chosen: ChosenAgent,
    /// Each agent on this machine.
    pub agents: Vec<AgentReport>,
    /// Hooks that stand between each agent and the shell.
    pub hooks: Vec<AgentHooks>,
    /// Programs that amplihack or its agents use.
    pub tools: Vec<MachineTool>,
    /// Faults, one sentence each. A missing agent is none.
    pub broken: Vec<String>,
}

/// The prompt channels of one agent in headless runs.
#[derive(Debug)]
pub struct AgentChannels {
    /// The agent.
    pub agent: AgentBinary,
    /// Channels by which the agent takes prompts.
    pub capabilities: Vec<DeliveryMode>,
    /// Note about the agent's prompts.
    pub note: &'static str,
    /// The channel of a long prompt under the current request.
    pub effective: DeliveryMode,
    /// The degradation, if the request is not supported.
    pub warning: Option<DeliveryWarning>,
    /// A launch refuses explicit requests for other channels.
    pub launch_rejects: bool,
}

/// An agent on this machine.
#[derive(Debug)]
pub struct AgentReport {
    /// The agent.
    pub agent: AgentBinary,
    /// The agent that was found, or the reason why there is none and what installs it.
    pub found: Result<FoundAgent, String>,
}

/// An agent that was found.
#[derive(Debug)]
pub struct FoundAgent {
    /// Path of the program.
    pub path: PathBuf,
    /// Version of the program, if it tells one.
    pub version: Option<String>,
    /// Trust in its prompt channels, the least of them.
    pub trust: RowTrust,
    /// Trust in its hooks; `None` for an agent without hooks.
    pub guard_trust: Option<RowTrust>,
    /// Findings of the last probe on this machine of this program at this version, if one ran.
    pub probed: Option<ProbeSummary>,
}

/// Findings of a probe on this machine about an agent.
#[derive(Debug)]
pub struct ProbeSummary {
    /// Time of the probe, RFC 3339 in UTC.
    pub at: String,
    /// Channels in which the prompt was lost or changed. They are not used.
    pub refuted: Vec<DeliveryMode>,
    /// Findings about the guard, a leg each; none if it was not tried.
    pub guard: Vec<GuardProof>,
}

/// Hooks that stand between an agent and the shell.
#[derive(Debug)]
pub struct AgentHooks {
    /// The agent.
    pub agent: AgentBinary,
    /// Reason why every launch is refused, guard or not.
    pub refused: Option<String>,
    /// Reason why a launch through amplihack cannot put a guard into it; `None` where every launch does.
    pub no_guard: Option<String>,
    /// Registrations for sessions without amplihack: for the user, and in the repository around here.
    pub registrations: Vec<AgentRegistration>,
}

/// Limit of every guard: the fault that none can help.
pub const TIME_OUT: &str = "a guard that is missing, broken or slow denies the call; only the agent's own timeout, when \
                            the whole machine stalls, lets a call through";

/// A program that amplihack or its agents use.
#[derive(Debug)]
pub struct MachineTool {
    /// Name of the program.
    pub name: &'static str,
    /// The first line of its version, if it is there.
    pub version: Option<String>,
}

/// Looks at this machine from `cwd`. Starts nothing but version probes and registered guards, writes nothing but the version
/// cache.
pub fn examine_machine(env: &Env, config: &LayeredConfig, cwd: &Path) -> DoctorReport {
    let requested = requested_delivery(config);
    let mut broken = Vec::new();
    let agents =
        AgentBinary::ALL.into_iter().map(|agent| agent_report(agent, env, config, &mut broken)).collect();
    if env.amplihack_home().is_none() {
        broken.push("neither AMPLIHACK_HOME nor HOME is an absolute path; set one".to_owned());
    }
    let refused = check_engine(env).err().map(|error| error.to_string());
    broken.extend(refused.clone());
    // What is registered is tried without it: else each guard would be called broken for it.
    let mut registered = env.clone();
    registered.remove(ENGINE_VAR);
    let hooks = AgentBinary::ALL
        .into_iter()
        .map(|agent| AgentHooks {
            refused: refused.clone(),
            ..agent_hooks(agent, &registered, cwd, &mut broken)
        })
        .collect();
    DoctorReport {
        requested: if sabotage::is_active("delivery-doctor-requested") {
            PromptDelivery::Auto
        } else {
            requested
        },
        auto_threshold: if sabotage::is_active("delivery-doctor-threshold") {
            LONG_PROMPT_BYTES
        } else {
            AUTO_TEMPFILE_THRESHOLD_BYTES
        },
        channels: AgentBinary::ALL.into_iter().map(|agent| agent_channels(agent, requested)).collect(),
        resolved: resolve_in(cwd, env, &SystemLiveness::new(env), jiff::Timestamp::now()),
        chosen: ChosenAgent::find_here(cwd, env, config),
        agents,
        hooks,
        tools: [("tmux", "-V"), ("git", "--version"), ("ssh", "-V")]
            .map(|(name, flag)| MachineTool { name, version: tool_version(name, flag, env) })
            .into(),
        broken,
    }
}

/// The static capabilities of `agent` under `requested`.
pub fn agent_channels(agent: AgentBinary, requested: PromptDelivery) -> AgentChannels {
    let caps = Installed::from_agent(agent).delivery_caps(RunMode::Headless);
    let long = if sabotage::is_active("delivery-doctor-effective") { 1 } else { LONG_PROMPT_BYTES };
    let selection = select_delivery(requested, long, &caps);
    let (effective, warning) = match selection {
        Ok(selection) => (selection.mode, selection.warnings.into_iter().next()),
        // Every agent has argv, and a long prompt fits into it; a test holds that.
        Err(_) => (DeliveryMode::Argv, None),
    };
    AgentChannels {
        agent,
        capabilities: [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin]
            .into_iter()
            .filter(|mode| caps.supports_mode(*mode) || sabotage::is_active("delivery-doctor-capabilities"))
            .collect(),
        note: agent_profile(agent).prompt_note,
        effective,
        warning: warning.filter(|_| !sabotage::is_active("delivery-doctor-warning")),
        launch_rejects: agent_profile(agent).refuses_requests.is_some()
            && !sabotage::is_active("delivery-doctor-amplifier"),
    }
}

fn agent_report(
    agent: AgentBinary,
    env: &Env,
    config: &LayeredConfig,
    broken: &mut Vec<String>,
) -> AgentReport {
    let found = match discover_with_problem(agent, env, config, VersionSource::Apart) {
        Ok((installed, problem)) => {
            broken.extend(problem.map(|problem| format!("{agent}: {problem}")));
            broken.extend(refuted_channels(&installed));
            let found = found_agent(&installed, env);
            broken.extend(unheld_guards(agent, &found));
            Ok(found)
        }
        Err(error) => {
            // A configured path that is wrong is broken; an agent that is not there is not.
            if error.kind() == "agent_not_executable" {
                broken.push(error.to_string());
            }
            Err(error.hint().unwrap_or_else(|| error.to_string()))
        }
    };
    AgentReport { agent, found }
}

fn agent_hooks(agent: AgentBinary, env: &Env, cwd: &Path, broken: &mut Vec<String>) -> AgentHooks {
    let scopes = [Some(InstallScope::User), InstallScope::from_directory(cwd, env).ok()];
    let registrations: Vec<AgentRegistration> =
        scopes.iter().flatten().filter_map(|scope| inspect_registration(agent, scope, env, cwd)).collect();
    for registration in &registrations {
        let path = registration.path.display().to_string();
        broken.extend(registration.state.describe_fault(agent).map(|fault| {
            let named = fault.contains(&path);
            if named { format!("{agent}: {fault}") } else { format!("{agent}: {path}: {fault}") }
        }));
    }
    let any = HookProgram::from_binary("/");
    let no_guard =
        build_hooks(agent, &any, RegistrationFacts::default()).err().map(|error| error.to_string());
    AgentHooks { agent, refused: None, no_guard, registrations }
}

fn found_agent(installed: &Installed, env: &Env) -> FoundAgent {
    let trust = [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin]
        .into_iter()
        .filter_map(|mode| installed.can(AgentCapability::Prompt(mode), RunMode::Headless).ok())
        .map(|row| installed.row_trust(row))
        .max()
        .unwrap_or(RowTrust::UnknownVersion);
    FoundAgent {
        path: installed.path.clone(),
        version: installed.version.as_ref().map(ToString::to_string),
        trust,
        guard_trust: installed
            .can(AgentCapability::Hooks, RunMode::Headless)
            .ok()
            .map(|row| installed.row_trust(row)),
        probed: proofs::load_proof(env, installed).map(|proof| ProbeSummary {
            at: proof.at,
            refuted: installed.proofs.refuted.clone(),
            guard: proof.guard,
        }),
    }
}

/// A guard that a probe on this machine saw fail is broken until a probe sees it hold.
fn unheld_guards(agent: AgentBinary, found: &FoundAgent) -> Vec<String> {
    let version = found.version.as_deref().unwrap_or_default();
    let legs = found.probed.iter().flat_map(|probed| &probed.guard).filter(|leg| leg.held == Some(false));
    legs.map(|leg| format!("{agent} {version}: {leg}")).collect()
}

/// A channel that the matrix claims and that a probe on this machine refuted is broken until a probe shows it again.
fn refuted_channels(installed: &Installed) -> Option<String> {
    let channels: Vec<String> = installed.proofs.refuted.iter().map(ToString::to_string).collect();
    let version = installed.version.as_ref()?;
    (!channels.is_empty()).then(|| {
        format!(
            "{} {version}: a prompt by {} does not arrive unchanged; it is not used",
            installed.agent,
            channels.join(" or ")
        )
    })
}

fn tool_version(name: &str, flag: &str, env: &Env) -> Option<String> {
    let path = amplihack_agent::lookup::on_path(name, env.get("PATH")?)?;
    let mut command = Command::new(path);
    command.arg(flag).env_clear().envs(env.iter());
    let output = probe_program(command, Duration::from_secs(5)).ok()?;
    // ssh speaks on stderr.
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&text).lines().next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_has_a_channel_for_every_agent_and_request() {
        use PromptDelivery::{Argv, Auto, Stdin, Tempfile};
        for agent in AgentBinary::ALL {
            let caps = Installed::from_agent(agent).delivery_caps(RunMode::Headless);
            for requested in [Auto, Argv, Tempfile, Stdin] {
                assert!(select_delivery(requested, LONG_PROMPT_BYTES, &caps).is_ok(), "{agent} {requested}");
                let listed = agent_channels(agent, requested).capabilities;
                assert_eq!(listed.contains(&DeliveryMode::Stdin), caps.supports_stdin, "{agent} {requested}");
            }
        }
    }
}
