//! The quoting state of bash, token by token, with an explicit stack: what is quoted, where a substitution ends.

use std::collections::HashMap;

use super::parameter::{is_pattern, is_substring};

/// What an open bracket, quote or keyword is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The script itself.
    Top,
    /// `( … )`; `substitution`: `$( … )`, `<( … )`, `>( … )`.
    Paren { substitution: bool },
    /// `${ … }`
    Brace,
    /// `$(( … ))`, `(( … ))`, with this many more parentheses open.
    Arithmetic { open: usize },
    /// `$[ … ]`
    Square,
    /// `[[ … ]]`
    Test,
    /// `"…"`
    Double,
    /// The body of a here-document whose delimiter is not quoted.
    Body,
    /// `case … esac`; `pattern`: before the `)` of a pattern; `word`: before `in`.
    Case { word: bool, pattern: bool },
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    kind: Kind,
    /// The next word may be a keyword.
    command: bool,
    /// In the middle of a word.
    word: bool,
    /// Behind the opening bracket of `${`.
    from: usize,
    /// In double quotes or a here-document, maybe in `${ … }` in them.
    quoted: bool,
    /// `'` is a letter: in `"${x:-it's}"`, not in `"${x#'a'}"`.
    apostrophe: bool,
}

/// What [`Lexer::step`] passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// Anything that needs no attention.
    Plain,
    /// A backslash with the character behind it.
    Escape,
    /// A backslash with the end of the line behind it.
    Continuation,
    /// `'…'` or `$'…'`
    Single,
    /// A comment, without the end of its line.
    Comment,
    /// An end of line between words.
    Newline,
    /// `<<` or `<<-`
    HereDocument {
        /// `<<-`
        strip: bool,
    },
    /// A carriage return at the end of a line, between words.
    LineFeedFiller,
    /// `coproc` or `select` where a command may start.
    Keyword,
}

/// What was found by looking ahead, so that nested `$((` are not looked through again and again.
#[derive(Debug, Clone, Default)]
struct Ahead {
    /// Whether what opens before this byte is arithmetic.
    known: HashMap<usize, bool>,
    /// Tokens looked at.
    tokens: usize,
    /// Looks inside of looks.
    depth: usize,
    /// A look was given up.
    given_up: bool,
}

/// Tokens that are looked at ahead, and looks inside of looks, before the rest is given up.
const AHEAD: (usize, usize) = (1 << 18, 100);

/// Where a reader of bash stands.
#[derive(Debug, Clone)]
pub(super) struct Lexer {
    stack: Vec<Frame>,
    ahead: Ahead,
    keywords: usize,
    /// Closing brackets that close nothing.
    pub(super) stray: usize,
    /// A quote or bracket was still open when the text ended.
    pub(super) unterminated: bool,
}

impl Lexer {
    /// At the start of a script.
    pub(super) fn new() -> Self {
        Self::inside(Kind::Top)
    }

    /// Behind the opening bracket of `kind`.
    pub(super) fn inside(kind: Kind) -> Self {
        let mut lexer =
            Self { stack: Vec::new(), ahead: Ahead::default(), keywords: 0, stray: 0, unterminated: false };
        lexer.push(kind);
        lexer
    }

    /// Whether it could not be found out what some `((` is.
    pub(super) fn unsure(&self) -> bool {
        self.ahead.given_up
    }

    /// Whether what opened with `((` before `from` is closed by `))`: if not, bash reads two subshells.
    fn is_arithmetic(&mut self, src: &[u8], from: usize) -> bool {
        if let Some(&known) = self.ahead.known.get(&from) {
            return known;
        }
        if self.ahead.depth >= AHEAD.1 {
            self.ahead.given_up = true;
            return false;
        }
        let mut look = Self::inside(Kind::Arithmetic { open: 0 });
        look.ahead = std::mem::take(&mut self.ahead);
        look.ahead.depth += 1;
        let mut at = from;
        while at < src.len() && look.frames() > 0 && !look.ahead.given_up {
            (at, _) = look.step(src, at);
            look.ahead.tokens += 1;
            look.ahead.given_up |= look.ahead.tokens > AHEAD.0;
        }
        let answer = look.frames() == 0 && src[from..at].ends_with(b"))");
        self.ahead = look.ahead;
        self.ahead.depth -= 1;
        self.ahead.known.insert(from, answer);
        answer
    }

    /// How deep brackets, quotes and keywords are nested.
    pub(super) fn depth(&self) -> usize {
        let open = match self.kind() {
            Kind::Arithmetic { open } => open,
            _ => 0,
        };
        self.stack.len() + self.keywords + open - 1
    }

    /// The innermost bracket.
    pub(super) fn kind(&self) -> Kind {
        self.stack.last().map_or(Kind::Top, |frame| frame.kind)
    }

