//! Backends: the providers of machines for sessions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Kind of machine provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The local machine.
    Local,
    /// The machines of `hosts.toml`, by ssh.
    Ssh,
    /// Machines that azlin rents, by ssh.
    Azlin,
    /// Slurm, on a login node of `hosts.toml` or on this machine.
    Slurm,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Self; 4] = [Self::Local, Self::Ssh, Self::Azlin, Self::Slurm];

    /// The name of the backend in options and in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Azlin => "azlin",
            Self::Slurm => "slurm",
        }
    }

    /// Reports whether the backend makes machines when none is free.
    pub const fn can_rent(self) -> bool {
        matches!(self, Self::Azlin)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|backend| backend.name() == word);
        known.ok_or_else(|| format!("unknown backend '{word}': use local, ssh, azlin or slurm"))
    }
}
