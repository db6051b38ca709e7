//! A file that grows, read line by line.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The most that is read of a file at one look.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// How far a file was read.
#[derive(Debug, Default)]
pub(super) struct Tail {
    offset: u64,
    rest: Vec<u8>,
}

impl Tail {
    /// The whole lines in `path` since the last call. What cannot be read now is read at the next one.
    pub(super) fn lines(&mut self, path: &Path) -> Vec<Vec<u8>> {
        let Ok(bytes) = self.more(path) else { return Vec::new() };
        self.rest.extend_from_slice(&bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn more(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        self.offset += file.take(MAX_READ).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
}
