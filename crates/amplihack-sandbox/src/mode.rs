//! The modes of the sandbox.

use std::fmt;
use std::str::FromStr;

use amplihack_sys::confine::{ConfinedNetwork, ConfinementLayers};

/// Mode of the sandbox, from the widest to the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxMode {
    /// No sandbox.
    Off,
    /// Namespaces alone, for programs that bring a sandbox of their own, which cannot work under Landlock.
    Nested,
    /// The workspace may change, the home and the system may be read, but for keys.
    Workspace,
    /// The workspace may change; nothing of the home is there, and no network.
    Strict,
}

impl SandboxMode {
    /// Every mode, with its meaning.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Off, "off", "no sandbox"),
        (
            Self::Nested,
            "nested",
            "as workspace, without Landlock and the filter of system calls: for programs with a sandbox of their own",
        ),
        (
            Self::Workspace,
            "workspace",
            "the workspace may change; the home and the system may be read, but for keys",
        ),
        (Self::Strict, "strict", "the workspace may change; nothing of the home is there, and no network"),
    ];

    /// The word on command lines and in configurations.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(mode, ..)| *mode == self).map_or("", |(_, name, _)| name)
    }

    /// The layers of the mode.
    pub(crate) fn layers(self) -> ConfinementLayers {
        match self {
            Self::Off => ConfinementLayers { namespaces: false, landlock: false, seccomp: false },
            Self::Nested => ConfinementLayers { namespaces: true, landlock: false, seccomp: false },
            Self::Workspace | Self::Strict => ConfinementLayers::default(),
        }
    }

    /// The network where none is asked for.
    pub(crate) const fn network(self) -> ConfinedNetwork {
        match self {
            Self::Strict => ConfinedNetwork::None,
            _ => ConfinedNetwork::Open,
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SandboxMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name, _)| *name == word);
        found.map(|(mode, ..)| *mode).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name, _)| *name).collect();
            format!("there is no sandbox mode {word:?}; it is one of {}", names.join(", "))
        })
    }
}
