//! Agent in charge: the one enumeration of agents, and the one resolver.

mod liveness;
mod resolve;
mod validate;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub(crate) use liveness::MAX_ANCESTORS;
pub use liveness::{AncestorLaunch, LaunchLiveness, SystemLiveness};
pub(crate) use resolve::runtime_root;
pub use resolve::{
    AgentSource, ENV_VAR, MARK_VAR, ResolvedAgent, has_context_file, mark_value, resolve, resolve_in,
    resolve_with_source,
};
pub use validate::{AgentNameError, MAX_NAME_BYTES, validate_name};

/// The agents that amplihack knows. The only enumeration of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// Google Gemini CLI.
    Gemini,
}

impl AgentBinary {
    /// All agents in the order in which reports list them.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Copilot, Self::Codex, Self::Amplifier, Self::Amp, Self::Gemini];

    /// The agent when nothing else says which.
    pub const DEFAULT: Self = Self::Copilot;

    /// Returns the agent's name: command, value of `AMPLIHACK_AGENT_BINARY`, key in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::Codex => "codex",
            Self::Amplifier => "amplifier",
            Self::Amp => "amp",
            Self::Gemini => "gemini",
        }
    }

    /// All names, for messages: `claude, copilot, …`.
    pub fn all_names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The agent of exactly this name. Whoever reads a name that a person wrote calls [`validate`], which normalizes it.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

impl FromStr for AgentBinary {
    type Err = AgentNameError;

    /// Reads a name by [`validate_name`].
    fn from_str(name: &str) -> Result<Self, AgentNameError> {
        validate_name(name)
    }
}

impl fmt::Display for AgentBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::AgentBinary;

    #[test]
    fn an_agent_has_the_same_name_everywhere() {
        for agent in AgentBinary::ALL {
            assert_eq!(AgentBinary::from_name(agent.name()), Some(agent));
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.name());
            assert_eq!(serde_json::from_value::<AgentBinary>(agent.name().into()).unwrap(), agent);
            assert_eq!(agent.to_string(), agent.name());
        }
        assert_eq!(AgentBinary::DEFAULT.name(), "copilot");
    }
}
