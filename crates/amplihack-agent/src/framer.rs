//! Lines out of chunks of bytes: split on `\n` only, in linear time, each byte looked at once. A byte order mark at the start of the
//! stream is no part of its first line.

/// Part of a stream: a line, or the size of a line that was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFrame<'a> {
    /// A line without its newline, and without the carriage return before it. Never empty.
    Line(&'a [u8]),
    /// A line was longer than the cap: so many bytes, of which none are kept.
    TooLong(u64),
}

/// Splits a stream into lines.
#[derive(Debug)]
pub struct Framer {
    cap: usize,
    partial: Vec<u8>,
    /// Bytes of a line beyond the cap that were passed over.
    skipped: u64,
    start: StreamStart,
}

/// The first bytes of a stream.
#[derive(Debug, Clone, Copy)]
enum StreamStart {
    /// So many bytes of [`BOM`] have come, and nothing else.
    Mark(usize),
    /// The stream's own bytes have begun.
    Passed,
}

/// The byte order mark that some writers put in front of UTF-8.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// Largest number of bytes of a line, unless told otherwise.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// A longer line's buffer is given back once the line is out.
const KEPT_BUFFER: usize = 256 * 1024;

impl Default for Framer {
    fn default() -> Self {
        Self::new(MAX_LINE)
    }
}

impl Framer {
    /// A framer whose lines have at most `cap` bytes.
    pub const fn new(cap: usize) -> Self {
        Self { cap, partial: Vec::new(), skipped: 0, start: StreamStart::Mark(0) }
    }

    /// Takes a chunk in and gives each line that it completes to `out`. Blank lines are passed over.
    pub fn push(&mut self, mut chunk: &[u8], mut out: impl FnMut(StreamFrame<'_>)) {
        if let StreamStart::Mark(seen) = self.start {
            chunk = self.skip_mark(seen, chunk);
        }
        while let Some(newline) = memchr::memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(newline);
            chunk = rest.get(1..).unwrap_or_default();
            if self.partial.is_empty() && self.skipped == 0 && line.len() <= self.cap {
                emit_line(line, &mut out);
            } else {
                self.hold_bytes(line);
                self.flush(&mut out);
            }
        }
        self.hold_bytes(chunk);
    }

    /// Gives what the last newline did not end: the stream is over.
    pub fn finish(&mut self, mut out: impl FnMut(StreamFrame<'_>)) {
        if let StreamStart::Mark(seen) = self.start {
            self.hold_bytes(BOM.get(..seen).unwrap_or_default());
        }
        self.flush(&mut out);
    }

    /// Takes the byte order mark, of which `seen` bytes came before, off the stream's first bytes.
    fn skip_mark<'a>(&mut self, seen: usize, chunk: &'a [u8]) -> &'a [u8] {
        let missing = BOM.get(seen..).unwrap_or_default();
        if let Some(rest) = chunk.strip_prefix(missing) {
            self.start = StreamStart::Passed;
            return rest;
        }
        if missing.starts_with(chunk) {
            self.start = StreamStart::Mark(seen + chunk.len());
            return &[];
        }
        self.start = StreamStart::Passed;
        self.hold_bytes(BOM.get(..seen).unwrap_or_default());
        chunk
    }

    fn hold_bytes(&mut self, bytes: &[u8]) {
        if self.skipped > 0 || self.partial.len() + bytes.len() > self.cap {
            self.skipped += (std::mem::take(&mut self.partial).len() + bytes.len()) as u64;
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn flush(&mut self, out: &mut impl FnMut(StreamFrame<'_>)) {
        if self.skipped > 0 {
            out(StreamFrame::TooLong(std::mem::take(&mut self.skipped)));
        }
        emit_line(&self.partial, out);
        self.partial.clear();
        self.partial.shrink_to(KEPT_BUFFER);
    }
}

fn emit_line(line: &[u8], out: &mut impl FnMut(StreamFrame<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        out(StreamFrame::Line(line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BOM, Framer, StreamFrame};

    fn frames(framer: &mut Framer, chunks: &[&[u8]]) -> Vec<Result<Vec<u8>, u64>> {
        let mut all = Vec::new();
        let mut take = |frame: StreamFrame<'_>| {
            all.push(match frame {
                StreamFrame::Line(line) => Ok(line.to_vec()),
                StreamFrame::TooLong(bytes) => Err(bytes),
            });
        };
        for chunk in chunks {
            framer.push(chunk, &mut take);
        }
        framer.finish(&mut take);
        all
    }

    #[test]
    fn only_newlines_end_lines() {
        let text = "a\r\n\n\r\nb\u{2028}c\u{85}\x0bd\re\n\u{65e5}".as_bytes();
        let expected: Vec<_> =
            ["a", "b\u{2028}c\u{85}\x0bd\re", "\u{65e5}"].map(|line| Ok(line.as_bytes().to_vec())).into();
        assert_eq!(frames(&mut Framer::default(), &[text]), expected);
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(&mut Framer::default(), &bytes), expected);
    }

    #[test]
    fn a_line_beyond_the_cap_is_counted_and_the_next_one_is_whole() {
        let found = frames(&mut Framer::new(4), &[b"abcd\nabc", b"de", b"f\nxy\nabcde"]);
        assert_eq!(found, [Ok(b"abcd".to_vec()), Err(6), Ok(b"xy".to_vec()), Err(5)]);
    }

    #[test]
    fn a_byte_order_mark_is_taken_off_the_start_and_nowhere_else() {
        let line = |text: &str| Ok(text.as_bytes().to_vec());
        let framed = |text: &str, size: usize| {
            frames(&mut Framer::default(), &text.as_bytes().chunks(size).collect::<Vec<_>>())
        };
        for size in [1, 2, 3, 4, 100] {
            assert_eq!(framed("\u{feff}a\n\u{feff}b", size), [line("a"), line("\u{feff}b")], "{size}");
            assert_eq!(framed("\u{feff}", size), []);
            assert_eq!(framed("\u{feff}\u{feff}a", size), [line("\u{feff}a")]);
            // What begins as the mark does and is none.
            assert_eq!(framed("\u{fefe}a", size), [line("\u{fefe}a")]);
        }
        for cut in [&BOM[..1], &BOM[..2]] {
            assert_eq!(frames(&mut Framer::default(), &[cut]), [Ok(cut.to_vec())]);
            assert_eq!(frames(&mut Framer::default(), &[cut, b"\n"]), [Ok(cut.to_vec())]);
        }
    }

    proptest! {
        #[test]
        fn chunks_change_nothing(
            bytes in proptest::collection::vec(prop_oneof![3 => Just(b'\n'), 1 => Just(b'\r'), 9 => any::<u8>()], 0..300),
            cuts in proptest::collection::vec(0..300usize, 0..20),
            cap in 0..40usize,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let whole = frames(&mut Framer::new(cap), &[&bytes]);
            prop_assert_eq!(&frames(&mut Framer::new(cap), &chunks), &whole);
            let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
            let expected: Vec<Result<Vec<u8>, u64>> = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
                if line.len() > cap { return Some(Err(line.len() as u64)); }
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.is_empty()).then(|| Ok(line.to_vec()))
            }).collect();
            prop_assert_eq!(whole, expected);
        }
    }
}
