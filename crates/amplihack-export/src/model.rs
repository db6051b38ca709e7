//! What is exported: runs with their events, and the unattended run whose turns they were.

use std::path::Path;

use amplihack_agent::event::{AgentEvent, Started, Totals};
use amplihack_agent::{AgentBinary, Envelope};
use amplihack_policy::audit::{self, Entry, EventType, Filter};
use amplihack_session::journal::{Recorded, RunRecord, events_path};
use amplihack_utils::log::read_from;
use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::ExportError;

/// One export.
#[derive(Debug, Clone)]
pub struct Document {
    /// The id that was asked for.
    pub id: String,
    /// What stands above the runs, if they are turns of an unattended run.
    pub unattended: Option<Unattended>,
    /// The runs, in order.
    pub runs: Vec<Run>,
}

/// One run of an agent.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its session's id.
    pub id: String,
    /// Its record.
    pub record: RunRecord,
    /// Its events, in order.
    pub events: Vec<Envelope>,
    /// Lines of its journal that only a newer version reads.
    pub unread: usize,
    /// What the policy answered to its tool calls, in order.
    pub verdicts: Vec<Entry>,
}

/// An unattended run.
#[derive(Debug, Clone)]
pub struct Unattended {
    /// The agent at work last.
    pub agent: AgentBinary,
    /// How it stands, in a word.
    pub state: String,
    /// Why it ended.
    pub reason: Option<String>,
    /// What it was asked to do.
    pub task: String,
    /// Where it works.
    pub directory: String,
    /// Its branch, if it has a worktree of its own.
    pub branch: Option<String>,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What it used.
    pub usage: Totals,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// What it changed, as a patch.
    pub diff: String,
}

/// A turn of an unattended run.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Its number.
    pub number: u32,
    /// Its agent.
    pub agent: AgentBinary,
    /// What it was for, in a word.
    pub phase: String,
    /// When it was asked for.
    pub started: Timestamp,
    /// How it went.
    pub how: String,
    /// What was denied in it.
    pub denied: Vec<String>,
    /// What the verification of its claim found, in words.
    pub outcome: Option<String>,
    /// The verification's checks.
    pub checks: Vec<Check>,
    /// The sessions that it took.
    pub launches: Vec<String>,
}

/// A check of a verification.
#[derive(Debug, Clone)]
pub struct Check {
    /// What was looked at.
    pub what: String,
    /// Whether it speaks for the claim.
    pub passed: bool,
    /// What was found.
    pub found: String,
}

impl Run {
    /// Reads the events of `run`, and what the policy said to its calls out of the logs in the directory `audit`.
    pub fn read(run: Recorded, audit: Option<&Path>) -> Result<Self, ExportError> {
        let Recorded { id, directory, record } = run;
        let mut events = Vec::new();
        let mut unread = 0;
        for line in read_from(&events_path(&directory), 0)? {
            match serde_json::from_slice::<Envelope>(&line?.1) {
                Ok(event) => events.push(event),
                Err(_) => unread += 1,
            }
        }
        let verdicts = audit.map_or_else(|| Ok(Vec::new()), |logs| verdicts(&record, logs))?;
        Ok(Self { id: id.to_string(), record, events, unread, verdicts })
    }

    /// What its agent said at its beginning.
    pub(crate) fn started(&self) -> Option<&Started> {
        self.events.iter().find_map(|event| match &event.event {
            AgentEvent::Started(started) => Some(started),
            _ => None,
        })
    }

    /// When it was over, or last heard of.
    pub(crate) fn last_seen(&self) -> Timestamp {
        let heard = self.events.last().map_or(self.record.started_at, |event| event.at);
        self.record.ended_at.unwrap_or(heard).max(self.record.started_at)
    }

    /// The answer to the tool call `call`.
    pub(crate) fn verdict(&self, call: &str) -> Option<&Entry> {
        self.verdicts.iter().rev().find(|entry| entry.data.call_id.as_deref() == Some(call))
    }
}

/// What the policy answered in the run of `record`: the entries of its agent's session, as the log's clock is local, from its first day on.
fn verdicts(record: &RunRecord, logs: &Path) -> Result<Vec<Entry>, ExportError> {
    let Some(session) = &record.agent_session else { return Ok(Vec::new()) };
    let local = |at: Timestamp| at.to_zoned_datetime(jiff::tz::TimeZone::system()).datetime();
    // The log is cut to microseconds.
    let from = local(record.started_at).round(jiff::Unit::Second).unwrap_or_default();
    let from = from.checked_sub(jiff::Span::new().seconds(1)).unwrap_or_default();
    let until = record
        .ended_at
        .map(|ended| local(ended).checked_add(jiff::Span::new().seconds(1)).unwrap_or_default());
    let filter = Filter {
        since: Some(from.date()),
        until: until.map(DateTime::date),
        session: Some(session.clone()),
        event_type: Some(EventType::PreToolValidation),
        ..Filter::default()
    };
    let mut found = Vec::new();
    for entry in audit::show(logs, filter)? {
        let entry = entry?;
        if entry.timestamp >= from && until.is_none_or(|until| entry.timestamp <= until) {
            found.push(entry);
        }
    }
    Ok(found)
}
