//! The timeline of a run: its events as a person reads them. Parts of texts are joined, results stand with their calls.

use std::collections::HashMap;
use std::fmt::Display;

use amplihack_agent::AgentEvent;
use amplihack_agent::event::{
    ActivityPhase, AgentPermission, AgentRawLine, AgentText, ToolCall, ToolResult, UnknownEvent,
};
use amplihack_audit::AuditEntry;
use amplihack_verdict::Decision;
use jiff::Timestamp;

use crate::clean::{CleanText, TextCleaner};
use crate::model::{ExportedRun, warning_of};
use crate::tool::{ArgumentPart, argument_parts};

/// An item of a run's timeline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimelineItem {
    /// The event's number in the run.
    pub(crate) seq: u64,
    /// The time at which it happened.
    pub(crate) at: Timestamp,
    /// True if a sub-agent did it.
    pub(crate) below: bool,
    /// The kind of item, with its contents.
    pub(crate) what: TimelineItemKind,
}

/// The kinds of items in a timeline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TimelineItemKind {
    /// The agent was asked something.
    Prompt(CleanText),
    /// The agent said something.
    Said(CleanText),
    /// The agent thought something.
    Thought(CleanText),
    /// The agent called a tool.
    Tool(ToolCallItem),
    /// A permission was asked for or decided.
    Permission { tool: CleanText, allowed: Option<bool>, reason: CleanText },
    /// A warning.
    Warning { kind: CleanText, message: CleanText },
    /// Something else that a reader wants to see: a plan, a sub-agent, a compaction, a question.
    Note { kind: &'static str, text: CleanText },
    /// An event for which the model of events has no place.
    Other { kind: CleanText, text: CleanText },
}

/// A tool call with what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCallItem {
    /// The tool.
    pub(crate) name: CleanText,
    /// The call's arguments.
    pub(crate) parts: Vec<ArgumentPart>,
    /// The tool's result; `None` until it came.
    pub(crate) result: Option<ToolCallOutput>,
    /// The policy's verdict on the call; `None` if it gave none.
    pub(crate) verdict: Option<CallVerdict>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCallOutput {
    /// The time at which it came.
    pub(crate) at: Timestamp,
    /// The tool's output.
    pub(crate) output: CleanText,
    /// True if the agent calls it a failure.
    pub(crate) is_error: bool,
    /// The exit code of a command.
    pub(crate) exit_code: Option<i64>,
}

/// The policy's verdict on a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallVerdict {
    /// The answer.
    pub(crate) decision: Decision,
    /// The rule behind it.
    pub(crate) rule: CleanText,
}

impl CallVerdict {
    /// The verdict in `entry`.
    pub(crate) fn from_entry(entry: &AuditEntry, cleaner: TextCleaner) -> Self {
        Self { decision: entry.decision, rule: cleaner.clean_text(entry.rule.as_deref().unwrap_or_default()) }
    }
}

/// The timeline of `run`.
pub(crate) fn timeline_items(run: &ExportedRun, cleaner: TextCleaner) -> Vec<TimelineItem> {
    let mut timeline =
        TimelineBuilder { run, cleaner, items: Vec::new(), calls: HashMap::new(), parts: Vec::new() };
    for event in &run.events {
        timeline.add_event(event.seq, event.at, &event.event);
    }
    timeline.flush_parts(None);
    timeline.items.sort_by_key(|item| item.seq);
    timeline.items
}

/// Parts of a text of which the whole has not come.
struct PartialText {
    seq: u64,
    at: Timestamp,
    thought: bool,
    text: AgentText,
}

struct TimelineBuilder<'a> {
    run: &'a ExportedRun,
    cleaner: TextCleaner,
    items: Vec<TimelineItem>,
    /// Index in `items` of the call of an id.
    calls: HashMap<&'a str, usize>,
    parts: Vec<PartialText>,
}

impl<'a> TimelineBuilder<'a> {
    fn add_event(&mut self, seq: u64, at: Timestamp, event: &'a AgentEvent) {
        let clean = |text: &Option<String>| self.cleaner.clean_text(text.as_deref().unwrap_or_default());
        match event {
            AgentEvent::Text(text) => self.add_text(seq, at, text, false),
            AgentEvent::Thinking(text) => self.add_text(seq, at, text, true),
            AgentEvent::ToolCall(call) => self.add_call(seq, at, call),
            AgentEvent::ToolResult(result) => self.add_result(seq, at, result),
            AgentEvent::PermissionAsked(AgentPermission { tool, allowed, reason, .. })
            | AgentEvent::PermissionDecided(AgentPermission { tool, allowed, reason, .. }) => {
                let what = TimelineItemKind::Permission {
                    tool: clean(tool),
                    allowed: *allowed,
                    reason: clean(reason),
                };
                self.push(seq, at, false, what);
            }
            AgentEvent::Prompt(prompt) => {
                let text = self.cleaner.clean_text(&prompt.text);
                self.push(seq, at, prompt.parent.is_some(), TimelineItemKind::Prompt(text));
            }
            AgentEvent::Plan(plan) => self.push_note(seq, at, plan.parent.as_ref(), ("Plan", plan)),
            AgentEvent::Task(task) if task.phase != ActivityPhase::Progress => {
                self.push_note(seq, at, task.parent.as_ref(), ("Task", task));
            }
            AgentEvent::Compaction(compaction) => {
                self.push_note(seq, at, compaction.parent.as_ref(), ("Compaction", compaction));
            }
            AgentEvent::Question(question) => self.push_note(seq, at, None, ("Question", question)),
            AgentEvent::Unknown(UnknownEvent { kind, fields, .. }) => {
                let text = self.cleaner.clean_text(&serde_json::Value::Object(fields.clone()).to_string());
                let what = TimelineItemKind::Other { kind: self.cleaner.clean_text(kind), text };
                self.push(seq, at, false, what);
            }
            AgentEvent::Raw(AgentRawLine { kind, value, text, .. }) => {
                let line = value.as_ref().map(|value| value.text().to_owned());
                let what = TimelineItemKind::Other {
                    kind: clean(kind),
                    text: clean(&line.or_else(|| text.clone())),
                };
                self.push(seq, at, false, what);
            }
            // The page's head tells the rest, or the item that they are a part of.
            other => {
                if let Some((kind, message)) = warning_of(other) {
                    let kind = self.cleaner.clean_text(kind);
                    let message = self.cleaner.clean_text(&message);
                    self.push(seq, at, false, TimelineItemKind::Warning { kind, message });
                }
            }
        }
    }

