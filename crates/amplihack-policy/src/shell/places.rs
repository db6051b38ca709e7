//! What quoting is in force at places of a script: how a value has to be written there.

use std::ops::Range;

use super::heredoc::{body, delimiter};
use super::lexer::{Kind, Lexer, Token};

/// Quoting in force at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// None: a value is split into words and may be anything.
    Bare,
    /// `"…"`
    Double,
    /// `'…'`
    Single,
    /// `$'…'`
    Ansi,
    /// The body of a here-document.
    HereDocument {
        /// Its delimiter is quoted: nothing is expanded.
        quoted: bool,
    },
    /// The delimiter of a here-document.
    Delimiter,
    /// `$(( … ))`, `(( … ))`, `$[ … ]`, `${x: … }`
    Arithmetic,
    /// A comment.
    Comment,
    /// Nested too deeply to be read.
    Unknown,
}

/// What stands right before a place and would take it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// A backslash that escapes the place's first character.
    Backslash,
    /// A `$` that would begin an expansion.
    Dollar,
}

/// A place of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The quoting.
    pub quoting: Quoting,
    /// What stands before it.
    pub before: Before,
    /// Bash calculates with what stands here: `[[ … -eq … ]]`.
    pub number: bool,
    /// In how many pairs of backquotes it is, one in another.
    pub backquotes: usize,
    /// The here-document with a quoted delimiter that it is in.
    pub document: Option<usize>,
}

/// A here-document with a quoted delimiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedDocument {
    /// The delimiter behind `<<`, with its quotes.
    pub opening: Range<usize>,
    /// The lines.
    pub body: Range<usize>,
    /// The delimiter that ends it; empty if the script ends first.
    pub closing: Range<usize>,
    /// In how many pairs of backquotes it is, one in another.
    pub backquotes: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// One for each place that was asked for.
    pub places: Vec<Place>,
    /// Here-documents with quoted delimiters.
    pub documents: Vec<QuotedDocument>,
}

/// Stands for a byte of a place: a part of a word, and of no keyword.
const STAND_IN: u8 = 0x02;

/// Here-documents and backquotes in each other.
const DEEPEST: usize = 32;

/// Open brackets and quotes around a place.
const OPEN: usize = 1000;

/// The quoting at each of `holes`: parts of `src`, in their order, in whose place one word will stand.
pub fn places(src: &str, holes: &[Range<usize>]) -> Places {
    let mut text = src.as_bytes().to_vec();
    for hole in holes {
        text[hole.clone()].fill(STAND_IN);
    }
    let unknown = Place {
        quoting: Quoting::Unknown,
        before: Before::Nothing,
        number: false,
        backquotes: 0,
        document: None,
    };
    let mut walker =
        Walker { holes, found: Places { places: vec![unknown; holes.len()], documents: Vec::new() } };
    if !holes.is_empty() {
        walker.walk(&Text { bytes: &text, map: None, shift: 0 }, Kind::Top, 0, 0);
    }
    walker.found
}

/// A part of the script, as bash reads it at this level.
struct Text<'a> {
    bytes: &'a [u8],
    /// Where each byte comes from, if backquotes took some out.
    map: Option<Vec<usize>>,
    /// Where the first byte comes from, if none were taken out.
    shift: usize,
}

impl Text<'_> {
    fn source(&self, at: usize) -> usize {
        match &self.map {
            Some(map) => {
                map.get(at).copied().or_else(|| map.last().map(|last| last + 1)).unwrap_or(self.shift)
            }
            None => self.shift + at,
        }
    }

    fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.source(range.start);
        // Behind the last byte: what was taken out after it does not belong to it.
        let end = if range.end > range.start { self.source(range.end - 1) + 1 } else { start };
        start..end
    }

    /// The part `range`, one level of backquotes further in or not.
    fn part(&self, range: Range<usize>) -> Text<'_> {
        Text {
            bytes: &self.bytes[range.clone()],
            map: self.map.as_ref().map(|map| map[range.clone()].to_vec()),
            shift: self.source(range.start),
        }
    }
}

