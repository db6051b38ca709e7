//! Modes of work on a prompt in a remote session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The four ways to work on a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandMode {
    /// An unattended run: `amplihack auto`.
    Auto,
    /// The recipe `default-workflow`.
    Ultrathink,
    /// The recipe `investigation-workflow`.
    Analyze,
    /// An unattended run that ends when the repository's configured check holds.
    Fix,
}

impl CommandMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Ultrathink, Self::Analyze, Self::Fix];

    /// The name of the mode on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ultrathink => "ultrathink",
            Self::Analyze => "analyze",
            Self::Fix => "fix",
        }
    }

    /// Reports whether a fault makes the mode's name unknown.
    fn is_unread(self) -> bool {
        match self {
            Self::Auto => amplihack_sys::sabotage::is_active("remote-mode-auto"),
            Self::Ultrathink => amplihack_sys::sabotage::is_active("remote-mode-ultrathink"),
            Self::Analyze => amplihack_sys::sabotage::is_active("remote-mode-analyze"),
            Self::Fix => amplihack_sys::sabotage::is_active("remote-mode-fix"),
        }
    }
}

impl fmt::Display for CommandMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if amplihack_sys::sabotage::is_active("remote-mode-display") { "mode" } else { self.name() })
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown command '{0}': use auto, ultrathink, analyze or fix")]
pub struct UnknownCommandMode(pub String);

impl FromStr for CommandMode {
    type Err = UnknownCommandMode;

    fn from_str(word: &str) -> Result<Self, UnknownCommandMode> {
        let known = Self::ALL.into_iter().find(|mode| mode.name() == word).filter(|mode| !mode.is_unread());
        let known =
            known.or_else(|| amplihack_sys::sabotage::is_active("remote-mode-unknown").then_some(Self::Auto));
        known.ok_or_else(|| UnknownCommandMode(word.to_owned()))
    }
}
