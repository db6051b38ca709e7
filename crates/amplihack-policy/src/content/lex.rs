//! From text to the known words in it: where they stand, what is around them. One pass, linear in the text.

use super::fold::{Folded, fold};
use super::spelling::{LONGEST, Letters};
use super::words::{
    BEGINS, COLON, DAN, DENSE, ENDS, HIDDEN, INSTR, MARK, PREV, SECRET, SEED, Set, TO_WHERE, TOKEN_MARK,
    known, known_by_hash, known_in_any_case, may_be_known, may_begin_dense, phrases_of, step,
};
use crate::decision::Span;

/// A known word in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Its number among all words, known or not.
    pub word: u32,
    /// The number of the sentence it is in.
    pub sentence: u32,
    /// Its classes.
    pub set: Set,
    /// Where it stands in the original.
    pub span: Span,
    /// Whether a quotation is open in its line.
    pub quoted: bool,
    /// Its folded text.
    text: &'static str,
}

/// The known words of `text`, in order.
pub(super) fn lex(text: &str) -> Vec<Hit> {
    let mut lexer = Lexer {
        text,
        hits: Vec::new(),
        words: 0,
        sentence: 0,
        quoted: false,
        comment: false,
        blank_line: true,
        current: Letters::default(),
        single: Single::default(),
    };
    lexer.run();
    let mut hits = lexer.hits;
    phrases(&mut hits);
    hits
}

/// A run of single letters with one sign between them: `i g n o r e`.
#[derive(Default)]
struct Single {
    letters: Vec<u8>,
    start: usize,
    end: usize,
}

struct Lexer<'t> {
    text: &'t str,
    hits: Vec<Hit>,
    words: u32,
    sentence: u32,
    quoted: bool,
    comment: bool,
    /// Whether nothing but blanks stood in this line so far.
    blank_line: bool,
    current: Letters,
    single: Single,
}

/// Lower case of the ASCII characters that words are made of; 0 for the others.
static FOLD: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        let c = byte as u8;
        if c.is_ascii_alphanumeric() || c == b'_' {
            table[byte] = c.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// What an ASCII word has in it, as bits: nothing is 0.
mod has {
    /// Anything that makes words.
    pub(super) const LETTER: u8 = 1;
    /// A small letter.
    pub(super) const LOWER: u8 = 2;
    /// A digit that may stand for a letter.
    pub(super) const LEET: u8 = 4;
    /// Another digit.
    pub(super) const DIGIT: u8 = 8;
    /// `_`
    pub(super) const LOW_LINE: u8 = 16;
}

/// What each byte adds to a word; 0 for what ends one, and for what is not ASCII.
static HAS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let c = byte as u8;
        table[byte] = match c {
            b'a'..=b'z' => has::LETTER | has::LOWER,
            b'A'..=b'Z' => has::LETTER,
            b'0' | b'1' | b'3' | b'4' | b'5' | b'7' => has::LEET,
            b'0'..=b'9' => has::DIGIT,
            b'_' => has::LOW_LINE,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// What goes on with a word of letters, or may: the rest of what makes words, an apostrophe, anything that is not ASCII.
static GOES_ON: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = HAS[byte] != 0 || byte == b'\'' as usize;
        byte += 1;
    }
    table
};

/// In each byte the bit that makes a letter small.
const SMALL: u64 = 0x2020_2020_2020_2020;

/// The word of ASCII letters that begins at `at`: its end, its hash and whether a letter of it is small. `None` where there may be
/// more to the word, and at the end of the text.
///
/// Eight bytes at a time, without a branch for each: most of any text is such words.
#[inline]
fn plain_word(bytes: &[u8], at: usize) -> Option<(usize, u64, bool)> {
    let (mut end, mut hash, mut small) = (at, SEED, 0);
    loop {
        let eight = u64::from_le_bytes(*bytes.get(end..)?.first_chunk()?);
        let len = letters_in(eight);
        let word = if len == 8 { u64::MAX } else { (1 << (len * 8)) - 1 };
        small |= eight & word & SMALL;
        if len > 0 {
            hash = step(hash, (eight | SMALL) & word);
        }
        end += len;
        if len < 8 {
            break;
        }
    }
    (!GOES_ON[usize::from(*bytes.get(end)?)]).then_some((end, hash, small != 0))
}