struct Pending {
    delimiter: Vec<u8>,
    opening: Range<usize>,
    strip: bool,
    quoted: bool,
    inside: bool,
}

struct Walker<'a> {
    holes: &'a [Range<usize>],
    found: Places,
}

impl Walker<'_> {
    fn walk(&mut self, text: &Text<'_>, kind: Kind, backquotes: usize, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let bytes = text.bytes;
        let mut lexer = Lexer::inside(kind);
        let mut pending: Vec<Pending> = Vec::new();
        let mut dollar = None;
        let mut at = 0;
        while at < bytes.len() {
            let double = lexer.kind() == Kind::Double;
            let (end, token) = lexer.step(bytes, at);
            match token {
                Token::Plain if bytes[at] == b'`' && end > at + 1 => {
                    let close = end - usize::from(bytes[end - 1] == b'`');
                    let (inner, map) = unescaped(text, at + 1..close, double);
                    let inner = Text { bytes: &inner, map: Some(map), shift: text.source(at + 1) };
                    self.walk(&inner, Kind::Top, backquotes + 1, depth + 1);
                }
                Token::HereDocument { strip } => {
                    if let Some((delimiter, quoted, after)) = delimiter(bytes, end) {
                        self.mark(
                            text,
                            end..after,
                            |_| (Quoting::Delimiter, Before::Nothing, false),
                            backquotes,
                        );
                        let blanks =
                            bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                        let opening = end + blanks..after;
                        let inside = lexer.substitutions() > 0;
                        pending.push(Pending { delimiter, opening, strip, quoted, inside });
                        at = after;
                        continue;
                    }
                }
                Token::Newline if !pending.is_empty() => {
                    at = end;
                    for document in std::mem::take(&mut pending) {
                        at = self.document(text, at, &document, backquotes, depth);
                    }
                    continue;
                }
                _ => {
                    // No token that a place begins in opens or closes anything.
                    let after_dollar = dollar == Some(at);
                    let state = |hole| {
                        token_state(state(&lexer, bytes, hole), token, bytes, at..end, hole, after_dollar)
                    };
                    self.mark(text, at..end, state, backquotes);
                }
            }
            dollar = (token == Token::Plain && end == at + 1 && bytes[at] == b'$').then_some(end);
            at = end;
        }
    }

    /// Reads the body that begins at `at`; gives where the text goes on.
    fn document(
        &mut self,
        text: &Text<'_>,
        at: usize,
        pending: &Pending,
        backquotes: usize,
        depth: usize,
    ) -> usize {
        let found = body(text.bytes, at, &pending.delimiter, pending.strip, pending.quoted, pending.inside);
        let closing = |_| (Quoting::Delimiter, Before::Nothing, false);
        self.mark(text, found.delimiter.clone(), closing, backquotes);
        if pending.quoted {
            let number = self.found.documents.len();
            self.found.documents.push(QuotedDocument {
                opening: text.range(pending.opening.clone()),
                body: text.range(at..found.end),
                closing: text.range(found.delimiter.clone()),
                backquotes,
            });
            let quoting = Quoting::HereDocument { quoted: true };
            for place in self.mark(text, at..found.end, |_| (quoting, Before::Nothing, false), backquotes) {
                self.found.places[place].document = Some(number);
            }
        } else {
            self.walk(&text.part(at..found.end), Kind::Body, backquotes, depth + 1);
        }
        found.next
    }

    /// Gives the holes that begin in `range` their state; `of` is asked with where a hole begins.
    fn mark(
        &mut self,
        text: &Text<'_>,
        range: Range<usize>,
        of: impl Fn(usize) -> (Quoting, Before, bool),
        backquotes: usize,
    ) -> Range<usize> {
        if range.is_empty() {
            return 0..0;
        }
        let source = text.source(range.start)..text.source(range.end - 1) + 1;
        let first = self.holes.partition_point(|hole| hole.start < source.start);
        let behind = self.holes.partition_point(|hole| hole.start < source.end);
        for number in first..behind.max(first) {
            let wanted = self.holes[number].start;
            let at = match &text.map {
                Some(map) => map.partition_point(|from| *from < wanted),
                None => wanted - text.shift,
            };
            let (quoting, before, number_wanted) = of(at);
            self.found.places[number] =
                Place { quoting, before, number: number_wanted, backquotes, document: None };
        }
        first..behind.max(first)
    }
}

