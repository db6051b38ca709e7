//! From an agent's output to events: bytes in, events out, no input or output of its own.

pub(crate) mod diff;
pub(crate) mod fail;
pub(crate) mod lines;
pub(crate) mod open_calls;
pub(crate) mod output;
pub(crate) mod plan;
mod text;
pub(crate) mod tools;
pub(crate) mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::ProcessExit;

use crate::event::{AgentEvent, EndEvent};
use crate::profile::agent_profile;

pub use text::PlainText;

/// Reads the output of one run of one agent.
///
/// A decoder never fails: a line that it cannot read is a warning or [`AgentEvent::Raw`], and the next one is read.
/// It gives no [`AgentEvent::End`]: an agent's own record of its end is kept, because only its exit shows whether it was so.
pub trait Decode: Send {
    /// Reads one line, without its newline, and adds what it says to `out`.
    fn decode_line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>);

    /// Reports whether the agent has said that it is done, so that only its process's end is to come.
    fn is_over(&self) -> bool {
        false
    }

    /// The agent's own name of the session, once it was told.
    fn session(&self) -> Option<&str> {
        None
    }

    /// Returns the end of the run in the agent's own record, if the agent made one. It is given once.
    fn recorded_end(&mut self) -> Option<EndEvent>;

    /// Returns the end of the run, now that all of its output is read and its process ended with `exit`; `None` for a recording.
    fn finish(&mut self, exit: Option<ProcessExit>) -> EndEvent {
        EndEvent::settle_record(self.recorded_end(), exit)
    }
}

/// The decoder of `agent`'s stream of JSON lines; for an agent without one, of plain text.
pub fn new_decoder(agent: AgentBinary) -> Box<dyn Decode> {
    agent_profile(agent)
        .decoder
        .map_or_else(|| Box::new(PlainText::new(agent)) as Box<dyn Decode>, |decoder| decoder())
}
