//! The data of an export: runs with their events, and the unattended run whose turns they were.

use std::path::Path;

use amplihack_agent::event::{ActivityPhase, AgentEvent, AgentSessionStarted, UsageTotals};
use amplihack_agent::{AgentBinary, Envelope};
use amplihack_audit::{AuditEntry, AuditFilter, EventType};
use amplihack_session::journal::{JournaledRun, RunRecord, events_path};
use amplihack_sys::log::read_from;
use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::ExportError;

/// An export: the runs of one session or unattended run.
#[derive(Debug, Clone)]
pub struct ExportDocument {
    /// The id that was asked for.
    pub id: String,
    /// The unattended run, if the runs are its turns.
    pub unattended: Option<UnattendedRun>,
    /// The runs, in order.
    pub runs: Vec<ExportedRun>,
}

/// A run of an agent.
#[derive(Debug, Clone)]
pub struct ExportedRun {
    /// The id of the run's session.
    pub id: String,
    /// The record of the run.
    pub record: RunRecord,
    /// The run's events, in order.
    pub events: Vec<Envelope>,
    /// Lines of its journal that only a newer version reads.
    pub unread: usize,
    /// Verdicts of the policy on the run's tool calls, in order.
    pub verdicts: Vec<AuditEntry>,
}

/// An unattended run.
#[derive(Debug, Clone)]
pub struct UnattendedRun {
    /// The agent at work last.
    pub agent: AgentBinary,
    /// The run's state, in a word.
    pub state: String,
    /// The reason why it ended; `None` if there is none.
    pub reason: Option<String>,
    /// The task, as it was given.
    pub task: String,
    /// The directory in which it works.
    pub directory: String,
    /// The branch of the run, if it has a worktree of its own.
    pub branch: Option<String>,
    /// The time at which it began.
    pub began: Timestamp,
    /// The time at which it ended; `None` if it has not.
    pub ended: Option<Timestamp>,
    /// Total usage of the run.
    pub usage: UsageTotals,
    /// The run's turns, in order.
    pub turns: Vec<UnattendedTurn>,
    /// The run's changes, as a patch.
    pub diff: String,
}

/// A turn of an unattended run.
#[derive(Debug, Clone)]
pub struct UnattendedTurn {
    /// The turn's number.
    pub number: u32,
    /// The turn's agent.
    pub agent: AgentBinary,
    /// The turn's purpose, in a word.
    pub phase: String,
    /// The time at which it was asked for.
    pub started: Timestamp,
    /// The course and end of the turn, in words.
    pub how: String,
    /// Tool calls that were denied in it.
    pub denied: Vec<String>,
    /// The result of verifying its claim, in words.
    pub outcome: Option<String>,
    /// The verification's checks.
    pub checks: Vec<VerificationCheck>,
    /// The sessions that it took.
    pub launches: Vec<String>,
}

/// A check of a verification.
#[derive(Debug, Clone)]
pub struct VerificationCheck {
    /// The subject of the check.
    pub what: String,
    /// True if it speaks for the claim.
    pub passed: bool,
    /// The finding, in words.
    pub found: String,
}

impl ExportedRun {
    /// Reads the events of `run`, and what the policy said to its calls out of the logs in the directory `audit`.
    pub fn read(run: JournaledRun, audit: Option<&Path>) -> Result<Self, ExportError> {
        let JournaledRun { id, directory, record } = run;
        let mut events = Vec::new();
        let mut unread = 0;
        for line in read_from(&events_path(&directory), 0)? {
            match serde_json::from_slice::<Envelope>(&line?.1) {
                Ok(event) => events.push(event),
                Err(_) => unread += 1,
            }
        }
        let verdicts = audit.map_or_else(|| Ok(Vec::new()), |logs| read_verdicts(&record, logs))?;
        Ok(Self { id: id.to_string(), record, events, unread, verdicts })
    }

    /// The agent's report at its beginning.
    pub(crate) fn started(&self) -> Option<&AgentSessionStarted> {
        self.events.iter().find_map(|event| match &event.event {
            AgentEvent::Started(started) => Some(started),
            _ => None,
        })
    }

    /// The time at which it ended, or of its last event.
    pub(crate) fn last_seen(&self) -> Timestamp {
        let heard = self.events.last().map_or(self.record.started_at, |event| event.at);
        self.record.ended_at.unwrap_or(heard).max(self.record.started_at)
    }

    /// The answer to the tool call `call`.
    pub(crate) fn verdict(&self, call: &str) -> Option<&AuditEntry> {
        self.verdicts.iter().rev().find(|entry| entry.data.call_id.as_deref() == Some(call))
    }
}

/// Verdicts of the policy in the run of `record`: entries of its agent's session, as the log's clock is local, from its first day on.
fn read_verdicts(record: &RunRecord, logs: &Path) -> Result<Vec<AuditEntry>, ExportError> {
    let Some(session) = &record.agent_session else { return Ok(Vec::new()) };
    let local = |at: Timestamp| at.to_zoned_datetime(jiff::tz::TimeZone::system()).datetime();
    // The log is cut to microseconds.
    let from = local(record.started_at).round(jiff::Unit::Second).unwrap_or_default();
    let from = from.checked_sub(jiff::Span::new().seconds(1)).unwrap_or_default();
    let until = record
        .ended_at
        .map(|ended| local(ended).checked_add(jiff::Span::new().seconds(1)).unwrap_or_default());
    let filter = AuditFilter {
        since: Some(from.date()),
        until: until.map(DateTime::date),
        session: Some(session.clone()),
        event_type: Some(EventType::PreToolValidation),
        ..AuditFilter::default()
    };
    let mut found = Vec::new();
    for entry in amplihack_audit::read_entries(logs, filter)? {
        let entry = entry?;
        if entry.timestamp >= from && until.is_none_or(|until| entry.timestamp <= until) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// The kind and the message of an event that readers have to heed: a warning, or what comes to the same.
pub(crate) fn warning_of(event: &AgentEvent) -> Option<(&str, String)> {
    Some(match event {
        AgentEvent::Warning(warning) => (warning.kind.as_str(), warning.message.clone()),
        AgentEvent::Retry(retry) => ("retry", retry.to_string()),
        AgentEvent::ModelCall(call) if call.phase == ActivityPhase::Failed => ("model_call", call.failure()),
        AgentEvent::RateLimit(limit) if limit.is_in_the_way() => ("rate_limit", limit.to_string()),
        _ => return None,
    })
}
