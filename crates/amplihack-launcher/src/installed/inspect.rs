//! Registrations with an agent, read from its files; nothing is written.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::HookError;
use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::{registered_name, verify_registration};
use amplihack_hooks::settings::{RegisteredCommand, find_hooks, parse_value, trust_entries, trust_state};
use amplihack_hooks::staging::{called_wrapper, copilot_commands, wrapped_events};
use amplihack_hooks::switches;
use serde_json::Value;

use super::directories::UserDirectories;
use super::files::{behind_links, read_text};
use super::trial::try_one;
use super::{InstallScope, RegistrationError};

pub use amplihack_hooks::settings::TrustState;

/// The registration of one agent in one scope.
#[derive(Debug)]
pub struct AgentRegistration {
    /// The scope.
    pub scope: InstallScope,
    /// File of the registration.
    pub path: PathBuf,
    /// State of the registration.
    pub state: RegistrationState,
}

/// State of a registration.
#[derive(Debug)]
#[non_exhaustive]
pub enum RegistrationState {
    /// Nothing.
    Absent,
    /// Permission rules, so many.
    Rules(usize),
    /// The file cannot be read.
    Unreadable(String),
    /// A part of it.
    Incomplete(HookError),
    /// Whole, and the agent's own settings switch it off.
    Off(String),
    /// Whole, and its program is gone.
    Stale(PathBuf),
    /// Whole.
    Registered {
        /// The program; `None` where wrappers look for it.
        program: Option<PathBuf>,
        /// Trust of Codex in the hooks; `None` for other agents.
        trust: Option<TrustState>,
        /// Fault of its answers, if there is any.
        fault: Option<String>,
    },
}

impl RegistrationState {
    /// Describes what is broken, and what to do; `None` for what is whole, and for what is not there at all.
    pub fn describe_fault(&self, agent: AgentBinary) -> Option<String> {
        let again = format!("run `amplihack install --agent {agent}`");
        Some(match self {
            Self::Absent | Self::Rules(_) => return None,
            Self::Unreadable(why) => why.clone(),
            Self::Incomplete(error) => error.to_string(),
            Self::Off(why) => format!("its hooks do not run: {why}; remove that"),
            Self::Stale(program) => format!("the program {} is gone; {again}", program.display()),
            Self::Registered { trust: Some(TrustState::Disabled), .. } => {
                format!(
                    "{agent} does not run a hook that was switched off; switch it on with /hooks in {agent}"
                )
            }
            Self::Registered { trust: Some(TrustState::Untrusted | TrustState::Changed), .. } => {
                format!(
                    "{agent} does not trust these hooks, so it skips them; {again}, or review them with /hooks in {agent}"
                )
            }
            Self::Registered { fault, .. } => format!("{}; {again}", fault.as_ref()?),
        })
    }
}

/// Describes what is broken about the hooks that `agent` has been given for this user; `None` if they are whole or were never given.
/// Only files are read: nothing is tried.
pub(crate) fn broken_registration(agent: AgentBinary, env: &Env, cwd: &Path) -> Option<String> {
    let places = UserDirectories::from_env(env).ok()?;
    let path = places.registration_file(agent, &InstallScope::User).filter(|_| agent != AgentBinary::Amp)?;
    match registration_state(agent, &InstallScope::User, &places, &path, env, cwd, false) {
        // What is switched off is the user's wish, and whose the trouble is in a file that cannot be read is not known.
        Ok(RegistrationState::Off(_)) | Err(_) => None,
        Ok(state) => state.describe_fault(agent),
    }
}

/// Looks at the registration of `agent` in `scope`, and runs its guard as the host would, with an audit of its own.
///
/// `None` for an agent that has no registration at all.
pub fn inspect_hooks(
    agent: AgentBinary,
    scope: &InstallScope,
    env: &Env,
    cwd: &Path,
) -> Option<AgentRegistration> {
    let places = UserDirectories::from_env(env).ok()?;
    let path = places.registration_file(agent, scope)?;
    let state = registration_state(agent, scope, &places, &path, env, cwd, true)
        .unwrap_or_else(|error| RegistrationState::Unreadable(error.to_string()));
    Some(AgentRegistration { scope: scope.clone(), path, state })
}

