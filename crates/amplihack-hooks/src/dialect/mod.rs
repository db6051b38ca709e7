//! Dialects of hosts: payloads in, answers out.

mod call;
mod fields;
mod file_changes;
mod patch;
mod read;
mod readings;
mod reply;
mod tools;
pub mod trial;

use std::fmt;

use amplihack_config::agent_binary::AgentBinary;

pub use call::{HookCall, SkillCall, ToolKind};
pub use fields::LooseFields;
pub use file_changes::FileChanges;
pub use read::{MAX_PAYLOAD, PayloadError, read_call};
pub(crate) use readings::arguments_mut;
pub use reply::{
    AnswerEffects, CRASHED, FIRST_WORDS, HookReply, answer_effects, answered_decision, grant_permission,
    keep_going, one_line, prepared_denial, refuse_permission, render_context, render_verdict, stop_prompt,
};
pub(crate) use reply::{is_marked, with_rule_mark};
pub use tools::{known_tools, tool_kind};

use crate::host::dialect_spec;

/// A way of speaking: the shape of a payload, and what its sender makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookDialect {
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

impl HookDialect {
    /// All dialects, in the order in which a payload is held against them.
    pub const ALL: [Self; 5] =
        [Self::Copilot, Self::Codex, Self::Gemini, Self::CopilotAsClaude, Self::Claude];

    /// The agent that speaks so.
    pub fn host_agent(self) -> AgentBinary {
        dialect_spec(self).host
    }

    /// The dialect of a host whose payload says nothing. Without a host: Claude's deny, which is one for every host.
    pub fn of_host(host: Option<AgentBinary>) -> Self {
        // Copilot's own is known by its shape.
        let usual = Self::ALL.into_iter().filter(|dialect| *dialect != Self::Copilot);
        usual.into_iter().find(|dialect| Some(dialect.host_agent()) == host).unwrap_or(Self::Claude)
    }
}

impl fmt::Display for HookDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(dialect_spec(*self).name)
    }
}
