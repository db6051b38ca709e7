//! The decoders of agents' streams, on recordings of the real CLIs and on what the wire can do to them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panic")]

mod claude_ends;
mod claude_kinds;
mod claude_tools;
mod codex;
mod copilot;
mod copilot_kinds;
mod faults;
mod gemini;
mod properties;
mod transcripts;

use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{EndEvent, UsageTotals};
use amplihack_agent::framer::{Framer, StreamFrame};
use amplihack_agent::ledger::UsageLedger;
use amplihack_agent::{AgentBinary, AgentEvent};
use amplihack_sys::ProcessExit;

/// The agents whose decoders are under test here.
const AGENTS: [AgentBinary; 4] =
    [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini];

/// A stream, decoded.
#[derive(Debug, PartialEq)]
struct Decoded {
    /// The events of each line.
    lines: Vec<Vec<AgentEvent>>,
    end: EndEvent,
}

impl Decoded {
    fn events(&self) -> impl Iterator<Item = &AgentEvent> {
        self.lines.iter().flatten()
    }

    /// What the ledger makes of it.
    fn totals(&self) -> UsageTotals {
        let mut ledger = UsageLedger::default();
        for event in self.events() {
            if let AgentEvent::Usage(usage) = event {
                ledger.observe(usage);
            }
        }
        ledger.totals()
    }

    /// The events in the order in which they came, by name; raw ones are left out.
    fn names(&self) -> Vec<String> {
        let name = |event: &AgentEvent| {
            let value = serde_json::to_value(event).unwrap();
            let mut name = value["type"].as_str().unwrap().to_owned();
            if value["delta"] == true {
                name.push_str(" delta");
            }
            name
        };
        self.events().filter(|event| !matches!(event, AgentEvent::Raw(_))).map(name).collect()
    }
}

/// These events as JSON.
fn json_of(decoded: &Decoded) -> Vec<serde_json::Value> {
    decoded.events().map(|event| serde_json::to_value(event).unwrap()).collect()
}

/// Decodes a stream that comes in these chunks and ends with `exit`.
fn decode<'a>(
    agent: AgentBinary,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    exit: Option<ProcessExit>,
) -> Decoded {
    let (mut framer, mut decoder) = (Framer::default(), new_decoder(agent));
    let mut lines = Vec::new();
    let mut take = |frame: StreamFrame<'_>| {
        let StreamFrame::Line(line) = frame else { panic!("{frame:?}") };
        let mut events = Vec::new();
        decoder.decode_line(line, &mut events);
        lines.push(events);
    };
    for chunk in chunks {
        framer.push(chunk, &mut take);
    }
    framer.finish(&mut take);
    Decoded { lines, end: decoder.finish(exit) }
}

/// Decodes these lines.
fn lines(agent: AgentBinary, lines: &[&str], exit: i32) -> Decoded {
    decode(agent, [lines.join("\n").as_bytes()], Some(ProcessExit::Code(exit)))
}

/// The bytes of a recording.
fn recording(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
