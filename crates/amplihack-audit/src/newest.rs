//! The newest entries of the log, read from its end, and those that are appended after them.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::read::{AuditFilter, log_files, parse_entry};
use super::{AuditEntry, AuditError};

/// Logs that may grow at a time: today's, and yesterday's around midnight.
const GROWING: usize = 2;

/// Bytes that are read at once.
const BLOCK: u64 = 64 * 1024;

/// The newest entries of a log, and the place behind them.
#[derive(Debug)]
pub struct NewestEntries {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// Lines among them that this version cannot read: unfinished ones, and a newer version's.
    pub passed_over: usize,
    /// Reader of what is appended from now on.
    pub tail: AuditTail,
}

/// Reads the newest `limit` entries in `dir` that `filter` accepts. No more of the log is read than that takes.
///
/// # Errors
/// [`AuditError::Io`] if the directory is there and cannot be listed, or a log cannot be read.
pub fn read_newest(dir: &Path, filter: AuditFilter, limit: usize) -> Result<NewestEntries, AuditError> {
    let mut ends = Vec::new();
    for path in log_files(dir)? {
        let length = std::fs::metadata(&path).map_err(|source| io_error(&path, source))?.len();
        ends.push((path, length));
    }
    let (mut entries, mut passed_over) = (Vec::new(), 0);
    'files: for (path, end) in ends.iter().rev() {
        if entries.len() >= limit || filter.is_before(path) {
            break;
        }
        let mut lines = ReversedLines::open(path, *end)?;
        while entries.len() < limit {
            let Some(line) = lines.next_line().map_err(|source| io_error(path, source))? else {
                continue 'files;
            };
            match std::str::from_utf8(&line).ok().and_then(parse_entry) {
                Some(entry) if filter.accepts_entry(&entry) => entries.push(entry),
                Some(_) => {}
                None => passed_over += usize::from(!line.trim_ascii().is_empty()),
            }
        }
    }
    entries.reverse();
    // The newest log grows, and the one before it as long as somebody writes who took its date before midnight.
    let newest = ends.split_off(ends.len().saturating_sub(GROWING));
    let growing =
        newest.into_iter().map(|(path, end)| GrowingLog::open(path, end)).collect::<Result<_, _>>()?;
    let tail = AuditTail { dir: dir.to_owned(), filter, growing };
    Ok(NewestEntries { entries, passed_over, tail })
}

fn io_error(path: &Path, source: io::Error) -> AuditError {
    AuditError::Io { path: path.to_owned(), source }
}

/// The end of a log that grows.
#[derive(Debug)]
pub struct AuditTail {
    dir: PathBuf,
    filter: AuditFilter,
    /// The newest logs, the oldest of them first.
    growing: Vec<GrowingLog>,
}

/// Number of a file, under any name, and the time at which it was made: a new file may get the number of one that was removed.
type FileIdentity = (u64, Option<SystemTime>);

/// A log that may grow, and how much of it was read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GrowingLog {
    path: PathBuf,
    identity: FileIdentity,
    /// Bytes that were read.
    read: u64,
}

impl GrowingLog {
    /// The log at `path`, read to `end`; what is half written there is read when it is whole.
    fn open(path: PathBuf, end: u64) -> Result<Self, AuditError> {
        let opened = identify_file(&path).and_then(|(identity, _)| Ok((identity, end_of_lines(&path, end)?)));
        let (identity, read) = opened.map_err(|source| io_error(&path, source))?;
        Ok(Self { path, identity, read })
    }
}

/// The identity of the file at `path`, and its length.
fn identify_file(path: &Path) -> io::Result<(FileIdentity, u64)> {
    let found = std::fs::metadata(path)?;
    Ok(((found.ino(), found.created().ok()), found.len()))
}

