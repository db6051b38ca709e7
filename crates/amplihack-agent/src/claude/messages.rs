//! Claude's records of its sub-agents: a file for each, with a line for each part of an answer.

use std::path::PathBuf;

use amplihack_config::env::Env;
use serde::Deserialize;

use crate::event::UsageTotals;
use crate::live::{LiveFile, LiveMessage, MessageFiles, MessageFormat};

/// The records, by project.
pub(super) fn find_message_files(env: &Env) -> Option<LiveFile> {
    let home = || Some(env.home()?.join(".claude"));
    let below: PathBuf = env.path("CLAUDE_CONFIG_DIR").or_else(home)?.join("projects");
    Some(LiveFile::Messages(MessageFiles { below, of: MessageFormat::Claude }))
}

#[derive(Deserialize)]
struct ClaudeRecordLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: Option<String>,
    message: ClaudeRecordAnswer,
}

#[derive(Deserialize)]
struct ClaudeRecordAnswer {
    id: String,
    usage: ClaudeRecordCounts,
    #[serde(default)]
    content: Vec<ClaudeRecordBlock>,
}

#[derive(Deserialize)]
struct ClaudeRecordBlock {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: Option<String>,
}

#[derive(Deserialize)]
struct ClaudeRecordCounts {
    #[serde(rename = "input_tokens", default)]
    input: u64,
    #[serde(rename = "output_tokens", default)]
    output: u64,
    #[serde(rename = "cache_read_input_tokens", default)]
    read: u64,
    #[serde(rename = "cache_creation_input_tokens", default)]
    written: u64,
}

/// The answer in a line of a record.
pub(crate) fn message_line(line: &[u8]) -> Option<LiveMessage> {
    memchr::memmem::find(line, b"\"usage\"")?;
    let ClaudeRecordLine { kind, timestamp, message } = serde_json::from_slice(line).ok()?;
    let ClaudeRecordAnswer { id, usage, content } = message;
    (kind == "assistant").then(|| LiveMessage {
        id,
        at: timestamp.and_then(|at| at.parse().ok()),
        amounts: UsageTotals {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.read,
            cache_write_tokens: usage.written,
            ..UsageTotals::default()
        },
        calls: content
            .into_iter()
            .filter(|block| block.kind.ends_with("tool_use"))
            .filter_map(|block| block.id)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_and_other_lines_do_not() {
        let line = br#"{"isSidechain":true,"agentId":"a2","type":"assistant","timestamp":"2026-11-29T13:25:19.624Z","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}],"usage":{"input_tokens":100,"cache_creation_input_tokens":3,"cache_read_input_tokens":40,"output_tokens":60}}}"#;
        let message = message_line(line).unwrap();
        let UsageTotals { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } =
            message.amounts;
        assert_eq!((input_tokens, output_tokens, cache_read_tokens, cache_write_tokens), (100, 60, 40, 3));
        assert_eq!((message.id.as_str(), message.calls), ("msg_1", vec!["toolu_1".to_owned()]));
        assert_eq!(message.at, "2026-11-29T13:25:19.624Z".parse().ok());
        for other in [
            &br#"{"type":"user","message":{"role":"user","content":"what is \"usage\""}}"#[..],
            br#"{"type":"attachment","usage":{}}"#,
            b"",
        ] {
            assert_eq!(message_line(other), None);
        }
    }
}
