//! The decoder of Claude Code's `stream-json`, with and without partial messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::system::{emit_control, emit_limits};
use super::wire::{
    ClaudeBlock, ClaudeContent, ClaudeLine, ClaudeLineTexts, ClaudeMessage, ClaudeStreamEvent,
};
use crate::decode::lines::{self, AgentLineReader, raw_value_event};
use crate::decode::wire::WireText;
use crate::event::{
    AgentEvent, AgentText, AgentUsage, EndEvent, EventJson, RunEndSummary, RunOutcome, ToolCall, ToolResult,
    UsageTotals,
};

/// Beginning of the words that Claude writes as the user's when it is interrupted; there may be no record of the end after it.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The decoder of Claude Code's stream.
#[derive(Debug, Default)]
pub(crate) struct ClaudeStream {
    pub(super) session: Option<String>,
    /// The last whole text of the main agent.
    pub(super) text: Option<String>,
    /// Messages that arrive in parts, by the sub-agent that they belong to.
    partial: BTreeMap<String, (String, UsageTotals)>,
    /// Calls whose denial was already told.
    pub(super) denied: BTreeSet<String>,
    pub(super) interrupted: bool,
    /// Amounts used up to the last record.
    pub(super) used: UsageTotals,
    pub(super) end: Option<EndEvent>,
}

/// Message and sub-agent to which something belongs.
#[derive(Clone, Copy)]
struct ClaudeMessageContext<'a> {
    message: Option<&'a str>,
    parent: Option<&'a str>,
}

impl ClaudeMessageContext<'_> {
    fn tag_text(self, text: String) -> AgentText {
        let (message, parent) = (self.message.map(str::to_owned), self.parent.map(str::to_owned));
        AgentText { message, parent, ..AgentText::new(text) }
    }
}

impl crate::Decode for ClaudeStream {
    lines::kept!();

    fn recorded_end(&mut self) -> Option<EndEvent> {
        let interrupted = || {
            let message = "the agent was interrupted and left no record of its end".to_owned();
            self.interrupted
                .then(|| EndEvent::with_outcome(RunOutcome::Interrupted, message, RunEndSummary::default()))
        };
        self.end.clone().or_else(interrupted)
    }
}

impl AgentLineReader for ClaudeStream {
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let read: ClaudeLine<'_> = serde_json::from_str(line)?;
        match read.kind.text() {
            "assistant" => self.emit_assistant(line, read.message, &read.parent, out),
            "user" => self.emit_tool_results(line, read.message, &read.parent, out),
            "stream_event" => self.emit_stream_event(read.event, read.parent.into_option(), out),
            "system" => self.emit_system(serde_json::from_str(line)?, out),
            "result" => self.take_end_record(serde_json::from_str(line)?, out),
            "control_request" => emit_control(serde_json::from_str(line)?, out),
            "rate_limit_event" => emit_limits(&serde_json::from_str(line)?, out),
            _ => {}
        }
        Ok(())
    }
}

impl ClaudeStream {
    fn emit_assistant(
        &mut self,
        line: &str,
        message: ClaudeMessage<'_>,
        parent: &WireText<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        let place = ClaudeMessageContext { message: message.id.0.as_deref(), parent: parent.0.as_deref() };
        match message.content {
            ClaudeContent::None => {}
            ClaudeContent::Text(text) => self.emit_text(text.into_owned(), place, out),
            ClaudeContent::Blocks(blocks) => {
                let mut whole = ClaudeBlockTexts::new(line);
                for (index, block) in blocks.into_iter().enumerate() {
                    self.emit_block((&mut whole, index), block, place, out);
                }
            }
        }
        let amounts = message.usage.map(|counts| counts.to_totals()).filter(UsageTotals::has_tokens);
        if let Some(amounts) = amounts {
            let (model, total) = (message.model.into_option(), false);
            let message = place.message.map(str::to_owned);
            out.push(AgentEvent::Usage(AgentUsage { message, model, total, amounts }));
        }
    }

