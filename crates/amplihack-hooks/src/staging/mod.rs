//! Texts that an installation puts into files of its own: Copilot's manifest and wrappers, the XPIA hook's two entry points.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::event::HookEvent;
use crate::host::DAYS_IN_SECONDS;
use crate::registration::HookRegistration;
use crate::token;

/// The name of the manifest in a repository, which is the seed's, and of the one in Copilot's home.
pub const REPOSITORY_MANIFEST: &str = "amplihack-hooks.json";
/// The manifest in Copilot's own directory.
pub const USER_MANIFEST: &str = "amplihack.json";

/// Paths of the seed's XPIA hook, below a repository or `$AMPLIHACK_HOME`: the canonical entry point and its twin.
pub const XPIA_ENTRY_POINTS: [&str; 2] =
    [".claude/tools/xpia/hooks/pre_tool_use.py", ".claude/tools/xpia/hooks/pre_tool_use_rust.py"];

/// Both entry points of the XPIA hook: one text, so that they cannot differ.
pub const XPIA_SHIM: &str = include_str!("xpia_shim.py");

/// The template of a wrapper.
const WRAPPER: &str = include_str!("wrapper.sh");

/// Events that a repository's wrappers serve, with their seconds. The first five are the seed's.
const WRAPPERS: &[(HookEvent, u32)] = &[
    (HookEvent::SessionStart, 30),
    (HookEvent::SessionStop, 30),
    (HookEvent::PreToolUse, DAYS_IN_SECONDS),
    (HookEvent::PostToolUse, 10),
    (HookEvent::UserPromptSubmit, 10),
    (HookEvent::Stop, 120),
    (HookEvent::SubagentStop, 10),
    (HookEvent::PreCompact, 30),
];

/// The suffix of a user's own script that runs before ours: its name is the wrapper's name and this.
pub const SCRIPT_SUFFIX: &str = ".user";
/// The least seconds of an event at which a user's script runs too.
const SCRIPT_TIMEOUT: u32 = 30;
/// Seconds of them that are not the script's: the guard needs some, and the host has to hear of a script that takes too long.
const NOT_THE_SCRIPTS: u32 = 15;
/// The beginning of every wrapper of ours, behind the event's name.
const MADE_BY: &str = " hook of GitHub Copilot CLI in this repository. Made by `amplihack install";
/// The directory that the predecessor's wrappers name.
const PREDECESSORS: &str = ".claude/tools/amplihack/hooks/";

/// Copilot's own manifest of `hooks`.
pub fn copilot_manifest(hooks: &[HookRegistration]) -> String {
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
    if amplihack_sys::sabotage::is_active("copilot-manifest") {
        return copilot_manifest(&[]);
    }
    let hook = |(event, seconds): &(HookEvent, u32)| {
        let wrapper = format!(".github/hooks/{event}");
        let command = if event.is_guard() { token::demanding_object(&wrapper) } else { wrapper };
        let timeout = if has_script(*event) { *seconds.max(&SCRIPT_TIMEOUT) } else { *seconds };
        HookRegistration { event: *event, name: event.copilot_name(), command, timeout }
    };
    copilot_manifest(&WRAPPERS.iter().map(hook).collect::<Vec<_>>())
}

/// The events that have a wrapper in a repository. The wrapper has the event's name.
pub fn wrapped_events() -> impl Iterator<Item = HookEvent> {
    WRAPPERS.iter().map(|(event, _)| *event).filter(|event| !is_left_out(*event))
}

/// Reports whether a fault leaves the wrapper of an event out.
fn is_left_out(event: HookEvent) -> bool {
    match event {
        HookEvent::SessionStart => amplihack_sys::sabotage::is_active("copilot-wrapper-session-start"),
        HookEvent::SessionStop => amplihack_sys::sabotage::is_active("copilot-wrapper-session-stop"),
        HookEvent::PreToolUse => amplihack_sys::sabotage::is_active("copilot-wrapper-pre-tool-use"),
        HookEvent::PostToolUse => amplihack_sys::sabotage::is_active("copilot-wrapper-post-tool-use"),
        HookEvent::UserPromptSubmit => {
            amplihack_sys::sabotage::is_active("copilot-wrapper-user-prompt-submit")
        }
        _ => false,
    }
}

/// The wrapper of `event`; with a script, the one that runs the user's file of its name and [`SCRIPT_SUFFIX`] too.
pub fn wrapper_text(event: HookEvent, has_script: bool) -> String {
    let (fallback, sign, token) =
        if event.is_guard() { ("deny", " --sign", token::TOKEN) } else { ("pass", "", "") };
    let (here, call) = if has_script {
        let here = "# The user's script of this name runs first; the stricter answer counts.\n\
            case $0 in */*) here=${0%/*} ;; *) here=. ;; esac\n";
        (here, format!("aggregate {event} --script \"$here/{event}{SCRIPT_SUFFIX}\""))
    } else {
        ("", event.name().to_owned())
    };
    let input = if amplihack_sys::sabotage::is_active("copilot-wrapper-stdin") {
        "@SIGN@ </dev/null)"
    } else {
        "@SIGN@)"
    };
    let text = WRAPPER.replace("@SIGN@)", input).replace("@HERE@\n", here).replace("@CALL@", &call);
    let text = text.replace("@SIGN@", sign).replace("@TOKEN@", token);
    text.replace("@EVENT@", event.name()).replace("@FALLBACK@", fallback)
}

/// Reports whether the file at `path` in a repository is exactly the one that this version puts there, to the byte.
pub(crate) fn is_own_file(path: &Path, content: &[u8]) -> bool {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return false;
    };
    let has_script = |event: HookEvent| directory.join(format!("{event}{SCRIPT_SUFFIX}")).exists();
    if name == REPOSITORY_MANIFEST {
        return content == repository_manifest(has_script).as_bytes();
    }
    let event = wrapped_events().find(|event| event.name() == name);
    event.is_some_and(|event| {
        [false, true].map(|script| wrapper_text(event, script)).iter().any(|text| text.as_bytes() == content)
    })
}

/// Reports whether a file in a wrapper's place is a wrapper of ours, of any version, or of the predecessor.
pub fn is_wrapper(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().take(3).any(|line| line.contains(MADE_BY)) || text.contains(PREDECESSORS)
}

/// The longest time that a user's script may take at `event`.
pub(crate) fn script_time(event: HookEvent) -> Duration {
    // The guard's own time has no end that counts.
    let known = WRAPPERS.iter().find(|(known, _)| *known == event && !event.is_guard());
    let seconds = known.map_or(0, |(_, seconds)| *seconds);
    Duration::from_secs(u64::from(seconds.max(SCRIPT_TIMEOUT) - NOT_THE_SCRIPTS))
}

/// The wrapper of a repository that a registered command calls, by its name, in a manifest of this version or of an earlier one.
pub fn called_wrapper(command: &str) -> Option<&str> {
    token::inner_command(command)?.split(' ').next()?.strip_prefix(".github/hooks/")
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
