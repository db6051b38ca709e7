//! The decoder of `gemini --output-format stream-json`.

use amplihack_config::agent_binary::AgentBinary;

use super::wire::{GeminiLine, GeminiRunCounts};
use crate::decode::fail;
use crate::decode::lines::{self, AgentLineReader, warning_event};
use crate::decode::open_calls::OpenCalls;
use crate::event::{
    AgentEvent, AgentPlan, AgentPrompt, AgentSessionStarted, AgentText, AgentTurn, AgentUsage, EndEvent,
    FailKind, RunEndSummary,
};

/// Beginning of Gemini's warning before it ends with a success all the same.
const LOOP: &str = "Loop detected";

/// The decoder of Gemini's stream.
#[derive(Debug, Default)]
pub(crate) struct GeminiStream {
    session: Option<String>,
    /// The parts of what it is saying.
    saying: String,
    /// Last whole text of the agent.
    text: Option<String>,
    /// Reason for which the agent gave up.
    gave_up: Option<String>,
    pub(super) open: OpenCalls,
    /// A plan whose call is not answered yet: not every Gemini has the tool.
    pub(super) plan: Option<AgentPlan>,
    end: Option<EndEvent>,
}

impl crate::Decode for GeminiStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        // A stream that was cut off has told its last words in parts only.
        if !self.saying.is_empty() {
            self.text = Some(self.saying.clone());
        }
        self.end.clone()
    }
}

impl AgentLineReader for GeminiStream {
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: GeminiLine<'_> = serde_json::from_str(line)?;
        match (line.kind.text(), line.role.text()) {
            ("init", _) => {
                self.session = line.session.into_option();
                let (session, model) = (self.session.clone(), line.model.into_option());
                out.push(AgentEvent::Started(AgentSessionStarted {
                    agent_session: session,
                    model,
                    ..AgentSessionStarted::new(AgentBinary::Gemini)
                }));
            }
            // It begins the only turn of a run.
            ("message", "user") => {
                out.push(AgentEvent::Prompt(AgentPrompt::new(line.content.into_string())));
                out.push(AgentEvent::TurnStarted(AgentTurn::default()));
            }
            ("message", "assistant") => {
                let text = line.content.into_string();
                self.saying.push_str(&text);
                out.push(AgentEvent::Text(AgentText { text, delta: true, ..AgentText::default() }));
            }
            ("tool_use", _) => {
                self.emit_spoken_text(out);
                self.emit_call(line, out);
            }
            ("tool_result", _) => self.emit_result(line, out),
            ("error", _) => {
                let message = line.message.into_string();
                // Kept for the end: Gemini reports success after it, with code 0 (`gemini-0.61.0-loop`).
                if message.starts_with(LOOP) {
                    self.gave_up = Some(message.clone());
                }
                let kind = line.severity.0.as_deref().unwrap_or("error");
                out.push(warning_event(kind, message));
            }
            ("result", _) => self.emit_run_end(&line, out),
            _ => {}
        }
        Ok(())
    }
}

impl GeminiStream {
    /// Tells the whole of what was said in parts.
    fn emit_spoken_text(&mut self, out: &mut Vec<AgentEvent>) {
        if !self.saying.is_empty() {
            let text = std::mem::take(&mut self.saying);
            self.text = Some(text.clone());
            out.push(AgentEvent::Text(AgentText { text, ..AgentText::default() }));
        }
    }

    fn emit_run_end(&mut self, line: &GeminiLine<'_>, out: &mut Vec<AgentEvent>) {
        self.emit_spoken_text(out);
        let amounts = line.stats.as_ref().map(GeminiRunCounts::to_totals).unwrap_or_default();
        out.push(AgentEvent::Usage(AgentUsage::of_total(amounts)));
        out.push(AgentEvent::TurnEnded(AgentTurn::default()));
        let summary = RunEndSummary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            duration_ms: line.stats.as_ref().map(|stats| stats.duration.count_or_zero()),
            ..RunEndSummary::default()
        };
        self.end = Some(match (line.status.text(), self.gave_up.take()) {
            ("success", None) => EndEvent::of_success(summary),
            ("success", Some(message)) => EndEvent::of_failure(FailKind::Agent, message, summary),
            _ => {
                let message = match (line.error.message.text(), line.status.text()) {
                    ("", "") => lines::NO_REASON.to_owned(),
                    ("", status) => format!("the agent ended with the status {status}, without a reason"),
                    (message, _) => message.to_owned(),
                };
                EndEvent::of_failure(fail::classify_failure(None, &message), message, summary)
            }
        });
    }
}