    fn push(&mut self, seq: u64, at: Timestamp, below: bool, what: TimelineItemKind) {
        self.items.push(TimelineItem { seq, at, below, what });
    }

    fn push_note(
        &mut self,
        seq: u64,
        at: Timestamp,
        parent: Option<&String>,
        (kind, note): (&'static str, &dyn Display),
    ) {
        let text = self.cleaner.clean_text(&note.to_string());
        self.push(seq, at, parent.is_some(), TimelineItemKind::Note { kind, text });
    }

    fn add_text(&mut self, seq: u64, at: Timestamp, text: &AgentText, thought: bool) {
        let open = self.parts.iter_mut().find(|parts| {
            parts.thought == thought && parts.text.message == text.message && parts.text.parent == text.parent
        });
        if !text.delta {
            // The whole text stands for its parts.
            self.parts.retain(|parts| parts.thought != thought || parts.text.parent != text.parent);
            self.push_text(seq, at, text, thought);
        } else if let Some(parts) = open {
            parts.text.text.push_str(&text.text);
        } else {
            self.parts.push(PartialText { seq, at, thought, text: text.clone() });
        }
    }

    fn push_text(&mut self, seq: u64, at: Timestamp, text: &AgentText, thought: bool) {
        let said = self.cleaner.clean_text(&text.text);
        if said.is_blank() {
            return;
        }
        // An agent without a stream says a line at a time.
        if let Some(TimelineItem { what: TimelineItemKind::Said(before), .. }) = self.items.last_mut()
            && !thought
            && text.message.is_none()
            && text.parent.is_none()
            && amplihack_agent::agent_profile(self.run.record.agent).decoder.is_none()
        {
            *before = before.and_line(&said);
            return;
        }
        let what = if thought { TimelineItemKind::Thought(said) } else { TimelineItemKind::Said(said) };
        self.push(seq, at, text.parent.is_some(), what);
    }

    /// Adds texts of which only parts came, because the agent was ended meanwhile or called a tool: of `parent`, or all.
    fn flush_parts(&mut self, parent: Option<&Option<String>>) {
        let (now, later) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|parts: &PartialText| parent.is_none_or(|parent| *parent == parts.text.parent));
        self.parts = later;
        let now: Vec<PartialText> = now;
        for PartialText { seq, at, thought, text } in now {
            self.push_text(seq, at, &text, thought);
        }
    }

    fn add_call(&mut self, seq: u64, at: Timestamp, call: &'a ToolCall) {
        let tool = ToolCallItem {
            name: self.cleaner.clean_text(&call.name),
            parts: argument_parts(&call.input, self.cleaner),
            result: None,
            verdict: self.run.verdict(&call.id).map(|entry| CallVerdict::from_entry(entry, self.cleaner)),
        };
        self.calls.insert(&call.id, self.items.len());
        self.push(seq, at, call.parent.is_some(), TimelineItemKind::Tool(tool));
    }

    fn add_result(&mut self, seq: u64, at: Timestamp, result: &ToolResult) {
        let gave = ToolCallOutput {
            at,
            output: self.cleaner.clean_text(&result.output),
            is_error: result.is_error,
            exit_code: result.exit_code,
        };
        let call = self.calls.get(result.id.as_str()).and_then(|at| self.items.get_mut(*at));
        if let Some(TimelineItem {
            what: TimelineItemKind::Tool(tool @ ToolCallItem { result: None, .. }),
            ..
        }) = call
        {
            tool.result = Some(gave);
            self.flush_parts(Some(&result.parent));
            return;
        }
        // A result of a call that was never told.
        let tool = ToolCallItem {
            name: self.cleaner.clean_text("?"),
            parts: Vec::new(),
            result: Some(gave),
            verdict: None,
        };
        self.push(seq, at, result.parent.is_some(), TimelineItemKind::Tool(tool));
    }
}

#[cfg(test)]
#[path = "items_tests.rs"]
mod tests;
