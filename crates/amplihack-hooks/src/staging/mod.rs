//! Texts that an installation puts into files of its own: Copilot's manifest and wrappers, the XPIA hook's two entry points.

use std::time::Duration;

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

/// What a user's own script is called that runs before ours: the wrapper's name and this.
pub const SCRIPT_SUFFIX: &str = ".user";
/// The least seconds of an event at which a user's script runs too.
const SCRIPT_TIMEOUT: u32 = 30;
/// What of them is not the script's: the guard needs some, and the host has to hear of a script that takes too long.
const NOT_THE_SCRIPTS: u32 = 15;
/// How every wrapper of ours begins, behind the event's name.
const MADE_BY: &str = " hook of GitHub Copilot CLI in this repository. Made by `amplihack install";
/// What the predecessor's wrappers name.
const PREDECESSORS: &str = ".claude/tools/amplihack/hooks/";

/// Copilot's own manifest of `hooks`.
pub fn copilot_manifest(hooks: &[Hook]) -> String {
    let mut events = Map::new();
    for hook in hooks {
        let one = json!({"type": "command", "bash": hook.command, "timeoutSec": hook.timeout});
        events.insert(hook.event.copilot_name().to_owned(), json!([one]));
    }
    format!("{:#}\n", json!({"version": 1, "hooks": events}))
}

/// The manifest of a repository: it names wrappers beside it, and no path of any machine. `has_script` says where a script of
/// the user's runs too, which takes longer.
pub fn repository_manifest(has_script: impl Fn(HookEvent) -> bool) -> String {
    if amplihack_utils::sabotage::active("copilot-manifest") {
        return copilot_manifest(&[]);
    }
    let hook = |(event, seconds): &(HookEvent, u32)| {
        let guard = if event.is_guard() { GUARD } else { "" };
        let command = format!(".github/hooks/{event}{guard}");
        let timeout = if has_script(*event) { *seconds.max(&SCRIPT_TIMEOUT) } else { *seconds };
        Hook { event: *event, name: event.copilot_name(), command, timeout }
    };
    copilot_manifest(&WRAPPERS.iter().map(hook).collect::<Vec<_>>())
}

/// The events that have a wrapper in a repository. The wrapper has the event's name.
pub fn wrapped() -> impl Iterator<Item = HookEvent> {
    WRAPPERS.iter().map(|(event, _)| *event).filter(|event| !is_left_out(*event))
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

/// The wrapper of `event`; with a script, the one that runs the user's file of its name and [`SCRIPT_SUFFIX`] too.
pub fn wrapper(event: HookEvent, has_script: bool) -> String {
    let fallback = if event.is_guard() { "deny" } else { "pass" };
    let (here, call) = if has_script {
        let here = "# The user's script of this name runs first; the stricter answer counts.\n\
            case $0 in */*) here=${0%/*} ;; *) here=. ;; esac\n";
        (here, format!("aggregate {event} --script \"$here/{event}{SCRIPT_SUFFIX}\""))
    } else {
        ("", event.name().to_owned())
    };
    let input = if amplihack_utils::sabotage::active("copilot-wrapper-stdin") {
        "copilot </dev/null)"
    } else {
        "copilot)"
    };
    let text = WRAPPER.replace("copilot)", input).replace("@HERE@\n", here).replace("@CALL@", &call);
    text.replace("@EVENT@", event.name()).replace("@FALLBACK@", fallback)
}

/// Whether a file in a wrapper's place is a wrapper of ours, of any version, or of the predecessor.
pub fn is_wrapper(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().take(3).any(|line| line.contains(MADE_BY)) || text.contains(PREDECESSORS)
}

/// How long a user's script may take at `event`.
pub(crate) fn script_time(event: HookEvent) -> Duration {
    let seconds = WRAPPERS.iter().find(|(known, _)| *known == event).map_or(0, |(_, seconds)| *seconds);
    Duration::from_secs(u64::from(seconds.max(SCRIPT_TIMEOUT) - NOT_THE_SCRIPTS))
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
