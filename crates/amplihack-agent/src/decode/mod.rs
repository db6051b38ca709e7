//! From an agent's output to events: bytes in, events out, no input or output of its own.

pub(crate) mod fail;
pub(crate) mod lines;
pub(crate) mod output;
mod text;
pub(crate) mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::sys::Exit;

use crate::amp::AmpStream;
use crate::claude::decode::ClaudeStream;
use crate::codex::decode::CodexStream;
use crate::copilot::decode::CopilotStream;
use crate::event::{AgentEvent, End, Usage};

pub use text::PlainText;

/// Reads the output of one run of one agent.
///
/// A decoder never fails: a line that it cannot read is a warning or [`AgentEvent::Raw`], and the next one is read.
/// It gives no [`AgentEvent::End`]: an agent's own record of its end is kept, because only its exit shows whether it was so.
pub trait Decode: Send {
    /// Reads one line, without its newline, and adds what it says to `out`.
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>);

    /// Whether the agent has said that it is done, so that only its process's end is to come.
    fn is_over(&self) -> bool {
        false
    }

    /// The agent's own name of the session, once it was told.
    fn session(&self) -> Option<&str> {
        None
    }

    /// What the run came to, in the agent's own record, if it made one. It is given once.
    fn said(&mut self) -> Option<End>;

    /// How the run ended, now that all of its output is read and its process ended with `exit`; `None` for a recording.
    fn finish(&mut self, exit: Option<Exit>) -> End {
        End::settle(self.said(), exit)
    }
}

/// The decoder of `agent`'s stream of JSON lines; for an agent without one, of plain text.
pub fn decoder(agent: AgentBinary) -> Box<dyn Decode> {
    match agent {
        AgentBinary::Claude => Box::new(ClaudeStream::default()),
        AgentBinary::Codex => Box::new(CodexStream::default()),
        AgentBinary::Copilot => Box::new(CopilotStream::default()),
        AgentBinary::Amp => Box::new(AmpStream::new()),
        other => Box::new(PlainText::new(other)),
    }
}

/// Whether the totals that `agent` states are those of its session, with what earlier runs of it used.
pub const fn states_session_totals(agent: AgentBinary) -> bool {
    matches!(agent, AgentBinary::Codex | AgentBinary::Copilot)
}

/// The total in the file that `agent` writes where [`Capability::UsageFile`](crate::Capability::UsageFile) asks for one:
/// Copilot counts its tokens nowhere else.
pub fn usage_file(agent: AgentBinary, file: &[u8]) -> Option<Usage> {
    match agent {
        AgentBinary::Copilot => crate::copilot::decode::usage_file(file),
        _ => None,
    }
}
