//! Changes to users' settings as text to text: what is ours goes in beside theirs, and comes out again whole.
//!
//! Nothing here touches a disk. Comments, order and everything that is not ours stay as they are; a text that cannot be
//! read for sure is refused.

mod block;
mod command;
mod hooks;
mod json;
mod plugin;
mod rules;
mod trust;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use command::Registered;
pub use hooks::{Found, found};
pub use json::value;
pub use trust::{TrustState, entries as trust_entries, state as trust_state};

use crate::registration::Hook;
use amplihack_utils::agent_binary::AgentBinary;

/// Why a file is left alone. Fits "FILE ERROR".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It is not what it should be.
    #[error("cannot be read, line {line}: {why}; repair it and try again, it was left alone")]
    Syntax {
        /// Where, from one.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A value has another type than its reader wants.
    #[error("holds {what}; repair it and try again, it was left alone")]
    Shape {
        /// What was found.
        what: String,
    },
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// The file is ours whole.
    Whole {
        /// What it holds.
        text: String,
    },
    /// Hooks of a host in Claude's format.
    Hooks {
        /// The host.
        host: AgentBinary,
        /// What it is given.
        hooks: Vec<Hook>,
    },
    /// Codex's trust in hooks: key and hash of each.
    Trust {
        /// Keys with their hashes.
        entries: Vec<(String, String)>,
    },
    /// Rules in front of Amp's permissions.
    Rules {
        /// The rules.
        rules: Vec<Value>,
    },
    /// A marked block of a text for people and models.
    Block {
        /// What stands between the marks.
        text: String,
    },
    /// An entry among Copilot's installed plugins.
    Plugin {
        /// The entry.
        entry: Value,
    },
}

/// What is needed to take a change back from a file that somebody edited since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mark {
    /// The file is ours whole.
    Whole,
    /// Commands of ours in Claude's format.
    Hooks,
    /// Trust of Codex.
    Trust {
        /// Keys with their hashes.
        entries: Vec<(String, String)>,
    },
    /// Rules of Amp.
    Rules {
        /// The rules.
        rules: Vec<Value>,
    },
    /// A marked block.
    Block,
    /// A plugin of Copilot.
    Plugin,
}

impl Edit {
    /// The text with this change in it. The same text if it is in it already.
    pub fn apply(&self, current: Option<&str>) -> Result<String, EditError> {
        match self {
            Self::Whole { text } => Ok(text.clone()),
            Self::Hooks { host, hooks } => hooks::apply(current, *host, hooks),
            Self::Trust { entries } => trust::apply(current, entries),
            Self::Rules { rules } => rules::apply(current, rules),
            Self::Block { text } => Ok(block::apply(current, text)),
            Self::Plugin { entry } => plugin::apply(current, entry),
        }
    }

    /// What takes it back.
    pub fn mark(&self) -> Mark {
        match self {
            Self::Whole { .. } => Mark::Whole,
            Self::Hooks { .. } => Mark::Hooks,
            Self::Trust { entries } => Mark::Trust { entries: entries.clone() },
            Self::Rules { rules } => Mark::Rules { rules: rules.clone() },
            Self::Block { .. } => Mark::Block,
            Self::Plugin { .. } => Mark::Plugin,
        }
    }
}

impl Mark {
    /// The text without what is ours; the same text if nothing of ours is in it. `None` if nothing else is left.
    ///
    /// A file that is ours whole and that somebody edited is somebody's: it stays.
    pub fn strip(&self, current: &str) -> Result<Option<String>, EditError> {
        match self {
            Self::Whole => Ok(Some(current.to_owned())),
            Self::Hooks => hooks::strip(current),
            Self::Trust { entries } => trust::strip(current, entries),
            Self::Rules { rules } => rules::strip(current, rules),
            Self::Block => Ok(block::strip(current)),
            Self::Plugin => plugin::strip(current),
        }
    }
}

#[cfg(test)]
mod tests;
