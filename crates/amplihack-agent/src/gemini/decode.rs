//! The decoder of `gemini --output-format stream-json`.

use amplihack_utils::agent_binary::AgentBinary;

use super::wire::{Counts, Line};
use crate::decode::fail;
use crate::decode::lines::{self, JsonLines, warning};
use crate::event::{
    AgentEvent, EndEvent, FailKind, Json, Started, Summary, Text, ToolCall, ToolResult, Usage,
};

/// What Gemini warns of before it ends with a success all the same.
const LOOP: &str = "Loop detected";

/// The decoder of Gemini's stream.
#[derive(Debug, Default)]
pub(crate) struct GeminiStream {
    session: Option<String>,
    /// The parts of what it is saying.
    saying: String,
    /// What it said last.
    text: Option<String>,
    /// Why it gave up.
    gave_up: Option<String>,
    end: Option<EndEvent>,
}

impl crate::Decode for GeminiStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn said(&mut self) -> Option<EndEvent> {
        // A stream that was cut off has told its last words in parts only.
        if !self.saying.is_empty() {
            self.text = Some(self.saying.clone());
        }
        self.end.clone()
    }
}

impl JsonLines for GeminiStream {
    fn json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: Line<'_> = serde_json::from_str(line)?;
        match (line.kind.text(), line.role.text()) {
            ("init", _) => {
                self.session = line.session.own();
                let (session, model) = (self.session.clone(), line.model.own());
                out.push(AgentEvent::Started(Started {
                    agent_session: session,
                    model,
                    ..Started::of(AgentBinary::Gemini)
                }));
            }
            ("message", "assistant") => {
                let text = line.content.string();
                self.saying.push_str(&text);
                out.push(AgentEvent::Text(Text { text, delta: true, ..Text::default() }));
            }
            ("tool_use", _) => {
                self.spoken(out);
                let input = line.parameters.map(Json::from).unwrap_or_default();
                let (id, name) = (line.call.string(), line.tool.string());
                out.push(AgentEvent::ToolCall(ToolCall { id, name, input, parent: None }));
            }
            ("tool_result", _) => {
                let is_error = line.status.text() == "error";
                let output = line.output.into_text();
                let output = if output.is_empty() { line.error.message.string() } else { output };
                let id = line.call.string();
                out.push(AgentEvent::ToolResult(ToolResult {
                    id,
                    output,
                    is_error,
                    ..ToolResult::default()
                }));
            }
            ("error", _) => {
                let message = line.message.string();
                if message.starts_with(LOOP) {
                    self.gave_up = Some(message.clone());
                }
                out.push(warning("error", message));
            }
            ("result", _) => self.over(&line, out),
            _ => {}
        }
        Ok(())
    }
}

impl GeminiStream {
    /// Tells the whole of what was said in parts.
    fn spoken(&mut self, out: &mut Vec<AgentEvent>) {
        if !self.saying.is_empty() {
            let text = std::mem::take(&mut self.saying);
            self.text = Some(text.clone());
            out.push(AgentEvent::Text(Text { text, ..Text::default() }));
        }
    }

    fn over(&mut self, line: &Line<'_>, out: &mut Vec<AgentEvent>) {
        self.spoken(out);
        let amounts = line.stats.as_ref().map(Counts::totals).unwrap_or_default();
        out.push(AgentEvent::Usage(Usage { total: true, amounts, ..Usage::default() }));
        let summary = Summary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            duration_ms: line.stats.as_ref().map(|stats| stats.duration.count()),
            ..Summary::default()
        };
        self.end = Some(match (line.status.text(), self.gave_up.take()) {
            ("success", None) => EndEvent::success(summary),
            ("success", Some(message)) => EndEvent::of_failure(FailKind::Agent, message, summary),
            _ => {
                let message = match (line.error.message.text(), line.status.text()) {
                    ("", "") => lines::NO_REASON.to_owned(),
                    ("", status) => format!("the agent ended with the status {status}, and did not say why"),
                    (message, _) => message.to_owned(),
                };
                EndEvent::of_failure(fail::kind(None, &message), message, summary)
            }
        });
    }
}
