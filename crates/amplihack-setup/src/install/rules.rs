//! Registrations with an agent and Amp's rules, which the journal tells apart from the user's; nothing is written.

use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::settings::SettingsUndo;
use amplihack_launcher::installed::{
    AgentRegistration, InstallScope, RegistrationState, UserDirectories, behind_links, inspect_hooks,
};

use super::InstallError;
use super::disk::InstallDisk;
use super::journal::InstallJournal;

/// Looks at the registration of `agent` in `scope`, and runs its guard as the host would, with an audit of its own.
///
/// `None` for an agent that has no registration at all.
pub fn inspect_registration(
    agent: AgentBinary,
    scope: &InstallScope,
    env: &Env,
    cwd: &Path,
) -> Option<AgentRegistration> {
    let mut registration = inspect_hooks(agent, scope, env, cwd)?;
    if agent == AgentBinary::Amp {
        registration.state = UserDirectories::from_env(env)
            .map_err(InstallError::from)
            .and_then(|places| rules_state(scope, &places, &registration.path))
            .unwrap_or_else(|error| RegistrationState::Unreadable(error.to_string()));
    }
    Some(registration)
}

fn rules_state(
    scope: &InstallScope,
    places: &UserDirectories,
    path: &Path,
) -> Result<RegistrationState, InstallError> {
    let disk = InstallDisk::default();
    let journal = InstallJournal::open(&disk, places.ours.join("install"), Vec::new())?;
    let parts = journal.get(&behind_links(path)).into_iter().flat_map(|record| &record.parts);
    let rules = parts.filter(|part| part.is_of(AgentBinary::Amp, scope)).find_map(|part| match &part.mark {
        SettingsUndo::Rules { rules } => Some(rules.len()),
        _ => None,
    });
    Ok(rules.map_or(RegistrationState::Absent, RegistrationState::Rules))
}