/// How many of eight bytes, from the lowest on, are ASCII letters.
#[inline]
const fn letters_in(eight: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let small = (eight | SMALL) & !HIGH;
    // The highest bit of each byte says yes or no; no sum reaches into the next byte.
    let from_a = small + (0x80 - b'a' as u64) * ONES;
    let behind_z = small + (0x7f - b'z' as u64) * ONES;
    let other = !(from_a & !behind_z & !eight) & HIGH;
    other.trailing_zeros() as usize / 8
}

impl Lexer<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                if FOLD[usize::from(byte)] != 0 {
                    at = if self.current.is_empty() { self.ascii(at) } else { self.letters(at) };
                    continue;
                }
                if byte == b' ' && self.current.is_empty() {
                    at += 1;
                    continue;
                }
                if !(byte == b'\'' && self.contracts(at + 1)) {
                    self.word_ends(at);
                    self.separator(byte, at);
                }
                at += 1;
            } else {
                // Always there: `at` is at a character that is not ASCII.
                let Some(c) = self.text[at..].chars().next() else { break };
                self.character(c, at);
                at += c.len_utf8();
            }
        }
        self.word_ends(bytes.len());
        self.flush_single();
        self.mark_last(ENDS, 0);
    }

    /// Reads the word that begins at `at`, and returns where to go on.
    fn ascii(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        // A single letter may be one of many.
        if bytes.get(at + 1).is_none_or(|&next| !GOES_ON[usize::from(next)]) {
            return self.letters(at);
        }
        let Some((end, hash, small)) = plain_word(bytes, at) else { return self.mixed(at) };
        self.next_word();
        if may_be_known(bytes[at] | 0x20, end - at)
            && let Some((text, set)) = known_by_hash(hash, &bytes[at..end])
        {
            let span = Span { start: at, end };
            self.push(text, self.refine(text, set, span, small), span);
        }
        end
    }

    /// The same for a word that may have digits and low lines in it.
    fn mixed(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (mut end, mut kinds) = (at, 0);
        while let Some(&byte) = bytes.get(end) {
            let kind = HAS[usize::from(byte)];
            if kind == 0 {
                break;
            }
            kinds |= kind;
            end += 1;
        }
        let len = end - at;
        // Digits for letters need letters beside them.
        let spelled = kinds & (has::LEET | has::DIGIT) == has::LEET && kinds & has::LETTER != 0;
        // A letter that is not ASCII or an apostrophe may go on with the word.
        if len <= LONGEST && (spelled || kinds & has::LOW_LINE != 0)
            || bytes.get(end).is_some_and(|&byte| byte >= 128 || byte == b'\'')
        {
            return self.letters(at);
        }
        self.next_word();
        if may_be_known(bytes[at] | 0x20, len)
            && let Some((text, set)) = known_in_any_case(&bytes[at..end])
        {
            let span = Span { start: at, end };
            self.push(text, self.refine(text, set, span, kinds & has::LOWER != 0), span);
        }
        end
    }

    fn next_word(&mut self) {
        self.words += 1;
        self.blank_line = false;
        if !self.single.letters.is_empty() {
            self.flush_single();
        }
    }

    /// Reads the ASCII letters from `at` on, and returns where they end.
    fn letters(&mut self, at: usize) -> usize {
        let word = &mut self.current;
        if word.is_empty() {
            word.start = at;
        }
        let mut end = at;
        while let Some(&byte) = self.text.as_bytes().get(end) {
            let folded = if byte < 128 { FOLD[usize::from(byte)] } else { 0 };
            if folded == 0 {
                break;
            }
            word.digits |= byte.is_ascii_digit();
            word.lower |= byte.is_ascii_lowercase();
            word.push(folded);
            if word.alike_len > 0 {
                word.push_alike(folded);
            }
            end += 1;
        }
        end
    }

    fn character(&mut self, c: char, at: usize) {
        match fold(c) {
            Folded::Gone => {}
            Folded::Letter { plain, alike } => {
                if self.current.is_empty() {
                    self.current.start = at;
                }
                self.current.lower = self.current.lower || plain.is_lowercase();
                if plain.is_ascii() && alike.is_none() {
                    let byte = u8::try_from(u32::from(plain)).unwrap_or(b'_');
                    self.current.digits |= byte.is_ascii_digit();
                    self.current.push(byte);
                    if self.current.alike_len > 0 {
                        self.current.push_alike(byte);
                    }
                } else {
                    self.current.push_char(plain, alike);
                }
            }
            Folded::Dense(c) => {
                self.word_ends(at);
                self.blank_line = false;
                self.words += 1;
                if may_begin_dense(c) {
                    self.dense(at);
                }
            }
            Folded::Other('\'') if self.contracts(at + c.len_utf8()) => {}
            Folded::Other(c) => {
                self.word_ends(at);
                self.separator(u8::try_from(u32::from(c)).ok().filter(u8::is_ascii).unwrap_or(b'*'), at);
            }
        }
    }

    fn dense(&mut self, at: usize) {
        let rest = &self.text[at..];
        for &(term, set) in DENSE {
            if rest.starts_with(term) {
                let span = Span { start: at, end: at + term.len() };
                self.push(term, set, span);
            }
        }
    }

    /// Whether an apostrophe in front of `next` belongs to a contraction: `don't`, `user's`.
    fn contracts(&self, next: usize) -> bool {
        let rest = &self.text.as_bytes()[next..];
        !self.current.is_empty()
            && matches!(rest.first(), Some(b't' | b's' | b'T' | b'S'))
            && !rest.get(1).is_some_and(u8::is_ascii_alphanumeric)
    }

    fn push(&mut self, text: &'static str, set: Set, span: Span) {
        let hit = Hit { word: self.words, sentence: self.sentence, set, span, quoted: self.quoted, text };
        self.hits.push(hit);
    }

    fn word_ends(&mut self, end: usize) {
        if self.current.is_empty() {
            return;
        }
        self.words += 1;
        self.blank_line = false;
        let (start, len, lower) = (self.current.start, self.current.len, self.current.lower);
        if len == 1 {
            self.single_letter(self.current.plain[0], start, end);
        } else if !self.single.letters.is_empty() {
            self.flush_single();
        }
        if let Some((text, set)) = self.current.find() {
            let span = Span { start, end };
            self.push(text, self.refine(text, set, span, lower), span);
        }
        self.current.clear();
    }

    /// What a word is depends on the signs beside it.
    fn refine(&self, text: &str, mut set: Set, span: Span, lower: bool) -> Set {
        let bytes = self.text.as_bytes();
        // Names in capitals only: Dan and Stan are people.
        if set & DAN != 0 && lower {
            set &= !DAN;
        }
        if set & MARK != 0
            && !super::marks::is_mark(self.text, text, span, self.blank_line_before(span.start))
        {
            set &= !MARK;
        }
        if set & MARK != 0 && text != "system" {
            set |= TOKEN_MARK;
        }
        if self.comment {
            set |= HIDDEN;
        }
        match text {
            "http" | "https" if bytes[span.end..].starts_with(b"://") => set |= TO_WHERE,
            "env" if span.start > 0 && bytes[span.start - 1] == b'.' => set |= SECRET,
            _ => {}
        }
        set
    }

    fn blank_line_before(&self, start: usize) -> bool {
        self.text.as_bytes()[..start]
            .iter()
            .rev()
            .take(16)
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'#' | b'*' | b'>'))
            .is_none_or(|&byte| byte == b'\n')
    }

    fn single_letter(&mut self, letter: u8, start: usize, end: usize) {
        if !self.single.letters.is_empty() && start != self.single.end + 1 {
            self.flush_single();
        }
        if self.single.letters.is_empty() {
            self.single.start = start;
        }
        if self.single.letters.len() <= LONGEST {
            self.single.letters.push(letter);
        }
        self.single.end = end;
    }

    fn flush_single(&mut self) {
        if self.single.letters.len() >= 4
            && let Some((text, set)) = known(&self.single.letters)
        {
            let span = Span { start: self.single.start, end: self.single.end };
            self.push(text, set & !MARK, span);
        }
        self.single.letters.clear();
    }

    fn separator(&mut self, byte: u8, at: usize) {
        let bytes = self.text.as_bytes();
        let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
        match byte {
            b'\n' => {
                if self.blank_line {
                    self.sentence += 1;
                    self.mark_last(ENDS, 0);
                }
                self.blank_line = true;
                self.quoted = false;
                return;
            }
            b' ' | b'\t' | b'\r' => return,
            b'.' | b'!' | b'?'
                if matches!(
                    next,
                    b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'\'' | b'`' | b')' | b'<' | b'*'
                ) =>
            {
                self.mark_last(ENDS, 0);
                self.sentence += 1;
            }
            b';' => {
                self.mark_last(ENDS, 0);
                self.sentence += 1;
            }
            b',' | b')' | b'-' if next == b' ' || next == b'\n' => self.mark_last(ENDS, 0),
            b':' => self.mark_last(ENDS | COLON, 0),
            b'"' | b'`' => self.quoted = !self.quoted,
            b'\'' => {
                let before = at.checked_sub(1).map(|before| bytes[before]);
                let opens = !self.quoted
                    && next.is_ascii_alphanumeric()
                    && !before.is_some_and(|b| b.is_ascii_alphanumeric());
                self.quoted = opens;
            }
            b'@' if at > 0 && bytes[at - 1].is_ascii_alphanumeric() && next.is_ascii_alphanumeric() => {
                self.push("@", TO_WHERE, Span { start: at, end: at + 1 });
            }
            b'<' if bytes[at..].starts_with(b"<!--") => self.comment = true,
            b'>' if bytes[..at].ends_with(b"--") => self.comment = false,
            _ => {}
        }
        self.blank_line = false;
    }

    /// Adds classes to the word that has just been read, if it is a known one.
    fn mark_last(&mut self, set: Set, back: u32) {
        let words = self.words;
        if let Some(last) = self.hits.last_mut()
            && last.word + back >= words
        {
            last.set |= set;
        }
    }
}

