//! Calls of tools and their results in the record that an agent keeps of its session: what a launch sees of them where it reads no
//! stream.

use amplihack_config::agent_binary::AgentBinary;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::event::{AgentEvent, EventJson, ToolCall, ToolResult};

/// Beginnings of Codex's result of a command or a patch that ran. What it refuses itself, it words otherwise.
const CODEX_RAN: [&str; 3] = ["Chunk ID:", "Wall time:", "Success."];

/// Line of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptLine {
    /// Time at which the line was written.
    pub at: Option<Timestamp>,
    /// The calls and results in it, by the ids that the agent's hooks are given.
    pub events: Vec<AgentEvent>,
}

/// Reports whether records of `agent` can be read.
pub const fn has_transcript(agent: AgentBinary) -> bool {
    matches!(agent, AgentBinary::Claude | AgentBinary::Codex)
}

/// Reads `line` of a record of `agent`; `None` if it has no call and no result.
pub fn transcript_line(agent: AgentBinary, line: &[u8]) -> Option<TranscriptLine> {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let events = match agent {
        AgentBinary::Claude if has(b"\"tool_use\"") || has(b"\"tool_result\"") => claude_events,
        AgentBinary::Codex if has(b"_call\"") || has(b"_call_output\"") => codex_events,
        _ => return None,
    };
    let line: TranscriptRecord = serde_json::from_slice(line).ok()?;
    let at = line.timestamp.as_deref().and_then(|text| text.parse().ok());
    let events = events(&line);
    (!events.is_empty()).then_some(TranscriptLine { at, events })
}

#[derive(Deserialize)]
struct TranscriptRecord {
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    payload: Value,
}

fn text_field(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(str::to_owned)
}

fn call_event(id: String, name: String) -> AgentEvent {
    AgentEvent::ToolCall(ToolCall::new(id, name, EventJson::default()))
}

fn claude_events(line: &TranscriptRecord) -> Vec<AgentEvent> {
    let blocks = line.message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let event = |block: &Value| match block["type"].as_str()? {
        "tool_use" => Some(call_event(text_field(block, "id")?, text_field(block, "name")?)),
        "tool_result" => Some(AgentEvent::ToolResult(ToolResult {
            id: text_field(block, "tool_use_id")?,
            output: block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned),
            is_error: block["is_error"] == true,
            ..ToolResult::default()
        })),
        _ => None,
    };
    blocks.iter().filter_map(event).collect()
}

fn codex_events(line: &TranscriptRecord) -> Vec<AgentEvent> {
    let payload = &line.payload;
    let Some(id) = text_field(payload, "call_id") else { return Vec::new() };
    let kind = payload["type"].as_str().unwrap_or_default();
    if matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call") {
        return vec![call_event(id, text_field(payload, "name").unwrap_or_else(|| "local_shell".to_owned()))];
    }
    let output = payload["output"].as_str().map_or_else(|| payload["output"].to_string(), str::to_owned);
    let has_run = CODEX_RAN.iter().any(|begin| output.trim_start().starts_with(begin));
    if !kind.ends_with("_call_output") || !has_run {
        return Vec::new();
    }
    vec![AgentEvent::ToolResult(ToolResult { id, output, ..ToolResult::default() })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(agent: AgentBinary, line: &str) -> Vec<AgentEvent> {
        transcript_line(agent, line.as_bytes()).map(|line| line.events).unwrap_or_default()
    }

    #[test]
    fn calls_and_results_are_found_by_the_ids_that_hooks_are_given() {
        let line = r#"{"type":"assistant","timestamp":"2026-11-29T12:00:00Z","message":{"content":[{"type":"text","text":"\"tool_use\""},{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}"#;
        let read = transcript_line(AgentBinary::Claude, line.as_bytes()).unwrap();
        assert_eq!(read.at, Some("2026-11-29T12:00:00Z".parse().unwrap()));
        assert_eq!(read.events, [call_event("a".to_owned(), "Bash".to_owned())]);
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true}]}}"#;
        let result = ToolResult {
            id: "a".to_owned(),
            output: "no".to_owned(),
            is_error: true,
            ..ToolResult::default()
        };
        assert_eq!(events(AgentBinary::Claude, line), [AgentEvent::ToolResult(result)]);
        let line = r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":"c","arguments":"{}"}}"#;
        assert_eq!(events(AgentBinary::Codex, line), [call_event("c".to_owned(), "exec_command".to_owned())]);
        let line = r#"{"payload":{"type":"function_call_output","call_id":"c","output":"Chunk ID: 1\nWall time: 0.1"}}"#;
        assert!(
            matches!(&events(AgentBinary::Codex, line)[..], [AgentEvent::ToolResult(result)] if result.id == "c")
        );
    }

    #[test]
    fn what_codex_refuses_itself_is_no_result() {
        let line = r#"{"payload":{"type":"function_call_output","call_id":"c","output":"failed to parse function arguments"}}"#;
        assert_eq!(events(AgentBinary::Codex, line), []);
        assert_eq!(transcript_line(AgentBinary::Gemini, line.as_bytes()), None);
    }
}
