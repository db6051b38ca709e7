//! Gemini's records of its sessions: a file for each agent, with a line for each answer, written again when its calls are answered.

use std::path::PathBuf;

use amplihack_config::env::Env;
use serde::Deserialize;

use crate::event::UsageTotals;
use crate::live::{LiveFile, LiveMessage, MessageFiles, MessageFormat};

/// The records, by project.
pub(super) fn find_message_files(env: &Env) -> Option<LiveFile> {
    let home: PathBuf = env.path("GEMINI_CLI_HOME").or_else(|| env.home())?;
    let below = home.join(".gemini/tmp");
    Some(LiveFile::Messages(MessageFiles { below, of: MessageFormat::Gemini }))
}

#[derive(Deserialize)]
struct GeminiRecordLine {
    id: String,
    #[serde(default)]
    timestamp: Option<String>,
    tokens: GeminiRecordCounts,
    #[serde(rename = "toolCalls", default)]
    calls: Vec<GeminiRecordCall>,
}

#[derive(Deserialize)]
struct GeminiRecordCall {
    id: String,
}

#[derive(Deserialize)]
struct GeminiRecordCounts {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    thoughts: Option<u64>,
    #[serde(default)]
    total: u64,
}

/// The answer in a line of a record.
pub(crate) fn message_line(line: &[u8]) -> Option<LiveMessage> {
    memchr::memmem::find(line, b"\"tokens\"")?;
    let GeminiRecordLine { id, timestamp, tokens, calls } = serde_json::from_slice(line).ok()?;
    Some(LiveMessage {
        id,
        at: timestamp.and_then(|at| at.parse().ok()),
        amounts: UsageTotals {
            reasoning_tokens: tokens.thoughts,
            ..UsageTotals::of_whole_input(
                tokens.input,
                tokens.total.saturating_sub(tokens.input),
                tokens.cached,
                0,
            )
        },
        calls: calls.into_iter().map(|call| call.id).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_and_other_lines_do_not() {
        let line = br#"{"id":"ad31","timestamp":"2026-11-29T13:25:45.327Z","type":"gemini","content":"","thoughts":[],"tokens":{"input":140,"output":60,"cached":40,"thoughts":5,"tool":0,"total":205},"model":"m","toolCalls":[{"id":"run_1","name":"run_shell_command"}]}"#;
        let message = message_line(line).unwrap();
        let UsageTotals { input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, .. } =
            message.amounts;
        assert_eq!((input_tokens, cache_read_tokens, output_tokens), (100, 40, 65));
        assert_eq!(reasoning_tokens, Some(5));
        assert_eq!((message.id.as_str(), message.calls), ("ad31", vec!["run_1".to_owned()]));
        for other in [
            &br#"{"$set":{"lastUpdated":"2026-11-29T13:25:45.327Z"}}"#[..],
            br#"{"id":"a","tokens":null}"#,
            b"",
        ] {
            assert_eq!(message_line(other), None);
        }
    }
}