/// Gives phrases their classes.
fn phrases(hits: &mut [Hit]) {
    for at in 0..hits.len() {
        let first = if hits[at].set & BEGINS == 0 { "" } else { hits[at].text };
        for (words, set) in phrases_of(first) {
            if words.iter().enumerate().skip(1).all(|(offset, word)| follows(&hits[at..], offset, word)) {
                hits[at].set |= set;
                hits[at].span.end = hits[at + words.len() - 1].span.end;
            }
        }
        // "everything above": nothing that it is above of.
        let set = hits[at].set;
        if set & PREV != 0
            && hits.get(at + 1).is_some_and(|next| {
                next.word == hits[at].word + 1 && (next.text == "and" || next.set & INSTR != 0)
            })
        {
            hits[at].set |= ENDS;
        }
    }
}

fn follows(hits: &[Hit], offset: usize, word: &str) -> bool {
    // A word in the way would have a number of its own; a hit without a word of its own is an e-mail address's sign.
    hits.get(offset).is_some_and(|hit| {
        hit.text == word
            && u64::from(hit.word) == u64::from(hits[0].word) + offset as u64
            && hit.sentence == hits[0].sentence
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_from_the_first_byte_on() {
        let count = |text: &[u8; 8]| letters_in(u64::from_le_bytes(*text));
        for byte in 0..=255_u8 {
            let expected = if byte.is_ascii_alphabetic() { 8 } else { 0 };
            assert_eq!(count(&[byte; 8]), expected, "{byte}");
            for at in 0..8 {
                let mut text = *b"azAZmMbY";
                text[at] = byte;
                assert_eq!(count(&text), if byte.is_ascii_alphabetic() { 8 } else { at }, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn a_plain_word_ends_where_no_word_goes_on() {
        let read = |text: &str| plain_word(text.as_bytes(), 0).map(|(end, _, small)| (end, small));
        for (text, expected) in [
            ("ignore all the rest", Some((6, true))),
            ("IGNORE all the rest", Some((6, false))),
            ("instructions, and so on", Some((12, true))),
            ("abcdefgh, and so on", Some((8, true))),
            ("don't go on with this", None),
            ("id_rsa and others", None),
            ("ignor\u{e9} all the rest", None),
            ("rule2 and the rest", None),
            // Too near to the end to read eight bytes: the slow way.
            ("ignore", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
