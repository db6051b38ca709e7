//! The timeline of a run: its events as a person reads them. Parts of texts are joined, results stand with their calls.

use std::collections::HashMap;

use amplihack_agent::AgentEvent;
use amplihack_agent::event::{Permission, Raw, Text, ToolCall, ToolResult, Warning};
use amplihack_policy::Decision;
use amplihack_policy::audit::Entry;
use jiff::Timestamp;

use crate::clean::{Clean, Cleaner};
use crate::model::Run;
use crate::tool::{Part, parts};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// The event's number in the run.
    pub(crate) seq: u64,
    /// When.
    pub(crate) at: Timestamp,
    /// Whether a sub-agent did it.
    pub(crate) below: bool,
    /// What.
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// The agent said something.
    Said(Clean),
    /// The agent thought something.
    Thought(Clean),
    /// The agent called a tool.
    Tool(Tool),
    /// A permission was asked for or decided.
    Permission { tool: Clean, allowed: Option<bool>, reason: Clean },
    /// A warning.
    Warning { kind: Clean, message: Clean },
    /// What the model of events has no place for.
    Other { kind: Clean, text: Clean },
}

/// A tool call with what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// The tool.
    pub(crate) name: Clean,
    /// Its arguments.
    pub(crate) parts: Vec<Part>,
    /// What it gave back.
    pub(crate) result: Option<Gave>,
    /// What the policy said.
    pub(crate) verdict: Option<Said>,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gave {
    /// When.
    pub(crate) at: Timestamp,
    /// What.
    pub(crate) output: Clean,
    /// Whether the agent calls it a failure.
    pub(crate) is_error: bool,
    /// The exit code of a command.
    pub(crate) exit_code: Option<i64>,
}

/// What the policy said to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// The answer.
    pub(crate) decision: Decision,
    /// The rule behind it.
    pub(crate) rule: Clean,
}

impl Said {
    /// What is said in `entry`.
    pub(crate) fn of(entry: &Entry, cleaner: Cleaner) -> Self {
        Self { decision: entry.decision, rule: cleaner.text(entry.rule.as_deref().unwrap_or_default()) }
    }
}

/// The timeline of `run`.
pub(crate) fn items(run: &Run, cleaner: Cleaner) -> Vec<Item> {
    let mut timeline = Timeline { run, cleaner, items: Vec::new(), calls: HashMap::new(), parts: Vec::new() };
    for event in &run.events {
        timeline.take(event.seq, event.at, &event.event);
    }
    timeline.flush(None);
    timeline.items.sort_by_key(|item| item.seq);
    timeline.items
}

/// Parts of a text of which the whole has not come.
struct Parts {
    seq: u64,
    at: Timestamp,
    thought: bool,
    text: Text,
}

struct Timeline<'a> {
    run: &'a Run,
    cleaner: Cleaner,
    items: Vec<Item>,
    /// Where the call of an id stands in `items`.
    calls: HashMap<&'a str, usize>,
    parts: Vec<Parts>,
}

impl<'a> Timeline<'a> {
    fn take(&mut self, seq: u64, at: Timestamp, event: &'a AgentEvent) {
        let clean = |text: &Option<String>| self.cleaner.text(text.as_deref().unwrap_or_default());
        match event {
            AgentEvent::Text(text) => self.text(seq, at, text, false),
            AgentEvent::Thinking(text) => self.text(seq, at, text, true),
            AgentEvent::ToolCall(call) => self.call(seq, at, call),
            AgentEvent::ToolResult(result) => self.result(seq, at, result),
            AgentEvent::PermissionAsked(Permission { tool, allowed, reason, .. })
            | AgentEvent::PermissionDecided(Permission { tool, allowed, reason, .. }) => {
                let what = What::Permission { tool: clean(tool), allowed: *allowed, reason: clean(reason) };
                self.push(seq, at, false, what);
            }
            AgentEvent::Warning(Warning { kind, message }) => {
                let what =
                    What::Warning { kind: self.cleaner.text(kind), message: self.cleaner.text(message) };
                self.push(seq, at, false, what);
            }
            AgentEvent::Raw(Raw { kind, value, text }) => {
                let line = value.as_ref().map(|value| value.text().to_owned());
                let what = What::Other { kind: clean(kind), text: clean(&line.or_else(|| text.clone())) };
                self.push(seq, at, false, what);
            }
            // The page's head tells these.
            _ => {}
        }
    }

    fn push(&mut self, seq: u64, at: Timestamp, below: bool, what: What) {
        self.items.push(Item { seq, at, below, what });
    }

    fn text(&mut self, seq: u64, at: Timestamp, text: &Text, thought: bool) {
        let open = self.parts.iter_mut().find(|parts| {
            parts.thought == thought && parts.text.message == text.message && parts.text.parent == text.parent
        });
        if !text.delta {
            // The whole text stands for its parts.
            self.parts.retain(|parts| parts.thought != thought || parts.text.parent != text.parent);
            self.said(seq, at, text, thought);
        } else if let Some(parts) = open {
            parts.text.text.push_str(&text.text);
        } else {
            self.parts.push(Parts { seq, at, thought, text: text.clone() });
        }
    }

    fn said(&mut self, seq: u64, at: Timestamp, text: &Text, thought: bool) {
        let said = self.cleaner.text(&text.text);
        if said.is_blank() {
            return;
        }
        // An agent without a stream says a line at a time.
        if let Some(Item { what: What::Said(before), .. }) = self.items.last_mut()
            && !thought
            && text.message.is_none()
            && text.parent.is_none()
            && amplihack_agent::profile(self.run.record.agent).decoder.is_none()
        {
            *before = before.and_line(&said);
            return;
        }
        let what = if thought { What::Thought(said) } else { What::Said(said) };
        self.push(seq, at, text.parent.is_some(), what);
    }

    /// What was said in parts only, because the agent was ended meanwhile or called a tool: of `parent`, or all.
    fn flush(&mut self, parent: Option<&Option<String>>) {
        let (now, later) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|parts: &Parts| parent.is_none_or(|parent| *parent == parts.text.parent));
        self.parts = later;
        let now: Vec<Parts> = now;
        for Parts { seq, at, thought, text } in now {
            self.said(seq, at, &text, thought);
        }
    }

    fn call(&mut self, seq: u64, at: Timestamp, call: &'a ToolCall) {
        let tool = Tool {
            name: self.cleaner.text(&call.name),
            parts: parts(&call.input, self.cleaner),
            result: None,
            verdict: self.run.verdict(&call.id).map(|entry| Said::of(entry, self.cleaner)),
        };
        self.calls.insert(&call.id, self.items.len());
        self.push(seq, at, call.parent.is_some(), What::Tool(tool));
    }

    fn result(&mut self, seq: u64, at: Timestamp, result: &ToolResult) {
        let gave = Gave {
            at,
            output: self.cleaner.text(&result.output),
            is_error: result.is_error,
            exit_code: result.exit_code,
        };
        let call = self.calls.get(result.id.as_str()).and_then(|at| self.items.get_mut(*at));
        if let Some(Item { what: What::Tool(tool @ Tool { result: None, .. }), .. }) = call {
            tool.result = Some(gave);
            self.flush(Some(&result.parent));
            return;
        }
        // A result of a call that was never told.
        let tool =
            Tool { name: self.cleaner.text("?"), parts: Vec::new(), result: Some(gave), verdict: None };
        self.push(seq, at, result.parent.is_some(), What::Tool(tool));
    }
}

#[cfg(test)]
#[path = "items_tests.rs"]
mod tests;
