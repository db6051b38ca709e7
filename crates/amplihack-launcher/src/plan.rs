//! Deciding a launch: which program, which channel, which environment. Starts nothing but a version probe.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::command::{OwnArguments, guarded_passthrough};
use amplihack_agent::transcript::has_transcript;
use amplihack_agent::{
    AgentBinary, AgentCapability, AgentCommand, AgentRunOptions, DeliveredCommand, GuardState, Installed,
    LineFinding, PermissionLevel, RowTrust, RunMode, agent_profile, line_finding, session_finding,
    take_own_settings,
};
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SessionId, new_session_id};
use amplihack_config::prompt_delivery::{DeliveryHandle, PromptDelivery};
use amplihack_hooks::acting::pinned_variables;
use amplihack_hooks::injection::Injection;
use amplihack_hooks::registration::HookProgram;
use amplihack_session::InterruptSignals;
use amplihack_sys as sys;

use crate::discover::{VersionSource, discover_agent};
use crate::environment::{EnvironmentChange, environment_changes, launch_depth, without_switches};
use crate::error::LaunchError;
use crate::guard;
use crate::hold::{HoldRequest, hold_repository};
use crate::notice::LaunchNotice;

/// Task that an agent is given.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each launch")]
pub enum LaunchTask {
    /// Run under the builder: a prompt (`None` only in a terminal), translated options, the user's own arguments.
    Prompt {
        /// The prompt.
        prompt: Option<String>,
        /// Delivery that is requested for it.
        requested: PromptDelivery,
        /// Options that the matrix translates.
        options: AgentRunOptions,
        /// The user's own arguments, before the agent's verb.
        before_verb: Vec<OsString>,
        /// The user's own arguments.
        extra: Vec<OsString>,
    },
    /// Run with exactly these arguments.
    Passthrough(Vec<OsString>),
}

/// A launch, asked for.
#[derive(Debug, Clone)]
pub struct LaunchRequest {
    /// Agent that is launched.
    pub agent: AgentBinary,
    /// The agent's program, where the caller found it before; `None` looks for it.
    pub installed: Option<Installed>,
    /// In which run mode.
    pub mode: RunMode,
    /// Task of the agent.
    pub task: LaunchTask,
    /// Program that answers the guard's hooks, see [`crate::own_program`]; `None` leaves the guard out.
    pub guard: Option<HookProgram>,
    /// Directory in which the agent works.
    pub cwd: PathBuf,
}

/// A launch, decided. Dropping it removes a prompt file that it made.
pub struct LaunchPlan {
    /// The agent.
    pub installed: Installed,
    /// The run mode.
    pub mode: RunMode,
    /// The session that the launch makes.
    pub session: SessionId,
    /// Directory in which the agent works.
    pub cwd: PathBuf,
    /// The command; its environment is already the agent's.
    pub command: Command,
    /// Differences between the caller's environment and the agent's.
    pub changes: Vec<EnvironmentChange>,
    /// The prompt's way; `None` for arguments that pass through.
    pub delivery: Option<LaunchDelivery>,
    /// Notices for a person before the start.
    pub notices: Vec<LaunchNotice>,
    /// Longest time that the run may take to end after a signal.
    pub grace: Duration,
    /// True if the agent reports as a stream of JSON lines.
    pub streamed: bool,
    /// File that lists the agent's process before it starts, see [`RunSpec::record`](amplihack_session::RunSpec); set by the caller.
    pub record: Option<File>,
    /// The signals that end a launch of our own binaries. `None` as decided: those from its start on.
    pub interrupts: Option<InterruptSignals>,
    pub(crate) usage_file: Option<PathBuf>,
    pub(crate) guard: Option<Injection>,
    /// True if the agent is given a task in a session that calls the guard's hooks.
    pub(crate) is_task: bool,
    pub(crate) stdin_payload: Option<Vec<u8>>,
    pub(crate) handle: DeliveryHandle,
    pub(crate) system_prompt: Option<DeliveryHandle>,
    pub(crate) env: Env,
}

impl fmt::Debug for LaunchTask {
    /// Sizes and counts only: the prompt and the user's own arguments are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt { prompt, requested, extra, .. } => f
                .debug_struct("Prompt")
                .field("prompt_bytes", &prompt.as_ref().map(String::len))
                .field("requested", requested)
                .field("extra", &extra.len())
                .finish_non_exhaustive(),
            Self::Passthrough(args) => f.debug_tuple("Passthrough").field(&args.len()).finish(),
        }
    }
}

