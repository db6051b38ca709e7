//! Appending: one write a line, under a lock that nobody waits for long.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_secrets::redact_credentials;
use amplihack_sys::fs::create_private_dir;
use amplihack_sys::lock::{LockError, lock_within};
use jiff::civil::Date;
use serde::Serialize;

use super::chain::{UNKNOWN, ZEROS, hash_line};
use super::{AuditData, AuditEntry, AuditError, COMMAND_CHARS};

/// A writer holds the lock for microseconds. Waiting longer is not worth it: a line outside the chain is better than a late verdict.
const PATIENCE: Duration = Duration::from_millis(20);
/// No text in an entry is longer, so that a line stays one small write.
const TEXT_CHARS: usize = 500;
/// Most bytes of a text that are scanned for credentials before it is written.
const LOOK: usize = 8192;

/// An open audit log of one day.
#[derive(Debug)]
pub struct AuditLogWriter {
    file: File,
    path: PathBuf,
    patience: Duration,
}

/// A line as it is written. The seed's fields first.
#[derive(Serialize)]
struct AuditLine<'e> {
    timestamp: String,
    event_type: super::EventType,
    backend: &'static str,
    data: AuditData,
    decision: amplihack_verdict::Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    duration_us: u64,
    prev: &'e str,
}

impl AuditLogWriter {
    /// Opens `rust_security_YYYYMMDD.log` of `date` in `dir`; makes both, with modes 0600 and 0700, if they are missing.
    ///
    /// # Errors
    /// [`AuditError::Io`] if the directory cannot be made, and those of [`Self::open_path`].
    pub fn open(dir: &Path, date: Date) -> Result<Self, AuditError> {
        create_private_dir(dir).map_err(|source| AuditError::Io { path: dir.to_owned(), source })?;
        Self::open_path(&dir.join(format!("rust_security_{}.log", date.strftime("%Y%m%d"))))
    }

    /// Opens the log at `path`, whose directory must be there: for `XPIA_LOG_FILE`.
    ///
    /// A pipe does not hang it.
    ///
    /// # Errors
    /// [`AuditError::Io`] for a symbolic link or a file that cannot be opened, [`AuditError::NotAFile`] for anything else than a regular
    /// file.
    pub fn open_path(path: &Path) -> Result<Self, AuditError> {
        let io = |source| AuditError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(NO_FOLLOW_NO_WAIT)
            .open(path)
            .map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Err(AuditError::NotAFile { path: path.to_owned() });
        }
        Ok(Self { file, path: path.to_owned(), patience: PATIENCE })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends `entry` by one `write`, redacted, linked to the line before. Nothing is synced.
    ///
    /// When another process does not give the lock back soon, the line is written all the same, with `prev` `"unknown"`. Takes `&mut`
    /// because threads that share the handle would share its lock.
    ///
    /// # Errors
    /// [`AuditError::Io`] if the log cannot be read or written, or has no room for the line; [`AuditError::Lock`] if the lock cannot be
    /// asked for, [`AuditError::Json`] if the entry has no JSON form.
    pub fn append_entry(&mut self, entry: &AuditEntry) -> Result<(), AuditError> {
        let io = |source| AuditError::Io { path: self.path.clone(), source };
        match lock_within(&self.file, &self.path, self.patience) {
            Ok(()) => {
                let done = self.append_linked(entry);
                let unlocked = self.file.unlock();
                done.and(unlocked.map_err(io))
            }
            Err(LockError::Busy { .. }) => {
                let line = encode_line(entry, UNKNOWN)?;
                (&self.file).write_all(&line).map_err(io)
            }
            Err(error) => Err(AuditError::Lock(error)),
        }
    }

