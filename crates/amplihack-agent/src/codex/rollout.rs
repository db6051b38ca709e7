//! Codex's own record of a session, the rollout: it counts tokens after each answer of the model.

use std::path::PathBuf;

use amplihack_utils::env::Env;
use serde::Deserialize;

use crate::event::Totals;

/// The directory of the rollouts, by day.
pub(crate) fn rollouts(env: &Env) -> Option<PathBuf> {
    let home = env.path("CODEX_HOME").or_else(|| Some(env.home()?.join(".codex")))?;
    Some(home.join("sessions"))
}

#[derive(Deserialize)]
struct Line {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    info: Option<Info>,
}

#[derive(Deserialize)]
struct Info {
    total_token_usage: Counts,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(rename = "input_tokens", default)]
    input: u64,
    #[serde(rename = "cached_input_tokens", default)]
    read: u64,
    #[serde(rename = "cache_write_input_tokens", default)]
    written: u64,
    #[serde(rename = "output_tokens", default)]
    output: u64,
}

/// What the session used up to this line, if the line says so.
pub(crate) fn rollout_line(line: &[u8]) -> Option<Totals> {
    // Most lines are long and say something else.
    memchr::memmem::find(line, b"\"token_count\"")?;
    let line: Line = serde_json::from_slice(line).ok()?;
    let counts = line.payload.info.filter(|_| line.payload.kind == "token_count")?.total_token_usage;
    Some(Totals::of_whole_input(counts.input, counts.output, counts.read, counts.written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_and_other_lines_are_passed_over() {
        let line = br#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":28,"cached_input_tokens":8,"output_tokens":10,"reasoning_output_tokens":0,"total_tokens":38},"last_token_usage":{}},"rate_limits":null}}"#;
        let totals = rollout_line(line).unwrap();
        assert_eq!((totals.input_tokens, totals.cache_read_tokens, totals.output_tokens), (20, 8, 10));
        for other in [
            &br#"{"payload":{"type":"token_count","info":null}}"#[..],
            br#"{"payload":{"type":"message","text":"\"token_count\""}}"#,
            b"token_count",
            b"",
        ] {
            assert_eq!(rollout_line(other), None);
        }
    }
}