/// The quoting at `at`, and whether bash calculates with a word of `[[ … ]]` there.
fn state(lexer: &Lexer, bytes: &[u8], at: usize) -> (Quoting, bool) {
    if lexer.frames() > OPEN {
        return (Quoting::Unknown, false);
    }
    if lexer.calculates(bytes, at) {
        return (Quoting::Arithmetic, false);
    }
    let quoting = match lexer.kind() {
        Kind::Double => Quoting::Double,
        Kind::Body => Quoting::HereDocument { quoted: false },
        _ => Quoting::Bare,
    };
    (quoting, lexer.tests())
}

/// The state of a hole that begins at `hole`, in the token `range`.
fn token_state(
    (quoting, test): (Quoting, bool),
    token: Token,
    bytes: &[u8],
    range: Range<usize>,
    hole: usize,
    after_dollar: bool,
) -> (Quoting, Before, bool) {
    let number = test && is_operand_of_number(bytes, hole);
    match token {
        _ if quoting == Quoting::Unknown => (Quoting::Unknown, Before::Nothing, false),
        Token::Comment => (Quoting::Comment, Before::Nothing, false),
        Token::Single if quoting == Quoting::Arithmetic => (Quoting::Arithmetic, Before::Nothing, false),
        Token::Single if bytes[range.start] == b'$' => {
            let slashes = bytes[range.start..hole].iter().rev().take_while(|byte| **byte == b'\\').count();
            let before = if slashes % 2 == 1 { Before::Backslash } else { Before::Nothing };
            (Quoting::Ansi, before, number)
        }
        Token::Single => (Quoting::Single, Before::Nothing, number),
        Token::Escape if hole > range.start => (quoting, Before::Backslash, number),
        _ if after_dollar && hole == range.start => (quoting, Before::Dollar, number),
        _ => (quoting, Before::Nothing, number),
    }
}

/// Whether the word around `at`, in `[[ … ]]`, stands beside an operator that calculates.
fn is_operand_of_number(bytes: &[u8], at: usize) -> bool {
    const OPERATORS: [&[u8]; 6] = [b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge"];
    let operator = |word: &[u8]| OPERATORS.contains(&word);
    let line_start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let line_end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |len| at + len);
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let mut behind = bytes[at..line_end].split(blank).filter(|word| !word.is_empty());
    let mut before = bytes[line_start..at].rsplit(blank).filter(|word| !word.is_empty());
    // The first word on each side may be the rest of this one.
    behind.by_ref().take(2).any(operator) || before.by_ref().take(2).any(operator)
}

/// What bash reads between backquotes, and where each byte comes from: a backslash before `` ` ``, `$`, another one, and in double
/// quotes before `"`, is taken out.
fn unescaped(text: &Text<'_>, range: Range<usize>, double: bool) -> (Vec<u8>, Vec<usize>) {
    let (mut inner, mut map) = (Vec::new(), Vec::new());
    let mut at = range.start;
    while at < range.end {
        let next = text.bytes.get(at + 1).filter(|_| at + 1 < range.end);
        let escapes = next.is_some_and(|byte| b"`$\\".contains(byte) || (double && *byte == b'"'));
        at += usize::from(text.bytes[at] == b'\\' && escapes);
        inner.push(text.bytes[at]);
        map.push(text.source(at));
        at += 1;
    }
    (inner, map)
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