impl fmt::Debug for LaunchPlan {
    /// Neither the prompt, nor arguments, nor values of the environment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchPlan")
            .field("installed", &self.installed)
            .field("mode", &self.mode)
            .field("session", &self.session)
            .field("cwd", &self.cwd)
            .field("changes", &self.changes)
            .field("delivery", &self.delivery)
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}

/// Delivery of the prompt, without the prompt.
#[derive(Debug, Clone, Copy)]
pub struct LaunchDelivery {
    /// Delivery that was asked for.
    pub requested: PromptDelivery,
    /// Mode that is used.
    pub selected: amplihack_config::prompt_delivery::DeliveryMode,
    /// The row that it comes from; `None` without a prompt.
    pub channel: Option<&'static amplihack_agent::CapabilityRow>,
    /// Trust in that row.
    pub trust: Option<RowTrust>,
    /// Index of the argument that holds the prompt.
    pub prompt_argument: Option<usize>,
    /// Bytes of the prompt.
    pub prompt_bytes: usize,
}

/// Decides the launch that `request` asks for, from the environment `env` and the configuration.
///
/// Writes nothing but the version cache and, for a file channel, the prompt file. Refuses what cannot work: a missing
/// agent, a prompt that no channel holds, a launch too deep, arguments that the platform would not take.
pub fn plan_launch(
    request: LaunchRequest,
    env: &Env,
    config: &LayeredConfig,
) -> Result<LaunchPlan, LaunchError> {
    let LaunchRequest { agent, installed, mode, mut task, guard: program, cwd } = request;
    let depth = launch_depth(env, config.max_depth().into())?;
    check_directory(&cwd)?;
    if installed.is_none()
        && let Ok((command, requested)) = describe_run(&Installed::from_agent(agent), mode, &task, &[], &cwd)
    {
        // What is refused at every version is refused before the agent is asked for its own.
        command.check_delivery(requested)?;
    }
    let mut own = OwnLine::from_task(agent, &mut task, program.is_some());
    // What asks no model needs no version.
    let quiet = own.line.state == GuardState::NotNeeded;
    let versions = if quiet { VersionSource::Unknown } else { VersionSource::Cached };
    let installed = match installed {
        Some(installed) => installed,
        None => discover_agent(agent, env, config, versions)?,
    };
    let session = new_session_id().map_err(LaunchError::SessionId)?;
    let directory = env.amplihack_home().map(|home| session.directory(&home));
    let (streamed, usage_file) = configure_stream(&installed, mode, &mut task, directory.as_deref());
    let mut notices = Vec::new();
    let (held, told) = hold_repository(&HoldRequest {
        installed: &installed,
        mode,
        env,
        cwd: &cwd,
        words: &own.words,
        line: &own.line,
        passes_through: matches!(task, LaunchTask::Passthrough(_)),
        is_guarded: program.is_some(),
        brings_hooks: guard::hooks_directory(agent, env, &session).is_some(),
    })?;
    notices.extend(told);
    if let LaunchTask::Prompt { options, .. } = &mut task {
        options.held_repository.clone_from(&held);
    }
    let is_session = own.line.state == GuardState::InForce;
    let is_task = is_session && !matches!(task, LaunchTask::Prompt { prompt: None, .. });
    let is_full = matches!(&task, LaunchTask::Prompt { options, .. } if options.permissions == Some(PermissionLevel::Full));
    let asked = guard::GuardRequest {
        program: program.as_ref(),
        installed: &installed,
        mode,
        session: &session,
        cwd: &cwd,
        line: own.line,
        words: &own.words,
        is_full,
        theirs: own.theirs.take(),
        is_held: held.is_some(),
    };
    let guard = guard::decide_guard(&asked, env, config, &mut notices)?;
    if guard.injection.is_some() && is_session && !streamed && !has_transcript(agent) {
        notices.push(LaunchNotice::CallsNotShown(agent));
    }
    let hooks = guard.injection.as_ref().map(|hooks| hooks.values.as_slice()).unwrap_or_default();
    let variables;
    let mut system_prompt = None;
    let (mut command, delivery, stdin_payload, handle) =
        match describe_run(&installed, mode, &task, hooks, &cwd) {
            Err(args) => {
                let asking =
                    guard.injection.as_ref().filter(|_| guard.asks).and_then(|hooks| hooks.asking.as_deref());
                let own = OwnArguments { args, hooks, asking, held: held.as_ref() };
                let (command, set) = guarded_passthrough(&installed, own, &cwd)?;
                variables = set;
                if guard.unproved {
                    let version = installed.version.clone();
                    notices.push(LaunchNotice::Unproved { agent, version, channel: None, guard: true });
                }
                (command, None, None, DeliveryHandle::with_argv())
            }
            Ok((command, requested)) => {
                let prompt_bytes = command.prompt.map_or(0, str::len);
                let own = command.prompt.filter(|_| mode == RunMode::Headless && !command.options.literal);
                if let Some(word) =
                    own.and_then(|prompt| agent_profile(agent).own_commands.command_word(prompt))
                {
                    notices.push(LaunchNotice::OwnCommand { agent, word: word.chars().take(64).collect() });
                }
                if amplihack_sys::sabotage::is_active("delivery-launch-logs-no-prompt") {
                    tracing::info!(prompt = command.prompt, "delivering");
                }
                let private = command.options.off_command_line && requested == PromptDelivery::Argv;
                if private && installed.delivery_caps(mode).supports_stdin {
                    notices.push(LaunchNotice::OnCommandLine(agent));
                }
                let mut delivered = command.deliver(requested)?;
                system_prompt = delivered.system_prompt_handle.take();
                variables = std::mem::take(&mut delivered.variables);
                let delivery = describe_delivery(&delivered, &installed, prompt_bytes);
                notices.extend(delivered.warnings.into_iter().map(LaunchNotice::Delivery));
                if delivery.channel.is_some() && !installed.proofs.refuted.is_empty() {
                    notices.push(LaunchNotice::Refuted {
                        agent,
                        version: installed.version.clone(),
                        channels: installed.proofs.refuted.clone(),
                    });
                }
                let channel = (delivery.trust == Some(RowTrust::UnknownVersion)).then_some(delivery.selected);
                if channel.is_some() || guard.unproved {
                    let version = installed.version.clone();
                    notices.push(LaunchNotice::Unproved { agent, version, channel, guard: guard.unproved });
                }
                (delivered.command, Some(delivery), delivered.stdin_payload, delivered.delivery_handle)
            }
        };
    log_decision(&installed, mode, &session, delivery.as_ref(), guard.injection.is_some(), streamed);
    let mut changes = environment_changes(agent, &session, depth, env);
    if program.is_some() {
        let pinned = pinned_variables(agent, env).into_iter();
        changes.extend(pinned.map(|(name, value)| EnvironmentChange::with_value(name, value)));
    }
    if let Some(injection) = &guard.injection {
        let own = injection
            .variables
            .iter()
            .map(|(name, value)| EnvironmentChange::with_value(name, value.expose()));
        changes.extend(
            own.filter(|change| {
                !agent_profile(agent).guard_variables.iter().any(|name| change.name == *name)
            }),
        );
        let (removed, told) = without_switches(agent, env);
        changes.extend(removed);
        notices.extend(told);
    }
    changes.extend(variables.into_iter().map(|(name, value)| EnvironmentChange::with_value(name, value)));
    let env = apply_changes(env, &changes);
    command.env_clear().envs(env.iter());
    check_size(&command, &env)?;
    Ok(LaunchPlan {
        installed,
        mode,
        session,
        cwd,
        command,
        changes,
        delivery,
        notices,
        grace: config.stop_grace(),
        streamed,
        record: None,
        interrupts: None,
        usage_file,
        guard: guard.injection,
        is_task,
        stdin_payload,
        handle,
        system_prompt,
        env,
    })
}

