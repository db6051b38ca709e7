//! Copilot's lines about what is said and thought, and about the turns and calls of the model in which it is.

use std::collections::BTreeMap;

use super::decode::{CopilotStream, FailedTry};
use super::session::update_event;
use super::wire::CopilotLineData;
use crate::event::{
    ActivityPhase, AgentEvent, AgentModelCall, AgentPrompt, AgentRetry, AgentSessionUpdate, AgentText,
    AgentTurn, ToolInputDelta,
};

/// Thoughts of the turns that go on, by agent: each is in the stream twice, in a line of its own and with the message after which
/// or before which it comes.
#[derive(Debug, Default)]
pub(super) struct CopilotThoughts(BTreeMap<Option<String>, TurnThoughts>);

#[derive(Debug, Default)]
struct TurnThoughts {
    /// Thoughts told from lines of their own, and not repeated yet by a message.
    alone: String,
    /// Name of the last thought that was told in parts.
    heard: Option<String>,
    /// Thoughts told from messages, and not repeated yet by lines of their own; the last of these messages.
    spoken: String,
    message: Option<String>,
}

impl CopilotThoughts {
    fn turn(&mut self, parent: Option<&str>) -> &mut TurnThoughts {
        self.0.entry(parent.map(str::to_owned)).or_default()
    }

    fn forget(&mut self, parent: Option<&str>) {
        self.0.remove(&parent.map(str::to_owned));
    }
}

/// Takes `thought` out of `told`, thoughts that were told and not repeated yet. A message has all thoughts of its turn in one, with blanks of
/// its own between them. False if it is not what comes next there: another thought.
fn take_repeat(told: &mut String, thought: &str) -> bool {
    let is_alike =
        told.split_whitespace().flat_map(str::chars).eq(thought.split_whitespace().flat_map(str::chars));
    if is_alike {
        told.clear();
        return !thought.is_empty();
    }
    match told.trim_start().strip_prefix(thought.trim()) {
        Some(rest) if !thought.trim().is_empty() => *told = rest.to_owned(),
        _ => return false,
    }
    true
}

/// Tells a prompt.
pub(super) fn emit_prompt(data: CopilotLineData<'_>, parent: Option<String>, out: &mut Vec<AgentEvent>) {
    out.push(AgentEvent::Prompt(AgentPrompt {
        text: data.content.into_string(),
        message: data.message_id.into_option(),
        origin: data.source.into_option(),
        parent,
    }));
}

impl CopilotStream {
    /// Reads a line `assistant.KIND`.
    pub(super) fn emit_assistant(
        &mut self,
        kind: &str,
        data: CopilotLineData<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let turn = |id, parent| AgentTurn { id, parent, ..AgentTurn::default() };
        let delta = |text, message, parent| AgentText { message, parent, ..AgentText::of_delta(text) };
        match kind {
            // A thought of the turn before may be told again in this one, and is another thought then.
            "turn_start" => {
                self.turns += u64::from(parent.is_none());
                self.thoughts.forget(parent.as_deref());
                out.push(AgentEvent::TurnStarted(turn(data.turn.into_option(), parent)));
            }
            "turn_end" => {
                self.thoughts.forget(parent.as_deref());
                out.push(AgentEvent::TurnEnded(turn(data.turn.into_option(), parent)));
            }
            "turn_retry" => out.push(AgentEvent::Retry(self.read_retry(data))),
            "message_delta" => {
                let message = data.message_id.into_option();
                out.push(AgentEvent::Text(delta(data.delta.into_string(), message, parent)));
            }
            "reasoning_delta" => {
                let message = data.reasoning_id.into_option();
                self.thoughts.turn(parent.as_deref()).heard.clone_from(&message);
                out.push(AgentEvent::Thinking(delta(data.delta.into_string(), message, parent)));
            }
            "reasoning" => self.emit_thought(data, parent, out),
            "message" => self.emit_message(data, parent, out),
            "tool_call_delta" => out.push(AgentEvent::ToolInput(ToolInputDelta {
                id: data.call.into_string(),
                name: data.tool.into_option(),
                delta: data.input_delta.into_string(),
                parent,
            })),
            "message_start" | "streaming_delta" | "server_tool_progress" => {
                out.push(model_call(ActivityPhase::Progress, data.message_id.into_option(), parent));
            }
            "idle" => out.push(AgentEvent::SessionUpdated(AgentSessionUpdate::with_status("idle"))),
            "intent" => {
                let update = AgentSessionUpdate::with_status(data.intent.into_string());
                out.push(update_event(kind, update));
            }
            _ => {}
        }
    }

