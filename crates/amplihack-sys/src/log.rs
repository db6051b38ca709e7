//! Append-only logs of JSON lines that several processes write and that survive `kill -9` of any of them.

mod read;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::error::ErrorExplanation;
use crate::form::NewerFormError;
use crate::lock::{LockError, lock_within};
use read::whole_lines_end;
pub use read::{LogLines, read_from};

/// Time that an append waits for another writer, which holds the file for microseconds unless it was stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open log of JSON lines, for appending.
///
/// A line is there whole or not at all: it is one `write`, and what a killed writer left of one (the *torn tail*:
/// bytes after the last newline) is cut by the next writer and not seen by readers. Writers exclude each other by a lock on
/// the file itself. Nothing is synced to disk unless [`Self::sync`] is called: the log survives any process, not the
/// machine.
#[derive(Debug)]
pub struct JsonLog {
    file: File,
    path: PathBuf,
}

/// A log that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system refuses.
    #[error("log {}: {source}; check that its directory exists, can be written and has room", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another writer does not let go.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A newer version wrote it.
    #[error(transparent)]
    Newer(#[from] NewerFormError),
    /// A line must not contain a newline, and several lines must end with one.
    #[error("newline within or missing after a line for log {}; write compact JSON, a line a value", path.display())]
    Newline {
        /// The log.
        path: PathBuf,
    },
    /// The value has no JSON form.
    #[error("value without a JSON form for log {}: {source}; use text keys and finite numbers", path.display())]
    Value {
        /// The log.
        path: PathBuf,
        /// Fault of the value.
        source: serde_json::Error,
    },
    /// The record beside a log says nothing that can be read.
    #[error("{} cannot be read: {source}; it is damaged, or another version wrote it: if nobody needs it, remove {}", path.display(), path.parent().unwrap_or(path).display())]
    Record {
        /// The record.
        path: PathBuf,
        /// Fault of the record.
        source: serde_json::Error,
    },
    /// Reading was to begin where no line begins.
    #[error("no line of log {} begins at byte {offset}; start at 0 or after a line", path.display())]
    Offset {
        /// The log.
        path: PathBuf,
        /// The offset that was given.
        offset: u64,
    },
}

impl LogError {
    /// Advice on another place for the log, where the system refused this one: to be appended to the error's text.
    pub fn other_home_advice(&self) -> &'static str {
        match self {
            Self::Io { .. } => "; or set AMPLIHACK_HOME to another directory",
            _ => "",
        }
    }
}

impl ErrorExplanation for LogError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Io { .. } => "log_io",
            Self::Lock(lock) => lock.kind(),
            Self::Newer(_) => "log_newer",
            Self::Newline { .. } => "log_newline",
            Self::Value { .. } => "log_value",
            Self::Record { .. } => "log_record",
            Self::Offset { .. } => "log_offset",
        }
    }
}

impl JsonLog {
    /// Opens the log at `path`, makes it with mode 0600 if it is missing, and cuts a torn tail.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| LogError::Io { path: path.to_owned(), source })?;
        let mut log = Self { file, path: path.to_owned() };
        log.with_lock(|file| cut_torn_tail(file).map(drop))?;
        Ok(log)
    }

    /// Appends `line` and a newline by one `write`. The line should be JSON; it must not contain a newline.
    ///
    /// After an error the log is as before: a part that was written, on a full disk, is taken back.
    pub fn append(&mut self, line: &[u8]) -> Result<(), LogError> {
        if line.contains(&b'\n') {
            return Err(LogError::Newline { path: self.path.clone() });
        }
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        self.with_lock(|file| append_whole(file, &bytes))
    }

    /// Appends `lines`, each with its newline, by one `write`: several events cost what one does.
    ///
    /// A writer that is killed meanwhile may leave some of them; each is there whole or not at all.
    pub fn append_lines(&mut self, lines: &[u8]) -> Result<(), LogError> {
        if lines.is_empty() {
            return Ok(());
        }
        if lines.last() != Some(&b'\n') {
            return Err(LogError::Newline { path: self.path.clone() });
        }
        self.with_lock(|file| append_whole(file, lines))
    }

    /// Appends `value` as one line of compact JSON.
    pub fn append_value(&mut self, value: &impl Serialize) -> Result<(), LogError> {
        let line = serde_json::to_vec(value)
            .map_err(|source| LogError::Value { path: self.path.clone(), source })?;
        self.append(&line)
    }

    /// The lines that are there now, from the one that begins at `offset`; see [`read_from`].
    pub fn read_from(&self, offset: u64) -> Result<LogLines, LogError> {
        read_from(&self.path, offset)
    }

    /// Makes what was appended survive the machine. Slow: for the end of a run.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|source| LogError::Io { path: self.path.clone(), source })
    }

    /// Takes `&mut`, because threads that share the handle would share its lock.
    fn with_lock(&mut self, work: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), LogError> {
        lock_within(&self.file, &self.path, PATIENCE)?;
        let done = work(&mut self.file);
        let unlocked = self.file.unlock();
        done.and(unlocked).map_err(|source| LogError::Io { path: self.path.clone(), source })
    }
}

/// Cuts what follows the last newline and returns the length that is left. Under the lock, so its writer is dead.
fn cut_torn_tail(file: &File) -> io::Result<u64> {
    let end = whole_lines_end(file)?;
    if end < file.metadata()?.len() {
        file.set_len(end)?;
    }
    Ok(end)
}

fn append_whole(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // A writer may have been killed within its write since we opened the log.
    let end = cut_torn_tail(file)?;
    let written = loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => break written?,
        }
    };
    if written < bytes.len() {
        file.set_len(end)?;
        return Err(io::Error::new(io::ErrorKind::StorageFull, "no room for the whole line"));
    }
    Ok(())
}
