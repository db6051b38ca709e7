//! The decoder of Claude Code's `stream-json`, with and without partial messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::system::{control, limits};
use super::wire::{Block, Content, Line, Message, Stream, Texts};
use crate::decode::lines::{self, JsonLines, raw};
use crate::decode::wire::Str;
use crate::event::{
    AgentEvent, EndEvent, Json, RunOutcome, Summary, Text, ToolCall, ToolResult, Totals, Usage,
};

/// What Claude writes as the user's words when it is interrupted; there may be no record of the end after it.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The decoder of Claude Code's stream.
#[derive(Debug, Default)]
pub(crate) struct ClaudeStream {
    pub(super) session: Option<String>,
    /// The last whole text of the main agent.
    pub(super) text: Option<String>,
    /// Messages that arrive in parts, by the sub-agent that they belong to.
    partial: BTreeMap<String, (String, Totals)>,
    /// Calls whose denial was already told.
    pub(super) denied: BTreeSet<String>,
    pub(super) interrupted: bool,
    /// What was used up to the last record.
    pub(super) used: Totals,
    pub(super) end: Option<EndEvent>,
}

/// Which message something belongs to, and which sub-agent.
#[derive(Clone, Copy)]
struct Place<'a> {
    message: Option<&'a str>,
    parent: Option<&'a str>,
}

impl Place<'_> {
    fn text(self, text: String) -> Text {
        let (message, parent) = (self.message.map(str::to_owned), self.parent.map(str::to_owned));
        Text { text, delta: false, message, parent }
    }
}

impl crate::Decode for ClaudeStream {
    lines::kept!();

    fn said(&mut self) -> Option<EndEvent> {
        let interrupted = || {
            let message = "the agent was interrupted and left no record of its end".to_owned();
            self.interrupted.then(|| EndEvent::of(RunOutcome::Interrupted, message, Summary::default()))
        };
        self.end.clone().or_else(interrupted)
    }
}

impl JsonLines for ClaudeStream {
    fn json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let read: Line<'_> = serde_json::from_str(line)?;
        match read.kind.text() {
            "assistant" => self.assistant(line, read.message, &read.parent, out),
            "user" => self.user(line, read.message, &read.parent, out),
            "stream_event" => self.stream(read.event, read.parent.own(), out),
            "system" => self.system(serde_json::from_str(line)?, out),
            "result" => self.record(serde_json::from_str(line)?, out),
            "control_request" => control(serde_json::from_str(line)?, out),
            "rate_limit_event" => limits(&serde_json::from_str(line)?, out),
            _ => {}
        }
        Ok(())
    }
}

impl ClaudeStream {
    fn assistant(&mut self, line: &str, message: Message<'_>, parent: &Str<'_>, out: &mut Vec<AgentEvent>) {
        let place = Place { message: message.id.0.as_deref(), parent: parent.0.as_deref() };
        match message.content {
            Content::None => {}
            Content::Text(text) => self.text(text.into_owned(), place, out),
            Content::Blocks(blocks) => {
                let mut whole = Whole::of(line);
                for (index, block) in blocks.into_iter().enumerate() {
                    self.block((&mut whole, index), block, place, out);
                }
            }
        }
        let amounts = message.usage.map(|counts| counts.totals()).filter(Totals::has_tokens);
        if let Some(amounts) = amounts {
            let (model, total) = (message.model.own(), false);
            let message = place.message.map(str::to_owned);
            out.push(AgentEvent::Usage(Usage { message, model, total, amounts }));
        }
    }

