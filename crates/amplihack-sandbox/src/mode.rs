//! The modes of the sandbox.

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
    /// The network where none is asked for.
    pub(crate) const fn network(self) -> ConfinedNetwork {
        match self {
            Self::Strict => ConfinedNetwork::None,
            Self::Workspace => ConfinedNetwork::Open,
        }
    }
}