impl AuditTail {
    /// Reads the entries that were appended since the last call. A line that is not finished yet waits for the next one.
    ///
    /// # Errors
    /// [`AuditError::Io`] if the directory cannot be listed or a log cannot be read.
    pub fn read_appended(&mut self) -> Result<Vec<AuditEntry>, AuditError> {
        let mut entries = Vec::new();
        for path in log_files(&self.dir)? {
            let (identity, length) = identify_file(&path).map_err(|source| io_error(&path, source))?;
            let known = self.growing.iter().find(|known| known.identity == identity);
            let start = match (known, self.growing.first()) {
                (Some(known), _) if known.read <= length => known.read,
                (None, Some(oldest)) if path < oldest.path => continue,
                // New, or emptied by somebody: whole lines go in no other way.
                _ => 0,
            };
            let bytes = read_behind(&path, start).map_err(|source| io_error(&path, source))?;
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            let lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
            let read = lines.filter_map(|line| parse_entry(std::str::from_utf8(line).ok()?));
            entries.extend(read.filter(|entry| self.filter.accepts_entry(entry)));
            self.growing.retain(|known| known.identity != identity && known.path != path);
            self.growing.push(GrowingLog { path, identity, read: start + whole as u64 });
        }
        self.growing.sort();
        self.growing.drain(..self.growing.len().saturating_sub(GROWING));
        Ok(entries)
    }
}

/// The place behind the last newline before `end`.
fn end_of_lines(path: &Path, end: u64) -> io::Result<u64> {
    let file = File::open(path)?;
    let mut start = end;
    while start > 0 {
        let from = start.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(start - from).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut block, from)?;
        if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + newline as u64 + 1);
        }
        start = from;
    }
    Ok(0)
}

/// The bytes of a file behind `start`; none of a file that became shorter.
fn read_behind(path: &Path, start: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len().saturating_sub(start);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    match file.read_exact_at(&mut bytes, start) {
        // A writer took a line back that it could not finish.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
        read => read.map(|()| bytes),
    }
}

/// The lines of a file, the last one first.
struct ReversedLines {
    file: File,
    /// Bytes before this place were not read yet.
    start: u64,
    /// Bytes that were read and not given yet: the beginning of a line may still be missing.
    pending: Vec<u8>,
    is_done: bool,
}

impl ReversedLines {
    fn open(path: &Path, end: u64) -> Result<Self, AuditError> {
        let file = File::open(path).map_err(|source| io_error(path, source))?;
        Ok(Self { file, start: end, pending: Vec::new(), is_done: end == 0 })
    }

