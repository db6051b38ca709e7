//! The decoder of `codex exec --json`.

use std::collections::BTreeSet;

use amplihack_config::agent_binary::AgentBinary;
use serde_json::value::RawValue;

use super::wire::{CodexItem, CodexLine};
use crate::decode::fail;
use crate::decode::lines::{self, AgentLineReader, warning_event};
use crate::event::{
    AgentEvent, AgentSessionStarted, AgentText, AgentUsage, EndEvent, EventJson, FailKind, RunEndSummary,
    ToolCall, ToolResult,
};

/// Beginning of Codex's message before another try; nothing has ended.
const RETRY: &str = "Reconnecting...";

/// The decoder of Codex's stream.
#[derive(Debug, Default)]
pub(crate) struct CodexStream {
    session: Option<String>,
    text: Option<String>,
    turns: u64,
    /// Calls that were told and not answered.
    open: BTreeSet<String>,
    end: Option<EndEvent>,
}

impl crate::Decode for CodexStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        self.end.clone()
    }
}

impl AgentLineReader for CodexStream {
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: CodexLine<'_> = serde_json::from_str(line)?;
        match line.kind.text() {
            "thread.started" => {
                self.session = line.thread.into_option();
                let session = self.session.clone();
                out.push(AgentEvent::Started(AgentSessionStarted {
                    agent_session: session,
                    ..AgentSessionStarted::new(AgentBinary::Codex)
                }));
            }
            // A record of an end is about the turn before.
            "turn.started" => self.end = None,
            "turn.completed" => {
                let amounts = line.usage.map(|counts| counts.to_totals()).unwrap_or_default();
                out.push(AgentEvent::Usage(AgentUsage { total: true, amounts, ..AgentUsage::default() }));
                self.turns += 1;
                self.end = Some(EndEvent::of_success(self.run_summary()));
            }
            "turn.failed" => {
                let message = line.error.message.into_string();
                // The same was an error of its own just before.
                if self.end.as_ref().and_then(|end| end.message.as_deref()) != Some(message.as_str()) {
                    out.push(warning_event("error", message.clone()));
                }
                self.turns += 1;
                self.record_failure(message);
            }
            "error" => {
                let message = line.message.into_string();
                if message.starts_with(RETRY) {
                    out.push(warning_event("retry", message));
                } else {
                    out.push(warning_event("error", message.clone()));
                    self.record_failure(message);
                }
            }
            "item.started" => self.emit_call(line.item, out),
            "item.completed" => self.emit_item(line.item, out),
            _ => {}
        }
        Ok(())
    }
}

impl CodexStream {
    fn run_summary(&self) -> RunEndSummary {
        RunEndSummary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..RunEndSummary::default()
        }
    }

    fn record_failure(&mut self, message: String) {
        let kind: FailKind = fail::classify_failure(None, &message);
        self.end = Some(EndEvent::of_failure(kind, message, self.run_summary()));
    }

    fn emit_call(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        if let Some((name, input)) = item_call(&item) {
            let id = item.id.into_string();
            self.open.insert(id.clone());
            out.push(AgentEvent::ToolCall(ToolCall::new(id, name, input)));
        }
    }

    fn emit_item(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        match item.kind.text() {
            "agent_message" => {
                let text = item.text.into_string();
                self.text = Some(text.clone());
                let message = item.id.into_option();
                out.push(AgentEvent::Text(AgentText { text, message, ..AgentText::default() }));
            }
            "reasoning" => {
                let (text, message) = (item.text.into_string(), item.id.into_option());
                out.push(AgentEvent::Thinking(AgentText { text, message, ..AgentText::default() }));
            }
            // Codex's own word for a warning.
            "error" => out.push(warning_event("error", item.message.into_string())),
            _ => self.emit_answer(item, out),
        }
    }

    /// The answer to a call; the call too, if it was not told before.
    fn emit_answer(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        let Some((name, input)) = item_call(&item) else { return };
        let id = item.id.into_string();
        if !self.open.remove(&id) {
            out.push(AgentEvent::ToolCall(ToolCall::new(id.clone(), name, input)));
        }
        let problem = item.error.message.into_option();
        let failed = matches!(item.status.text(), "failed" | "declined")
            || problem.is_some()
            || item.exit_code.0.is_some_and(|code| code != 0);
        let output = match (item.kind.text(), item.states) {
            ("mcp_tool_call", _) => problem.unwrap_or_else(|| item.result.content.into_text()),
            ("collab_tool_call", Some(states)) => states.get().to_owned(),
            _ => item.output.into_string(),
        };
        out.push(AgentEvent::ToolResult(ToolResult {
            id,
            output,
            is_error: failed,
            exit_code: item.exit_code.0,
            ..ToolResult::default()
        }));
    }
}

/// The tool's name and input, if the item is a call.
fn item_call(item: &CodexItem<'_>) -> Option<(String, EventJson)> {
    let kind = item.kind.text();
    let input = match kind {
        "command_execution" => fields_object(&[("command", item.command)]),
        "file_change" => fields_object(&[("changes", item.changes)]),
        "web_search" => fields_object(&[("query", item.query), ("action", item.action)]),
        "collab_tool_call" => {
            fields_object(&[("prompt", item.prompt), ("receiver_thread_ids", item.receivers)])
        }
        "mcp_tool_call" => item.arguments.map(EventJson::from).unwrap_or_default(),
        _ => return None,
    };
    let name = match kind {
        "mcp_tool_call" => format!("mcp__{}__{}", item.server.text(), item.tool.text()),
        "collab_tool_call" => item.tool.text().to_owned(),
        kind => kind.to_owned(),
    };
    Some((name, input))
}

/// An object of the fields that are there, each in its own text.
fn fields_object(fields: &[(&str, Option<&RawValue>)]) -> EventJson {
    let there: Vec<String> =
        fields.iter().filter_map(|(name, value)| Some(format!("\"{name}\":{}", (*value)?.get()))).collect();
    RawValue::from_string(format!("{{{}}}", there.join(","))).map(EventJson::from).unwrap_or_default()
}
