//! Claude Code's records of its end, joined: a process makes one after each turn.
//!
//! A turn is the user's own, or about a background task that ended. Of the user's own turns, the last answer is the answer, and a failure
//! of any of them is the run's: several prompts given one after another to one process are one run. A turn about a background task adds to
//! the counts and is otherwise the end only where there is no other.

use crate::event::{EndEvent, FailKind};

/// The records so far.
#[derive(Debug, Default)]
pub(super) struct ClaudeEnds {
    /// Of the user's own turns.
    own: Option<EndEvent>,
    /// Of turns about background tasks.
    other: Option<EndEvent>,
    turns: Option<u64>,
    duration_ms: Option<u64>,
}

impl ClaudeEnds {
    /// Reports whether there is a record.
    pub(super) const fn has_record(&self) -> bool {
        self.own.is_some() || self.other.is_some()
    }

    /// Takes the record of one of the user's own turns in.
    pub(super) fn add_own(&mut self, end: EndEvent) {
        self.count(&end);
        self.own = Some(match self.own.take() {
            Some(held) => join(held, end),
            None => end,
        });
    }

    /// Takes the record of a turn about a background task in. Returns the reason if it failed after an answer.
    pub(super) fn add_other(&mut self, end: EndEvent) -> Option<String> {
        self.count(&end);
        let failure = (self.own.is_some() && !end.is_success()).then(|| end.reason().to_owned());
        self.other = Some(end);
        failure
    }

    /// The end of the run, by all records.
    pub(super) fn joined(&self) -> Option<EndEvent> {
        let mut end = self.own.clone().or_else(|| self.other.clone())?;
        (end.summary.turns, end.summary.duration_ms) = (self.turns, self.duration_ms);
        Some(end)
    }

    fn count(&mut self, end: &EndEvent) {
        add(&mut self.turns, end.summary.turns);
        add(&mut self.duration_ms, end.summary.duration_ms);
    }
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or_default().saturating_add(more));
    }
}

/// The end of two turns. One in which no model was asked, for a command of Claude's own, says nothing about the other.
fn join(held: EndEvent, next: EndEvent) -> EndEvent {
    if next.kind == Some(FailKind::NoResult) {
        held
    } else if held.is_success() || held.kind == Some(FailKind::NoResult) {
        next
    } else {
        // The first failure holds; the answer is the last one.
        EndEvent { summary: next.summary, ..held }
    }
}
