//! From text to the known words in it: where they stand, what is around them. One pass, linear in the text.

use amplihack_verdict::Span;

use super::ascii::{FOLD, GOES_ON, HAS, plain_word, word_bits};
use super::fold::{FoldedChar, fold_char};
use super::known::{known_by_hash, known_in_any_case, known_word, may_be_known, may_begin_dense};
use super::phrases::classify_phrases;
use super::spelling::{LONGEST, SpelledWord};
use super::words::{COLON, ClassSet, DAN, DENSE, ENDS, HIDDEN, MARK, SECRET, TO_WHERE, TOKEN_MARK};

/// A known word in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordHit {
    /// The word's number among all words, known or not.
    pub word: u32,
    /// The number of the sentence it is in.
    pub sentence: u32,
    /// The word's classes.
    pub set: ClassSet,
    /// The word's place in the original text.
    pub span: Span,
    /// True if a quotation is open in the word's line.
    pub quoted: bool,
    /// The word's folded text.
    pub text: &'static str,
}

/// The known words of `text`, in order.
pub(super) fn lex_words(text: &str) -> Vec<WordHit> {
    let mut lexer = WordLexer {
        text,
        hits: Vec::new(),
        words: 0,
        sentence: 0,
        quoted: false,
        comment: false,
        blank_line: true,
        current: SpelledWord::default(),
        single: SpacedLetters::default(),
    };
    lexer.lex_all();
    let mut hits = lexer.hits;
    classify_phrases(&mut hits);
    hits
}

/// A run of single letters with one sign between them: `i g n o r e`.
#[derive(Default)]
struct SpacedLetters {
    letters: Vec<u8>,
    start: usize,
    end: usize,
}

struct WordLexer<'t> {
    text: &'t str,
    hits: Vec<WordHit>,
    words: u32,
    sentence: u32,
    quoted: bool,
    comment: bool,
    /// True if the line has had nothing but blanks so far.
    blank_line: bool,
    current: SpelledWord,
    single: SpacedLetters,
}

impl WordLexer<'_> {
    fn lex_all(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                if FOLD[usize::from(byte)] != 0 {
                    at = if self.current.is_empty() {
                        self.read_ascii_word(at)
                    } else {
                        self.read_letters(at)
                    };
                    continue;
                }
                if byte == b' ' && self.current.is_empty() {
                    at += 1;
                    continue;
                }
                if !(byte == b'\'' && self.is_contraction(at + 1)) {
                    self.word_ends(at);
                    self.read_separator(byte, at);
                }
                at += 1;
            } else {
                // Always there: `at` is at a character that is not ASCII.
                let Some(c) = self.text[at..].chars().next() else { break };
                self.read_char(c, at);
                at += c.len_utf8();
            }
        }
        self.word_ends(bytes.len());
        self.flush_single();
        self.mark_last(ENDS, 0);
    }

    /// Reads the word that begins at `at`, and returns where to go on.
    fn read_ascii_word(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        // A single letter may be one of many.
        if bytes.get(at + 1).is_none_or(|&next| !GOES_ON[usize::from(next)]) {
            return self.read_letters(at);
        }
        let Some((end, hash, small)) = plain_word(bytes, at) else { return self.read_mixed_word(at) };
        self.next_word();
        if may_be_known(bytes[at] | 0x20, end - at)
            && let Some((text, set)) = known_by_hash(hash, &bytes[at..end])
        {
            let span = Span { start: at, end };
            self.push(text, self.refine_classes(text, set, span, small), span);
        }
        end
    }

    /// Reads the word at `at`, which may have digits and low lines in it, and returns the place behind it.
    fn read_mixed_word(&mut self, at: usize) -> usize {
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
        let spelled =
            kinds & (word_bits::LEET | word_bits::DIGIT) == word_bits::LEET && kinds & word_bits::LETTER != 0;
        // A letter that is not ASCII or an apostrophe may go on with the word.
        if len <= LONGEST && (spelled || kinds & word_bits::LOW_LINE != 0)
            || bytes.get(end).is_some_and(|&byte| byte >= 128 || byte == b'\'')
        {
            return self.read_letters(at);
        }
        self.next_word();
        if may_be_known(bytes[at] | 0x20, len)
            && let Some((text, set)) = known_in_any_case(&bytes[at..end])
        {
            let span = Span { start: at, end };
            self.push(text, self.refine_classes(text, set, span, kinds & word_bits::LOWER != 0), span);
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
    fn read_letters(&mut self, at: usize) -> usize {
        let word = &mut self.current;
        if word.is_empty() {
            word.start = at;
        }
        let mut end = at;
        while let Some(&byte) = self.text.as_bytes().get(end) {
            let folded = FOLD[usize::from(byte)];
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

    fn read_char(&mut self, c: char, at: usize) {
        match fold_char(c) {
            FoldedChar::Gone => {}
            FoldedChar::Letter { plain, alike } => {
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
            FoldedChar::Dense(c) => {
                self.word_ends(at);
                self.blank_line = false;
                self.words += 1;
                if may_begin_dense(c) {
                    self.read_dense(at);
                }
            }
            FoldedChar::Other('\'') if self.is_contraction(at + c.len_utf8()) => {}
            FoldedChar::Other(c) => {
                self.word_ends(at);
                self.read_separator(u8::try_from(u32::from(c)).ok().filter(u8::is_ascii).unwrap_or(b'*'), at);
            }
        }
    }

    fn read_dense(&mut self, at: usize) {
        let rest = &self.text[at..];
        for &(term, set) in DENSE {
            if rest.starts_with(term) {
                let span = Span { start: at, end: at + term.len() };
                self.push(term, set, span);
            }
        }
    }

    /// Reports whether an apostrophe in front of `next` belongs to a contraction: `don't`, `user's`.
    fn is_contraction(&self, next: usize) -> bool {
        let rest = &self.text.as_bytes()[next..];
        !self.current.is_empty()
            && matches!(rest.first(), Some(b't' | b's' | b'T' | b'S'))
            && !rest.get(1).is_some_and(u8::is_ascii_alphanumeric)
    }

    fn push(&mut self, text: &'static str, set: ClassSet, span: Span) {
        let hit = WordHit { word: self.words, sentence: self.sentence, set, span, quoted: self.quoted, text };
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
        if let Some((text, set)) = self.current.find_known() {
            let span = Span { start, end };
            self.push(text, self.refine_classes(text, set, span, lower), span);
        }
        self.current.clear();
    }

    /// Narrows the classes of a word by the signs beside it.
    fn refine_classes(&self, text: &str, mut set: ClassSet, span: Span, lower: bool) -> ClassSet {
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
            && let Some((text, set)) = known_word(&self.single.letters)
        {
            let span = Span { start: self.single.start, end: self.single.end };
            self.push(text, set & !MARK, span);
        }
        self.single.letters.clear();
    }

    fn read_separator(&mut self, byte: u8, at: usize) {
        let bytes = self.text.as_bytes();
        let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
        match byte {
            b'\n' => {
                if self.blank_line {
                    self.sentence += 1;
                    self.mark_last(ENDS, 0);
                }
                self.blank_line = true;
                // A quotation lessens what is found in it: one that is never closed must not reach beyond its line.
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
                // The apostrophe of `don't` must not open a quotation, which would lessen what follows.
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
    fn mark_last(&mut self, set: ClassSet, back: u32) {
        let words = self.words;
        if let Some(last) = self.hits.last_mut()
            && last.word + back >= words
        {
            last.set |= set;
        }
    }
}
