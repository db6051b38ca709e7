//! Plan of an installation for one agent: decided whole before anything is written.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::{HookRegistration, RegistrationFacts, build_hooks};
use amplihack_hooks::settings::{SettingsEdit, trust_entries};
use amplihack_hooks::staging;
use amplihack_launcher::installed::{RegistrationError, UserDirectories, behind_links, read_file, read_text};

use super::{InstallError, InstallRequest, InstallScope, copilot};

/// A change to a file.
#[derive(Debug, Clone)]
pub(crate) struct InstallChange {
    /// The file.
    pub(crate) path: PathBuf,
    /// Edit that is made to it.
    pub(crate) edit: SettingsEdit,
    /// Permissions of a new file.
    pub(crate) mode: u32,
    /// Rule for a file of the same name that is not ours.
    pub(crate) foreign: ForeignFileRule,
}

/// Rule for somebody's file where ours should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignFileRule {
    /// Nothing is installed.
    Refuse,
    /// The file stays, and ours is left out.
    Skip,
    /// The file is kept under another name beside ours, which runs it.
    Beside,
}

/// The changes for one agent, and what there is to say about it.
#[derive(Debug, Default)]
pub(crate) struct InstallPlan {
    pub(crate) changes: Vec<InstallChange>,
    pub(crate) notes: Vec<String>,
}

impl InstallPlan {
    fn add_change(&mut self, path: PathBuf, edit: SettingsEdit, mode: u32) {
        let foreign = ForeignFileRule::Refuse;
        self.changes.push(InstallChange { path, edit, mode, foreign });
    }
}

/// Plans what `request` wants for `agent`.
pub(crate) fn plan_install(
    agent: AgentBinary,
    request: &InstallRequest,
    places: &UserDirectories,
) -> Result<InstallPlan, InstallError> {
    let mut wanted = InstallPlan::default();
    let Some(path) = places.registration_file(agent, &request.scope) else {
        wanted.notes.push(format!("{agent} has neither hooks nor permission rules: nothing holds it"));
        return Ok(wanted);
    };
    let path = behind_links(&path);
    let mode = if request.scope == InstallScope::User { 0o600 } else { 0o644 };
    match agent {
        AgentBinary::Codex => plan_codex(&mut wanted, path, mode, request, places)?,
        AgentBinary::Copilot => plan_copilot(&mut wanted, path, mode, request, places)?,
        AgentBinary::Amp => {
            if request.rules.is_empty() {
                wanted.notes.push("no permission rules are there to install for amp".to_owned());
            } else {
                wanted.add_change(path, SettingsEdit::Rules { rules: request.rules.clone() }, mode);
            }
            wanted.notes.push(
                "amp has no hooks: its permission rules are the wall, and they are coarser than the policy"
                    .to_owned(),
            );
        }
        _ => {
            let hooks = build_hooks(agent, &request.program, registration_facts(agent, request))?;
            wanted.add_change(path, SettingsEdit::Hooks { host: agent, hooks }, mode);
        }
    }
    if matches!(agent, AgentBinary::Claude | AgentBinary::Copilot) {
        add_xpia_shims(&mut wanted, &request.scope, places);
    }
    Ok(wanted)
}

/// A repository's settings of Claude Code are read by Copilot too, so they name no host.
fn registration_facts(agent: AgentBinary, request: &InstallRequest) -> RegistrationFacts<'_> {
    let shared = agent == AgentBinary::Claude && request.scope != InstallScope::User;
    RegistrationFacts {
        host: (!shared).then_some(agent),
        policy: request.policy.as_deref(),
        ..RegistrationFacts::default()
    }
}

