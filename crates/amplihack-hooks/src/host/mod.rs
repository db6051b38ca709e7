//! What is different from host to host: one file a host. Nothing outside of this folder asks which host it is.
//!
//! A host is an agent that asks commands about its tool calls. It has its own names for events, its own place for the hooks of
//! one launch, and one dialect or two.

mod claude;
mod codex;
mod copilot;
mod gemini;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use serde_json::{Map, Value};

use crate::dialect::{Answers, Dialect, Kind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::Hook;

/// How one agent takes hooks.
pub(crate) struct Host {
    /// Its name of an event in registrations; `None` for one that it does not have, or that is not told to it.
    pub(crate) event_name: fn(HookEvent) -> Option<&'static str>,
    /// What it counts a second of a hook's time as.
    pub(crate) second: u32,
    /// Whether the end of a session is answered like a stop too: a version that knows no other stop would not be held else.
    pub(crate) end_is_stop: bool,
    /// It reads no hooks from a file with comments or trailing commas.
    pub(crate) plain_json: bool,
    /// Whether it would read the hooks of a launch from a directory.
    pub(crate) reads: fn(&Path) -> bool,
    /// The hooks of one launch from an environment, in their directory.
    pub(crate) bring: fn(&[Hook], &Path, &Env) -> Result<Brought, HookError>,
    /// The file by which it, started in an environment and a directory, would leave out the hooks of a launch, and the setting.
    pub(crate) switched_off: fn(&Env, &Path) -> Option<(PathBuf, &'static str)>,
    /// The file by which it, started so, would leave out one hook by its command, and the setting.
    pub(crate) left_out: fn(&Env, &Path, &str) -> Option<(PathBuf, &'static str)>,
    /// Whether it would run the hooks of a launch, started in an environment and a directory: some do so only where they are trusted.
    pub(crate) trusts: fn(&Env, &Path) -> bool,
    /// The variable and its value by which it trusts the directory that it is started in.
    pub(crate) trusted_by: Option<(&'static str, &'static str)>,
}

/// What a launch brings.
pub(crate) struct Brought {
    /// What the agent's row for hooks takes.
    pub(crate) values: Vec<OsString>,
    /// Files below the launch's directory, with their text.
    pub(crate) files: Vec<(&'static str, String)>,
}

/// How a host speaks.
pub(crate) struct Speech {
    /// Who speaks so.
    pub(crate) host: AgentBinary,
    /// The name of the dialect.
    pub(crate) name: &'static str,
    /// Whether a payload can only be in this dialect; those before it in [`Dialect::ALL`] were asked.
    pub(crate) sent: fn(&Map<String, Value>) -> bool,
    /// What it makes of answers.
    pub(crate) answers: Answers,
    /// What its tools do, by their names in lower case.
    pub(crate) tools: &'static [(&'static str, Kind)],
}

/// The host that `agent` is; for one that asks nobody, what holds it instead.
pub(crate) fn host(agent: AgentBinary) -> Result<&'static Host, &'static str> {
    Ok(match agent {
        AgentBinary::Claude => &claude::HOST,
        AgentBinary::Codex => &codex::HOST,
        AgentBinary::Copilot => &copilot::HOST,
        AgentBinary::Gemini => &gemini::HOST,
        AgentBinary::Amp => return Err("its permission rules hold it instead"),
        _ => return Err("no guard holds it"),
    })
}

/// How a dialect is spoken.
pub(crate) const fn speech(dialect: Dialect) -> &'static Speech {
    match dialect {
        Dialect::Copilot => &copilot::OWN,
        Dialect::Codex => &codex::SPEECH,
        Dialect::Gemini => &gemini::SPEECH,
        Dialect::CopilotAsClaude => &copilot::AS_CLAUDE,
        Dialect::Claude => &claude::SPEECH,
    }
}

/// Whether a payload has one of these fields.
fn has(payload: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| payload.contains_key(*name))
}
