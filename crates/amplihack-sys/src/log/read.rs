//! Reading a log beside its writers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::LogError;
use crate::fs::open_regular;

/// Number of bytes that are looked at once, at most, for the last newline.
const CHUNK: u64 = 64 * 1024;

/// The whole lines of the log at `path` that are there now, from the one that begins at byte `offset`.
///
/// A torn tail is not among them. Nothing is locked, changed or created. To see what came later, read again from the
/// last line's offset plus its length plus one.
pub fn read_from(path: &Path, offset: u64) -> Result<LogLines, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), source };
    // A pipe in its place would be waited for without an end.
    let (mut file, _) = open_regular(path).map_err(io)?;
    // Up to here nothing changes any more: only what no newline ends is ever cut.
    let end = whole_lines_end(&file).map_err(io)?;
    if offset > end || !begins_line(&file, offset).map_err(io)? {
        return Err(LogError::Offset { path: path.to_owned(), offset });
    }
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    Ok(LogLines { reader: BufReader::new(file.take(end - offset)), offset, path: path.to_owned() })
}

/// Whole lines of a log with the offsets at which they begin, without their newlines.
#[derive(Debug)]
pub struct LogLines {
    reader: BufReader<Take<File>>,
    offset: u64,
    path: PathBuf,
}

impl Iterator for LogLines {
    type Item = Result<(u64, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(read) => {
                let begin = self.offset;
                self.offset += read as u64;
                line.pop_if(|last| *last == b'\n');
                Some(Ok((begin, line)))
            }
            Err(source) => {
                self.reader.get_mut().set_limit(0);
                Some(Err(LogError::Io { path: self.path.clone(), source }))
            }
        }
    }
}

fn begins_line(file: &File, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, before)?;
    Ok(byte == *b"\n")
}

/// The offset after the last newline; 0 if there is none.
///
/// Looks at the last byte first, which is the newline unless a writer died. The file may shrink meanwhile (only
/// readers see that): what is gone had no newline.
pub(super) fn whole_lines_end(file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut size = 1;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(size);
        chunk.clear();
        read_range(file, start, end, &mut chunk)?;
        if let Some(newline) = chunk.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
        size = (size * 64).min(CHUNK);
    }
    Ok(0)
}

/// Appends the bytes from `start` to `end`, or to the end of the file, to `bytes`.
fn read_range(file: &File, start: u64, end: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut part = [0; 4096];
    let mut at = start;
    while at < end {
        let room = usize::try_from(end - at).map_or(part.len(), |left| left.min(part.len()));
        match file.read_at(&mut part[..room], at) {
            Ok(0) => break,
            Ok(read) => {
                bytes.extend_from_slice(&part[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
