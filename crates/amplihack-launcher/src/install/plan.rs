//! What an installation puts where, for one agent: decided whole before anything is written.

use std::path::PathBuf;

use amplihack_hooks::registration::{Facts, Hook, hooks};
use amplihack_hooks::settings::{Edit, trust_entries};
use amplihack_hooks::staging;
use amplihack_utils::agent_binary::AgentBinary;

use super::disk::{behind_links, read_text};
use super::places::Places;
use super::{InstallError, Request, Scope, copilot};

/// One change to one file.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    /// The file.
    pub(crate) path: PathBuf,
    /// What is put into it.
    pub(crate) edit: Edit,
    /// Permissions of a new file.
    pub(crate) mode: u32,
    /// What happens to a file of the same name that is not ours.
    pub(crate) foreign: Foreign,
}

/// What happens to somebody's file where ours should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// Nothing is installed.
    Refuse,
    /// It stays, and ours is left out.
    Skip,
}

/// The changes for one agent, and what there is to say about it.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) changes: Vec<Change>,
    pub(crate) notes: Vec<String>,
}

impl Wanted {
    fn change(&mut self, path: PathBuf, edit: Edit, mode: u32) {
        let foreign = Foreign::Refuse;
        self.changes.push(Change { path, edit, mode, foreign });
    }
}

/// What `request` wants for `agent`.
pub(crate) fn wanted(agent: AgentBinary, request: &Request, places: &Places) -> Result<Wanted, InstallError> {
    let mut wanted = Wanted::default();
    let Some(path) = places.registration(agent, &request.scope) else {
        wanted.notes.push(format!("{agent} has neither hooks nor permission rules: nothing holds it"));
        return Ok(wanted);
    };
    let path = behind_links(&path);
    let mode = if request.scope == Scope::User { 0o600 } else { 0o644 };
    match agent {
        AgentBinary::Codex => codex(&mut wanted, path, mode, request, places)?,
        AgentBinary::Copilot => copilot_hooks(&mut wanted, path, mode, request, places)?,
        AgentBinary::Amp => {
            if request.rules.is_empty() {
                wanted.notes.push("no permission rules are there to install for amp".to_owned());
            } else {
                wanted.change(path, Edit::Rules { rules: request.rules.clone() }, mode);
            }
            wanted.notes.push(
                "amp has no hooks: its permission rules are the wall, and they are coarser than the policy"
                    .to_owned(),
            );
        }
        _ => {
            let hooks = hooks(agent, &request.program, facts(agent, request))?;
            wanted.change(path, Edit::Hooks { host: agent, hooks }, mode);
        }
    }
    if matches!(agent, AgentBinary::Claude | AgentBinary::Copilot) {
        xpia(&mut wanted, &request.scope, places);
    }
    Ok(wanted)
}

/// A repository's settings of Claude Code are read by Copilot too, so they name no host.
fn facts(agent: AgentBinary, request: &Request) -> Facts<'_> {
    let shared = agent == AgentBinary::Claude && request.scope != Scope::User;
    Facts { host: (!shared).then_some(agent), policy: request.policy.as_deref(), ..Facts::default() }
}

fn codex(
    wanted: &mut Wanted,
    path: PathBuf,
    mode: u32,
    request: &Request,
    places: &Places,
) -> Result<(), InstallError> {
    let agent = AgentBinary::Codex;
    let hooks = hooks(agent, &request.program, facts(agent, request))?;
    let edit = Edit::Hooks { host: agent, hooks };
    let refused = |why| InstallError::Edit { path: path.clone(), why };
    // Trust is in the hook as it will stand, at the place where it will stand.
    let text = edit.apply(read_text(&path)?.as_deref()).map_err(refused)?;
    let mut entries = trust_entries(&path, &text).map_err(refused)?;
    if let Some(named) = places.registration(agent, &request.scope).filter(|named| *named != path) {
        entries.extend(trust_entries(&named, &text).map_err(refused)?);
    }
    wanted.change(path, edit, mode);
    wanted.change(behind_links(&places.codex_config()), Edit::Trust { entries }, 0o600);
    if request.scope != Scope::User {
        wanted.notes.push(
            "codex reads a repository's hooks only where it trusts the repository; it asks once".to_owned(),
        );
    }
    Ok(())
}

// It takes what `codex` takes: both add to one agent's part of what is wanted.
fn copilot_hooks(
    wanted: &mut Wanted,
    path: PathBuf,
    mode: u32,
    request: &Request,
    places: &Places,
) -> Result<(), InstallError> {
    let agent = AgentBinary::Copilot;
    if request.scope == Scope::User {
        let hooks: Vec<Hook> = hooks(agent, &request.program, facts(agent, request))?;
        wanted.change(path, Edit::Whole { text: staging::copilot_manifest(&hooks) }, mode);
        return copilot::stage(wanted, places);
    }
    if let Some(directory) = path.parent() {
        for (name, text) in staging::wrappers() {
            wanted.change(directory.join(name), Edit::Whole { text }, 0o755);
        }
    }
    // Last, so that it never names a wrapper that is not there.
    wanted.change(path, Edit::Whole { text: staging::repository_manifest() }, mode);
    wanted.notes.push(
        "copilot reads a repository's hooks only where it trusts the folder, and only when started at the repository's root"
            .to_owned(),
    );
    Ok(())
}

fn xpia(wanted: &mut Wanted, scope: &Scope, places: &Places) {
    for entry_point in staging::XPIA_ENTRY_POINTS {
        let is_twin = entry_point.ends_with("_rust.py");
        if !is_twin && amplihack_utils::sabotage::active("copilot-entry-canonical") {
            continue;
        }
        let text = if is_twin && amplihack_utils::sabotage::active("copilot-entry-twin") {
            "print('{}')\n"
        } else {
            staging::XPIA_SHIM
        };
        let edit = Edit::Whole { text: text.to_owned() };
        wanted.change(places.xpia(scope).join(entry_point), edit, 0o755);
    }
}
