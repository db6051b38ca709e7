//! Registered commands run as their host would run them: by a shell, with the host's payload, judged as the host judges.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::told_as;
use amplihack_session::{Deadlines, Input, Output, RunSpec, run_blocking};
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use super::inspect::{commands, missing_hook};
use super::places::Places;
use super::{InstallError, Scope};

/// What no policy lets through.
const FORBIDDEN: &str = "rm -rf /";
/// What every policy lets through.
const HARMLESS: &str = "pwd";
/// What is kept of an answer.
const KEPT: usize = 64 * 1024;

/// What a registered command did with one payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether the host would have stopped the call.
    pub stopped: bool,
    /// Its exit code.
    pub code: i32,
    /// The object that it printed, `null` for silence.
    pub object: Value,
    /// Whether it printed something that is no object, which hosts take for silence.
    pub garbage: bool,
}

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
                Ok(judged(agent, outcome.exit.code(), &outcome.stdout.bytes, &outcome.stderr.bytes))
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

/// What the host makes of an answer to a tool call.
fn judged(agent: AgentBinary, code: i32, stdout: &[u8], stderr: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(stdout);
    let parsed = serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let garbage = parsed.is_none() && !text.trim().is_empty();
    let object = parsed.unwrap_or(Value::Null);
    let said = !stderr.trim_ascii().is_empty();
    let nested = object["hookSpecificOutput"]["permissionDecision"] == "deny";
    let stopped = match agent {
        AgentBinary::Copilot => code != 0 || object["permissionDecision"] == "deny",
        AgentBinary::Codex => (code == 2 && said) || (code == 0 && nested),
        _ => code == 2 || nested || object["decision"] == "block",
    };
    Answer { stopped, code, object, garbage }
}

/// What the host would send.
fn payload(agent: AgentBinary, event: HookEvent, command: &str, cwd: &Path) -> Value {
    let cwd = cwd.to_string_lossy();
    if agent == AgentBinary::Copilot {
        let mut payload = json!({"sessionId": "amplihack-verify", "timestamp": 0, "cwd": cwd});
        if matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse) {
            payload["toolName"] = "bash".into();
            payload["toolArgs"] = json!({"command": command});
        }
        if event == HookEvent::UserPromptSubmit {
            payload["prompt"] = "hello".into();
        }
        return payload;
    }
    let mut payload = json!({
        "session_id": "amplihack-verify",
        "transcript_path": "/dev/null",
        "cwd": cwd,
        "hook_event_name": told_as(agent, event).map(|(name, _)| name),
        "permission_mode": "default",
    });
    if matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse) {
        payload["tool_name"] = "Bash".into();
        payload["tool_input"] = json!({"command": command});
        payload["tool_use_id"] = "amplihack-verify".into();
    }
    if event == HookEvent::PostToolUse {
        payload["tool_response"] = "".into();
    }
    if event == HookEvent::UserPromptSubmit {
        payload["prompt"] = "hello".into();
    }
    if agent == AgentBinary::Codex {
        payload["turn_id"] = "amplihack-verify".into();
        payload["model"] = "none".into();
    }
    payload
}
