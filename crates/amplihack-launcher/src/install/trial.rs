//! Registered commands run as their host would run them: by a shell, with the host's payload, judged as the host judges.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_hooks::dialect::trial::{Answer, heard, payload};
use amplihack_hooks::event::HookEvent;
use amplihack_session::{Deadlines, Input, Output, RunSpec, run_blocking};
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;

use super::inspect::{commands, missing_hook};
use super::places::Places;
use super::{InstallError, Scope};

/// What no policy lets through.
const FORBIDDEN: &str = "rm -rf /";
/// What every policy lets through.
const HARMLESS: &str = "pwd";
/// What is kept of an answer.
const KEPT: usize = 64 * 1024;

/// One registered command, tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The event.
    pub event: HookEvent,
    /// The command.
    pub command: String,
    /// What it did with a payload that is harmless.
    pub harmless: Answer,
    /// What it did with one that is forbidden, where a call can be stopped.
    pub forbidden: Option<Answer>,
}

impl Trial {
    /// What is wrong with the answers; `None` if they are as they have to be.
    pub fn fault(&self) -> Option<String> {
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
pub fn try_out(agent: AgentBinary, scope: &Scope, env: &Env, cwd: &Path) -> Result<Vec<Trial>, InstallError> {
    let places = Places::of(env)?;
    let Some(path) = places.registration(agent, scope) else { return Ok(Vec::new()) };
    let commands = commands(agent, &path)?;
    missing_hook(agent, &path)?;
    commands.into_iter().map(|(event, command)| try_one(agent, scope, env, cwd, event, &command)).collect()
}

/// Tries one command.
pub(super) fn try_one(
    agent: AgentBinary,
    scope: &Scope,
    env: &Env,
    cwd: &Path,
    event: HookEvent,
    command: &str,
) -> Result<Trial, InstallError> {
    // Copilot runs a repository's hooks at its root.
    let place = match scope {
        Scope::Repository(root) if agent == AgentBinary::Copilot => root,
        _ => cwd,
    };
    let aside =
        tempfile::tempdir().map_err(|error| InstallError::Unheld { agent, why: error.to_string() })?;
    let env = aside_of(env, aside.path());
    let ask = |words: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear().envs(env.iter()).current_dir(place);
        let payload = payload(agent, event, words, place);
        let outcome = run_blocking(RunSpec {
            stdin: Input::Bytes(payload.to_string().into_bytes()),
            stdout: Output::Head(KEPT),
            stderr: Output::Head(KEPT),
            deadlines: Deadlines { total: Some(Duration::from_secs(15)), ..Deadlines::default() },
            ..RunSpec::new(shell)
        });
        match outcome {
            Ok(outcome) => {
                Ok(heard(agent, outcome.exit.code(), &outcome.stdout.bytes, &outcome.stderr.bytes))
            }
            Err(error) => Err(InstallError::Unheld { agent, why: error.to_string() }),
        }
    };
    Ok(Trial {
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
    let env = env.clone().with("PATH", path).with("XDG_CONFIG_HOME", config);
    env.with("HOME", aside).with("AMPLIHACK_HOME", aside)
}