    /// Open brackets and quotes.
    pub(super) fn frames(&self) -> usize {
        self.stack.len()
    }

    /// Open command and process substitutions.
    pub(super) fn substitutions(&self) -> usize {
        self.stack.iter().filter(|frame| frame.kind == Kind::Paren { substitution: true }).count()
    }

    fn push(&mut self, kind: Kind) {
        let command = matches!(kind, Kind::Top | Kind::Paren { .. });
        let quoted = matches!(kind, Kind::Double | Kind::Body);
        self.stack.push(Frame { kind, command, word: false, from: 0, quoted, apostrophe: false });
    }

    /// Behind `${`, which ends at `from`.
    fn push_brace(&mut self, src: &[u8], from: usize) {
        let quoted = self.stack.last().is_some_and(|frame| frame.quoted);
        let apostrophe = quoted && !is_pattern(src, from);
        self.stack.push(Frame { kind: Kind::Brace, command: false, word: false, from, quoted, apostrophe });
    }

    /// In `[[ … ]]`, maybe in double quotes there. Looks through what is open.
    pub(super) fn tests(&self) -> bool {
        let outer = self.stack.iter().rev().find(|frame| !matches!(frame.kind, Kind::Double | Kind::Brace));
        outer.is_some_and(|frame| frame.kind == Kind::Test)
    }

    /// Whether bash calculates with what stands here. Looks through what is open.
    pub(super) fn calculates(&self, src: &[u8], at: usize) -> bool {
        for frame in self.stack.iter().rev() {
            match frame.kind {
                Kind::Arithmetic { .. } | Kind::Square => return true,
                Kind::Brace if is_substring(src, frame.from, at) => return true,
                Kind::Brace | Kind::Double => {}
                _ => return false,
            }
        }
        false
    }

    fn pop(&mut self) {
        self.stack.pop();
        self.set(false, true);
    }

    fn set(&mut self, command: bool, word: bool) {
        if let Some(frame) = self.stack.last_mut() {
            (frame.command, frame.word) = (command, word);
        }
    }

    /// Passes over the token at `at`, which is inside `src`; gives where it ends.
    pub(super) fn step(&mut self, src: &[u8], at: usize) -> (usize, Token) {
        match self.kind() {
            Kind::Double => self.step_double(src, at),
            Kind::Body => self.step_body(src, at),
            Kind::Brace | Kind::Square | Kind::Arithmetic { .. } => self.step_brackets(src, at),
            Kind::Top | Kind::Paren { .. } | Kind::Test | Kind::Case { .. } => self.step_bare(src, at),
        }
    }

    fn step_double(&mut self, src: &[u8], at: usize) -> (usize, Token) {
        match src[at] {
            b'"' => {
                self.pop();
                (at + 1, Token::Plain)
            }
            b'\\' => escape(src, at),
            b'$' => self.dollar(src, at, true),
            b'`' => (self.backtick(src, at), Token::Plain),
            _ => (run_end(src, at, b"\"\\$`"), Token::Plain),
        }
    }

    fn step_body(&mut self, src: &[u8], at: usize) -> (usize, Token) {
        match src[at] {
            b'\\' => escape(src, at),
            b'$' => self.dollar(src, at, true),
            b'`' => (self.backtick(src, at), Token::Plain),
            _ => (run_end(src, at, b"\\$`"), Token::Plain),
        }
    }

    fn step_brackets(&mut self, src: &[u8], at: usize) -> (usize, Token) {
        match (src[at], self.kind()) {
            (b'\'', Kind::Brace) if self.stack.last().is_some_and(|frame| frame.apostrophe) => {
                (at + 1, Token::Plain)
            }
            (b'\'', _) => (self.single(src, at + 1), Token::Single),
            (b'"', _) => {
                self.push(Kind::Double);
                (at + 1, Token::Plain)
            }
            (b'\\', _) => escape(src, at),
            (b'$', _) => self.dollar(src, at, false),
            (b'`', _) => (self.backtick(src, at), Token::Plain),
            (b'}', Kind::Brace) | (b']', Kind::Square) => {
                self.pop();
                (at + 1, Token::Plain)
            }
            (b'(', Kind::Arithmetic { open }) => {
                self.replace(Kind::Arithmetic { open: open + 1 });
                (at + 1, Token::Plain)
            }
            (b')', Kind::Arithmetic { open }) if open > 0 => {
                self.replace(Kind::Arithmetic { open: open - 1 });
                (at + 1, Token::Plain)
            }
            (b')', Kind::Arithmetic { .. }) => {
                self.pop();
                (at + 1 + usize::from(src.get(at + 1) == Some(&b')')), Token::Plain)
            }
            _ => (at + 1, Token::Plain),
        }
    }

