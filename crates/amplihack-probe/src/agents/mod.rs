//! Properties of each agent CLI that probes need: one file an agent.

mod claude;
mod codex;
mod copilot;
mod gemini;

use std::ffi::OsString;
use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;

use crate::loopback::{LoopbackError, LoopbackOptions};
use crate::own_hooks::OwnHooksLocation;

/// The variables that an agent needs.
type PreparedVariables = Result<Vec<(OsString, OsString)>, LoopbackError>;

/// An agent that speaks a protocol which the model server scripts.
pub(crate) struct ProbedAgent {
    /// Prepares a home for it to talk to the server at a base URL, and says which variables it needs.
    pub(crate) prepare: fn(&str, &Path, LoopbackOptions<'_>) -> PreparedVariables,
    /// Location of the agent's settings on hooks.
    pub(crate) own: OwnHooksLocation,
}

/// The properties of `agent` that probes need; `None` for one that takes no address of a model.
pub(crate) fn probed_agent(agent: AgentBinary) -> Option<&'static ProbedAgent> {
    match agent {
        AgentBinary::Claude => Some(&claude::PROBED),
        AgentBinary::Codex => Some(&codex::PROBED),
        AgentBinary::Copilot => Some(&copilot::PROBED),
        AgentBinary::Gemini => Some(&gemini::PROBED),
        _ => None,
    }
}

fn os_pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(OsString, OsString); N] {
    pairs.map(|(name, value)| (name.into(), value.into()))
}

/// Settings files key directories by text; a directory whose name is none stays untrusted, and the agent asks.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
