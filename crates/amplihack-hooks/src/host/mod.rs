//! Differences from host to host: one file a host. Nothing outside of this folder asks which host it is.
//!
//! A host is an agent that asks commands about its tool calls. It has its own names for events, its own place for the hooks of
//! one launch, and one dialect or two.

mod claude;
mod codex;
mod copilot;
mod gemini;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use serde_json::{Map, Value};

use crate::acting::ActingPlace;
use crate::dialect::{AnswerEffects, HookDialect, ToolKind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::HookRegistration;

pub(crate) use claude::{INLINE_COMMANDS, claude_directory};

/// A file of settings, and the setting in it.
pub(crate) type SettingFound = (PathBuf, &'static str);

/// The properties of an agent as a host of hooks.
pub(crate) struct HookHost {
    /// Returns the host's name of an event in registrations; `None` for one that it does not have, or that is not told to it.
    pub(crate) event_name: fn(HookEvent) -> Option<&'static str>,
    /// Number of the host's units of time in a second.
    pub(crate) second: u32,
    /// The longest time of a hook that it was shown to keep, as it counts: at a time-out every host runs the call.
    pub(crate) longest: u32,
    /// The most seconds that it gives a hook at the end of a session; it warns of more.
    pub(crate) end_seconds: u32,
    /// `true` if the end of a session is answered like a stop too: a version that knows no other stop would not be held else.
    pub(crate) end_is_stop: bool,
    /// `true` if the host reads no hooks from a file with comments or trailing commas.
    pub(crate) plain_json: bool,
    /// Reports whether the host would read the hooks of a launch from a directory.
    pub(crate) reads: fn(&Path) -> bool,
    /// The hooks of one launch, as its command line takes them.
    pub(crate) bring: fn(&LaunchContext<'_>) -> Result<HostLaunchHooks, HookError>,
    /// The file by which it, started in an environment and a directory, would leave out the hooks of a launch, and the setting. Without
    /// the directory where it is kept from the settings there.
    pub(crate) switched_off: fn(&Env, Option<&Path>) -> Option<SettingFound>,
    /// The file by which it, started so, would leave out one hook by its command, and the setting.
    pub(crate) left_out: fn(&Env, &Path, &str) -> Option<SettingFound>,
    /// Reports whether it would run a launch's hooks, started in an environment and a directory: some do so only where they are trusted.
    pub(crate) trusts: fn(&Env, &Path) -> bool,
    /// `true` if the host can be made to ask before each call, and runs one only where a hook answers that it may.
    pub(crate) asks_before_each: bool,
    /// The file, with its text, by which it asks whoever started it about every call, where it calls no hooks.
    pub(crate) asks_by: Option<(&'static str, &'static str)>,
    /// The variable and its value by which it trusts the directory that it is started in.
    pub(crate) trusted_by: Option<(&'static str, &'static str)>,
    /// Places of a repository from which the host starts something by itself.
    pub(crate) acts: &'static [ActingPlace],
    /// Names of those places from which it starts something even where a launch keeps it from a repository.
    pub(crate) unheld: &'static [&'static str],
    /// `true` if only the settings of a launch keep the host from a repository: without them nothing does.
    pub(crate) held_by_settings: bool,
    /// Reports whether the host would start by itself something of a repository in a directory, with nothing in its way.
    pub(crate) starts: fn(&Env, &Path) -> bool,
    /// The repository's instructions, from its root down to a directory, that the host would have read if it were not kept from them.
    pub(crate) instructions: fn(&Env, &Path, &Path) -> Option<String>,
    /// Variables that a file of the directory may set in it, and that a launch sets first.
    pub(crate) pinned: &'static [&'static str],
}

/// Variables that tell whatever starts a program what to load or to run first.
pub(crate) const LOADER: &[&str] =
    &["BASH_ENV", "ENV", "GLIBC_TUNABLES", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// Seconds whose milliseconds a signed number of 32 bits holds: three weeks. Timers of JavaScript fire at once beyond it.
pub(crate) const DAYS_IN_SECONDS: u32 = 2_147_483;

/// The launch that hooks are for.
pub(crate) struct LaunchContext<'a> {
    /// Hooks of the launch.
    pub(crate) hooks: &'a [HookRegistration],
    /// The directory of what it writes.
    pub(crate) directory: &'a Path,
    /// The environment of the launch.
    pub(crate) env: &'a Env,
    /// The directory that the agent starts in.
    pub(crate) cwd: &'a Path,
    /// The user's own value of the flag that carries the hooks, where the agent takes one value of it only.
    pub(crate) theirs: Option<&'a OsStr>,
    /// `true` if a call is to run only where a hook gives permission.
    pub(crate) asks_before_each: bool,
    /// `true` if the agent is kept from the repository.
    pub(crate) is_held: bool,
}

/// Hooks of a launch in the form that its host takes.
pub(crate) struct HostLaunchHooks {
    /// Values for the agent's row for hooks.
    pub(crate) values: Vec<OsString>,
    /// Files below the launch's directory, with their text.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Variables of the agent that stood in a file of the user's whose other contents are on the command line now.
    pub(crate) variables: Vec<(String, String)>,
}

/// The properties of a dialect.
pub(crate) struct DialectSpec {
    /// The agent that uses the dialect.
    pub(crate) host: AgentBinary,
    /// The name of the dialect.
    pub(crate) name: &'static str,
    /// Reports whether a payload can only be in this dialect; those before it in [`HookDialect::ALL`] were asked.
    pub(crate) sent: fn(&Map<String, Value>) -> bool,
    /// The effects of answers on the host.
    pub(crate) answers: AnswerEffects,
    /// Kinds of the host's tools, by their names in lower case.
    pub(crate) tools: &'static [(&'static str, ToolKind)],
}

/// The host that `agent` is; for one that asks nobody, what holds it instead.
pub(crate) fn hook_host(agent: AgentBinary) -> Result<&'static HookHost, &'static str> {
    Ok(match agent {
        AgentBinary::Claude => &claude::HOST,
        AgentBinary::Codex => &codex::HOST,
        AgentBinary::Copilot => &copilot::HOST,
        AgentBinary::Gemini => &gemini::HOST,
        AgentBinary::Amp => return Err("only permission rules of its own decide"),
        _ => return Err("nothing stands in for them"),
    })
}

/// The properties of a dialect.
pub(crate) const fn dialect_spec(dialect: HookDialect) -> &'static DialectSpec {
    match dialect {
        HookDialect::Copilot => &copilot::OWN,
        HookDialect::Codex => &codex::SPEECH,
        HookDialect::Gemini => &gemini::SPEECH,
        HookDialect::CopilotAsClaude => &copilot::AS_CLAUDE,
        HookDialect::Claude => &claude::SPEECH,
    }
}

/// Reports whether a payload has one of these fields.
fn has_any(payload: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| payload.contains_key(*name))
}
