//! The decoder of `codex exec --json`.

use std::collections::BTreeSet;

use amplihack_utils::agent_binary::AgentBinary;
use serde_json::value::RawValue;

use super::wire::{Item, Line};
use crate::decode::fail;
use crate::decode::lines::{self, JsonLines, warning};
use crate::event::{
    AgentEvent, EndEvent, FailKind, Json, Started, Summary, Text, ToolCall, ToolResult, Usage,
};

/// What Codex writes before another try; nothing has ended.
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

    fn said(&mut self) -> Option<EndEvent> {
        self.end.clone()
    }
}

impl JsonLines for CodexStream {
    fn json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: Line<'_> = serde_json::from_str(line)?;
        match line.kind.text() {
            "thread.started" => {
                self.session = line.thread.own();
                let session = self.session.clone();
                out.push(AgentEvent::Started(Started {
                    agent_session: session,
                    ..Started::of(AgentBinary::Codex)
                }));
            }
            // A record of an end is about the turn before.
            "turn.started" => self.end = None,
            "turn.completed" => {
                let amounts = line.usage.map(|counts| counts.totals()).unwrap_or_default();
                out.push(AgentEvent::Usage(Usage { total: true, amounts, ..Usage::default() }));
                self.turns += 1;
                self.end = Some(EndEvent::success(self.summary()));
            }
            "turn.failed" => {
                let message = line.error.message.string();
                // The same was an error of its own just before.
                if self.end.as_ref().and_then(|end| end.message.as_deref()) != Some(message.as_str()) {
                    out.push(warning("error", message.clone()));
                }
                self.turns += 1;
                self.failed(message);
            }
            "error" => {
                let message = line.message.string();
                if message.starts_with(RETRY) {
                    out.push(warning("retry", message));
                } else {
                    out.push(warning("error", message.clone()));
                    self.failed(message);
                }
            }
            "item.started" => self.started(line.item, out),
            "item.completed" => self.completed(line.item, out),
            _ => {}
        }
        Ok(())
    }
}

impl CodexStream {
    fn summary(&self) -> Summary {
        Summary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..Summary::default()
        }
    }

    fn failed(&mut self, message: String) {
        let kind: FailKind = fail::kind(None, &message);
        self.end = Some(EndEvent::of_failure(kind, message, self.summary()));
    }

    fn started(&mut self, item: Item<'_>, out: &mut Vec<AgentEvent>) {
        if let Some((name, input)) = call(&item) {
            let id = item.id.string();
            self.open.insert(id.clone());
            out.push(AgentEvent::ToolCall(ToolCall { id, name, input, parent: None }));
        }
    }

    fn completed(&mut self, item: Item<'_>, out: &mut Vec<AgentEvent>) {
        match item.kind.text() {
            "agent_message" => {
                let text = item.text.string();
                self.text = Some(text.clone());
                let message = item.id.own();
                out.push(AgentEvent::Text(Text { text, message, ..Text::default() }));
            }
            "reasoning" => {
                let (text, message) = (item.text.string(), item.id.own());
                out.push(AgentEvent::Thinking(Text { text, message, ..Text::default() }));
            }
            // Codex's own word for a warning.
            "error" => out.push(warning("error", item.message.string())),
            _ => self.answered(item, out),
        }
    }

    /// The answer to a call; the call too, if it was not told before.
    fn answered(&mut self, item: Item<'_>, out: &mut Vec<AgentEvent>) {
        let Some((name, input)) = call(&item) else { return };
        let id = item.id.string();
        if !self.open.remove(&id) {
            out.push(AgentEvent::ToolCall(ToolCall { id: id.clone(), name, input, parent: None }));
        }
        let problem = item.error.message.own();
        let failed = matches!(item.status.text(), "failed" | "declined")
            || problem.is_some()
            || item.exit_code.0.is_some_and(|code| code != 0);
        let output = match (item.kind.text(), item.states) {
            ("mcp_tool_call", _) => problem.unwrap_or_else(|| item.result.content.into_text()),
            ("collab_tool_call", Some(states)) => states.get().to_owned(),
            _ => item.output.string(),
        };
        out.push(AgentEvent::ToolResult(ToolResult {
            id,
            output,
            is_error: failed,
            exit_code: item.exit_code.0,
            parent: None,
        }));
    }
}

/// The tool's name and input, if the item is a call.
fn call(item: &Item<'_>) -> Option<(String, Json)> {
    let kind = item.kind.text();
    let input = match kind {
        "command_execution" => object(&[("command", item.command)]),
        "file_change" => object(&[("changes", item.changes)]),
        "web_search" => object(&[("query", item.query), ("action", item.action)]),
        "collab_tool_call" => object(&[("prompt", item.prompt), ("receiver_thread_ids", item.receivers)]),
        "mcp_tool_call" => item.arguments.map(Json::from).unwrap_or_default(),
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
fn object(fields: &[(&str, Option<&RawValue>)]) -> Json {
    let there: Vec<String> =
        fields.iter().filter_map(|(name, value)| Some(format!("\"{name}\":{}", (*value)?.get()))).collect();
    RawValue::from_string(format!("{{{}}}", there.join(","))).map(Json::from).unwrap_or_default()
}