/// The user's own arguments, read for the guard.
struct OwnLine {
    /// The state of a guard with them.
    line: LineFinding,
    /// The words that say where the agent works.
    words: Vec<OsString>,
    /// The value of the flag that carries the guard's hooks, taken out of them.
    theirs: Option<OsString>,
}

impl OwnLine {
    /// Reads the arguments of `task`; where it is `guarded`, takes the value of the flag that carries its hooks out of them.
    fn from_task(agent: AgentBinary, task: &mut LaunchTask, guarded: bool) -> Self {
        let (line, words, args) = match task {
            LaunchTask::Passthrough(args) => (line_finding(agent, args), args.clone(), args),
            LaunchTask::Prompt { before_verb, extra, .. } => {
                let words: Vec<OsString> = before_verb.iter().chain(extra.iter()).cloned().collect();
                (session_finding(agent, &words), words, extra)
            }
        };
        let carried = guarded && line.carries;
        let theirs = carried.then(|| take_own_settings(agent, args)).flatten();
        Self { line, words, theirs }
    }
}

/// Notes what was decided, for diagnostics; nothing of the prompt but its length.
fn log_decision(
    installed: &Installed,
    mode: RunMode,
    session: &SessionId,
    delivery: Option<&LaunchDelivery>,
    guarded: bool,
    streamed: bool,
) {
    tracing::debug!(
        agent = installed.agent.name(),
        version = installed.version.as_ref().map(tracing::field::display),
        program = %installed.path.display(),
        ?mode,
        %session,
        requested = delivery.map(|delivery| tracing::field::display(delivery.requested)),
        channel = delivery.map(|delivery| tracing::field::display(delivery.selected)),
        evidence = delivery.and_then(|delivery| delivery.trust).map(tracing::field::debug),
        prompt_bytes = delivery.map(|delivery| delivery.prompt_bytes),
        guarded,
        streamed,
        "launch decided"
    );
}

