//! The modes of the sandbox.

use std::fmt;

use amplihack_sys::confine::ConfinedNetwork;

/// Mode of the sandbox, from the widest to the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxMode {
    /// The workspace may change, the home and the system may be read, but for keys.
    Workspace,
    /// The workspace may change; nothing of the home is there, and no network.
    Strict,
}

impl SandboxMode {
    /// Every mode, with its meaning.
    pub const ALL: [(Self, &'static str, &'static str); 2] = [
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

    /// The network where none is asked for.
    pub(crate) const fn network(self) -> ConfinedNetwork {
        match self {
            Self::Strict => ConfinedNetwork::None,
            Self::Workspace => ConfinedNetwork::Open,
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