    fn append_linked(&self, entry: &AuditEntry) -> Result<(), AuditError> {
        let io = |source| AuditError::Io { path: self.path.clone(), source };
        let end = self.file.metadata().map_err(io)?.len();
        let last = last_line(&self.file, end).map_err(io)?;
        let prev = match &last {
            Some(last) => hash_line(trim_newline(last)),
            None => before_this_file(&self.path).map_err(io)?,
        };
        let mut bytes = encode_line(entry, &prev)?;
        if last.is_some_and(|last| !last.ends_with(b"\n")) {
            // A killed writer's part of a line stays as evidence, and the chain covers it.
            bytes.insert(0, b'\n');
        }
        let written = write_once(&self.file, &bytes).map_err(io)?;
        if written < bytes.len() {
            self.file.set_len(end).map_err(io)?;
            return Err(io(io::Error::new(io::ErrorKind::StorageFull, "no room for the whole line")));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn hold(&self) -> File {
        let other = File::open(&self.path).unwrap();
        other.lock().unwrap();
        other
    }
}

/// `O_NOFOLLOW | O_NONBLOCK`.
#[cfg(target_os = "linux")]
const NO_FOLLOW_NO_WAIT: i32 = if cfg!(any(target_arch = "aarch64", target_arch = "arm")) {
    0o100_000 | 0o4000
} else {
    0o400_000 | 0o4000
};
#[cfg(not(target_os = "linux"))]
const NO_FOLLOW_NO_WAIT: i32 = 0x100 | 0x4;

fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn encode_line(entry: &AuditEntry, prev: &str) -> Result<Vec<u8>, AuditError> {
    let data = &entry.data;
    let clean = |text: &Option<String>, chars| text.as_deref().map(|text| redact_and_cut(text, chars));
    let line = AuditLine {
        timestamp: entry.timestamp.strftime(super::wall::FORM).to_string(),
        event_type: entry.event_type,
        backend: "rust",
        data: AuditData {
            command: clean(&data.command, COMMAND_CHARS),
            reason: clean(&data.reason, TEXT_CHARS),
            stopped_call: data.stopped_call.clone(),
            error: clean(&data.error, TEXT_CHARS),
            session_id: clean(&data.session_id, TEXT_CHARS),
            tool: clean(&data.tool, TEXT_CHARS),
            call_id: clean(&data.call_id, TEXT_CHARS),
            risk_level: data.risk_level.clone(),
            ..*data
        },
        decision: entry.decision,
        rule: entry.rule.as_deref(),
        host: entry.host.as_deref(),
        cwd: clean(&entry.cwd, TEXT_CHARS),
        duration_us: entry.duration_us,
        prev,
    };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Redacted first, then cut: half a credential has no shape.
fn redact_and_cut(text: &str, chars: usize) -> String {
    let looked_at = &text[..text.floor_char_boundary(LOOK.min(text.len()))];
    redact_credentials(looked_at).chars().take(chars).collect()
}

fn trim_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// The last line of a file that ends at `end`, with its newline if it has one.
pub(super) fn last_line(file: &File, end: u64) -> io::Result<Option<Vec<u8>>> {
    if end == 0 {
        return Ok(None);
    }
    let mut size = 4096_u64;
    loop {
        let start = end.saturating_sub(size);
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, start)?;
        let body = trim_newline(&bytes);
        if let Some(newline) = body.iter().rposition(|&byte| byte == b'\n') {
            return Ok(Some(bytes.split_off(newline + 1)));
        }
        if start == 0 {
            return Ok(Some(bytes));
        }
        size *= 8;
    }
}

/// Returns the hash to which the first line of a new file is linked: that of the last line of the newest file before it.
fn before_this_file(path: &Path) -> io::Result<String> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(ZEROS.to_owned()) };
    let mut newest = None;
    for item in std::fs::read_dir(dir)? {
        let other = item?.file_name();
        if super::read::is_log(&other)
            && other.as_os_str() < name
            && newest.as_ref().is_none_or(|newest| other > *newest)
        {
            newest = Some(other);
        }
    }
    let Some(newest) = newest else { return Ok(ZEROS.to_owned()) };
    let file = File::open(dir.join(newest))?;
    Ok(last_line(&file, file.metadata()?.len())?
        .map_or_else(|| ZEROS.to_owned(), |last| hash_line(trim_newline(&last))))
}
