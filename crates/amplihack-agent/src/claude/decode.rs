//! The decoder of Claude Code's `stream-json`, with and without partial messages.

use std::collections::BTreeSet;

use amplihack_sys::ProcessExit;
use serde_json::value::RawValue;

use super::ends::ClaudeEnds;
use super::partial::PartialMessages;
use super::plan::ClaudeTaskList;
use super::system::SessionFacts;
use super::tasks::ClaudeTasks;
use super::wire::system::ClaudeSystemLine;
use super::wire::{ClaudeBlock, ClaudeContent, ClaudeLine, ClaudeLineTexts};
use super::{notices, questions};
use crate::decode::lines::{self, AgentLineReader, raw_value_event};
use crate::decode::open_calls::OpenCalls;
use crate::event::{
    ActivityPhase, AgentEvent, AgentModelCall, AgentText, AgentUsage, EndEvent, RunOutcome, UsageTotals,
};

/// The decoder of Claude Code's stream.
#[derive(Debug, Default)]
pub(crate) struct ClaudeStream {
    /// Facts of the session, once it began.
    pub(super) known: Option<SessionFacts>,
    /// Claude's name of a session that has not begun.
    pub(super) early_session: Option<String>,
    /// The last whole text of the main agent.
    pub(super) text: Option<String>,
    pub(super) partial: PartialMessages,
    /// Calls without a result.
    pub(super) open: OpenCalls,
    pub(super) tasks: ClaudeTasks,
    pub(super) plan: ClaudeTaskList,
    /// Questions without an answer.
    pub(super) questions: questions::OpenQuestions,
    /// Calls whose denial was already told.
    pub(super) denied: BTreeSet<String>,
    pub(super) interrupted: bool,
    /// Amounts used up to the last record.
    pub(super) used: UsageTotals,
    /// Set while the main agent is at work.
    pub(super) turn_open: bool,
    pub(super) ends: ClaudeEnds,
}

/// Message and sub-agent to which something belongs.
#[derive(Clone, Copy)]
pub(super) struct ClaudeMessageContext<'a> {
    pub(super) message: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
}

impl ClaudeMessageContext<'_> {
    fn tag_text(self, text: String) -> AgentText {
        AgentText { message: self.message.map(str::to_owned), parent: self.parent(), ..AgentText::new(text) }
    }

    pub(super) fn parent(self) -> Option<String> {
        self.parent.map(str::to_owned)
    }
}

impl crate::Decode for ClaudeStream {
    fn decode_line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        lines::read(self, line, out);
    }

    /// A record of the end may be followed by a further turn: about a background task that ended, or on a prompt that waited.
    fn is_over(&self) -> bool {
        self.ends.has_record() && !self.turn_open
    }

    fn session(&self) -> Option<&str> {
        self.known.as_ref().map_or(self.early_session.as_deref(), SessionFacts::session)
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        let joined = self.ends.joined();
        // A turn that was interrupted leaves no record, whatever those before it say.
        if self.interrupted && (joined.is_none() || self.turn_open) {
            let message = "the agent was interrupted and left no record of its end".to_owned();
            let summary = joined.map(|end| end.summary).unwrap_or_default();
            return Some(EndEvent::with_outcome(RunOutcome::Interrupted, message, summary));
        }
        joined
    }

    fn finish(&mut self, exit: Option<ProcessExit>) -> EndEvent {
        let said = self.recorded_end();
        let session = self.session().map(str::to_owned);
        lines::settle_end(said, exit, self.text.as_ref(), session.as_ref())
    }
}

impl AgentLineReader for ClaudeStream {
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let read: ClaudeLine<'_> = serde_json::from_str(line)?;
        match read.kind.text() {
            "assistant" => self.emit_assistant(line, read, out),
            "user" => self.emit_user(line, read, out),
            "stream_event" => {
                self.turn_open |= read.parent.0.is_none();
                self.partial.emit_event(*read.event.unwrap_or_default(), read.parent.into_option(), out);
            }
            "system" => self.emit_system(serde_json::from_str(line)?, out),
            "result" => self.take_end_record(serde_json::from_str(line)?, out),
            "control_request" => self.questions.emit_request(serde_json::from_str(line)?, out),
            "control_cancel_request" => self.questions.emit_withdrawal(serde_json::from_str(line)?, out),
            "rate_limit_event" => notices::emit_limits(serde_json::from_str(line)?, out),
            "tool_progress" | "auth_status" | "tool_use_summary" | "prompt_suggestion"
            | "conversation_reset" => {
                let line: ClaudeSystemLine<'_> = serde_json::from_str(line)?;
                notices::emit_notice(line, out);
            }
            _ => {}
        }
        Ok(())
    }
}

impl ClaudeStream {
    fn emit_assistant(&mut self, line: &str, read: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        let message = read.message;
        let place =
            ClaudeMessageContext { message: message.id.0.as_deref(), parent: read.parent.0.as_deref() };
        self.turn_open |= place.parent.is_none();
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
        let model = message.model.into_option();
        let amounts = message.usage.map(|counts| counts.to_totals()).filter(UsageTotals::has_tokens);
        if let Some(amounts) = amounts {
            let message = place.message.map(str::to_owned);
            out.push(AgentEvent::Usage(AgentUsage { message, model: model.clone(), total: false, amounts }));
        }
        let error = read.error.into_option();
        let ended = message.stop_reason.0.is_some() || error.is_some();
        if ended && !self.partial.has_message(place.message) {
            let phase = if error.is_some() { ActivityPhase::Failed } else { ActivityPhase::Completed };
            out.push(AgentEvent::ModelCall(AgentModelCall {
                message: place.message.map(str::to_owned),
                model,
                stop_reason: message.stop_reason.into_option(),
                status: read.error_status.0,
                error,
                parent: place.parent(),
                ..AgentModelCall::new(phase)
            }));
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
            "thinking" => out.push(AgentEvent::Thinking(AgentText {
                signature: block.signature.into_option().filter(|signature| !signature.is_empty()),
                ..place.tag_text(block.thinking.into_string())
            })),
            "redacted_thinking" => out.push(AgentEvent::Thinking(AgentText {
                redacted: true,
                signature: block.data.into_option(),
                ..place.tag_text(String::new())
            })),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.emit_call(block, place, out),
            kind if kind.ends_with("tool_result") => self.emit_result(block, None, place, out),
            kind => whole.emit_raw("assistant", kind, index, out),
        }
    }

    fn emit_text(&mut self, text: String, place: ClaudeMessageContext<'_>, out: &mut Vec<AgentEvent>) {
        if place.parent.is_none() {
            self.text = Some(text.clone());
        }
        out.push(AgentEvent::Text(place.tag_text(text)));
    }
}

/// The blocks of a line in their own text, read when the first is asked for.
pub(super) struct ClaudeBlockTexts<'a> {
    line: &'a str,
    blocks: Option<Vec<&'a RawValue>>,
}

impl<'a> ClaudeBlockTexts<'a> {
    pub(super) const fn new(line: &'a str) -> Self {
        Self { line, blocks: None }
    }

    /// Tells the block at `index`, which has no place.
    pub(super) fn emit_raw(&mut self, role: &str, kind: &str, index: usize, out: &mut Vec<AgentEvent>) {
        let read =
            || serde_json::from_str::<ClaudeLineTexts<'a>>(self.line).unwrap_or_default().message.content.0;
        if let Some(block) = self.blocks.get_or_insert_with(read).get(index) {
            out.push(raw_value_event(Some(format!("{role}/{kind}")), block));
        }
    }
}