    fn replace(&mut self, kind: Kind) {
        if let Some(frame) = self.stack.last_mut() {
            frame.kind = kind;
        }
    }

    fn step_bare(&mut self, src: &[u8], at: usize) -> (usize, Token) {
        let Some(&frame) = self.stack.last() else { return (at + 1, Token::Plain) };
        let next = src.get(at + 1).copied();
        match src[at] {
            b'\n' => {
                self.set(self.kind() != Kind::Test, false);
                (at + 1, Token::Newline)
            }
            b'\r' => (at + 1, Token::LineFeedFiller),
            b' ' | b'\t' => {
                self.set(frame.command, false);
                (at + 1, Token::Plain)
            }
            b'#' if !frame.word => (line_end(src, at), Token::Comment),
            b'\\' => {
                let (end, token) = escape(src, at);
                if token == Token::Escape {
                    self.set(false, true);
                }
                (end, token)
            }
            b'\'' => {
                self.set(false, true);
                (self.single(src, at + 1), Token::Single)
            }
            b'"' => {
                self.set(false, true);
                self.push(Kind::Double);
                (at + 1, Token::Plain)
            }
            b'$' => {
                self.set(false, true);
                self.dollar(src, at, false)
            }
            b'`' => {
                self.set(false, true);
                (self.backtick(src, at), Token::Plain)
            }
            b'<' | b'>' if next == Some(b'(') && frame.kind != Kind::Test => {
                self.set(false, true);
                self.push(Kind::Paren { substitution: true });
                (at + 2, Token::Plain)
            }
            b'<' if src[at..].starts_with(b"<<<") => {
                self.set(false, false);
                (at + 3, Token::Plain)
            }
            b'<' if next == Some(b'<') && frame.kind != Kind::Test => {
                self.set(false, false);
                let strip = src.get(at + 2) == Some(&b'-');
                (at + 2 + usize::from(strip), Token::HereDocument { strip })
            }
            b'<' | b'>' => {
                // `>&` and `<&` belong together: the `&` ends no command.
                self.set(false, false);
                (at + 1 + usize::from(matches!(next, Some(b'&' | b'|'))), Token::Plain)
            }
            b'(' => (self.open(src, at, frame), Token::Plain),
            b')' => {
                self.close(frame);
                (at + 1, Token::Plain)
            }
            b';' | b'|' | b'&' => (self.separator(src, at), Token::Plain),
            _ if !frame.word => self.word(src, at, frame),
            _ => {
                self.set(false, true);
                (at + 1, Token::Plain)
            }
        }
    }

    fn open(&mut self, src: &[u8], at: usize, frame: Frame) -> usize {
        if matches!(frame.kind, Kind::Case { pattern: true, .. }) && !frame.word {
            return at + 1;
        }
        if frame.command && src.get(at + 1) == Some(&b'(') && self.is_arithmetic(src, at + 2) {
            self.push(Kind::Arithmetic { open: 0 });
            return at + 2;
        }
        self.push(Kind::Paren { substitution: false });
        at + 1
    }

    fn close(&mut self, frame: Frame) {
        match frame.kind {
            Kind::Paren { .. } => {
                self.pop();
                // `f() {`: what follows an empty pair may be a keyword; so may what follows a subshell (`( … ) }` is an error).
                self.set(true, matches!(frame.kind, Kind::Paren { substitution: true }));
            }
            Kind::Case { word, pattern: true } => {
                self.replace(Kind::Case { word, pattern: false });
                self.set(true, false);
            }
            _ => {
                self.stray += 1;
                self.set(frame.command, false);
            }
        }
    }

    fn separator(&mut self, src: &[u8], at: usize) -> usize {
        let ends_item = src[at] == b';' && matches!(src.get(at + 1), Some(b';' | b'&'));
        if let (Kind::Case { word, .. }, true) = (self.kind(), ends_item) {
            self.replace(Kind::Case { word, pattern: true });
        }
        self.set(self.kind() != Kind::Test, false);
        if src[at..].starts_with(b";;&") { at + 3 } else { at + 1 + usize::from(ends_item) }
    }

    /// The first letters of a word, which may be a keyword.
    fn word(&mut self, src: &[u8], at: usize, frame: Frame) -> (usize, Token) {
        let end = at + src[at..].iter().take_while(|byte| is_keyword_byte(**byte)).count();
        let end = if end == at { at + 1 } else { end };
        let word = &src[at..end];
        if !src.get(end).is_none_or(|byte| b" \t\r\n;&|()<>".contains(byte)) {
            self.set(false, true);
            return (end, Token::Plain);
        }
        match (frame.kind, word) {
            (Kind::Test, b"]]") => self.pop(),
            (Kind::Case { word: true, .. }, b"in") => {
                self.replace(Kind::Case { word: false, pattern: true });
                self.set(true, false);
            }
            (Kind::Case { word: false, .. }, b"esac") if frame.command => {
                self.pop();
                self.set(true, true);
            }
            (Kind::Case { pattern: true, .. } | Kind::Case { word: true, .. } | Kind::Test, _) => {
                self.set(false, true);
            }
            _ if frame.command => return (end, self.keyword(word)),
            _ => self.set(false, true),
        }
        (end, Token::Plain)
    }

