//! What is registered with an agent, read from its files; nothing is written.

use std::path::{Path, PathBuf};

use amplihack_hooks::HookError;
use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::{told_as, verify};
use amplihack_hooks::settings::{Mark, Registered, found, trust_entries, trust_state, value};
use amplihack_hooks::staging::{copilot_commands, wrapped};
use amplihack_hooks::switches;
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use serde_json::Value;

use super::disk::{Disk, behind_links, read_text};
use super::journal::Journal;
use super::places::Places;
use super::trial::try_one;
use super::{InstallError, Scope};

pub use amplihack_hooks::settings::TrustState;

/// The registration of one agent in one scope.
#[derive(Debug)]
pub struct Registration {
    /// The scope.
    pub scope: Scope,
    /// Its file.
    pub path: PathBuf,
    /// What is there.
    pub state: State,
}

/// What is there of a registration.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
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
        /// Whether Codex runs it.
        trust: Option<TrustState>,
        /// What is wrong with its answers, if anything is.
        fault: Option<String>,
    },
}

impl State {
    /// What is broken, and what to do; `None` for what is whole, and for what is not there at all.
    pub fn fault(&self, agent: AgentBinary) -> Option<String> {
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

/// What is broken about the hooks that `agent` has been given for this user; `None` where they are whole, or were never given.
/// Only files are read: nothing is tried.
pub(crate) fn broken_registration(agent: AgentBinary, env: &Env, cwd: &Path) -> Option<String> {
    let places = Places::of(env).ok()?;
    let path = places.registration(agent, &Scope::User).filter(|_| agent != AgentBinary::Amp)?;
    match state(agent, &Scope::User, &places, &path, env, cwd, false) {
        // What is switched off is the user's wish, and whose the trouble is in a file that cannot be read is not known.
        Ok(State::Off(_)) | Err(_) => None,
        Ok(state) => state.fault(agent),
    }
}

/// Looks at the registration of `agent` in `scope`, and runs its guard as the host would, with an audit of its own.
///
/// `None` for an agent that has no registration at all.
pub fn inspect(agent: AgentBinary, scope: &Scope, env: &Env, cwd: &Path) -> Option<Registration> {
    let places = Places::of(env).ok()?;
    let path = places.registration(agent, scope)?;
    let state = state(agent, scope, &places, &path, env, cwd, true)
        .unwrap_or_else(|error| State::Unreadable(error.to_string()));
    Some(Registration { scope: scope.clone(), path, state })
}

fn state(
    agent: AgentBinary,
    scope: &Scope,
    places: &Places,
    path: &Path,
    env: &Env,
    cwd: &Path,
    tried: bool,
) -> Result<State, InstallError> {
    if agent == AgentBinary::Amp {
        return rules(scope, places, path);
    }
    let Some(text) = read_text(path)? else { return Ok(State::Absent) };
    let commands = commands(agent, path)?;
    if commands.is_empty() {
        return Ok(State::Absent);
    }
    if let Err(InstallError::Hooks(error)) = missing_hook(agent, path) {
        return Ok(State::Incomplete(error));
    }
    let left_out = || {
        let (file, setting) =
            commands.iter().find_map(|(_, command)| switches::left_out(agent, env, cwd, command))?;
        Some(format!("{setting} in {} lists one of them", file.display()))
    };
    if let Some(why) = off(agent, &text, env, cwd).or_else(left_out) {
        return Ok(State::Off(why));
    }
    let Some((event, command)) = commands.into_iter().find(|(event, _)| event.is_guard()) else {
        return Ok(State::Absent);
    };
    let program = Registered::parse(&command).map(|registered| registered.program);
    if let Some(program) = program.as_ref().filter(|program| {
        !program.is_file() && !amplihack_utils::sabotage::active("routing-stale-registration")
    }) {
        return Ok(State::Stale(program.clone()));
    }
    let trust = (agent == AgentBinary::Codex).then(|| least_trust(places, path, &text)).transpose()?;
    if !tried {
        return Ok(State::Registered { program, trust, fault: None });
    }
    let fault = match try_one(agent, scope, env, cwd, event, &command) {
        Ok(trial) => trial.fault(),
        Err(error) => Some(error.to_string()),
    };
    Ok(State::Registered { program, trust, fault })
}

/// The commands of ours that the file at `path` registers for `agent`.
pub(super) fn commands(agent: AgentBinary, path: &Path) -> Result<Vec<(HookEvent, String)>, InstallError> {
    let Some(text) = read_text(path)? else { return Ok(Vec::new()) };
    let refused = |why| InstallError::Edit { path: path.to_owned(), why };
    if agent != AgentBinary::Copilot {
        let found = found(&text).map_err(refused)?;
        return Ok(found.into_iter().map(|found| (found.registered.event, found.command)).collect());
    }
    let manifest: Value = serde_json::from_str(&text).map_err(|error| {
        refused(amplihack_hooks::settings::EditError::Syntax { line: error.line(), why: error.to_string() })
    })?;
    let event = |(_, command): (String, String)| {
        let wrapper = |name: &str| command.split(' ').next() == Some(&format!(".github/hooks/{name}"));
        let named = || wrapped().find(|event| wrapper(event.name()));
        let event = Registered::parse(&command).map(|registered| registered.event).or_else(named)?;
        Some((event, command))
    };
    Ok(copilot_commands(&manifest).into_iter().filter_map(event).collect())
}

/// An error if the registration at `path` lacks an event of `agent`.
pub(super) fn missing_hook(agent: AgentBinary, path: &Path) -> Result<(), InstallError> {
    if agent == AgentBinary::Copilot {
        if commands(agent, path)?.iter().any(|(event, _)| event.is_guard()) {
            return Ok(());
        }
        return Err(InstallError::Hooks(HookError::MissingHookForBinary {
            binary: agent,
            event: HookEvent::PreToolUse.copilot_name().to_owned(),
            expected_path: path.to_owned(),
            remediation: format!("run `amplihack install --agent {agent}`"),
        }));
    }
    let mut hooks = serde_json::Map::new();
    for (event, command) in commands(agent, path)? {
        let Some((name, _)) = told_as(agent, event) else { continue };
        hooks.insert(name.to_owned(), serde_json::json!([{"hooks": [{"command": command}]}]));
    }
    verify(&serde_json::json!({"hooks": hooks}), agent, path)?;
    Ok(())
}

/// What in an agent's own settings keeps every hook from running.
fn off(agent: AgentBinary, text: &str, env: &Env, cwd: &Path) -> Option<String> {
    // Beside a registration of Claude Code's; Copilot takes the word from several files.
    if agent == AgentBinary::Claude && value(text).is_ok_and(|value| value[switches::KEY] == true) {
        return Some(format!("{} is set beside them", switches::KEY));
    }
    let (file, setting) = switches::switched_off(agent, env, cwd)?;
    Some(format!("{setting} is set in {}", file.display()))
}

/// The least of Codex's trust in the hooks at `path`.
fn least_trust(places: &Places, path: &Path, text: &str) -> Result<TrustState, InstallError> {
    let config = behind_links(&places.codex_config());
    let settings = read_text(&config)?.unwrap_or_default();
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |why| InstallError::Edit { path, why }
    };
    for (key, hash) in trust_entries(path, text).map_err(refused(path))? {
        match trust_state(&settings, &key, &hash).map_err(refused(&config))? {
            TrustState::Trusted => {}
            less => return Ok(less),
        }
    }
    Ok(TrustState::Trusted)
}

fn rules(scope: &Scope, places: &Places, path: &Path) -> Result<State, InstallError> {
    let disk = Disk::default();
    let journal = Journal::open(&disk, places.ours.join("install"), Vec::new())?;
    let parts = journal.get(&behind_links(path)).into_iter().flat_map(|record| &record.parts);
    let rules = parts.filter(|part| part.is_of(AgentBinary::Amp, scope)).find_map(|part| match &part.mark {
        Mark::Rules { rules } => Some(rules.len()),
        _ => None,
    });
    Ok(rules.map_or(State::Absent, State::Rules))
}
