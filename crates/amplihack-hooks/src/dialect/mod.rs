//! How hosts speak: payloads in, answers out.

mod call;
mod patch;
mod read;
mod reply;
mod tools;
pub mod trial;

use std::fmt;

use amplihack_utils::agent_binary::AgentBinary;

pub use call::{Call, Kind};
pub use read::{Bad, MAX_PAYLOAD, read};
pub use reply::{Answers, Reply, context, keep_going, last_words, one_line, table, verdict};
pub use tools::{kind, known};

/// A way of speaking: the shape of a payload, and what its sender makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Claude Code.
    Claude,
    /// Codex: Claude's shape, with a stricter reader of answers.
    Codex,
    /// Copilot where a hook is registered by one of Claude's event names.
    CopilotAsClaude,
    /// Copilot where a hook is registered by one of its own event names.
    Copilot,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::CopilotAsClaude, Self::Copilot];

    /// The agent that speaks so.
    pub fn host(self) -> AgentBinary {
        match self {
            Self::Claude => AgentBinary::Claude,
            Self::Codex => AgentBinary::Codex,
            Self::CopilotAsClaude | Self::Copilot => AgentBinary::Copilot,
        }
    }

    /// The dialect of a host whose payload says nothing. Without a host: Claude's deny, which is one for every host.
    pub fn of_host(host: Option<AgentBinary>) -> Self {
        match host {
            Some(AgentBinary::Codex) => Self::Codex,
            Some(AgentBinary::Copilot) => Self::CopilotAsClaude,
            _ => Self::Claude,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::CopilotAsClaude => "copilot in Claude's dialect",
            Self::Copilot => "copilot",
        })
    }
}
