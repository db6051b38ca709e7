//! Claude Code's messages while the model writes them.

use std::collections::BTreeMap;

use super::wire::ClaudeStreamEvent;
use crate::decode::wire::WireText;
use crate::event::{
    ActivityPhase, AgentEvent, AgentModelCall, AgentText, AgentUsage, ToolInputDelta, UsageTotals,
};

/// The messages that arrive in parts, by the sub-agent that they belong to: each writes one at a time.
#[derive(Debug, Default)]
pub(super) struct PartialMessages(BTreeMap<Option<String>, PartialMessage>);

/// A message of which parts have come.
#[derive(Debug, Default)]
struct PartialMessage {
    id: Option<String>,
    model: Option<String>,
    amounts: UsageTotals,
    stop_reason: Option<String>,
    /// The call whose arguments are written.
    call: Option<String>,
}

impl PartialMessages {
    /// Reports whether `message` arrives in parts.
    pub(super) fn has_message(&self, message: Option<&str>) -> bool {
        message.is_some() && self.0.values().any(|partial| partial.id.as_deref() == message)
    }

    /// Tells an event of the model's own stream.
    pub(super) fn emit_event(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let phase = match event.kind.text() {
            "message_start" => return self.begin_message(event, parent, out),
            "message_delta" => return self.count_message(event, parent, out),
            "content_block_delta" => return self.emit_delta(event, parent, out),
            "content_block_start" => return self.begin_block(event, parent, out),
            "content_block_stop" | "ping" => ActivityPhase::Progress,
            "message_stop" => ActivityPhase::Completed,
            "error" => ActivityPhase::Failed,
            _ => return,
        };
        let mut call = self.model_call(phase, parent);
        if phase != ActivityPhase::Progress {
            self.0.remove(&call.parent);
            call.error = event.error.message.into_option().or(event.error.kind.into_option());
        }
        out.push(AgentEvent::ModelCall(call));
    }

    fn begin_message(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let message = event.message;
        let partial = PartialMessage {
            id: message.id.into_option(),
            model: message.model.into_option(),
            amounts: message.usage.map(|counts| counts.to_totals()).unwrap_or_default(),
            ..PartialMessage::default()
        };
        let usage = AgentUsage {
            message: partial.id.clone(),
            model: partial.model.clone(),
            total: false,
            amounts: partial.amounts,
        };
        self.0.insert(parent.clone(), partial);
        out.push(AgentEvent::ModelCall(self.model_call(ActivityPhase::Started, parent)));
        out.push(AgentEvent::Usage(usage));
    }

    fn count_message(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let Some(partial) = self.0.get_mut(&parent) else { return };
        partial.stop_reason = event.delta.stop_reason.into_option().or(partial.stop_reason.take());
        let Some(counts) = event.usage else {
            out.push(AgentEvent::ModelCall(self.model_call(ActivityPhase::Progress, parent)));
            return;
        };
        partial.amounts = counts.merge_over(partial.amounts);
        let (message, amounts) = (partial.id.clone(), partial.amounts);
        out.push(AgentEvent::Usage(AgentUsage { message, amounts, ..AgentUsage::default() }));
    }

    fn begin_block(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let (id, name) = (event.block.id.into_option(), event.block.name.into_option());
        if let Some(partial) = self.0.get_mut(&parent) {
            partial.call.clone_from(&id);
        }
        out.push(match (id, name) {
            (Some(id), name @ Some(_)) => {
                AgentEvent::ToolInput(ToolInputDelta { id, name, parent, ..ToolInputDelta::default() })
            }
            _ => AgentEvent::ModelCall(self.model_call(ActivityPhase::Progress, parent)),
        });
    }

    fn emit_delta(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let partial = self.0.get(&parent);
        let message = || partial.and_then(|partial| partial.id.clone());
        let delta = event.delta;
        let part = |text: WireText<'_>, parent| AgentText {
            message: message(),
            parent,
            ..AgentText::of_delta(text.into_string())
        };
        out.push(match delta.kind.text() {
            "text_delta" => AgentEvent::Text(part(delta.text, parent)),
            "thinking_delta" => AgentEvent::Thinking(part(delta.thinking, parent)),
            "signature_delta" => AgentEvent::Thinking(AgentText {
                signature: delta.signature.into_option(),
                ..part(WireText::default(), parent)
            }),
            "input_json_delta" => AgentEvent::ToolInput(ToolInputDelta {
                id: partial.and_then(|partial| partial.call.clone()).unwrap_or_default(),
                delta: delta.json.into_string(),
                parent,
                ..ToolInputDelta::default()
            }),
            "" => return,
            _ => AgentEvent::ModelCall(self.model_call(ActivityPhase::Progress, parent)),
        });
    }

    /// The model's call that writes the message of `parent`.
    fn model_call(&self, phase: ActivityPhase, parent: Option<String>) -> AgentModelCall {
        let partial = self.0.get(&parent);
        let text = |field: fn(&PartialMessage) -> &Option<String>| {
            partial.and_then(|partial| field(partial).clone())
        };
        AgentModelCall {
            message: text(|partial| &partial.id),
            model: text(|partial| &partial.model),
            stop_reason: text(|partial| &partial.stop_reason),
            parent,
            ..AgentModelCall::new(phase)
        }
    }
}
