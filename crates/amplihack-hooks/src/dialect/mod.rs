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

use crate::host::speech;

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
    /// Gemini CLI: Claude's shape with names of its own.
    Gemini,
}

impl Dialect {
    /// All dialects, in the order in which a payload is held against them.
    pub const ALL: [Self; 5] =
        [Self::Copilot, Self::Codex, Self::Gemini, Self::CopilotAsClaude, Self::Claude];

    /// The agent that speaks so.
    pub fn host(self) -> AgentBinary {
        speech(self).host
    }

    /// The dialect of a host whose payload says nothing. Without a host: Claude's deny, which is one for every host.
    pub fn of_host(host: Option<AgentBinary>) -> Self {
        // Copilot's own is known by its shape.
        let usual = Self::ALL.into_iter().filter(|dialect| *dialect != Self::Copilot);
        usual.into_iter().find(|dialect| Some(dialect.host()) == host).unwrap_or(Self::Claude)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(speech(*self).name)
    }
}
