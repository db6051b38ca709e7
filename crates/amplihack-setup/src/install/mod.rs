//! Hooks for sessions that are started without `amplihack`: put in beside what users have, taken out whole.
//!
//! Every file is read, changed as text and replaced in one step, and before each change the journal in
//! `$AMPLIHACK_HOME/install` has its original. What broke off halfway is taken back by [`uninstall_hooks`] like what did not.

mod apply;
mod copilot;
mod disk;
mod error;
mod journal;
mod plan;
mod rules;

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_config::LayeredConfig;
use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::guard::check_engine;
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::discover::{VersionSource, discover_agent};
use amplihack_launcher::installed::{UserDirectories, behind_links};
use amplihack_sys::lock::FileLock;
use serde_json::Value;

use apply::ChangeApplier;
use disk::{InstallDisk, missing_directories};
use journal::InstallJournal;

pub use error::InstallError;
pub use rules::inspect_registration;

pub use amplihack_launcher::installed::{
    AgentRegistration, InstallScope, RegistrationError, RegistrationState, RegistrationTrial, TrialAnswer,
    TrustState, try_out,
};

/// Longest time that another installation may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Request for an installation: what is to be installed.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// For whom.
    pub scope: InstallScope,
    /// Program that answers the hooks.
    pub program: HookProgram,
    /// The policy mode to pin.
    pub policy: Option<String>,
    /// Permission rules for Amp.
    pub rules: Vec<Value>,
}

/// Outcome of an installation for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOutcome {
    /// The file has ours in it now.
    Written,
    /// The file had ours in it already.
    Unchanged,
    /// The file is as it was before the installation.
    Restored,
    /// The file was edited since: ours was taken out, the rest stays.
    Stripped,
    /// The file was ours whole and is gone.
    Removed,
    /// The file is somebody's, or was made theirs by an edit, and stays.
    Kept,
}

impl FileOutcome {
    /// Name of the outcome, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Unchanged => "unchanged",
            Self::Restored => "restored",
            Self::Stripped => "stripped",
            Self::Removed => "removed",
            Self::Kept => "kept",
        }
    }
}

/// Report of what was done for an agent.
#[derive(Debug, Clone)]
pub struct InstallReport {
    /// The agent.
    pub agent: AgentBinary,
    /// Files of the agent, with their outcomes.
    pub files: Vec<(PathBuf, FileOutcome)>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// The agents that are found on this machine.
pub fn found_agents(env: &Env, config: &LayeredConfig) -> Result<Vec<AgentBinary>, InstallError> {
    let here = |agent: &AgentBinary| discover_agent(*agent, env, config, VersionSource::Unknown).is_ok();
    let agents: Vec<AgentBinary> = AgentBinary::ALL.into_iter().filter(here).collect();
    if agents.is_empty() { Err(InstallError::NoAgent) } else { Ok(agents) }
}

/// Installs for `agents`. All of it is planned, and every file read, before the first is changed.
pub fn install_hooks(
    agents: &[AgentBinary],
    request: &InstallRequest,
    env: &Env,
) -> Result<Vec<InstallReport>, InstallError> {
    install_on(&InstallDisk::default(), agents, request, env)
}

fn install_on(
    disk: &InstallDisk,
    agents: &[AgentBinary],
    request: &InstallRequest,
    env: &Env,
) -> Result<Vec<InstallReport>, InstallError> {
    check_engine(env)?;
    let places = UserDirectories::from_env(env)?;
    with_journal(disk, &places, |journal| {
        let mut wanted = Vec::new();
        for agent in agents {
            wanted.push((*agent, plan::plan_install(*agent, request, &places)?));
        }
        let mut carrier = ChangeApplier { disk, journal, scope: &request.scope };
        for (_, wanted) in &wanted {
            wanted.changes.iter().try_for_each(|change| carrier.check_change(change))?;
        }
        let mut done = Vec::new();
        for (agent, wanted) in wanted {
            let mut files = Vec::new();
            for change in &wanted.changes {
                files.push((change.path.clone(), carrier.put_change(agent, change)?));
            }
            done.push(InstallReport { agent, files, notes: wanted.notes });
        }
        Ok(done)
    })
}

/// Takes everything out that was installed for `agents` in `scope`, also what an installation that broke off left.
pub fn uninstall_hooks(
    agents: &[AgentBinary],
    scope: &InstallScope,
    env: &Env,
) -> Result<Vec<InstallReport>, InstallError> {
    uninstall_on(&InstallDisk::default(), agents, scope, env)
}

fn uninstall_on(
    disk: &InstallDisk,
    agents: &[AgentBinary],
    scope: &InstallScope,
    env: &Env,
) -> Result<Vec<InstallReport>, InstallError> {
    let places = UserDirectories::from_env(env)?;
    with_journal(disk, &places, |journal| {
        let mut carrier = ChangeApplier { disk, journal, scope };
        let mut done = Vec::new();
        for agent in agents {
            let mut files = carrier.take_back(*agent)?;
            // Registrations that no journal knows: another version's, or one whose journal is gone.
            if let Some(path) = places.registration_file(*agent, scope) {
                let path = behind_links(&path);
                if !files.iter().any(|(known, _)| *known == path) {
                    files.extend(carrier.take_unrecorded(*agent, &path)?.map(|outcome| (path, outcome)));
                }
            }
            done.push(InstallReport { agent: *agent, files, notes: Vec::new() });
        }
        Ok(done)
    })
}

/// Runs `work` with the journal, alone.
fn with_journal<T>(
    disk: &InstallDisk,
    places: &UserDirectories,
    work: impl FnOnce(&mut InstallJournal<'_>) -> Result<T, InstallError>,
) -> Result<T, InstallError> {
    let directory = places.ours.join("install");
    let made = missing_directories(&places.ours);
    disk.make_private_dir(&directory)?;
    let _lock = FileLock::acquire(&directory.join("lock"), PATIENCE)?;
    let mut journal = InstallJournal::open(disk, directory, made)?;
    let result = work(&mut journal);
    // Also after a refusal nothing of ours lies about; the first failure is the one to tell.
    let cleaned = journal.clean_up();
    let result = result?;
    cleaned.map(|()| result)
}

/// `path` as a person of this home writes it.
pub fn display_path(path: &Path, env: &Env) -> String {
    UserDirectories::from_env(env)
        .map_or_else(|_| path.display().to_string(), |places| places.display_path(path))
}

#[cfg(test)]
mod tests;