    fn emit_block(
        &mut self,
        (whole, index): (&mut ClaudeBlockTexts<'_>, usize),
        block: ClaudeBlock<'_>,
        place: ClaudeMessageContext<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        match block.kind.text() {
            "text" => self.emit_text(block.text.into_string(), place, out),
            "thinking" => out.push(AgentEvent::Thinking(place.tag_text(block.thinking.into_string()))),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => out.push(AgentEvent::ToolCall(ToolCall {
                id: block.id.into_string(),
                name: block.name.into_string(),
                input: block.input.map(EventJson::from).unwrap_or_default(),
                parent: place.parent.map(str::to_owned),
                ..ToolCall::default()
            })),
            kind if kind.ends_with("tool_result") => out.push(tool_result(block, place)),
            kind => whole.emit_raw("assistant", kind, index, out),
        }
    }

    fn emit_text(&mut self, text: String, place: ClaudeMessageContext<'_>, out: &mut Vec<AgentEvent>) {
        if place.parent.is_none() {
            self.text = Some(text.clone());
        }
        out.push(AgentEvent::Text(place.tag_text(text)));
    }

    /// Emits the results of tools. The user's own words are nothing that the agent did.
    fn emit_tool_results(
        &mut self,
        line: &str,
        message: ClaudeMessage<'_>,
        parent: &WireText<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        let ClaudeContent::Blocks(blocks) = message.content else { return };
        let only_words = blocks.iter().all(|block| block.kind.text() == "text");
        self.interrupted |= blocks.iter().any(|block| block.text.text().starts_with(INTERRUPTED));
        if only_words {
            return;
        }
        let place = ClaudeMessageContext { message: None, parent: parent.0.as_deref() };
        let mut whole = ClaudeBlockTexts::new(line);
        for (index, block) in blocks.into_iter().enumerate() {
            if block.kind.text().ends_with("tool_result") {
                out.push(tool_result(block, place));
            } else {
                whole.emit_raw("user", block.kind.text(), index, out);
            }
        }
    }

    fn emit_stream_event(
        &mut self,
        event: ClaudeStreamEvent<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let key = parent.clone().unwrap_or_default();
        let message = || self.partial.get(&key).map(|(id, _)| id.clone());
        let delta = |text: WireText<'_>| AgentText {
            text: text.into_string(),
            delta: true,
            message: message(),
            parent,
            ..AgentText::default()
        };
        match (event.kind.text(), event.delta.kind.text()) {
            ("content_block_delta", "text_delta") => out.push(AgentEvent::Text(delta(event.delta.text))),
            ("content_block_delta", "thinking_delta") => {
                out.push(AgentEvent::Thinking(delta(event.delta.thinking)));
            }
            ("message_start", _) => {
                let amounts = event.message.usage.map(|counts| counts.to_totals()).unwrap_or_default();
                let id = event.message.id.into_string();
                self.partial.insert(key, (id.clone(), amounts));
                let (model, total) = (event.message.model.into_option(), false);
                out.push(AgentEvent::Usage(AgentUsage { message: Some(id), model, total, amounts }));
            }
            ("message_delta", _) => {
                if let (Some(counts), Some((id, amounts))) = (event.usage, self.partial.get_mut(&key)) {
                    *amounts = counts.merge_over(*amounts);
                    out.push(AgentEvent::Usage(AgentUsage {
                        message: Some(id.clone()),
                        amounts: *amounts,
                        ..AgentUsage::default()
                    }));
                }
            }
            _ => {}
        }
    }
}

fn tool_result(block: ClaudeBlock<'_>, place: ClaudeMessageContext<'_>) -> AgentEvent {
    AgentEvent::ToolResult(ToolResult {
        id: block.call.into_string(),
        output: block.content.into_text(),
        is_error: block.is_error.0.unwrap_or_default(),
        parent: place.parent.map(str::to_owned),
        ..ToolResult::default()
    })
}

/// The blocks of a line in their own text, read when the first is asked for.
struct ClaudeBlockTexts<'a> {
    line: &'a str,
    blocks: Option<Vec<&'a RawValue>>,
}

impl<'a> ClaudeBlockTexts<'a> {
    const fn new(line: &'a str) -> Self {
        Self { line, blocks: None }
    }

    /// Tells the block at `index`, which has no place.
    fn emit_raw(&mut self, role: &str, kind: &str, index: usize, out: &mut Vec<AgentEvent>) {
        let read =
            || serde_json::from_str::<ClaudeLineTexts<'a>>(self.line).unwrap_or_default().message.content.0;
        if let Some(block) = self.blocks.get_or_insert_with(read).get(index) {
            out.push(raw_value_event(Some(format!("{role}/{kind}")), block));
        }
    }
}
