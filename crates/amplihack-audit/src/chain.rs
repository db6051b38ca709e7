//! The chain of hashes: what it is, and whether it holds.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use amplihack_sys::hex::to_hex;
use sha2::{Digest as _, Sha256};

use super::AuditError;
use super::read::log_files;

/// The `prev` of the very first line.
pub(super) const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The `prev` of a line that was written without the lock.
pub(super) const UNKNOWN: &str = "unknown";

/// The SHA-256 of a line without its newline, in hexadecimal.
pub(super) fn hash_line(line: &[u8]) -> String {
    to_hex(Sha256::digest(line))
}

/// The first break in the chain of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBreak {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1: the first one that does not fit what stands before it.
    pub line: usize,
    /// The fault, as a lower-case fragment.
    pub why: String,
}

/// The result of [`verify_logs`].
///
/// The chain has no key: it shows lines that were changed, removed, added or moved, not a history that was written anew as a
/// whole, and not the loss of the newest lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Files.
    pub files: usize,
    /// Lines.
    pub lines: usize,
    /// Lines written without the lock, which no link secures from the front.
    pub unlinked: usize,
    /// Lines that a killed writer left unfinished.
    pub torn: usize,
    /// Lines of the predecessor before the first of ours, which no link secures.
    pub unchained: usize,
    /// True if the oldest file continues one that no longer exists.
    pub pruned: bool,
    /// The first broken link.
    pub broken: Option<ChainBreak>,
}

/// Reads all logs in `dir`, oldest first, and follows the chain until it breaks.
///
/// # Errors
/// [`AuditError::Io`] if the directory or a log in it cannot be read.
pub fn verify_logs(dir: &Path) -> Result<ChainReport, AuditError> {
    verify_files(&log_files(dir)?)
}

/// Reads these logs, in this order, and follows the chain through them until it breaks.
///
/// # Errors
/// [`AuditError::Io`] if a log cannot be read. A broken chain is no error but a part of the report.
pub fn verify_files(files: &[PathBuf]) -> Result<ChainReport, AuditError> {
    let mut report = ChainReport::default();
    // What the next line may be linked to: the line before, and those that lines without a link stand behind.
    let mut before: Vec<String> = Vec::new();
    for path in files {
        let io = |source| AuditError::Io { path: path.clone(), source };
        let mut reader = BufReader::new(std::fs::File::open(path).map_err(io)?);
        report.files += 1;
        let mut number = 0;
        loop {
            let mut line = Vec::new();
            if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
                break;
            }
            number += 1;
            report.lines += 1;
            line.pop_if(|last| *last == b'\n');
            if let Err(why) = check_line(&line, &mut before, &mut report) {
                report.broken = Some(ChainBreak { file: path.clone(), line: number, why });
                return Ok(report);
            }
        }
    }
    Ok(report)
}

fn check_line(line: &[u8], before: &mut Vec<String>, report: &mut ChainReport) -> Result<(), String> {
    let own = hash_line(line);
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    let Some(prev) = value.as_ref().and_then(|value| value.get("prev")?.as_str()) else {
        if let Some(value) = value {
            let is_old = value["event_type"].is_string() && value["backend"] == "rust";
            // Before the chain only: within it a line without a link is one that somebody put there.
            if is_old && report.lines == report.unchained + 1 {
                report.unchained += 1;
                *before = vec![own];
                return Ok(());
            }
            let why = if is_old {
                "it is an entry without a link, as the predecessor writes them"
            } else {
                "it is no entry of this log"
            };
            return Err(why.to_owned());
        }
        // What is torn is the beginning of an entry; the next line is linked to it.
        if !line.starts_with(b"{\"timestamp\"") && !b"{\"timestamp\"".starts_with(line) {
            return Err("it is no entry of this log".to_owned());
        }
        report.torn += 1;
        *before = vec![own];
        return Ok(());
    };
    if prev == UNKNOWN {
        report.unlinked += 1;
        before.push(own);
        return Ok(());
    }
    let fits = if report.lines == 1 {
        report.pruned = prev != ZEROS;
        prev.len() == 64
    } else {
        before.iter().any(|hash| hash == prev) || before.is_empty() && prev == ZEROS
    };
    if !fits {
        return Err(
            "its link does not fit the line before: a line was changed, removed, added or moved".to_owned()
        );
    }
    *before = vec![own];
    Ok(())
}
