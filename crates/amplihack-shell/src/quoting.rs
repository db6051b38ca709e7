//! Quoting in force at positions of a script: how a value has to be written there.

use std::ops::Range;

use super::heredoc::{read_body, read_delimiter};
use super::lexer::{BracketKind, ShellLexer, ShellToken};

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
        /// True if its delimiter is quoted: nothing is expanded.
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

/// Sign right before a position that would take it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrecedingSign {
    /// Nothing.
    Nothing,
    /// A backslash that escapes the place's first character.
    Backslash,
    /// A `$` that would begin an expansion.
    Dollar,
}

/// A place of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptPosition {
    /// The quoting.
    pub quoting: Quoting,
    /// Sign right before the position.
    pub before: PrecedingSign,
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

/// Quoting at the positions that were asked for, and the here-documents found on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotingReport {
    /// Positions in the order of the holes that were asked for.
    pub places: Vec<ScriptPosition>,
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
pub fn find_quoting(src: &str, holes: &[Range<usize>]) -> QuotingReport {
    let mut text = src.as_bytes().to_vec();
    for hole in holes {
        text[hole.clone()].fill(STAND_IN);
    }
    let unknown = ScriptPosition {
        quoting: Quoting::Unknown,
        before: PrecedingSign::Nothing,
        number: false,
        backquotes: 0,
        document: None,
    };
    let mut walker = QuotingWalker {
        holes,
        found: QuotingReport { places: vec![unknown; holes.len()], documents: Vec::new() },
    };
    if !holes.is_empty() {
        walker.walk_excerpt(&ScriptExcerpt { bytes: &text, map: None, shift: 0 }, BracketKind::Top, 0, 0);
    }
    walker.found
}

/// A part of the script, as bash reads it at this level.
struct ScriptExcerpt<'a> {
    bytes: &'a [u8],
    /// Source offset of each byte, if backquotes took some out.
    map: Option<Vec<usize>>,
    /// Source offset of the first byte, if none were taken out.
    shift: usize,
}

impl ScriptExcerpt<'_> {
    fn source_offset(&self, at: usize) -> usize {
        match &self.map {
            Some(map) => {
                map.get(at).copied().or_else(|| map.last().map(|last| last + 1)).unwrap_or(self.shift)
            }
            None => self.shift + at,
        }
    }

    fn source_range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.source_offset(range.start);
        // Behind the last byte: what was taken out after it does not belong to it.
        let end = if range.end > range.start { self.source_offset(range.end - 1) + 1 } else { start };
        start..end
    }

    /// The part `range`, one level of backquotes further in or not.
    fn sub_excerpt(&self, range: Range<usize>) -> ScriptExcerpt<'_> {
        ScriptExcerpt {
            bytes: &self.bytes[range.clone()],
            map: self.map.as_ref().map(|map| map[range.clone()].to_vec()),
            shift: self.source_offset(range.start),
        }
    }
}

struct PendingQuotedDocument {
    delimiter: Vec<u8>,
    opening: Range<usize>,
    strip: bool,
    quoted: bool,
    inside: bool,
}

struct QuotingWalker<'a> {
    holes: &'a [Range<usize>],
    found: QuotingReport,
}