fn plan_codex(
    wanted: &mut InstallPlan,
    path: PathBuf,
    mode: u32,
    request: &InstallRequest,
    places: &UserDirectories,
) -> Result<(), InstallError> {
    let agent = AgentBinary::Codex;
    let hooks = build_hooks(agent, &request.program, registration_facts(agent, request))?;
    let edit = SettingsEdit::Hooks { host: agent, hooks };
    let refused = |why| RegistrationError::Edit { path: path.clone(), why };
    // Trust is in the hook as it will stand, at the place where it will stand.
    let text = edit.apply_to(read_text(&path)?.as_deref()).map_err(refused)?;
    let mut entries = trust_entries(&path, &text).map_err(refused)?;
    if let Some(named) = places.registration_file(agent, &request.scope).filter(|named| *named != path) {
        entries.extend(trust_entries(&named, &text).map_err(refused)?);
    }
    wanted.add_change(path, edit, mode);
    wanted.add_change(behind_links(&places.codex_config()), SettingsEdit::Trust { entries }, 0o600);
    if request.scope != InstallScope::User {
        wanted.notes.push(
            "codex reads a repository's hooks only where it trusts the repository; it asks once".to_owned(),
        );
    }
    Ok(())
}

// It takes what `codex` takes: both add to one agent's part of what is wanted.
fn plan_copilot(
    wanted: &mut InstallPlan,
    path: PathBuf,
    mode: u32,
    request: &InstallRequest,
    places: &UserDirectories,
) -> Result<(), InstallError> {
    let agent = AgentBinary::Copilot;
    if request.scope == InstallScope::User {
        let hooks: Vec<HookRegistration> =
            build_hooks(agent, &request.program, registration_facts(agent, request))?;
        wanted.add_change(path, SettingsEdit::Whole { text: staging::copilot_manifest(&hooks) }, mode);
        return copilot::stage_files(wanted, places);
    }
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut scripts = Vec::new();
    for event in staging::wrapped_events() {
        let wrapper = directory.join(event.name());
        let script = script_beside(&wrapper);
        let kept = if is_theirs(&wrapper)? { Some(&wrapper) } else { is_present(&script).then_some(&script) };
        if let Some(kept) = kept {
            scripts.push(event);
            wanted.notes.push(beside_note(event, places, &script, kept));
        }
        let text = staging::wrapper_text(
            event,
            kept.is_some() && !amplihack_sys::sabotage::is_active("copilot-wrapper-aggregates"),
        );
        let edit = SettingsEdit::Whole { text };
        wanted.changes.push(InstallChange {
            path: wrapper,
            edit,
            mode: 0o755,
            foreign: ForeignFileRule::Beside,
        });
    }
    // Last, so that it never names a wrapper that is not there.
    let text = staging::repository_manifest(|event| scripts.contains(&event));
    wanted.add_change(path, SettingsEdit::Whole { text }, mode);
    wanted.notes.push(
        "copilot reads a repository's hooks only where it trusts the folder, and only when started at the repository's root"
            .to_owned(),
    );
    Ok(())
}

/// Path at which a script of the user's is kept that stands in a wrapper's place.
pub(super) fn script_beside(wrapper: &Path) -> PathBuf {
    let mut name = wrapper.as_os_str().to_owned();
    name.push(staging::SCRIPT_SUFFIX);
    name.into()
}

/// Reports whether anything has this name, a link that leads nowhere too.
pub(super) fn is_present(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reports whether something that is no wrapper of ours stands in a wrapper's place.
pub(super) fn is_theirs(wrapper: &Path) -> Result<bool, InstallError> {
    Ok(match read_file(wrapper)? {
        Some((bytes, _)) => !staging::is_wrapper(&bytes),
        None => is_present(wrapper),
    })
}

fn beside_note(event: HookEvent, places: &UserDirectories, script: &Path, kept: &Path) -> String {
    let runs = std::fs::metadata(kept).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    let shown = places.display_path(script);
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

fn add_xpia_shims(wanted: &mut InstallPlan, scope: &InstallScope, places: &UserDirectories) {
    for entry_point in staging::XPIA_ENTRY_POINTS {
        let is_twin = entry_point.ends_with("_rust.py");
        if !is_twin && amplihack_sys::sabotage::is_active("copilot-entry-canonical") {
            continue;
        }
        let text = if is_twin && amplihack_sys::sabotage::is_active("copilot-entry-twin") {
            "print('{}')\n"
        } else {
            staging::XPIA_SHIM
        };
        let edit = SettingsEdit::Whole { text: text.to_owned() };
        wanted.add_change(places.xpia_directory(scope).join(entry_point), edit, 0o755);
    }
}
