//! Hooks for sessions that are started without `amplihack`: put in beside what users have, taken out whole.
//!
//! Every file is read, changed as text and replaced in one step, and before each change the journal in
//! `$AMPLIHACK_HOME/install` has its original. What broke off halfway is taken back by [`uninstall`] like what did not.

mod carry;
mod copilot;
mod disk;
mod error;
mod inspect;
mod journal;
mod places;
mod plan;
mod trial;

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_hooks::guard::engine;
use amplihack_hooks::registration::Program;
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::lock::FileLock;
use serde_json::Value;

use crate::discover::{Versions, discover};
use carry::Carrier;
use disk::{Disk, missing};
use journal::Journal;
use places::Places;

pub use error::InstallError;
pub(crate) use inspect::broken_registration;
pub use inspect::{Registration, State, TrustState, inspect};
pub use places::Scope;
pub use trial::{Trial, try_out};

pub use amplihack_hooks::dialect::trial::Answer;

/// How long another installation may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is to be installed.
#[derive(Debug, Clone)]
pub struct Request {
    /// For whom.
    pub scope: Scope,
    /// What answers the hooks.
    pub program: Program,
    /// The policy mode to pin.
    pub policy: Option<String>,
    /// Permission rules for Amp.
    pub rules: Vec<Value>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has ours in it now.
    Written,
    /// It had ours in it already.
    Unchanged,
    /// It is as it was before the installation.
    Restored,
    /// It was edited since: ours was taken out, the rest stays.
    Stripped,
    /// It was ours whole and is gone.
    Removed,
    /// It is somebody's, or was made theirs by an edit, and stays.
    Kept,
}

impl Outcome {
    /// One word for it.
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

/// What was done for one agent.
#[derive(Debug, Clone)]
pub struct Done {
    /// The agent.
    pub agent: AgentBinary,
    /// Its files.
    pub files: Vec<(PathBuf, Outcome)>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// The agents that are found on this machine.
pub fn found(env: &Env, config: &Config) -> Result<Vec<AgentBinary>, InstallError> {
    let here = |agent: &AgentBinary| discover(*agent, env, config, Versions::Unknown).is_ok();
    let agents: Vec<AgentBinary> = AgentBinary::ALL.into_iter().filter(here).collect();
    if agents.is_empty() { Err(InstallError::NoAgent) } else { Ok(agents) }
}

/// Installs for `agents`. All of it is planned, and every file read, before the first is changed.
pub fn install(agents: &[AgentBinary], request: &Request, env: &Env) -> Result<Vec<Done>, InstallError> {
    install_on(&Disk::default(), agents, request, env)
}

fn install_on(
    disk: &Disk,
    agents: &[AgentBinary],
    request: &Request,
    env: &Env,
) -> Result<Vec<Done>, InstallError> {
    engine(env)?;
    let places = Places::of(env)?;
    with_journal(disk, &places, |journal| {
        let mut wanted = Vec::new();
        for agent in agents {
            wanted.push((*agent, plan::wanted(*agent, request, &places)?));
        }
        let mut carrier = Carrier { disk, journal, scope: &request.scope };
        for (_, wanted) in &wanted {
            wanted.changes.iter().try_for_each(|change| carrier.check(change))?;
        }
        let mut done = Vec::new();
        for (agent, wanted) in wanted {
            let mut files = Vec::new();
            for change in &wanted.changes {
                files.push((change.path.clone(), carrier.put(agent, change)?));
            }
            done.push(Done { agent, files, notes: wanted.notes });
        }
        Ok(done)
    })
}

/// Takes everything out that was installed for `agents` in `scope`, also what an installation that broke off left.
pub fn uninstall(agents: &[AgentBinary], scope: &Scope, env: &Env) -> Result<Vec<Done>, InstallError> {
    uninstall_on(&Disk::default(), agents, scope, env)
}

fn uninstall_on(
    disk: &Disk,
    agents: &[AgentBinary],
    scope: &Scope,
    env: &Env,
) -> Result<Vec<Done>, InstallError> {
    let places = Places::of(env)?;
    with_journal(disk, &places, |journal| {
        let mut carrier = Carrier { disk, journal, scope };
        let mut done = Vec::new();
        for agent in agents {
            let mut files = carrier.take_back(*agent)?;
            // Registrations that no journal knows: another version's, or one whose journal is gone.
            if let Some(path) = places.registration(*agent, scope) {
                let path = disk::behind_links(&path);
                if !files.iter().any(|(known, _)| *known == path) {
                    files.extend(carrier.take_unrecorded(*agent, &path)?.map(|outcome| (path, outcome)));
                }
            }
            done.push(Done { agent: *agent, files, notes: Vec::new() });
        }
        Ok(done)
    })
}

/// Runs `work` with the journal, alone.
fn with_journal<T>(
    disk: &Disk,
    places: &Places,
    work: impl FnOnce(&mut Journal<'_>) -> Result<T, InstallError>,
) -> Result<T, InstallError> {
    let directory = places.ours.join("install");
    let made = missing(&places.ours);
    disk.make_private_dir(&directory)?;
    let _lock = FileLock::acquire(&directory.join("lock"), PATIENCE)?;
    let mut journal = Journal::open(disk, directory, made)?;
    let result = work(&mut journal);
    // Also after a refusal nothing of ours lies about; the first failure is the one to tell.
    let cleaned = journal.clean();
    let result = result?;
    cleaned.map(|()| result)
}

/// `path` as a person of this home writes it.
pub fn shown(path: &Path, env: &Env) -> String {
    Places::of(env).map_or_else(|_| path.display().to_string(), |places| places.shown(path))
}

#[cfg(test)]
mod tests;
