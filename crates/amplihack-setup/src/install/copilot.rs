//! Files of Copilot's beside its hooks: agents, skills, workflows, context and commands of `$AMPLIHACK_HOME/.claude`, if that is
//! there, and a marked block in its instructions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use amplihack_hooks::settings::SettingsEdit;
use amplihack_launcher::installed::{UserDirectories, behind_links, decode_text, read_file};
use serde_json::json;

use super::InstallError;
use super::plan::{ForeignFileRule, InstallChange, InstallPlan};

/// Directories whose Markdown files Copilot gets flat: from below `.claude`, to below Copilot's own.
const FLAT: &[(&str, &str)] = &[
    ("agents/amplihack", "agents/amplihack"),
    ("workflow", "workflow/amplihack"),
    ("context", "context/amplihack"),
    ("commands/amplihack", "installed-plugins/amplihack@local/commands"),
];

const INSTRUCTIONS: &str = "amplihack stands between this session and the shell: a tool call that its policy forbids is denied, \
and the denial says why.\nDo not work around a denial; tell the user what was denied and why it was needed.\n";

/// Adds what is staged in Copilot's own directory.
pub(super) fn stage_files(wanted: &mut InstallPlan, places: &UserDirectories) -> Result<(), InstallError> {
    let (source, target) = (places.ours.join(".claude"), &places.copilot);
    for (from, to) in FLAT {
        let left_out = match *from {
            "agents/amplihack" => amplihack_sys::sabotage::is_active("copilot-surface-agents"),
            "commands/amplihack" => amplihack_sys::sabotage::is_active("copilot-surface-commands"),
            _ => false,
        };
        if left_out {
            continue;
        }
        for (name, path) in flattened_names(&source.join(from)) {
            add_file(wanted, &path, target.join(to).join(name))?;
        }
    }
    for path in list_files(&source.join("skills"))
        .into_iter()
        .filter(|_| !amplihack_sys::sabotage::is_active("copilot-surface-skills"))
    {
        let below = path.strip_prefix(&source).unwrap_or(&path).to_owned();
        add_file(wanted, &path, target.join(below))?;
    }
    if source.join("commands/amplihack").is_dir() {
        add_plugin(wanted, target);
    }
    wanted.changes.push(InstallChange {
        path: behind_links(&target.join("copilot-instructions.md")),
        edit: SettingsEdit::Block { text: INSTRUCTIONS.to_owned() },
        mode: 0o600,
        foreign: ForeignFileRule::Skip,
    });
    Ok(())
}

/// The plugin that Copilot finds the commands by.
fn add_plugin(wanted: &mut InstallPlan, target: &Path) {
    let directory = target.join("installed-plugins/amplihack@local");
    let version = env!("CARGO_PKG_VERSION");
    let manifest = json!({"name": "amplihack", "version": version, "description": "amplihack's commands"});
    let entry = json!({
        "name": "amplihack",
        "marketplace": "local",
        "version": version,
        "enabled": true,
        "source": "local",
        "cache_path": directory,
        "installed_at": jiff::Timestamp::now().to_string(),
    });
    let mut add = |path, edit| {
        wanted.changes.push(InstallChange { path, edit, mode: 0o600, foreign: ForeignFileRule::Skip });
    };
    add(directory.join("plugin.json"), SettingsEdit::Whole { text: format!("{manifest:#}\n") });
    add(behind_links(&target.join("config.json")), SettingsEdit::Plugin { entry });
}

fn add_file(wanted: &mut InstallPlan, from: &Path, to: PathBuf) -> Result<(), InstallError> {
    let Some((bytes, mode)) = read_file(from)? else { return Ok(()) };
    match decode_text(from, bytes) {
        Ok(text) => {
            let edit = SettingsEdit::Whole { text };
            wanted.changes.push(InstallChange { path: to, edit, mode, foreign: ForeignFileRule::Skip });
        }
        Err(_) => wanted.notes.push(format!("{} is not text and is not staged", from.display())),
    }
    Ok(())
}

/// Every Markdown file below `directory` by a name of its own: where two are called alike, their directories are part of it.
fn flattened_names(directory: &Path) -> BTreeMap<String, PathBuf> {
    let mut names = BTreeMap::new();
    for path in
        list_files(directory).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"))
    {
        let below = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
        let short = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = if names.contains_key(&short) { below.replace('/', "-") } else { short };
        names.insert(name, path);
    }
    names
}

/// Every file below `directory`, in order; links are not followed.
fn list_files(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(list_files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}
