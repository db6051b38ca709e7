//! What a remote session does with its prompt.

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

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ultrathink => "ultrathink",
            Self::Analyze => "analyze",
            Self::Fix => "fix",
        }
    }
}

impl fmt::Display for CommandMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown command '{0}': use auto, ultrathink, analyze or fix")]
pub struct UnknownMode(pub String);

impl FromStr for CommandMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == word).ok_or_else(|| UnknownMode(word.to_owned()))
    }
}
