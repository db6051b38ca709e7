//! The record of what was asked and answered: JSON lines, a file a day, each line carrying the hash of the one before.
//!
//! A verdict never depends on it. Nothing here knows how a verdict is found; hooks write the record, `amplihack audit` and exports read it.

mod chain;
mod newest;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::io;
use std::path::PathBuf;

use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::lock::LockError;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use amplihack_verdict::Decision;
pub use chain::{ChainBreak, ChainReport, verify_files, verify_logs};
pub use newest::{AuditTail, NewestEntries, read_newest};
pub use read::{AuditEntries, AuditFilter, read_entries};
pub use write::AuditLogWriter;

/// Directory of the logs, below the user's home.
pub const DIRECTORY: &str = ".claude/logs/xpia";

/// Characters of a command that are kept.
const COMMAND_CHARS: usize = 100;

/// The kind of an entry: the event that it records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventType {
    /// A tool call was judged.
    PreToolValidation,
    /// A hook failed, and what it guards was refused.
    HookError,
    /// An external defender was named and is not there.
    RustUnavailable,
    /// The agent's host reports an error of its own.
    AgentError,
    /// A session began.
    SessionStart,
    /// A tool's output or a prompt was scanned.
    ContentScan,
    /// The user's own policy or yes changed what holds.
    PolicyChange,
}

/// The seed's part of an entry. What does not apply is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditData {
    /// The command; written redacted, its first 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// True if the tool call may continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_valid: Option<bool>,
    /// `none`, `low`, `medium`, `high` or `critical`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_level: Option<String>,
    /// Number of reasons found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threats: Option<usize>,
    /// The host's session, `unknown` if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The tool's name, as the host gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The host's name of this one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The reason of an ask or deny; written redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The beginning of the hash of a stopped command and its directory: the id by which a person can allow it once begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_call: Option<String>,
    /// The error; written redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An entry without its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Local time; written in ISO form without a zone.
    #[serde(with = "wall")]
    pub timestamp: DateTime,
    /// The kind of the entry.
    pub event_type: EventType,
    /// The seed's part.
    pub data: AuditData,
    /// The answer.
    pub decision: Decision,
    /// The rule behind it.
    pub rule: Option<String>,
    /// The agent that asked.
    pub host: Option<String>,
    /// The directory of the call.
    pub cwd: Option<String>,
    /// Time taken by judging, in microseconds.
    pub duration_us: u64,
}

impl AuditEntry {
    /// An entry that says only when, what and how it was decided.
    pub fn new(timestamp: DateTime, event_type: EventType, decision: Decision) -> Self {
        let data = AuditData::default();
        Self { timestamp, event_type, data, decision, rule: None, host: None, cwd: None, duration_us: 0 }
    }
}

/// An audit that cannot be written or read. A verdict never depends on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The system refuses.
    #[error("audit log {}: {source}; check that its directory exists, is yours, can be written and has room", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path names something other than a file, or a link to one.
    #[error("audit log {} is not a regular file; move it away", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// An entry has no JSON form.
    #[error("audit entry without a JSON form: {0}; report this as a bug")]
    Json(#[from] serde_json::Error),
    /// The lock cannot be asked for.
    #[error(transparent)]
    Lock(LockError),
}

impl ErrorExplanation for AuditError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Io { .. } => "audit_io",
            Self::NotAFile { .. } => "audit_not_a_file",
            Self::Json(_) => "audit_json",
            Self::Lock(lock) => lock.kind(),
        }
    }
}

/// Local time without a zone, to the microsecond.
mod wall {
    use jiff::civil::DateTime;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) const FORM: &str = "%Y-%m-%dT%H:%M:%S%.6f";

    pub(super) fn serialize<S: Serializer>(time: &DateTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&time.strftime(FORM))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}
