//! Registered commands run as their host would run them: by a shell, with the host's payload, judged as the host judges.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::dialect::trial::{TrialAnswer, read_as_host, trial_payload};
use amplihack_hooks::event::HookEvent;
use amplihack_session::{ChildInput, ChildOutput, Deadlines, RunSpec, run_blocking};

use super::directories::UserDirectories;
use super::inspect::{missing_hook, registered_commands};
use super::{InstallScope, RegistrationError};

/// Command that no policy lets through.
const FORBIDDEN: &str = "rm -rf /";
/// Command that every policy lets through.
const HARMLESS: &str = "pwd";
/// Bytes that are kept of an answer.
const KEPT: usize = 64 * 1024;

/// Trial of a registered command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationTrial {
    /// The event.
    pub event: HookEvent,
    /// The command.
    pub command: String,
    /// Answer to a harmless payload.
    pub harmless: TrialAnswer,
    /// Answer to a forbidden payload, where a call can be stopped.
    pub forbidden: Option<TrialAnswer>,
}

impl RegistrationTrial {
    /// Describes what is wrong with the answers; `None` if they are as they have to be.
    pub fn describe_fault(&self) -> Option<String> {
        let event = self.event;
        if self.harmless.garbage {
            return Some(format!("{event} prints something that is no JSON object"));
        }
        if self.harmless.stopped || self.harmless.code != 0 {
            return Some(format!("{event} ends with {} on a harmless payload", self.harmless.code));
        }
        let observes = self.command.contains("--policy observe");
        let forbidden = self.forbidden.as_ref().filter(|_| !observes)?;
        (!forbidden.stopped).then(|| format!("{event} lets `{FORBIDDEN}` run"))
    }
}

/// Tries every registered command of `agent` in `scope`.
///
/// # Errors
/// [`HookError::NoHooks`](amplihack_hooks::HookError::NoHooks) of an agent without hooks; a registration that is incomplete, cannot be read
/// or cannot be run.
pub fn try_out(
    agent: AgentBinary,
    scope: &InstallScope,
    env: &Env,
    cwd: &Path,
) -> Result<Vec<RegistrationTrial>, RegistrationError> {
    let places = UserDirectories::from_env(env)?;
    let Some(path) = places.registration_file(agent, scope) else { return Ok(Vec::new()) };
    let commands = registered_commands(agent, &path)?;
    missing_hook(agent, &path)?;
    commands.into_iter().map(|(event, command)| try_one(agent, scope, env, cwd, event, &command)).collect()
}

/// Tries one command.
pub(super) fn try_one(
    agent: AgentBinary,
    scope: &InstallScope,
    env: &Env,
    cwd: &Path,
    event: HookEvent,
    command: &str,
) -> Result<RegistrationTrial, RegistrationError> {
    // Copilot runs a repository's hooks at its root.
    let place = match scope {
        InstallScope::Repository(root) if agent == AgentBinary::Copilot => root,
        _ => cwd,
    };
    let aside =
        tempfile::tempdir().map_err(|error| RegistrationError::Unheld { agent, why: error.to_string() })?;
    let env = aside_of(env, aside.path());
    let ask = |words: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear().envs(env.iter()).current_dir(place);
        let payload = trial_payload(agent, event, words, place);
        let outcome = run_blocking(RunSpec {
            stdin: ChildInput::Bytes(payload.to_string().into_bytes()),
            stdout: ChildOutput::Head(KEPT),
            stderr: ChildOutput::Head(KEPT),
            deadlines: Deadlines { total: Some(Duration::from_secs(15)), ..Deadlines::default() },
            ..RunSpec::new(shell)
        });
        match outcome {
            Ok(outcome) => {
                Ok(read_as_host(agent, outcome.exit.code(), &outcome.stdout.bytes, &outcome.stderr.bytes))
            }
            Err(error) => Err(RegistrationError::Unheld { agent, why: error.to_string() }),
        }
    };
    Ok(RegistrationTrial {
        event,
        command: command.to_owned(),
        harmless: ask(HARMLESS)?,
        forbidden: event.is_guard().then(|| ask(FORBIDDEN)).transpose()?,
    })
}

/// `env` with another home, so that a trial leaves no line in the user's audit and offers no call to be granted. The user's policy
/// and programs stay where they are.
fn aside_of(env: &Env, aside: &Path) -> Env {
    let home = env.home().unwrap_or_default();
    let mut path = env.get("PATH").unwrap_or_default().to_owned();
    for programs in [".amplihack/bin", ".local/bin", ".cargo/bin"] {
        path.push(":");
        path.push(home.join(programs));
    }
    let config = env.config_home().unwrap_or_default();
    let env = env.clone().with_variable("PATH", path).with_variable("XDG_CONFIG_HOME", config);
    env.with_variable("HOME", aside).with_variable("AMPLIHACK_HOME", aside)
}