    /// Tells a thought, unless a message told it already: then the line says no more than that the call goes on.
    fn emit_thought(&mut self, data: CopilotLineData<'_>, parent: Option<String>, out: &mut Vec<AgentEvent>) {
        let text = data.content.into_string();
        let turn = self.thoughts.turn(parent.as_deref());
        if take_repeat(&mut turn.spoken, &text) {
            out.push(model_call(ActivityPhase::Progress, turn.message.clone(), parent));
        } else {
            turn.alone.push_str(&text);
            turn.alone.push('\n');
            let message = data.reasoning_id.into_option();
            out.push(AgentEvent::Thinking(AgentText { message, parent, ..AgentText::new(text) }));
        }
    }

    fn emit_message(&mut self, data: CopilotLineData<'_>, parent: Option<String>, out: &mut Vec<AgentEvent>) {
        let before = out.len();
        let message = data.message_id.into_option();
        let text = |text: String| AgentText {
            message: message.clone(),
            parent: parent.clone(),
            ..AgentText::new(text)
        };
        if let Some(thought) = data.reasoning.into_option().filter(|thought| !thought.is_empty()) {
            let turn = self.thoughts.turn(parent.as_deref());
            if !take_repeat(&mut turn.alone, &thought) {
                turn.spoken.push_str(&thought);
                turn.spoken.push('\n');
                turn.message.clone_from(&message);
                // The whole has the name of its parts.
                let message = turn.heard.clone().or(message.clone());
                out.push(AgentEvent::Thinking(AgentText { message, ..text(thought) }));
            }
        }
        if let Some(content) = data.content.into_option().filter(|content| !content.is_empty()) {
            // A sub-agent's text is not the answer of the run.
            if parent.is_none() {
                self.text = Some(content.clone());
            }
            out.push(AgentEvent::Text(text(content)));
        }
        for request in data.requests.0 {
            let mcp = request.mcp_server.0.is_some();
            self.emit_call((request.call, request.name, mcp), request.arguments, parent.as_deref(), out);
        }
        if out.len() == before {
            out.push(model_call(ActivityPhase::Progress, message, parent));
        }
    }

    fn read_retry(&mut self, data: CopilotLineData<'_>) -> AgentRetry {
        let failed = self.failed_try.as_ref();
        let error = || failed.and_then(|failed| failed.error.clone()).unwrap_or_default();
        AgentRetry {
            reason: data.reason.into_option().unwrap_or_else(error),
            // That of the try that failed is counted from 0.
            attempt: failed.and_then(|failed| failed.number).map(|number| number + 1),
            status: failed.and_then(|failed| failed.status),
            ..AgentRetry::default()
        }
    }

    /// Reads a line `model.KIND`. A call ends once, with `call_finished`, and with the reason that was told before.
    pub(super) fn emit_model_call(
        &mut self,
        kind: &str,
        data: &CopilotLineData<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut call = AgentModelCall {
            turn: text(data.turn.text()),
            model: text(data.model.text()),
            parent,
            ..AgentModelCall::new(ActivityPhase::Started)
        };
        match kind {
            "call_start" => {}
            "call_failure" => {
                let failed = FailedTry {
                    number: data.retry.as_count(),
                    status: data.status.0,
                    error: text(data.error_message.text()),
                };
                call.phase = ActivityPhase::Progress;
                call.duration_ms = milliseconds(data.duration.0);
                (call.status, call.error) = (failed.status, failed.error.clone());
                self.failed_try = Some(failed);
            }
            "call_finished" => {
                call.phase = match data.outcome.text() {
                    "error" | "rejected" => ActivityPhase::Failed,
                    "cancelled" => ActivityPhase::Cancelled,
                    _ => ActivityPhase::Completed,
                };
                call.duration_ms = milliseconds(data.dispatch_duration.0);
                if call.phase == ActivityPhase::Completed {
                    self.failed_try = None;
                } else if let Some(failed) = &self.failed_try {
                    (call.status, call.error) = (failed.status, failed.error.clone());
                }
            }
            // What the tries came to, told already with each.
            "call_final_result" => call.phase = ActivityPhase::Progress,
            _ => return,
        }
        out.push(AgentEvent::ModelCall(call));
    }
}

fn model_call(phase: ActivityPhase, message: Option<String>, parent: Option<String>) -> AgentEvent {
    AgentEvent::ModelCall(AgentModelCall { message, parent, ..AgentModelCall::new(phase) })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped first")]
pub(super) fn milliseconds(duration: Option<f64>) -> Option<u64> {
    // Enough for 285,000 years.
    duration.map(|duration| duration.clamp(0.0, 9_007_199_254_740_992.0) as u64)
}
