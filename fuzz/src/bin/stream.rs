//! Agents' streams of JSON lines: every line becomes an event, however it is cut, and every run has one end.

use std::time::Duration;

use amplihack_agent::agent_profile;
use amplihack_agent::decode::new_decoder;
use amplihack_agent::framer::{Framer, StreamFrame};
use amplihack_agent::ledger::UsageLedger;
use amplihack_agent::{AgentBinary, AgentEvent, EndEvent};
use amplihack_fuzz::{Target, run, seeds};
use amplihack_sys::ProcessExit;

const DICTIONARY: &[&str] = &[
    "{\"type\":\"assistant\",\"message\":{\"content\":[",
    "{\"type\":\"tool_use\",\"id\":\"1\",\"input\":",
    "{\"type\":\"tool_result\",\"content\":",
    "{\"type\":\"result\",\"subtype\":\"success\"}",
    "{\"type\":\"turn.completed\",\"usage\":{}}",
    "{\"type\":\"result\",\"exitCode\":0}",
    "\"item\":{\"type\":\"mcp_tool_call\",",
    "\"data\":{",
    "\"usage\":{\"input_tokens\":18446744073709551615}",
    "\"type\":",
    "\"error\"",
    "null",
    "true",
    "-1",
    "1e999",
    "\\ud83e",
    "\\udd80",
    "\\u",
    "\\\\",
    "\u{2028}",
    "\u{1f980}",
    "\r\n",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
];

/// Everything of a stream whose chunks have so many bytes.
fn decode(
    agent: AgentBinary,
    bytes: &[u8],
    chunk: usize,
    exit: Option<ProcessExit>,
) -> (Vec<AgentEvent>, EndEvent) {
    let (mut framer, mut decoder) = (Framer::new(1 << 16), new_decoder(agent));
    let mut events = Vec::new();
    let mut take = |frame: StreamFrame<'_>| {
        if let StreamFrame::Line(line) = frame {
            let before = events.len();
            decoder.decode_line(line, &mut events);
            // A blank line says nothing.
            assert!(
                events.len() > before || line.trim_ascii().is_empty(),
                "{agent}: a line is lost: {:?}",
                String::from_utf8_lossy(&line[..line.len().min(300)])
            );
        }
    };
    for chunk in bytes.chunks(chunk.max(1)) {
        framer.push(chunk, &mut take);
    }
    framer.finish(&mut take);
    (events, decoder.finish(exit))
}

fn main() -> std::process::ExitCode {
    let target = Target {
        name: "stream",
        seeds: seeds::files("amplihack-agent/tests/transcripts"),
        dictionary: DICTIONARY,
        longest: 256 << 10,
        most: |len| {
            Duration::from_millis(100) + Duration::from_micros(2) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    run(target, |bytes| {
        for agent in AgentBinary::ALL {
            let (events, end) = decode(agent, bytes, bytes.len(), Some(ProcessExit::Code(1)));
            assert!(!end.is_success(), "exit code 1 is no success");
            assert!(!events.iter().any(|event| matches!(event, AgentEvent::End(_))), "an end before the end");
            let chunk = usize::from(bytes.first().copied().unwrap_or_default());
            assert_eq!(
                decode(agent, bytes, chunk, Some(ProcessExit::Code(1))),
                (events.clone(), end),
                "chunks change events"
            );
            let mut ledger = UsageLedger::default();
            for event in &events {
                if let AgentEvent::Usage(usage) = event {
                    ledger.observe(usage);
                }
                // What is journalled is read back.
                let text = serde_json::to_string(event).expect("an event has a text");
                serde_json::from_str::<AgentEvent>(&text).expect("and is read from it");
            }
            let _ = (ledger.totals(), agent_profile(agent).counts.usage_file.map(|read| read(bytes)));
        }
    })
}