    fn keyword(&mut self, word: &[u8]) -> Token {
        match word {
            b"case" => {
                self.set(false, true);
                self.push(Kind::Case { word: true, pattern: false });
            }
            b"[[" => {
                self.set(false, true);
                self.push(Kind::Test);
            }
            b"if" | b"while" | b"until" | b"{" => {
                self.keywords += 1;
                self.set(true, true);
            }
            b"fi" | b"done" | b"}" => {
                self.keywords = self.keywords.saturating_sub(1);
                self.set(true, true);
            }
            b"then" | b"do" | b"else" | b"elif" | b"!" | b"time" => self.set(true, true),
            b"for" => {
                self.keywords += 1;
                // `for ((`
                self.set(true, true);
            }
            b"select" => {
                self.keywords += 1;
                self.set(false, true);
                return Token::Keyword;
            }
            b"coproc" => {
                self.set(true, true);
                return Token::Keyword;
            }
            _ => self.set(false, true),
        }
        Token::Plain
    }

    /// `$` and what it opens.
    fn dollar(&mut self, src: &[u8], at: usize, double: bool) -> (usize, Token) {
        match src.get(at + 1) {
            Some(b'(') if src.get(at + 2) == Some(&b'(') && self.is_arithmetic(src, at + 3) => {
                self.push(Kind::Arithmetic { open: 0 });
                (at + 3, Token::Plain)
            }
            Some(b'(') => {
                self.push(Kind::Paren { substitution: true });
                (at + 2, Token::Plain)
            }
            Some(b'{') => {
                self.push_brace(src, at + 2);
                (at + 2, Token::Plain)
            }
            Some(b'[') => {
                self.push(Kind::Square);
                (at + 2, Token::Plain)
            }
            Some(b'\'') if !double => (self.ansi(src, at + 2), Token::Single),
            Some(b'"') if !double => {
                self.push(Kind::Double);
                (at + 2, Token::Plain)
            }
            Some(b'$' | b'#' | b'?' | b'!' | b'@' | b'*' | b'-') => (at + 2, Token::Plain),
            _ => (at + 1, Token::Plain),
        }
    }

    fn single(&mut self, src: &[u8], from: usize) -> usize {
        self.to(src, from, src[from..].iter().position(|byte| *byte == b'\''))
    }

    fn ansi(&mut self, src: &[u8], from: usize) -> usize {
        self.to(src, from, escaped_position(&src[from..], b'\''))
    }

    fn backtick(&mut self, src: &[u8], at: usize) -> usize {
        self.to(src, at + 1, escaped_position(&src[at + 1..], b'`'))
    }

    fn to(&mut self, src: &[u8], from: usize, found: Option<usize>) -> usize {
        self.unterminated |= found.is_none();
        found.map_or(src.len(), |len| from + len + 1)
    }
}

/// Where the bracket of `kind` that opened just before `from` is closed: behind its last byte. `None` if it is not.
pub(super) fn closing(src: &[u8], from: usize, kind: Kind) -> Option<usize> {
    let mut lexer = Lexer::inside(kind);
    let mut at = from;
    while at < src.len() {
        (at, _) = lexer.step(src, at);
        if lexer.frames() == 0 {
            return Some(at);
        }
    }
    None
}

/// Where the closing quote `quote` is, backslashes minded, from the start of `src`.
pub(super) fn escaped_position(src: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while at < src.len() {
        match src[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at),
            _ => at += 1,
        }
    }
    None
}

fn escape(src: &[u8], at: usize) -> (usize, Token) {
    match src.get(at + 1) {
        Some(b'\n') => (at + 2, Token::Continuation),
        Some(_) => (at + 1 + char_len(src, at + 1), Token::Escape),
        None => (at + 1, Token::Plain),
    }
}

/// Bytes of the character at `at`.
pub(super) fn char_len(src: &[u8], at: usize) -> usize {
    1 + src[at + 1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

fn run_end(src: &[u8], at: usize, stops: &[u8]) -> usize {
    at + 1 + src[at + 1..].iter().take_while(|byte| !stops.contains(byte)).count()
}

fn line_end(src: &[u8], at: usize) -> usize {
    at + src[at..].iter().take_while(|byte| **byte != b'\n').count()
}

fn is_keyword_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_{}![]".contains(&byte)
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
