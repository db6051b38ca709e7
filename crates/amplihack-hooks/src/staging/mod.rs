//! Texts that an installation puts into files of its own: Copilot's manifest and wrappers, the XPIA hook's two entry points.

use serde_json::{Map, Value, json};

use crate::event::HookEvent;
use crate::registration::{GUARD, GUARD_TIMEOUT, Hook};

/// The name of the manifest in a repository, which is the seed's, and of the one in Copilot's home.
pub const REPOSITORY_MANIFEST: &str = "amplihack-hooks.json";
/// The manifest in Copilot's own directory.
pub const USER_MANIFEST: &str = "amplihack.json";

/// Where the seed has the XPIA hook, below a repository or `$AMPLIHACK_HOME`: the canonical entry point and its twin.
pub const XPIA_ENTRY_POINTS: [&str; 2] =
    [".claude/tools/xpia/hooks/pre_tool_use.py", ".claude/tools/xpia/hooks/pre_tool_use_rust.py"];

/// Both entry points of the XPIA hook: one text, so that they cannot differ.
pub const XPIA_SHIM: &str = include_str!("xpia_shim.py");

/// What a wrapper is made of.
const WRAPPER: &str = include_str!("wrapper.sh");

/// Events that a repository's wrappers serve, with their seconds. The first five are the seed's.
const WRAPPERS: &[(HookEvent, u32)] = &[
    (HookEvent::SessionStart, 30),
    (HookEvent::SessionStop, 30),
    (HookEvent::PreToolUse, GUARD_TIMEOUT),
    (HookEvent::PostToolUse, 10),
    (HookEvent::UserPromptSubmit, 10),
    (HookEvent::Stop, 120),
    (HookEvent::SubagentStop, 10),
    (HookEvent::PreCompact, 30),
];

/// Copilot's own manifest of `hooks`.
pub fn copilot_manifest(hooks: &[Hook]) -> String {
    let mut events = Map::new();
    for hook in hooks {
        let one = json!({"type": "command", "bash": hook.command, "timeoutSec": hook.timeout});
        events.insert(hook.event.copilot_name().to_owned(), json!([one]));
    }
    format!("{:#}\n", json!({"version": 1, "hooks": events}))
}

/// The manifest of a repository: it names wrappers beside it, and no path of any machine.
pub fn repository_manifest() -> String {
    if amplihack_utils::sabotage::active("copilot-manifest") {
        return copilot_manifest(&[]);
    }
    let hook = |(event, timeout): &(HookEvent, u32)| {
        let guard = if event.is_guard() { GUARD } else { "" };
        let command = format!(".github/hooks/{event}{guard}");
        Hook { event: *event, name: event.copilot_name(), command, timeout: *timeout }
    };
    copilot_manifest(&WRAPPERS.iter().map(hook).collect::<Vec<_>>())
}

/// The wrappers of a repository: their names and their texts.
pub fn wrappers() -> impl Iterator<Item = (&'static str, String)> {
    WRAPPERS
        .iter()
        .filter(|(event, _)| !is_left_out(*event))
        .map(|(event, _)| (event.name(), wrapper(*event)))
}

/// Whether a fault leaves the wrapper of an event out.
fn is_left_out(event: HookEvent) -> bool {
    match event {
        HookEvent::SessionStart => amplihack_utils::sabotage::active("copilot-wrapper-session-start"),
        HookEvent::SessionStop => amplihack_utils::sabotage::active("copilot-wrapper-session-stop"),
        HookEvent::PreToolUse => amplihack_utils::sabotage::active("copilot-wrapper-pre-tool-use"),
        HookEvent::PostToolUse => amplihack_utils::sabotage::active("copilot-wrapper-post-tool-use"),
        HookEvent::UserPromptSubmit => {
            amplihack_utils::sabotage::active("copilot-wrapper-user-prompt-submit")
        }
        _ => false,
    }
}

fn wrapper(event: HookEvent) -> String {
    let fallback = if event.is_guard() { "deny" } else { "pass" };
    let input = if amplihack_utils::sabotage::active("copilot-wrapper-stdin") {
        "copilot </dev/null"
    } else {
        "copilot"
    };
    WRAPPER
        .replace("copilot)", &format!("{input})"))
        .replace("@EVENT@", event.name())
        .replace("@FALLBACK@", fallback)
}

/// The commands that a manifest of Copilot names, each with its event's name.
pub fn copilot_commands(manifest: &Value) -> Vec<(String, String)> {
    let events = manifest["hooks"].as_object().into_iter().flatten();
    let commands = |(name, hooks): (&String, &Value)| {
        let hooks: Vec<_> = hooks.as_array().into_iter().flatten().cloned().collect();
        let name = name.clone();
        hooks.into_iter().filter_map(move |hook| Some((name.clone(), hook["bash"].as_str()?.to_owned())))
    };
    events.flat_map(commands).collect()
}

#[cfg(test)]
mod tests;
