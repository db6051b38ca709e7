//! Lines of Amp's stream: read as serde_json reads them, in time linear in their length, and given back unchanged.

use std::time::Duration;

use amplihack_agent::amp::wire::StreamMessage;
use amplihack_fuzz::{Target, run, seeds};
use serde_json::Value;

const DICTIONARY: &[&str] = &[
    "\"type\":",
    "\"assistant\"",
    "\"user\"",
    "\"system\"",
    "\"result\"",
    "\"message\":{",
    "\"content\":[",
    "{\"type\":\"text\",\"text\":\"",
    "{\"type\":\"tool_use\",\"input\":",
    "{\"type\":\"tool_result\",\"content\":",
    "\"usage\":{\"input_tokens\":",
    "\"is_error\":true",
    "\\u0000",
    "\\ud83d",
    "\\ude80",
    "\\\\",
    "\\\"",
    "null",
    "-0",
    "1e400",
    "18446744073709551616",
    "[[[[[[[[",
    "]]]]]]]]",
    "{\"a\":",
    "\u{2028}",
    "é",
];

fn main() -> std::process::ExitCode {
    let target = Target {
        name: "amp_wire",
        seeds: seeds::lines(&["amp-sdk/tests/cases/parse_cases.jsonl"], "line"),
        dictionary: DICTIONARY,
        longest: 256 << 10,
        most: |len| {
            Duration::from_millis(100) + Duration::from_micros(4) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    run(target, |bytes| {
        let read = StreamMessage::from_line(bytes);
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let not_json = read.as_ref().is_err_and(|error| error.kind() == "parse_error");
        match serde_json::from_str::<Value>(text) {
            Ok(theirs) => {
                assert!(!not_json, "serde_json reads what is refused here");
                // Doubled keys and fractions come back otherwise: once, and nearer to what was written.
                let again =
                    read.map(|message| message.to_value()).map(|ours| (ours.is_object(), theirs.is_object()));
                assert!(again.is_err() || again == Ok((true, true)));
            }
            Err(error) => {
                let said = error.to_string();
                let allowed = ["number out of range", "surrogate", "hex escape", "recursion limit"];
                assert!(
                    not_json || allowed.iter().any(|allowed| said.contains(allowed)),
                    "taken here: {said}"
                );
            }
        }
    })
}
