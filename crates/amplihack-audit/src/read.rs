//! Looking at the log.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};

use amplihack_verdict::Decision;
use jiff::civil::{Date, DateTime};
use serde::Deserialize;

use super::{AuditData, AuditEntry, AuditError, EventType, wall};

/// Conditions that an entry must meet to be read; `None` in a field accepts every entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// From this day on.
    pub since: Option<Date>,
    /// Up to this day.
    pub until: Option<Date>,
    /// At least this strict.
    pub decision: Option<Decision>,
    /// Of this kind.
    pub event_type: Option<EventType>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this agent.
    pub host: Option<String>,
}

impl AuditFilter {
    pub(super) fn accepts_entry(&self, entry: &AuditEntry) -> bool {
        let day = entry.timestamp.date();
        self.since.is_none_or(|since| day >= since)
            && self.until.is_none_or(|until| day <= until)
            && self.decision.is_none_or(|least| entry.decision >= least)
            && self.event_type.is_none_or(|kind| entry.event_type == kind)
            && self.session.as_ref().is_none_or(|session| entry.data.session_id.as_ref() == Some(session))
            && self.host.as_ref().is_none_or(|host| entry.host.as_ref() == Some(host))
    }
}

impl AuditFilter {
    /// Reports whether every entry of the log at `path` is of a day before the first that is wanted.
    pub(super) fn is_before(&self, path: &Path) -> bool {
        let day = path.file_name().and_then(|name| name.to_str()?.get("rust_security_".len()..)?.get(..8));
        self.since
            .is_some_and(|since| day.is_some_and(|day| day < since.strftime("%Y%m%d").to_string().as_str()))
    }
}

/// Reports whether `name` is the name of a day's log.
pub(super) fn is_log(name: &OsStr) -> bool {
    let day = name.to_str().and_then(|name| name.strip_prefix("rust_security_")?.strip_suffix(".log"));
    day.is_some_and(|day| day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The logs in `dir`, oldest first. A directory that is not there has none.
pub(super) fn log_files(dir: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let io = |source| AuditError::Io { path: dir.to_owned(), source };
    let items = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        items => items.map_err(io)?,
    };
    let mut logs = Vec::new();
    for item in items {
        let item = item.map_err(io)?;
        if is_log(&item.file_name()) {
            logs.push(item.path());
        }
    }
    logs.sort_unstable();
    Ok(logs)
}

/// The entry of a line, also of the predecessor's, which says nothing of the decision but what it follows from.
pub(super) fn parse_entry(line: &str) -> Option<AuditEntry> {
    #[derive(Deserialize)]
    struct PredecessorEntry {
        #[serde(with = "wall")]
        timestamp: DateTime,
        event_type: EventType,
        data: AuditData,
        decision: Option<serde::de::IgnoredAny>,
    }
    if let Ok(entry) = serde_json::from_str(line) {
        return Some(entry);
    }
    let old: PredecessorEntry = serde_json::from_str(line).ok()?;
    let denied = match old.event_type {
        EventType::HookError | EventType::RustUnavailable => true,
        _ => old.data.is_valid == Some(false),
    };
    let decision = if denied { Decision::Deny } else { Decision::None };
    let entry = AuditEntry::new(old.timestamp, old.event_type, decision);
    old.decision.is_none().then_some(AuditEntry { data: old.data, ..entry })
}

/// The entries in `dir` that `filter` accepts, oldest first. Other lines are passed over: [`super::verify_logs`] reports them.
///
/// # Errors
/// [`AuditError::Io`] if the directory is there and cannot be listed.
pub fn read_entries(dir: &Path, filter: AuditFilter) -> Result<AuditEntries, AuditError> {
    let mut logs = log_files(dir)?;
    logs.reverse();
    Ok(AuditEntries { logs, open: None, filter, passed_over: 0 })
}

/// Entries, read one by one.
#[derive(Debug)]
pub struct AuditEntries {
    /// Files still to be read, the next one last.
    logs: Vec<PathBuf>,
    open: Option<(PathBuf, Lines<BufReader<std::fs::File>>)>,
    filter: AuditFilter,
    passed_over: usize,
}

impl AuditEntries {
    /// Lines so far that this version cannot read: unfinished ones, and a newer version's.
    pub fn passed_over(&self) -> usize {
        self.passed_over
    }
}

impl Iterator for AuditEntries {
    type Item = Result<AuditEntry, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((path, lines)) = &mut self.open {
                match lines.next() {
                    Some(Ok(line)) => match parse_entry(&line) {
                        Some(entry) if self.filter.accepts_entry(&entry) => return Some(Ok(entry)),
                        Some(_) => {}
                        None => self.passed_over += 1,
                    },
                    // A torn line may be cut within a character.
                    Some(Err(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                        self.passed_over += 1;
                    }
                    Some(Err(source)) => {
                        let path = std::mem::take(path);
                        self.open = None;
                        return Some(Err(AuditError::Io { path, source }));
                    }
                    None => self.open = None,
                }
                continue;
            }
            let path = self.logs.pop()?;
            match std::fs::File::open(&path) {
                Ok(file) => self.open = Some((path, BufReader::new(file).lines())),
                Err(source) => return Some(Err(AuditError::Io { path, source })),
            }
        }
    }
}