    /// The line before those that were given, without its newline.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        // The newline that ends this line.
        if self.pending.last() == Some(&b'\n') {
            self.pending.pop();
        }
        loop {
            if self.is_done {
                return Ok(None);
            }
            if let Some(newline) = self.pending.iter().rposition(|byte| *byte == b'\n') {
                let line = self.pending.split_off(newline + 1);
                return Ok(Some(line));
            }
            if self.start == 0 {
                self.is_done = true;
                return Ok(Some(std::mem::take(&mut self.pending)));
            }
            let from = self.start.saturating_sub(BLOCK);
            let mut block = vec![0; usize::try_from(self.start - from).unwrap_or(usize::MAX)];
            self.file.read_exact_at(&mut block, from)?;
            let is_first = self.pending.is_empty();
            block.append(&mut self.pending);
            self.pending = block;
            self.start = from;
            if is_first && self.pending.last() == Some(&b'\n') {
                self.pending.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::civil::date;

    use super::*;
    use crate::Decision;
    use crate::{AuditData, AuditLogWriter, EventType, read_entries};

    fn append(dir: &Path, day: jiff::civil::Date, command: &str, decision: Decision) {
        let mut entry = AuditEntry::new(day.at(10, 0, 0, 0), EventType::PreToolValidation, decision);
        entry.data = AuditData { command: Some(command.to_owned()), ..AuditData::default() };
        AuditLogWriter::open(dir, day).unwrap().append_entry(&entry).unwrap();
    }

    fn commands(entries: &[AuditEntry]) -> Vec<String> {
        entries.iter().map(|entry| entry.data.command.clone().unwrap()).collect()
    }

    #[test]
    fn the_newest_entries_are_those_that_reading_everything_gives() {
        let dir = tempfile::tempdir().unwrap();
        // More than a block, over two days.
        for number in 0..400 {
            let day = if number < 300 { date(2026, 1, 30) } else { date(2026, 1, 31) };
            let decision = if number % 7 == 0 { Decision::Deny } else { Decision::None };
            append(dir.path(), day, &format!("{number} {}", "x".repeat(90)), decision);
        }
        for decision in [None, Some(Decision::Deny)] {
            let filter = AuditFilter { decision, ..AuditFilter::default() };
            let all: Vec<AuditEntry> =
                read_entries(dir.path(), filter.clone()).unwrap().map(Result::unwrap).collect();
            for limit in [0, 1, 3, 99, 100, 101, 399, 400, 1000] {
                let newest = read_newest(dir.path(), filter.clone(), limit).unwrap();
                assert_eq!(newest.entries, all[all.len().saturating_sub(limit)..], "{decision:?} {limit}");
                assert_eq!(newest.passed_over, 0);
            }
        }
        let since = AuditFilter { since: Some(date(2026, 1, 31)), ..AuditFilter::default() };
        assert_eq!(read_newest(dir.path(), since, 1000).unwrap().entries.len(), 100);
    }

    #[test]
    fn unfinished_and_foreign_lines_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), date(2026, 1, 30), "a", Decision::None);
        let log = dir.path().join("rust_security_20260130.log");
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, format!("\n{{}}\n{text}{{\"timestamp\":\"2026-01-3")).unwrap();
        let newest = read_newest(dir.path(), AuditFilter::default(), 10).unwrap();
        assert_eq!((commands(&newest.entries), newest.passed_over), (vec!["a".to_owned()], 2));
        assert!(read_newest(&dir.path().join("none"), AuditFilter::default(), 3).unwrap().entries.is_empty());
    }

    #[test]
    fn a_tail_gives_what_is_appended_once_and_over_midnight() {
        let dir = tempfile::tempdir().unwrap();
        let mut early = read_newest(dir.path(), AuditFilter::default(), 1).unwrap().tail;
        append(dir.path(), date(2026, 1, 30), "a", Decision::None);
        let deny = AuditFilter { decision: Some(Decision::Deny), ..AuditFilter::default() };
        let mut tail = read_newest(dir.path(), deny, 1).unwrap().tail;
        append(dir.path(), date(2026, 1, 30), "b", Decision::Deny);
        append(dir.path(), date(2026, 1, 31), "c", Decision::Deny);
        append(dir.path(), date(2026, 1, 31), "d", Decision::None);
        assert_eq!(commands(&tail.read_appended().unwrap()), ["b", "c"]);
        assert!(tail.read_appended().unwrap().is_empty());
        // A line that is half there is read when it is whole.
        let log = dir.path().join("rust_security_20260131.log");
        let text = fs::read_to_string(&log).unwrap();
        let (first, _) = text.split_once('\n').unwrap();
        let (head, rest) = first.split_at(30);
        fs::write(&log, format!("{text}{head}")).unwrap();
        assert!(tail.read_appended().unwrap().is_empty());
        fs::write(&log, format!("{text}{head}{rest}\n")).unwrap();
        assert_eq!(commands(&tail.read_appended().unwrap()), ["c"]);
        assert_eq!(commands(&early.read_appended().unwrap()), ["a", "b", "c", "d", "c"]);
        // Another file in its place is read from its beginning.
        fs::rename(&log, dir.path().join("moved-away")).unwrap();
        append(dir.path(), date(2026, 1, 31), "e", Decision::Deny);
        assert_eq!(commands(&early.read_appended().unwrap()), ["e"]);
        for again in ["f", "g"] {
            fs::remove_file(&log).unwrap();
            append(dir.path(), date(2026, 1, 31), again, Decision::Deny);
            assert_eq!(commands(&early.read_appended().unwrap()), [again], "with its number too");
        }
        File::create(&log).unwrap();
        assert!(early.read_appended().unwrap().is_empty());
        append(dir.path(), date(2026, 1, 31), "h", Decision::Deny);
        assert_eq!(commands(&early.read_appended().unwrap()), ["h"]);
    }
}