fn registration_state(
    agent: AgentBinary,
    scope: &InstallScope,
    places: &UserDirectories,
    path: &Path,
    env: &Env,
    cwd: &Path,
    tried: bool,
) -> Result<RegistrationState, RegistrationError> {
    // Amp's settings hold rules, which no file of its own tells apart from the user's.
    if agent == AgentBinary::Amp {
        return Ok(RegistrationState::Absent);
    }
    let Some(text) = read_text(path)? else { return Ok(RegistrationState::Absent) };
    let commands = registered_commands(agent, path)?;
    if commands.is_empty() {
        return Ok(RegistrationState::Absent);
    }
    if let Err(RegistrationError::Hooks(error)) = missing_hook(agent, path) {
        return Ok(RegistrationState::Incomplete(error));
    }
    let left_out = || {
        let (file, setting) =
            commands.iter().find_map(|(_, command)| switches::left_out(agent, env, cwd, command))?;
        Some(format!("{setting} in {} lists one of them", file.display()))
    };
    if let Some(why) = switch_off_reason(agent, &text, env, cwd).or_else(left_out) {
        return Ok(RegistrationState::Off(why));
    }
    let Some((event, command)) = commands.into_iter().find(|(event, _)| event.is_guard()) else {
        return Ok(RegistrationState::Absent);
    };
    let program = RegisteredCommand::parse(&command).map(|registered| registered.program);
    if let Some(program) = program.as_ref().filter(|program| {
        !program.is_file() && !amplihack_sys::sabotage::is_active("routing-stale-registration")
    }) {
        return Ok(RegistrationState::Stale(program.clone()));
    }
    let trust = (agent == AgentBinary::Codex).then(|| least_trust(places, path, &text)).transpose()?;
    if !tried {
        return Ok(RegistrationState::Registered { program, trust, fault: None });
    }
    let fault = match try_one(agent, scope, env, cwd, event, &command) {
        Ok(trial) => trial.describe_fault(),
        Err(error) => Some(error.to_string()),
    };
    Ok(RegistrationState::Registered { program, trust, fault })
}

/// The commands of ours that the file at `path` registers for `agent`.
pub(super) fn registered_commands(
    agent: AgentBinary,
    path: &Path,
) -> Result<Vec<(HookEvent, String)>, RegistrationError> {
    let Some(text) = read_text(path)? else { return Ok(Vec::new()) };
    let refused = |why| RegistrationError::Edit { path: path.to_owned(), why };
    if agent != AgentBinary::Copilot {
        let found = find_hooks(&text).map_err(refused)?;
        return Ok(found.into_iter().map(|found| (found.registered.event, found.command)).collect());
    }
    let manifest: Value = serde_json::from_str(&text).map_err(|error| {
        refused(amplihack_hooks::settings::EditError::Syntax { line: error.line(), why: error.to_string() })
    })?;
    let event = |(_, command): (String, String)| {
        let wrapper = |name: &str| called_wrapper(&command) == Some(name);
        let named = || wrapped_events().find(|event| wrapper(event.name()));
        let event = RegisteredCommand::parse(&command).map(|registered| registered.event).or_else(named)?;
        Some((event, command))
    };
    Ok(copilot_commands(&manifest).into_iter().filter_map(event).collect())
}

/// An error if the registration at `path` lacks an event of `agent`.
pub fn missing_hook(agent: AgentBinary, path: &Path) -> Result<(), RegistrationError> {
    if agent == AgentBinary::Copilot {
        if registered_commands(agent, path)?.iter().any(|(event, _)| event.is_guard()) {
            return Ok(());
        }
        return Err(RegistrationError::Hooks(HookError::MissingHookForBinary {
            binary: agent,
            event: HookEvent::PreToolUse.copilot_name().to_owned(),
            expected_path: path.to_owned(),
            remediation: format!("run `amplihack install --agent {agent}`"),
        }));
    }
    let mut hooks = serde_json::Map::new();
    for (event, command) in registered_commands(agent, path)? {
        let Some((name, _)) = registered_name(agent, event) else { continue };
        hooks.insert(name.to_owned(), serde_json::json!([{"hooks": [{"command": command}]}]));
    }
    verify_registration(&serde_json::json!({"hooks": hooks}), agent, path)?;
    Ok(())
}

/// Reason why an agent's own settings keep every hook from running; `None` if they do not.
fn switch_off_reason(agent: AgentBinary, text: &str, env: &Env, cwd: &Path) -> Option<String> {
    // Beside a registration of Claude Code's; Copilot takes the word from several files.
    if agent == AgentBinary::Claude && parse_value(text).is_ok_and(|value| value[switches::KEY] == true) {
        return Some(format!("{} is set beside them", switches::KEY));
    }
    let (file, setting) = switches::switched_off(agent, env, Some(cwd))?;
    Some(format!("{setting} is set in {}", file.display()))
}

/// The least of Codex's trust in the hooks at `path`.
fn least_trust(places: &UserDirectories, path: &Path, text: &str) -> Result<TrustState, RegistrationError> {
    let config = behind_links(&places.codex_config());
    let settings = read_text(&config)?.unwrap_or_default();
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |why| RegistrationError::Edit { path, why }
    };
    for (key, hash) in trust_entries(path, text).map_err(refused(path))? {
        match trust_state(&settings, &key, &hash).map_err(refused(&config))? {
            TrustState::Trusted => {}
            less => return Ok(less),
        }
    }
    Ok(TrustState::Trusted)
}
