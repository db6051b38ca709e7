//! Calls of the model, out of events: nobody tells when one begins.
//!
//! A call begins when the run does, when a tool has given something back, or where the call before it ended. What an agent says of one
//! message that it counts tokens for is one call; else all that it says up to the next result of a tool is.

use std::collections::{HashMap, HashSet};

use amplihack_agent::AgentEvent;
use amplihack_agent::event::{AgentText, UsageTotals};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clean::TextCleaner;
use crate::model::ExportedRun;

/// A call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCall<'a> {
    /// The number of its first event.
    pub(super) seq: u64,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// The tool call whose sub-agent made it.
    pub(super) parent: Option<&'a str>,
    /// The message that it gave.
    pub(super) message: Option<&'a str>,
    /// The model that gave it.
    pub(super) model: Option<&'a str>,
    pub(super) used: UsageTotals,
    /// Reason for which the model stopped, in the provider's word.
    pub(super) stop_reason: Option<&'a str>,
    /// The model's output, as parts of a message.
    parts: Vec<Value>,
}

impl ModelCall<'_> {
    /// Reason for which the model stopped, in the words of the conventions where they have one; what it did shows it, where the agent
    /// does not say.
    pub(super) fn finish_reason(&self) -> &str {
        let calls = self.parts.iter().any(|part| part["type"] == "tool_call");
        match self.stop_reason {
            Some("end_turn" | "stop_sequence" | "STOP") => "stop",
            Some("tool_use" | "tool_calls") => "tool_call",
            Some("max_tokens" | "MAX_TOKENS") => "length",
            Some("refusal" | "SAFETY") => "content_filter",
            Some(word) => word,
            None if calls => "tool_call",
            None => "stop",
        }
    }

    /// The model's output, as the conventions write it.
    pub(super) fn output_message(&self) -> Option<String> {
        let reason = self.finish_reason();
        let message = json!([{ "role": "assistant", "parts": self.parts, "finish_reason": reason }]);
        (!self.parts.is_empty()).then(|| message.to_string())
    }
}

/// The calls of the model in `run`.
pub(super) fn model_calls(run: &ExportedRun, cleaner: TextCleaner) -> Vec<ModelCall<'_>> {
    let counted = run.events.iter().filter_map(|event| match &event.event {
        AgentEvent::Usage(usage) if !usage.total => usage.message.as_deref(),
        _ => None,
    });
    let mut finding = CallFinder {
        cleaner,
        counted: counted.collect(),
        calls: Vec::new(),
        messages: HashMap::new(),
        open: HashMap::new(),
        since: HashMap::from([(None, run.record.started_at)]),
    };
    for event in &run.events {
        finding.add_event(event.seq, event.at, &event.event);
    }
    finding.calls
}

struct CallFinder<'a> {
    cleaner: TextCleaner,
    /// Messages whose tokens are told.
    counted: HashSet<&'a str>,
    calls: Vec<ModelCall<'a>>,
    /// The call that gave a message.
    messages: HashMap<&'a str, usize>,
    /// The call that goes on, of the agent and of each sub-agent.
    open: HashMap<Option<&'a str>, usize>,
    /// Since when the next call may run.
    since: HashMap<Option<&'a str>, Timestamp>,
}

impl<'a> CallFinder<'a> {
    fn add_event(&mut self, seq: u64, at: Timestamp, event: &'a AgentEvent) {
        match event {
            AgentEvent::Text(text) => self.add_text(seq, at, text, "text"),
            AgentEvent::Thinking(text) => self.add_text(seq, at, text, "reasoning"),
            AgentEvent::ToolCall(call) => {
                let mut arguments = call.input.to_value();
                self.cleaner.redact_value(&mut arguments);
                let clean = |text| self.cleaner.without_secrets(text).into_owned();
                let (id, name) = (clean(&call.id), clean(&call.name));
                let part = json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments });
                self.since.insert(Some(&call.id), at);
                self.call_at(seq, at, None, call.parent.as_deref()).parts.push(part);
            }
            AgentEvent::Usage(usage) if !usage.total => {
                let known = usage.message.as_deref();
                let parent = known
                    .and_then(|known| self.messages.get(known))
                    .and_then(|call| self.calls[*call].parent);
                let call = self.call_at(seq, at, known, parent);
                call.model = usage.model.as_deref().or(call.model);
                if known.is_some() {
                    // Told again, it replaces what was told before.
                    call.used = usage.amounts;
                } else {
                    call.used.add_amounts(&usage.amounts);
                }
            }
            AgentEvent::ModelCall(told) => {
                if let Some(reason) = told.stop_reason.as_deref() {
                    let message = told.message.as_deref();
                    self.call_at(seq, at, message, told.parent.as_deref()).stop_reason = Some(reason);
                }
            }
            AgentEvent::ToolResult(result) => {
                let parent = result.parent.as_deref();
                self.open.remove(&parent);
                self.since.insert(parent, at);
            }
            _ => {}
        }
    }

    fn add_text(&mut self, seq: u64, at: Timestamp, text: &'a AgentText, kind: &str) {
        let part = json!({ "type": kind, "content": self.cleaner.without_secrets(&text.text) });
        let message = text.message.as_deref().filter(|message| self.counted.contains(message));
        let call = self.call_at(seq, at, message, text.parent.as_deref());
        if !text.delta {
            call.parts.push(part);
        }
    }

    /// The call that an event at `at` belongs to.
    fn call_at(
        &mut self,
        seq: u64,
        at: Timestamp,
        message: Option<&'a str>,
        parent: Option<&'a str>,
    ) -> &mut ModelCall<'a> {
        let open = self.open.get(&parent).copied();
        let same =
            |call: &ModelCall<'_>| message.is_none() || call.message.is_none() || call.message == message;
        let known = message.and_then(|message| self.messages.get(message).copied());
        let found = known.or_else(|| open.filter(|call| same(&self.calls[*call])));
        let index = found.unwrap_or_else(|| {
            let since = self.since.get(&parent).or_else(|| self.since.get(&None)).copied().unwrap_or(at);
            let start = open.map_or(since, |before| self.calls[before].end).min(at);
            let call = ModelCall {
                seq,
                start,
                end: at,
                parent,
                message,
                model: None,
                used: UsageTotals::default(),
                stop_reason: None,
                parts: Vec::new(),
            };
            self.calls.push(call);
            self.calls.len() - 1
        });
        self.open.insert(parent, index);
        if let Some(message) = message {
            self.messages.insert(message, index);
        }
        let call = &mut self.calls[index];
        call.message = call.message.or(message);
        call.end = call.end.max(at);
        call
    }
}
