//! Settings by which a host leaves out all hooks, a launch's too, and that no flag of the host overrules.
//!
//! Those of the user and of the machine's administrator refuse a launch. A repository's own, in Claude Code and Codex, do not count here:
//! the rows of these agents in the flag matrix overrule them for a launch.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_regular;
use jsonc_parser::{JsonValue, ParseOptions};

use crate::host::hook_host;

/// The setting of Claude Code and Copilot.
pub const KEY: &str = "disableAllHooks";

/// Bytes of a settings file.
pub(crate) const LIMIT: u64 = 1 << 20;

/// The file by which `agent`, started in `cwd`, would leave out the hooks of a launch, and the setting in it.
///
/// Without a `cwd`, the file of an agent that is kept from the settings of its directory.
pub fn switched_off(agent: AgentBinary, env: &Env, cwd: Option<&Path>) -> Option<(PathBuf, &'static str)> {
    (hook_host(agent).ok()?.switched_off)(env, cwd)
}

/// The file by which `agent`, started in `cwd`, would leave out the hook that runs `command`, and the setting in it.
pub fn left_out(agent: AgentBinary, env: &Env, cwd: &Path, command: &str) -> Option<(PathBuf, &'static str)> {
    (hook_host(agent).ok()?.left_out)(env, cwd, command)
}

/// Reports whether `agent`, started in `cwd`, would run the hooks of a launch.
pub fn trusts_directory(agent: AgentBinary, env: &Env, cwd: &Path) -> bool {
    hook_host(agent).ok().is_none_or(|host| (host.trusts)(env, cwd))
}

/// The variable, with its value, by which `agent` trusts `cwd` for one session as it trusts `like`. `None` if it trusts both or neither.
///
/// Only for a `cwd` that is a copy of `like`, such as a worktree.
pub fn trust_like(
    agent: AgentBinary,
    env: &Env,
    like: &Path,
    cwd: &Path,
) -> Option<(&'static str, &'static str)> {
    let host = hook_host(agent).ok()?;
    host.trusted_by.filter(|_| (host.trusts)(env, like) && !(host.trusts)(env, cwd))
}

/// Reports whether the JSON object in `file` has `value` at the dotted `key`.
pub(crate) fn has_bool(file: &Path, key: &str, value: bool) -> bool {
    has_value(file, key, |found| *found == JsonValue::Boolean(value))
}

/// Reports whether the JSON object in `file` has a list with the text `item` at the dotted `key`.
pub(crate) fn has_item(file: &Path, key: &str, item: &str) -> bool {
    let is_it = |value: &JsonValue<'_>| matches!(value, JsonValue::String(text) if text == item);
    has_value(file, key, |found| matches!(found, JsonValue::Array(values) if values.iter().any(is_it)))
}

fn has_value(file: &Path, key: &str, holds: impl FnOnce(&JsonValue<'_>) -> bool) -> bool {
    let Ok(bytes) = read_regular(file, LIMIT) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let Ok(Some(mut found)) = jsonc_parser::parse_to_value(&text, &ParseOptions::default()) else {
        return false;
    };
    for part in key.split('.') {
        let JsonValue::Object(mut object) = found else { return false };
        let Some(inner) = object.take(part) else { return false };
        found = inner;
    }
    holds(&found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn anything_but_the_value_switches_nothing_off() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        for text in
            ["", "{}", "[]", "{\"disableAllHooks\": false}", "{\"disableAllHooks\": \"true\"}", "no json"]
        {
            fs::write(&file, text).unwrap();
            assert!(!has_bool(&file, KEY, true), "{text}");
        }
        fs::write(&file, "{ // why\n \"hooks\": {\"enabled\": false,}}").unwrap();
        assert!(has_bool(&file, "hooks.enabled", false) && !has_bool(&file, "hooks.enabled.x", false));
        assert!(!has_bool(dir.path(), KEY, true));
    }
}
