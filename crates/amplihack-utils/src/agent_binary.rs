//! Which agent is in charge: the one enumeration of agents, and the one resolver.

use std::fmt;

/// The agents that amplihack knows. The only enumeration of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AgentBinary {
    /// Claude Code.
    Claude,
    /// GitHub Copilot CLI.
    Copilot,
    /// OpenAI Codex CLI.
    Codex,
    /// Microsoft Amplifier.
    Amplifier,
    /// Amp.
    Amp,
}

impl AgentBinary {
    /// All agents in the order in which reports list them.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Copilot, Self::Codex, Self::Amplifier, Self::Amp];

    /// The agent when nothing else says which.
    pub const DEFAULT: Self = Self::Copilot;

    /// Its name: command, value of `AMPLIHACK_AGENT_BINARY`, key in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::Codex => "codex",
            Self::Amplifier => "amplifier",
            Self::Amp => "amp",
        }
    }

    /// The agent of exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

impl fmt::Display for AgentBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
