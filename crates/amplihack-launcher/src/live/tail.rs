//! A file that grows, read line by line.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use amplihack_sys::fs::open_regular;

/// The most that is read of a file at one look.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// The longest line that is taken. A longer one is dropped: the agent, or what it started, may write anything there.
const LONGEST: usize = 4 * 1024 * 1024;

/// Position up to which a file was read.
#[derive(Debug, Default)]
pub(crate) struct FileTail {
    offset: u64,
    rest: Vec<u8>,
    /// The line that is being read was too long, and its rest goes too.
    is_dropping: bool,
}

impl FileTail {
    /// The whole lines in `path` since the last call. What cannot be read now is read at the next one.
    pub(crate) fn new_lines(&mut self, path: &Path) -> Vec<Vec<u8>> {
        let Ok(bytes) = self.read_more(path) else { return Vec::new() };
        let mut whole = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let is_whole = pieces.peek().is_some();
            self.is_dropping |= self.rest.len() + piece.len() > LONGEST;
            if self.is_dropping {
                self.rest = Vec::new();
            } else {
                self.rest.extend_from_slice(piece);
            }
            if is_whole {
                let line = std::mem::take(&mut self.rest);
                if !std::mem::take(&mut self.is_dropping) {
                    whole.push(line);
                }
            }
        }
        whole
    }

    fn read_more(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        // A hook's report names it, and anybody may report: what is no regular file is not waited for.
        let (mut file, _) = open_regular(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        self.offset += file.take(MAX_READ).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(FileTail::default().new_lines(&path), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_line_without_an_end_is_dropped_and_the_next_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut tail = FileTail::default();
        let mut lines = |bytes: &[u8]| {
            file.write_all(bytes).unwrap();
            let lines = tail.new_lines(&path);
            (lines, tail.rest.len())
        };
        let none = Vec::<Vec<u8>>::new();
        assert_eq!(lines(b"a\nb"), (vec![b"a".to_vec()], 1));
        assert_eq!(lines(b"c\n\nd"), (vec![b"bc".to_vec(), Vec::new()], 1));
        let part = vec![b'x'; LONGEST - 1];
        assert_eq!(lines(&part), (none.clone(), LONGEST));
        assert_eq!(lines(b"x"), (none.clone(), 0));
        assert_eq!(lines(&part), (none, 0));
        assert_eq!(lines(b"end\nnext\n"), (vec![b"next".to_vec()], 0));
    }
}
