//! Deciding a launch: which program, which channel, which environment. Starts nothing but a version probe.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::command::passthrough;
use amplihack_agent::{
    AgentBinary, AgentCommand, Capability, DeliveredCommand, Installed, Options, RunMode, Trust, profile,
};
use amplihack_hooks::injection::Injection;
use amplihack_hooks::registration::Program;
use amplihack_session::Interrupts;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::{SessionId, new_session_id};
use amplihack_utils::prompt_delivery::{DeliveryHandle, PromptDelivery};
use amplihack_utils::sys;

use crate::discover::{Versions, discover};
use crate::environment::{Change, changes, depth};
use crate::error::LaunchError;
use crate::guard::{self, Guard};
use crate::notice::Notice;

/// What an agent is to do.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each launch")]
pub enum Task {
    /// Run under the builder: a prompt (`None` only in a terminal), translated options, the user's own arguments.
    Prompt {
        /// The prompt.
        prompt: Option<String>,
        /// How it should travel.
        requested: PromptDelivery,
        /// Options that the matrix translates.
        options: Options,
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
    /// Which agent.
    pub agent: AgentBinary,
    /// Its program, where the caller found it before; `None` looks for it.
    pub installed: Option<Installed>,
    /// In which run mode.
    pub mode: RunMode,
    /// What it is to do.
    pub task: Task,
    /// What answers the guard's hooks, see [`crate::own_program`]; `None` leaves the guard out.
    pub guard: Option<Program>,
    /// Where it works.
    pub cwd: PathBuf,
}

/// A launch, decided. Dropping it removes a prompt file that it made.
pub struct Plan {
    /// The agent.
    pub installed: Installed,
    /// The run mode.
    pub mode: RunMode,
    /// The session that the launch makes.
    pub session: SessionId,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The command; its environment is already the agent's.
    pub command: Command,
    /// Differences between the caller's environment and the agent's.
    pub changes: Vec<Change>,
    /// The prompt's way; `None` for arguments that pass through.
    pub delivery: Option<Delivery>,
    /// What to tell a person before the start.
    pub notices: Vec<Notice>,
    /// How long the run may take to end after a signal.
    pub grace: Duration,
    /// Whether the agent reports as a stream of JSON lines.
    pub streamed: bool,
    /// Where the agent's process is written down before it starts, see [`RunSpec::record`](amplihack_session::RunSpec). `None` as decided: the caller's to set.
    pub record: Option<File>,
    /// The signals that end a launch of our own binaries. `None` as decided: those from its start on.
    pub interrupts: Option<Interrupts>,
    pub(crate) usage_file: Option<PathBuf>,
    pub(crate) guard: Option<Injection>,
    pub(crate) stdin_payload: Option<Vec<u8>>,
    pub(crate) handle: DeliveryHandle,
    pub(crate) system_prompt: Option<DeliveryHandle>,
    pub(crate) env: Env,
}

impl fmt::Debug for Task {
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

impl fmt::Debug for Plan {
    /// Neither the prompt, nor arguments, nor values of the environment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
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

/// How the prompt travels, without the prompt.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// What was asked for.
    pub requested: PromptDelivery,
    /// What is used.
    pub selected: amplihack_utils::prompt_delivery::DeliveryMode,
    /// The row that it comes from; `None` without a prompt.
    pub channel: Option<&'static amplihack_agent::Row>,
    /// How far that row may be trusted.
    pub trust: Option<Trust>,
    /// Index of the argument that holds the prompt.
    pub prompt_argument: Option<usize>,
    /// Bytes of the prompt.
    pub prompt_bytes: usize,
}

/// Decides the launch that `request` asks for, from the environment `env` and the configuration.
///
/// Writes nothing but the version cache and, for a file channel, the prompt file. Refuses what cannot work: a missing
/// agent, a prompt that no channel holds, a launch too deep, arguments that the platform would not take.
pub fn plan(request: LaunchRequest, env: &Env, config: &Config) -> Result<Plan, LaunchError> {
    let LaunchRequest { agent, installed, mode, mut task, guard: program, cwd } = request;
    let depth = depth(env, config.max_depth().into())?;
    enterable(&cwd)?;
    if installed.is_none()
        && let Ok((command, requested)) = described(&Installed::assumed(agent), mode, &task, &[], &cwd)
    {
        // What is refused at every version is refused before the agent is asked for its own.
        command.check(requested)?;
    }
    // Arguments that pass through need no version.
    let versions = if matches!(task, Task::Passthrough(_)) { Versions::Unknown } else { Versions::Cached };
    let installed = match installed {
        Some(installed) => installed,
        None => discover(agent, env, config, versions)?,
    };
    let session = new_session_id().map_err(LaunchError::SessionId)?;
    let directory = env.amplihack_home().map(|home| session.directory(&home));
    let (streamed, usage_file) = streams(&installed, mode, &mut task, directory.as_deref());
    let mut notices = Vec::new();
    // The agent's own commands start no session that calls tools.
    let guard = match task {
        Task::Passthrough(_) => Guard::default(),
        Task::Prompt { .. } => {
            let program = program.as_ref();
            let asked = guard::Asked { program, installed: &installed, mode, session: &session, cwd: &cwd };
            guard::decide(&asked, env, config, &mut notices)?
        }
    };
    let hooks = guard.injection.as_ref().map(|hooks| hooks.values.as_slice()).unwrap_or_default();
    let mut variables = Vec::new();
    let mut system_prompt = None;
    let (mut command, delivery, stdin_payload, handle) = match described(&installed, mode, &task, hooks, &cwd)
    {
        Err(args) => (passthrough(&installed, args, &cwd), None, None, DeliveryHandle::argv()),
        Ok((command, requested)) => {
            let prompt_bytes = command.prompt.map_or(0, str::len);
            let own = command.prompt.filter(|_| mode == RunMode::Headless && !command.options.literal);
            if let Some(word) = own.and_then(|prompt| profile(agent).own_commands.word(prompt)) {
                notices.push(Notice::OwnCommand { agent, word: word.chars().take(64).collect() });
            }
            if amplihack_utils::sabotage::active("delivery-launch-logs-no-prompt") {
                tracing::info!(prompt = command.prompt, "delivering");
            }
            let private = command.options.off_command_line && requested == PromptDelivery::Argv;
            if private && installed.delivery_caps(mode).supports_stdin {
                notices.push(Notice::OnCommandLine(agent));
            }
            let mut delivered = command.deliver(requested)?;
            system_prompt = delivered.system_prompt_handle.take();
            variables = std::mem::take(&mut delivered.variables);
            let delivery = describe(&delivered, &installed, prompt_bytes);
            notices.extend(delivered.warnings.into_iter().map(Notice::Delivery));
            if delivery.channel.is_some() && !installed.proofs.refuted.is_empty() {
                notices.push(Notice::Refuted {
                    agent,
                    version: installed.version.clone(),
                    channels: installed.proofs.refuted.clone(),
                });
            }
            let channel = (delivery.trust == Some(Trust::UnknownVersion)).then_some(delivery.selected);
            if channel.is_some() || guard.unproved {
                let version = installed.version.clone();
                notices.push(Notice::Unproved { agent, version, channel, guard: guard.unproved });
            }
            (delivered.command, Some(delivery), delivered.stdin_payload, delivered.delivery_handle)
        }
    };
    tell(&installed, mode, &session, delivery.as_ref(), guard.injection.is_some(), streamed);
    let mut changes = changes(agent, &session, depth, env);
    changes.extend(variables.into_iter().map(|(name, value)| Change::set(name, value)));
    let env = apply(env, &changes);
    command.env_clear().envs(env.iter());
    fits(&command, &env)?;
    Ok(Plan {
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
        stdin_payload,
        handle,
        system_prompt,
        env,
    })
}

/// Notes what was decided, for diagnostics; nothing of the prompt but its length.
fn tell(
    installed: &Installed,
    mode: RunMode,
    session: &SessionId,
    delivery: Option<&Delivery>,
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

/// Whether the agent reports as a stream, and the file in the session's `directory` to which it writes what it used, if
/// that is not in the stream. One that cannot is not asked to: what it prints is read as text.
fn streams(
    installed: &Installed,
    mode: RunMode,
    task: &mut Task,
    directory: Option<&Path>,
) -> (bool, Option<PathBuf>) {
    let Task::Prompt { options, .. } = task else { return (false, None) };
    options.stream &= installed.can(Capability::Stream, mode).is_ok();
    options.live_usage &= options.stream && installed.can(Capability::LiveUsage, mode).is_ok();
    if options.stream && options.usage_file.is_none() && installed.can(Capability::UsageFile, mode).is_ok() {
        options.usage_file = directory.map(|directory| directory.join("usage.json").into());
    }
    (options.stream, options.usage_file.as_deref().map(Path::to_path_buf))
}

/// The run that `task` describes and how its prompt should travel; `Err` holds arguments that only pass through.
fn described<'a>(
    installed: &'a Installed,
    mode: RunMode,
    task: &'a Task,
    hooks: &'a [OsString],
    cwd: &'a Path,
) -> Result<(AgentCommand<'a>, PromptDelivery), &'a [OsString]> {
    match task {
        Task::Passthrough(args) => Err(args),
        Task::Prompt { prompt, requested, options, before_verb, extra } => {
            let prompt = prompt.as_deref();
            Ok((
                AgentCommand { installed, mode, prompt, options, hooks, before_verb, extra, cwd },
                *requested,
            ))
        }
    }
}

/// Whether an agent can be started in `directory`: only the right to enter it is needed.
pub fn enterable(directory: &Path) -> Result<(), LaunchError> {
    match std::fs::metadata(directory.join(".")) {
        Ok(_) => Ok(()),
        Err(source) => Err(LaunchError::Directory { path: directory.to_owned(), source }),
    }
}

fn describe(delivered: &DeliveredCommand, installed: &Installed, prompt_bytes: usize) -> Delivery {
    Delivery {
        requested: delivered.requested_mode,
        selected: delivered.selected_mode,
        channel: delivered.channel,
        trust: delivered.channel.map(|row| installed.trust(row)),
        prompt_argument: delivered.prompt_argument,
        prompt_bytes,
    }
}

fn apply(env: &Env, changes: &[Change]) -> Env {
    let mut env = env.clone();
    for Change { name, value } in changes {
        match value {
            Some(value) => env.set(name, value),
            None => env.remove(name),
        }
    }
    env
}

/// Arguments and environment share one budget; the kernel's answer to more is an `E2BIG` that names nothing.
fn fits(command: &Command, env: &Env) -> Result<(), LaunchError> {
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
mod tests {
    use super::*;

    fn request(task: Task, cwd: &Path) -> LaunchRequest {
        LaunchRequest {
            agent: AgentBinary::Claude,
            installed: Some(Installed::assumed(AgentBinary::Claude)),
            mode: RunMode::Headless,
            task,
            guard: None,
            cwd: cwd.to_owned(),
        }
    }

    fn prompt() -> Task {
        Task::Prompt {
            prompt: Some("it's".to_owned()),
            requested: PromptDelivery::Auto,
            options: Options::default(),
            before_verb: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn config() -> Config {
        let nothing = Path::new("/nonexistent");
        Config::load_with(nothing, &Env::empty(), nothing, &[]).unwrap()
    }

    #[test]
    fn a_directory_that_cannot_be_entered_is_named_before_anything_is_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let mut request = request(prompt(), &missing);
        request.installed = None;
        let error = plan(request, &Env::empty(), &config()).unwrap_err();
        assert!(matches!(&error, LaunchError::Directory { path, .. } if *path == missing), "{error}");
        assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
    }

    #[test]
    fn an_environment_beyond_the_budget_is_refused_and_its_largest_variable_named() {
        let dir = tempfile::tempdir().unwrap();
        let one = sys::arg_limits().one_string;
        for (length, refused) in [(one - 10, false), (one + 1, true)] {
            let value = "x".repeat(usize::try_from(length).unwrap() - "LARGE=".len());
            let env = Env::empty().with("LARGE", value).with("SMALL", "x");
            match plan(request(prompt(), dir.path()), &env, &config()) {
                Ok(_) => assert!(!refused, "{length}"),
                Err(LaunchError::ExecTooLarge { limit, largest, .. }) => {
                    assert!(refused && limit == one && largest == "LARGE", "{length} {largest}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        // Each of these fits, all of them together do not.
        let count = sys::arg_limits().total / (one - 20) + 1;
        let value = "x".repeat(usize::try_from(one - 20).unwrap());
        let env: Env = (0..count).map(|number| (format!("V{number}"), value.clone())).collect();
        let error = plan(request(prompt(), dir.path()), &env, &config()).unwrap_err();
        let total = sys::arg_limits().total;
        assert!(
            matches!(error, LaunchError::ExecTooLarge { size, limit, .. } if size > limit && limit == total),
            "{error}"
        );
    }

    #[test]
    fn the_commands_environment_is_the_given_one_with_its_changes_and_nothing_of_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("KEPT", "it's").with("CLAUDECODE", "1");
        let plan = plan(request(prompt(), dir.path()), &env, &config()).unwrap();
        let variables: Vec<_> = plan.command.get_envs().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(
            variables,
            [
                "AMPLIHACK_AGENT_BINARY",
                "AMPLIHACK_AGENT_BINARY_SET",
                "AMPLIHACK_SESSION_DEPTH",
                "AMPLIHACK_SESSION_ID",
                "AMPLIHACK_VERSION",
                "KEPT",
            ]
        );
        assert_eq!(plan.command.get_current_dir(), Some(dir.path()));
    }

    #[test]
    fn arguments_that_pass_through_are_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let args: Vec<OsString> = ["mcp", "--", "", "-p"].map(Into::into).into();
        let plan =
            plan(request(Task::Passthrough(args.clone()), dir.path()), &Env::empty(), &config()).unwrap();
        assert_eq!(plan.command.get_args().collect::<Vec<_>>(), args);
        assert!(plan.delivery.is_none() && plan.notices.is_empty());
    }
}
