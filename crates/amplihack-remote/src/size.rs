//! Tiers of machines: which Azure machine each is, and how many sessions it holds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A tier. Engines that are not Azure map it to processors and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VMSize {
    /// One session.
    S,
    /// Two sessions.
    M,
    /// Four sessions.
    L,
    /// Eight sessions.
    XL,
}

impl VMSize {
    /// Every tier, smallest first.
    pub const ALL: [Self; 4] = [Self::S, Self::M, Self::L, Self::XL];

    /// How many sessions a machine of this tier holds.
    pub const fn capacity(self) -> usize {
        match self {
            Self::S => 1,
            Self::M => 2,
            Self::L => 4,
            Self::XL => 8,
        }
    }

    /// The Azure machine of this tier.
    pub const fn azure_size(self) -> &'static str {
        match self {
            Self::S => "Standard_D8s_v3",
            Self::M => "Standard_E8s_v5",
            Self::L => "Standard_E16s_v5",
            Self::XL => "Standard_E32s_v5",
        }
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "s",
            Self::M => "m",
            Self::L => "l",
            Self::XL => "xl",
        }
    }
}

impl fmt::Display for VMSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown size '{0}': use s, m, l or xl")]
pub struct UnknownSize(pub String);

impl FromStr for VMSize {
    type Err = UnknownSize;

    fn from_str(word: &str) -> Result<Self, UnknownSize> {
        let lower = word.to_ascii_lowercase();
        Self::ALL.into_iter().find(|size| size.name() == lower).ok_or_else(|| UnknownSize(word.to_owned()))
    }
}