    fn block(
        &mut self,
        (whole, index): (&mut Whole<'_>, usize),
        block: Block<'_>,
        place: Place<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        match block.kind.text() {
            "text" => self.text(block.text.string(), place, out),
            "thinking" => out.push(AgentEvent::Thinking(place.text(block.thinking.string()))),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => out.push(AgentEvent::ToolCall(ToolCall {
                id: block.id.string(),
                name: block.name.string(),
                input: block.input.map(Json::from).unwrap_or_default(),
                parent: place.parent.map(str::to_owned),
            })),
            kind if kind.ends_with("tool_result") => out.push(tool_result(block, place)),
            kind => whole.tell("assistant", kind, index, out),
        }
    }

    fn text(&mut self, text: String, place: Place<'_>, out: &mut Vec<AgentEvent>) {
        if place.parent.is_none() {
            self.text = Some(text.clone());
        }
        out.push(AgentEvent::Text(place.text(text)));
    }

    /// What tools gave back. The user's own words are nothing that the agent did.
    fn user(&mut self, line: &str, message: Message<'_>, parent: &Str<'_>, out: &mut Vec<AgentEvent>) {
        let Content::Blocks(blocks) = message.content else { return };
        let only_words = blocks.iter().all(|block| block.kind.text() == "text");
        self.interrupted |= blocks.iter().any(|block| block.text.text().starts_with(INTERRUPTED));
        if only_words {
            return;
        }
        let place = Place { message: None, parent: parent.0.as_deref() };
        let mut whole = Whole::of(line);
        for (index, block) in blocks.into_iter().enumerate() {
            if block.kind.text().ends_with("tool_result") {
                out.push(tool_result(block, place));
            } else {
                whole.tell("user", block.kind.text(), index, out);
            }
        }
    }

    fn stream(&mut self, event: Stream<'_>, parent: Option<String>, out: &mut Vec<AgentEvent>) {
        let key = parent.clone().unwrap_or_default();
        let message = || self.partial.get(&key).map(|(id, _)| id.clone());
        let delta = |text: Str<'_>| Text { text: text.string(), delta: true, message: message(), parent };
        match (event.kind.text(), event.delta.kind.text()) {
            ("content_block_delta", "text_delta") => out.push(AgentEvent::Text(delta(event.delta.text))),
            ("content_block_delta", "thinking_delta") => {
                out.push(AgentEvent::Thinking(delta(event.delta.thinking)));
            }
            ("message_start", _) => {
                let amounts = event.message.usage.map(|counts| counts.totals()).unwrap_or_default();
                let id = event.message.id.string();
                self.partial.insert(key, (id.clone(), amounts));
                let (model, total) = (event.message.model.own(), false);
                out.push(AgentEvent::Usage(Usage { message: Some(id), model, total, amounts }));
            }
            ("message_delta", _) => {
                if let (Some(counts), Some((id, amounts))) = (event.usage, self.partial.get_mut(&key)) {
                    *amounts = counts.over(*amounts);
                    out.push(AgentEvent::Usage(Usage {
                        message: Some(id.clone()),
                        amounts: *amounts,
                        ..Usage::default()
                    }));
                }
            }
            _ => {}
        }
    }
}

fn tool_result(block: Block<'_>, place: Place<'_>) -> AgentEvent {
    AgentEvent::ToolResult(ToolResult {
        id: block.call.string(),
        output: block.content.into_text(),
        is_error: block.is_error.0.unwrap_or_default(),
        exit_code: None,
        parent: place.parent.map(str::to_owned),
    })
}

/// The blocks of a line in their own text, read when the first is asked for.
struct Whole<'a> {
    line: &'a str,
    blocks: Option<Vec<&'a RawValue>>,
}

impl<'a> Whole<'a> {
    const fn of(line: &'a str) -> Self {
        Self { line, blocks: None }
    }

    /// Tells the block at `index`, which has no place.
    fn tell(&mut self, role: &str, kind: &str, index: usize, out: &mut Vec<AgentEvent>) {
        let read = || serde_json::from_str::<Texts<'a>>(self.line).unwrap_or_default().message.content.0;
        if let Some(block) = self.blocks.get_or_insert_with(read).get(index) {
            out.push(raw(Some(format!("{role}/{kind}")), block));
        }
    }
}
