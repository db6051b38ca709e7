//! Journal of a run, on disk before anybody sees its events: `$AMPLIHACK_HOME/sessions/<id>/`.
//!
//! `events.jsonl` holds the events with the lines behind them, one JSON object a line; `run.json` says whose they are, and
//! once the run is over how it ended. A run without its end whose process is gone was killed.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "schema")]
use amplihack_agent::event::schema;
use amplihack_agent::event::{AgentEvent, Envelope, UsageTotals};
use amplihack_agent::ledger::UsageLedger;
use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::launcher_context::{SessionId, sessions_directory};
use amplihack_sys as sys;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};
use amplihack_sys::log::{JsonLog, LogError, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::run_end::{EndEvidence, RunEnd};

/// The largest `run.json` that is read. Its only long part is the agent's last text.
const MAX_RECORD: u64 = 16 * 1024 * 1024;

/// Content of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunRecord {
    /// The agent.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::agent_schema"))]
    pub agent: AgentBinary,
    /// Working directory of the run; bytes that are not UTF-8 are replaced.
    pub cwd: String,
    /// The process that reads the run.
    pub pid: u32,
    /// Start time of that process, in clock ticks since boot.
    pub start_time: u64,
    /// Time at which the run started.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::time_schema"))]
    pub started_at: Timestamp,
    /// The agent's own name of its session, to resume it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The model, as the agent named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Time at which the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::time_schema"))]
    pub ended_at: Option<Timestamp>,
    /// The end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// Tokens and money that the run used.
    #[serde(default)]
    pub usage: UsageTotals,
    /// Tokens and money that earlier runs of the agent's session had used, where the agent's own total held that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_before: Option<UsageTotals>,
}

impl RunRecord {
    /// The record of a run that this process starts now.
    pub fn from_this_process(agent: AgentBinary, cwd: &Path) -> Self {
        let pid = std::process::id();
        Self {
            agent,
            cwd: cwd.to_string_lossy().into_owned(),
            pid,
            start_time: sys::start_time(pid).unwrap_or_default(),
            started_at: Timestamp::now(),
            agent_session: None,
            model: None,
            ended_at: None,
            end: None,
            usage: UsageTotals::default(),
            used_before: None,
        }
    }

    /// State of the run in a word: `running`, `killed`, or the outcome.
    pub fn state_name(&self) -> &'static str {
        match &self.end {
            Some(end) => end.name(),
            None if self.is_running() => "running",
            None => "killed",
        }
    }

    /// Reports whether the run still runs: it has no end, and the process that reads it lives.
    pub fn is_running(&self) -> bool {
        self.end.is_none() && sys::process_alive(self.pid, self.start_time)
    }
}

/// The journal of one run, for its writer.
pub struct Journal {
    record: RunRecord,
    record_path: PathBuf,
    log: JsonLog,
    buffer: Vec<u8>,
}

/// The events of the session whose journal is in `directory`.
pub fn events_path(directory: &Path) -> PathBuf {
    directory.join("events.jsonl")
}

impl Journal {
    /// Makes the journal of session `id` below `home`, private to this user, and writes its record.
    ///
    /// # Errors
    /// [`LogError::Io`] if the directory, the log or the record cannot be written, [`LogError::Lock`] if another writer does not let go of
    /// the log.
    pub fn create(home: &Path, id: &SessionId, record: RunRecord) -> Result<Self, LogError> {
        let directory = id.directory(home);
        create_private_dir(&directory).map_err(|source| LogError::Io { path: directory.clone(), source })?;
        let log = JsonLog::open(&events_path(&directory))?;
        let journal = Self { record, record_path: directory.join("run.json"), log, buffer: Vec::new() };
        journal.write_record(WriteDurability::Process)?;
        Ok(journal)
    }

    /// Appends `events` by one write.
    pub(crate) fn append(&mut self, events: &[Envelope]) -> Result<(), LogError> {
        self.buffer.clear();
        for event in events {
            if let AgentEvent::Started(started) = &event.event {
                self.record.agent_session.clone_from(&started.agent_session);
                self.record.model.clone_from(&started.model);
                self.write_record(WriteDurability::Process)?;
            }
            serde_json::to_writer(&mut self.buffer, event)
                .map_err(|source| LogError::Value { path: self.record_path.clone(), source })?;
            self.buffer.push(b'\n');
        }
        self.log.append_lines(&self.buffer)?;
        // After a line of megabytes the next ones need less.
        self.buffer.shrink_to(1024 * 1024);
        Ok(())
    }