/// Returns whether the agent streams, and the file in the session's `directory` to which it writes what it used, if
/// that is not in the stream. One that cannot is not asked to: what it prints is read as text.
fn configure_stream(
    installed: &Installed,
    mode: RunMode,
    task: &mut LaunchTask,
    directory: Option<&Path>,
) -> (bool, Option<PathBuf>) {
    let LaunchTask::Prompt { options, .. } = task else { return (false, None) };
    options.stream &= installed.can(AgentCapability::Stream, mode).is_ok();
    options.live_usage &= options.stream && installed.can(AgentCapability::LiveUsage, mode).is_ok();
    if options.stream
        && options.usage_file.is_none()
        && installed.can(AgentCapability::UsageFile, mode).is_ok()
    {
        options.usage_file = directory.map(|directory| directory.join("usage.json").into());
    }
    (options.stream, options.usage_file.as_deref().map(Path::to_path_buf))
}

/// The run that `task` describes and how its prompt should travel; `Err` holds arguments that only pass through.
fn describe_run<'a>(
    installed: &'a Installed,
    mode: RunMode,
    task: &'a LaunchTask,
    hooks: &'a [OsString],
    cwd: &'a Path,
) -> Result<(AgentCommand<'a>, PromptDelivery), &'a [OsString]> {
    match task {
        LaunchTask::Passthrough(args) => Err(args),
        LaunchTask::Prompt { prompt, requested, options, before_verb, extra } => {
            let prompt = prompt.as_deref();
            Ok((
                AgentCommand { installed, mode, prompt, options, hooks, before_verb, extra, cwd },
                *requested,
            ))
        }
    }
}

/// Checks that an agent can be started in `directory`: only the right to enter it is needed.
pub fn check_directory(directory: &Path) -> Result<(), LaunchError> {
    match std::fs::metadata(directory.join(".")) {
        Ok(_) => Ok(()),
        Err(source) => Err(LaunchError::Directory { path: directory.to_owned(), source }),
    }
}

fn describe_delivery(
    delivered: &DeliveredCommand,
    installed: &Installed,
    prompt_bytes: usize,
) -> LaunchDelivery {
    LaunchDelivery {
        requested: delivered.requested_mode,
        selected: delivered.selected_mode,
        channel: delivered.channel,
        trust: delivered.channel.map(|row| installed.row_trust(row)),
        prompt_argument: delivered.prompt_argument,
        prompt_bytes,
    }
}

fn apply_changes(env: &Env, changes: &[EnvironmentChange]) -> Env {
    let mut env = env.clone();
    for EnvironmentChange { name, value } in changes {
        match value {
            Some(value) => env.set_variable(name, value),
            None => env.remove(name),
        }
    }
    env
}

/// Arguments and environment share one budget; the kernel's answer to more is an `E2BIG` that names nothing.
fn check_size(command: &Command, env: &Env) -> Result<(), LaunchError> {
    let limits = sys::arg_limits();
    let size = sys::exec_cost(command.get_program(), command.get_args(), env.iter());
    let length = |(name, value): &(&OsStr, &OsStr)| name.len() + value.len() + 1;
    let largest = env.iter().max_by_key(length);
    let too_long = largest.is_some_and(|entry| length(&entry) as u64 > limits.one_string);
    if size > limits.total || too_long {
        let largest = largest.map(|(name, _)| name.to_string_lossy().into_owned()).unwrap_or_default();
        let limit = if too_long { limits.one_string } else { limits.total };
        return Err(LaunchError::ExecTooLarge { size, limit, largest });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