impl QuotingWalker<'_> {
    fn walk_excerpt(&mut self, text: &ScriptExcerpt<'_>, kind: BracketKind, backquotes: usize, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let bytes = text.bytes;
        let mut lexer = ShellLexer::new_inside(kind);
        let mut pending: Vec<PendingQuotedDocument> = Vec::new();
        let mut dollar = None;
        let mut at = 0;
        while at < bytes.len() {
            let double = lexer.kind() == BracketKind::Double;
            let (end, token) = lexer.step_token(bytes, at);
            match token {
                ShellToken::Plain if bytes[at] == b'`' && end > at + 1 => {
                    let close = end - usize::from(bytes[end - 1] == b'`');
                    let (inner, map) = unescape_backquotes(text, at + 1..close, double);
                    let inner =
                        ScriptExcerpt { bytes: &inner, map: Some(map), shift: text.source_offset(at + 1) };
                    self.walk_excerpt(&inner, BracketKind::Top, backquotes + 1, depth + 1);
                }
                ShellToken::HereDocument { strip } => {
                    if let Some((delimiter, quoted, after)) = read_delimiter(bytes, end) {
                        self.mark_holes(
                            text,
                            end..after,
                            |_| (Quoting::Delimiter, PrecedingSign::Nothing, false),
                            backquotes,
                        );
                        let blanks =
                            bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                        let opening = end + blanks..after;
                        let inside = lexer.substitution_count() > 0;
                        pending.push(PendingQuotedDocument { delimiter, opening, strip, quoted, inside });
                        at = after;
                        continue;
                    }
                }
                ShellToken::Newline if !pending.is_empty() => {
                    at = end;
                    for document in std::mem::take(&mut pending) {
                        at = self.read_document(text, at, &document, backquotes, depth);
                    }
                    continue;
                }
                _ => {
                    // No token that a place begins in opens or closes anything.
                    let after_dollar = dollar == Some(at);
                    let state = |hole| {
                        token_state(
                            quoting_state(&lexer, bytes, hole),
                            token,
                            bytes,
                            at..end,
                            hole,
                            after_dollar,
                        )
                    };
                    self.mark_holes(text, at..end, state, backquotes);
                }
            }
            dollar = (token == ShellToken::Plain && end == at + 1 && bytes[at] == b'$').then_some(end);
            at = end;
        }
    }

    /// Reads the body that begins at `at`; gives where the text goes on.
    fn read_document(
        &mut self,
        text: &ScriptExcerpt<'_>,
        at: usize,
        pending: &PendingQuotedDocument,
        backquotes: usize,
        depth: usize,
    ) -> usize {
        let found =
            read_body(text.bytes, at, &pending.delimiter, pending.strip, pending.quoted, pending.inside);
        let closing = |_| (Quoting::Delimiter, PrecedingSign::Nothing, false);
        self.mark_holes(text, found.delimiter.clone(), closing, backquotes);
        if pending.quoted {
            let number = self.found.documents.len();
            self.found.documents.push(QuotedDocument {
                opening: text.source_range(pending.opening.clone()),
                body: text.source_range(at..found.end),
                closing: text.source_range(found.delimiter.clone()),
                backquotes,
            });
            let quoting = Quoting::HereDocument { quoted: true };
            for place in
                self.mark_holes(text, at..found.end, |_| (quoting, PrecedingSign::Nothing, false), backquotes)
            {
                self.found.places[place].document = Some(number);
            }
        } else {
            self.walk_excerpt(&text.sub_excerpt(at..found.end), BracketKind::Body, backquotes, depth + 1);
        }
        found.next
    }

    /// Gives the holes that begin in `range` their state; `of` is asked with where a hole begins.
    fn mark_holes(
        &mut self,
        text: &ScriptExcerpt<'_>,
        range: Range<usize>,
        of: impl Fn(usize) -> (Quoting, PrecedingSign, bool),
        backquotes: usize,
    ) -> Range<usize> {
        if range.is_empty() {
            return 0..0;
        }
        let source = text.source_offset(range.start)..text.source_offset(range.end - 1) + 1;
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
                ScriptPosition { quoting, before, number: number_wanted, backquotes, document: None };
        }
        first..behind.max(first)
    }
}

/// The quoting at `at`, and whether bash calculates with a word of `[[ … ]]` there.
fn quoting_state(lexer: &ShellLexer, bytes: &[u8], at: usize) -> (Quoting, bool) {
    if lexer.frame_count() > OPEN {
        return (Quoting::Unknown, false);
    }
    if lexer.is_calculated(bytes, at) {
        return (Quoting::Arithmetic, false);
    }
    let quoting = match lexer.kind() {
        BracketKind::Double => Quoting::Double,
        BracketKind::Body => Quoting::HereDocument { quoted: false },
        _ => Quoting::Bare,
    };
    (quoting, lexer.is_within_test())
}

/// The state of a hole that begins at `hole`, in the token `range`.
fn token_state(
    (quoting, test): (Quoting, bool),
    token: ShellToken,
    bytes: &[u8],
    range: Range<usize>,
    hole: usize,
    after_dollar: bool,
) -> (Quoting, PrecedingSign, bool) {
    let number = test && is_operand_of_number(bytes, hole);
    match token {
        _ if quoting == Quoting::Unknown => (Quoting::Unknown, PrecedingSign::Nothing, false),
        ShellToken::Comment => (Quoting::Comment, PrecedingSign::Nothing, false),
        ShellToken::Single if quoting == Quoting::Arithmetic => {
            (Quoting::Arithmetic, PrecedingSign::Nothing, false)
        }
        ShellToken::Single if bytes[range.start] == b'$' => {
            let slashes = bytes[range.start..hole].iter().rev().take_while(|byte| **byte == b'\\').count();
            let before = if slashes % 2 == 1 { PrecedingSign::Backslash } else { PrecedingSign::Nothing };
            (Quoting::Ansi, before, number)
        }
        ShellToken::Single => (Quoting::Single, PrecedingSign::Nothing, number),
        ShellToken::Escape if hole > range.start => (quoting, PrecedingSign::Backslash, number),
        _ if after_dollar && hole == range.start => (quoting, PrecedingSign::Dollar, number),
        _ => (quoting, PrecedingSign::Nothing, number),
    }
}

/// Reports whether the word around `at`, in `[[ … ]]`, stands beside an operator that calculates.
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

/// Text that bash reads between backquotes, with the origin of each byte: a backslash before `` ` ``, `$`, another one, and in double
/// quotes before `"`, is taken out.
fn unescape_backquotes(text: &ScriptExcerpt<'_>, range: Range<usize>, double: bool) -> (Vec<u8>, Vec<usize>) {
    let (mut inner, mut map) = (Vec::new(), Vec::new());
    let mut at = range.start;
    while at < range.end {
        let next = text.bytes.get(at + 1).filter(|_| at + 1 < range.end);
        let escapes = next.is_some_and(|byte| b"`$\\".contains(byte) || (double && *byte == b'"'));
        at += usize::from(text.bytes[at] == b'\\' && escapes);
        inner.push(text.bytes[at]);
        map.push(text.source_offset(at));
        at += 1;
    }
    (inner, map)
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