    /// Writes the end, and what other runs of its session had used `before` it, so that it survives the machine.
    pub(crate) fn write_end(&mut self, end: &RunEnd, before: Option<UsageTotals>) -> Result<(), LogError> {
        // Copilot names its session at its end only.
        if self.record.agent_session.is_none() {
            self.record.agent_session.clone_from(&end.event.summary.agent_session);
        }
        self.record.used_before = before;
        self.record.end = Some(end.clone());
        self.record.ended_at = Some(Timestamp::now());
        self.record.usage = end.usage;
        self.log.sync()?;
        self.write_record(WriteDurability::Machine)
    }

    fn write_record(&self, durability: WriteDurability) -> Result<(), LogError> {
        let failed = |source| LogError::Value { path: self.record_path.clone(), source };
        let text = serde_json::to_vec(&self.record).map_err(failed)?;
        write_atomic(&self.record_path, &text, 0o600, durability)
            .map_err(|source| LogError::Io { path: self.record_path.clone(), source })
    }
}

/// A run that has a journal.
#[derive(Debug, Clone)]
pub struct JournaledRun {
    /// The session.
    pub id: SessionId,
    /// Directory of the session.
    pub directory: PathBuf,
    /// Record of the run.
    pub record: RunRecord,
}

impl JournaledRun {
    /// The run of session `id` below `home`. `None` if it has no journal.
    ///
    /// # Errors
    /// [`LogError::Record`] if the record is damaged. [`LogError::Io`] if it cannot be read, or if the run has ended without saying so and
    /// its log cannot be read.
    pub fn read(home: &Path, id: &SessionId) -> Result<Option<Self>, LogError> {
        let directory = id.directory(home);
        let path = directory.join("run.json");
        let text = match read_regular(&path, MAX_RECORD) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LogError::Io { path, source }),
        };
        let mut record: RunRecord =
            serde_json::from_slice(&text).map_err(|source| LogError::Record { path, source })?;
        if record.end.is_none() && !record.is_running() {
            complete_record(&mut record, &events_path(&directory))?;
        }
        Ok(Some(Self { id: id.clone(), directory, record }))
    }
}

/// Completes the record of a killed reader out of its events: the tokens and money used, and the end if that was seen.
fn complete_record(record: &mut RunRecord, events: &Path) -> Result<(), LogError> {
    let mut ledger = UsageLedger::default();
    for line in read_from(events, 0)? {
        // A line of a newer version is passed over.
        let Ok(envelope) = serde_json::from_slice::<Envelope>(&line?.1) else { continue };
        match envelope.event {
            AgentEvent::Usage(usage) => ledger.observe(&usage),
            AgentEvent::End(end) => {
                record.agent_session =
                    record.agent_session.take().or_else(|| end.summary.agent_session.clone());
                record.end = Some(RunEnd::new(end, EndEvidence::Record));
                record.ended_at = Some(envelope.at);
            }
            _ => {}
        }
    }
    record.usage = ledger.totals();
    if let Some(end) = &mut record.end {
        end.usage = record.usage;
    }
    Ok(())
}

/// Tokens and money that the runs of `agent`'s session `session` below `home` used, but for the run `own`.
///
/// A run whose agent had counted what came before it says so, so that runs without a journal are in it, and those that were pruned.
pub fn used_before(home: &Path, agent: AgentBinary, session: &str, own: &SessionId) -> UsageTotals {
    let (runs, errors) = recorded_runs(home);
    for error in errors {
        tracing::debug!(%error, "a run's record is left out of what its session used");
    }
    let mut used = UsageTotals::default();
    for JournaledRun { id, record, .. } in runs {
        if id != *own && record.agent == agent && record.agent_session.as_deref() == Some(session) {
            used = record.used_before.unwrap_or(used);
            used.add_amounts(&record.usage);
        }
    }
    used
}

/// Every run below `home` that has a journal, oldest first, and what could not be read.
pub fn recorded_runs(home: &Path) -> (Vec<JournaledRun>, Vec<LogError>) {
    let sessions = sessions_directory(home);
    let mut runs = Vec::new();
    let mut errors = Vec::new();
    let entries = match std::fs::read_dir(&sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (runs, errors),
        Err(source) => return (runs, vec![LogError::Io { path: sessions, source }]),
    };
    for entry in entries.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| SessionId::parse(name).ok()) else {
            continue;
        };
        match JournaledRun::read(home, &id) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    }
    runs.sort_by(|a, b| (a.record.started_at, &a.id).cmp(&(b.record.started_at, &b.id)));
    (runs, errors)
}
