//! What the probes know of each agent CLI: one file an agent.

mod claude;
mod codex;
mod copilot;
mod gemini;

use std::ffi::OsString;
use std::path::Path;

use amplihack_utils::agent_binary::AgentBinary;

use crate::loopback::{LoopbackError, Options};
use crate::own_hooks::Place;

/// The variables that an agent needs.
type Prepared = Result<Vec<(OsString, OsString)>, LoopbackError>;

/// An agent that speaks a protocol which the model server scripts.
pub(crate) struct Probed {
    /// Prepares a home for it to talk to the server at a base URL, and says which variables it needs.
    pub(crate) prepare: fn(&str, &Path, Options<'_>) -> Prepared,
    /// Where it has its settings on hooks.
    pub(crate) own: Place,
}

/// What is known of `agent`; `None` for one that takes no address of a model.
pub(crate) fn probed(agent: AgentBinary) -> Option<&'static Probed> {
    match agent {
        AgentBinary::Claude => Some(&claude::PROBED),
        AgentBinary::Codex => Some(&codex::PROBED),
        AgentBinary::Copilot => Some(&copilot::PROBED),
        AgentBinary::Gemini => Some(&gemini::PROBED),
        _ => None,
    }
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(OsString, OsString); N] {
    pairs.map(|(name, value)| (name.into(), value.into()))
}

/// Settings files key directories by text; a directory whose name is none stays untrusted, and the agent asks.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
