//! What an installation puts where, for one agent: decided whole before anything is written.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::{Facts, Hook, hooks};
use amplihack_hooks::settings::{Edit, trust_entries};
use amplihack_hooks::staging;
use amplihack_utils::agent_binary::AgentBinary;

use super::disk::{behind_links, read, read_text};
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
    /// It is kept under another name beside ours, which runs it.
    Beside,
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
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut scripts = Vec::new();
    for event in staging::wrapped() {
        let wrapper = directory.join(event.name());
        let script = script_beside(&wrapper);
        let kept = if is_theirs(&wrapper)? { Some(&wrapper) } else { there(&script).then_some(&script) };
        if let Some(kept) = kept {
            scripts.push(event);
            wanted.notes.push(beside_note(event, places, &script, kept));
        }
        let text = staging::wrapper(
            event,
            kept.is_some() && !amplihack_utils::sabotage::active("copilot-wrapper-aggregates"),
        );
        let edit = Edit::Whole { text };
        wanted.changes.push(Change { path: wrapper, edit, mode: 0o755, foreign: Foreign::Beside });
    }
    // Last, so that it never names a wrapper that is not there.
    let text = staging::repository_manifest(|event| scripts.contains(&event));
    wanted.change(path, Edit::Whole { text }, mode);
    wanted.notes.push(
        "copilot reads a repository's hooks only where it trusts the folder, and only when started at the repository's root"
            .to_owned(),
    );
    Ok(())
}

/// Where a script of the user's is kept that stands in a wrapper's place.
pub(super) fn script_beside(wrapper: &Path) -> PathBuf {
    let mut name = wrapper.as_os_str().to_owned();
    name.push(staging::SCRIPT_SUFFIX);
    name.into()
}

/// Whether anything has this name, a link that leads nowhere too.
pub(super) fn there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether something that is no wrapper of ours stands in a wrapper's place.
pub(super) fn is_theirs(wrapper: &Path) -> Result<bool, InstallError> {
    Ok(match read(wrapper)? {
        Some((bytes, _)) => !staging::is_wrapper(&bytes),
        None => there(wrapper),
    })
}

fn beside_note(event: HookEvent, places: &Places, script: &Path, kept: &Path) -> String {
    let runs = std::fs::metadata(kept).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    let shown = places.shown(script);
    match (runs, event.is_guard()) {
        (true, _) => format!("{event}: your own script {shown} runs first; the stricter answer counts"),
        (false, true) => format!(
            "{event}: your own script {shown} is no program, so every tool call is denied; run chmod +x {shown}, or remove it and install again"
        ),
        (false, false) => format!(
            "{event}: your own script {shown} is no program, so it is left out; run chmod +x {shown}, or remove it and install again"
        ),
    }
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
