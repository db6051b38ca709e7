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

pub use command::RegisteredCommand;
pub use hooks::{FoundHook, find_hooks};
pub use json::parse_value;
pub use trust::{TrustState, trust_entries, trust_state};

use crate::registration::HookRegistration;
use amplihack_config::agent_binary::AgentBinary;

/// The reason why a file is left alone. Fits "FILE ERROR".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file is not in the syntax that it should have.
    #[error("cannot be read, line {line}: {why}; repair it and try again, it was left alone")]
    Syntax {
        /// Number of the line, from one.
        line: usize,
        /// The fault in the syntax.
        why: String,
    },
    /// A value has another type than its reader wants.
    #[error("holds {what}; repair it and try again, it was left alone")]
    Shape {
        /// The value that was found, as a noun phrase.
        what: String,
    },
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingsEdit {
    /// The file is ours whole.
    Whole {
        /// The text of the file.
        text: String,
    },
    /// Hooks of a host in Claude's format.
    Hooks {
        /// The host.
        host: AgentBinary,
        /// Hooks that the host is given.
        hooks: Vec<HookRegistration>,
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
        /// The text between the marks.
        text: String,
    },
    /// An entry among Copilot's installed plugins.
    Plugin {
        /// The entry.
        entry: Value,
    },
}

/// The record by which a change is taken back from a file that somebody edited since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SettingsUndo {
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

impl SettingsEdit {
    /// The text with this change in it. The same text if it is in it already.
    pub fn apply_to(&self, current: Option<&str>) -> Result<String, EditError> {
        match self {
            Self::Whole { text } => Ok(text.clone()),
            Self::Hooks { host, hooks } => hooks::apply_hooks(current, *host, hooks),
            Self::Trust { entries } => trust::apply_trust(current, entries),
            Self::Rules { rules } => rules::apply_rules(current, rules),
            Self::Block { text } => Ok(block::apply_block(current, text)),
            Self::Plugin { entry } => plugin::apply_plugin(current, entry),
        }
    }

    /// The record that takes the change back.
    pub fn undo_record(&self) -> SettingsUndo {
        match self {
            Self::Whole { .. } => SettingsUndo::Whole,
            Self::Hooks { .. } => SettingsUndo::Hooks,
            Self::Trust { entries } => SettingsUndo::Trust { entries: entries.clone() },
            Self::Rules { rules } => SettingsUndo::Rules { rules: rules.clone() },
            Self::Block { .. } => SettingsUndo::Block,
            Self::Plugin { .. } => SettingsUndo::Plugin,
        }
    }
}

impl SettingsUndo {
    /// The text without what is ours; the same text if nothing of ours is in it. `None` if nothing else is left.
    ///
    /// A file that is ours whole and that somebody edited is somebody's: it stays.
    pub fn strip_from(&self, current: &str) -> Result<Option<String>, EditError> {
        match self {
            Self::Whole => Ok(Some(current.to_owned())),
            Self::Hooks => hooks::strip_hooks(current),
            Self::Trust { entries } => trust::strip_trust(current, entries),
            Self::Rules { rules } => rules::strip_rules(current, rules),
            Self::Block => Ok(block::strip_block(current)),
            Self::Plugin => plugin::strip_plugin(current),
        }
    }
}

#[cfg(test)]
mod tests;
