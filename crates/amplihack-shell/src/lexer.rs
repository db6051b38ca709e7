//! The quoting state of bash, token by token, with an explicit stack: what is quoted, where a substitution ends.

mod bare;

use std::collections::HashMap;

pub(super) use bare::is_array;

use super::parameter::{is_pattern, is_substring};

/// Kind of an open bracket, quote or keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketKind {
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
    /// `NAME=( … )`, or the alternatives of a pattern.
    Array,
    /// `"…"`
    Double,
    /// The body of a here-document whose delimiter is not quoted.
    Body,
    /// `case … esac`; `pattern`: before the `)` of a pattern; `word`: before `in`.
    Case { word: bool, pattern: bool },
}

/// Kind of the next word of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStage {
    /// A keyword, or the first word of a command.
    Start,
    /// A word of the command that has begun.
    Words,
    /// A keyword: a compound command has ended.
    Closed,
    /// The variable of `for` or `select`, or `((`.
    Variable,
    /// `in` or `do`.
    Values,
    /// A word behind the `in` of `for` or `select`.
    Items,
    /// The name of a function.
    Function,
}

impl ListStage {
    /// Reports whether the next word may be a keyword.
    fn takes_keyword(self) -> bool {
        matches!(self, Self::Start | Self::Closed)
    }
}

#[derive(Debug, Clone, Copy)]
struct LexerFrame {
    kind: BracketKind,
    stage: ListStage,
    /// A redirection waits for its target.
    target: bool,
    /// In the middle of a word.
    word: bool,
    /// Behind the opening bracket of `${`.
    from: usize,
    /// In double quotes or a here-document, maybe in `${ … }` in them.
    quoted: bool,
    /// `'` is a letter: in `"${x:-it's}"`, not in `"${x#'a'}"`.
    apostrophe: bool,
}

/// The token that [`ShellLexer::step_token`] passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellToken {
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
    /// `{NAME}` right before a redirection, which puts its descriptor there.
    DescriptorName,
    /// Digits right before a redirection that are too many for a descriptor: a word of their own.
    Number,
    /// `!`, or `time` with its options before a compound command, where a pipeline starts.
    Prefix,
}

/// Results of looking ahead, kept so that nested `$((` are not looked through again and again.
#[derive(Debug, Clone, Default)]
struct ArithmeticLookahead {
    /// Answers by byte: true if the bracket that opens before the byte is arithmetic.
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

/// State of a reader of bash: the brackets and quotes that are open.
#[derive(Debug, Clone)]
pub(super) struct ShellLexer {
    stack: Vec<LexerFrame>,
    ahead: ArithmeticLookahead,
    keywords: usize,
    /// Closing brackets that close nothing.
    pub(super) stray: usize,
    /// A quote or bracket was still open when the text ended.
    pub(super) unterminated: bool,
}

impl ShellLexer {
    /// At the start of a script.
    pub(super) fn new() -> Self {
        Self::new_inside(BracketKind::Top)
    }

    /// Behind the opening bracket of `kind`.
    pub(super) fn new_inside(kind: BracketKind) -> Self {
        let mut lexer = Self {
            stack: Vec::new(),
            ahead: ArithmeticLookahead::default(),
            keywords: 0,
            stray: 0,
            unterminated: false,
        };
        lexer.push(kind);
        lexer
    }

    /// Reports whether it could not be found out if some `((` is arithmetic.
    pub(super) fn is_unsure(&self) -> bool {
        self.ahead.given_up
    }

    /// Reports whether the `((` opened before `from` is closed by `))`: if not, bash reads two subshells.
    fn is_arithmetic(&mut self, src: &[u8], from: usize) -> bool {
        if let Some(&known) = self.ahead.known.get(&from) {
            return known;
        }
        if self.ahead.depth >= AHEAD.1 {
            self.ahead.given_up = true;
            return false;
        }
        let mut look = Self::new_inside(BracketKind::Arithmetic { open: 0 });
        look.ahead = std::mem::take(&mut self.ahead);
        look.ahead.depth += 1;
        let (mut at, mut last) = (from, from);
        while at < src.len() && look.frame_count() > 0 && !look.ahead.given_up {
            last = at;
            (at, _) = look.step_token(src, at);
            look.ahead.tokens += 1;
            look.ahead.given_up |= look.ahead.tokens > AHEAD.0;
        }
        let answer = look.frame_count() == 0 && &src[last..at] == b"))";
        self.ahead = look.ahead;
        self.ahead.depth -= 1;
        self.ahead.known.insert(from, answer);
        answer
    }

    /// Nesting depth of brackets, quotes and keywords.
    pub(super) fn nesting_depth(&self) -> usize {
        let open = match self.kind() {
            BracketKind::Arithmetic { open } => open,
            _ => 0,
        };
        self.stack.len() + self.keywords + open - 1
    }

    /// The innermost bracket.
    pub(super) fn kind(&self) -> BracketKind {
        self.stack.last().map_or(BracketKind::Top, |frame| frame.kind)
    }

    /// Open brackets and quotes.
    pub(super) fn frame_count(&self) -> usize {
        self.stack.len()
    }

    /// Open command and process substitutions.
    pub(super) fn substitution_count(&self) -> usize {
        self.stack.iter().filter(|frame| frame.kind == BracketKind::Paren { substitution: true }).count()
    }

    /// Reports whether arithmetic is open, here or further out.
    pub(super) fn is_within_arithmetic(&self) -> bool {
        self.stack
            .iter()
            .any(|frame| matches!(frame.kind, BracketKind::Arithmetic { .. } | BracketKind::Square))
    }

    fn push(&mut self, kind: BracketKind) {
        let stage = if matches!(kind, BracketKind::Top | BracketKind::Paren { .. }) {
            ListStage::Start
        } else {
            ListStage::Words
        };
        let quoted = matches!(kind, BracketKind::Double | BracketKind::Body);
        self.stack.push(LexerFrame {
            kind,
            stage,
            target: false,
            word: false,
            from: 0,
            quoted,
            apostrophe: false,
        });
    }

    /// Behind `${`, which ends at `from`.
    fn push_brace(&mut self, src: &[u8], from: usize) {
        let quoted = self.stack.last().is_some_and(|frame| frame.quoted);
        let apostrophe = quoted && !is_pattern(src, from);
        self.stack.push(LexerFrame {
            kind: BracketKind::Brace,
            stage: ListStage::Words,
            target: false,
            word: false,
            from,
            quoted,
            apostrophe,
        });
    }

    /// In `[[ … ]]`, maybe in double quotes there. Looks through what is open.
    pub(super) fn is_within_test(&self) -> bool {
        let outer = self
            .stack
            .iter()
            .rev()
            .find(|frame| !matches!(frame.kind, BracketKind::Double | BracketKind::Brace));
        outer.is_some_and(|frame| frame.kind == BracketKind::Test)
    }

    /// Reports whether bash calculates with the text at `at`. Looks through open quotes and `${ … }`.
    pub(super) fn is_calculated(&self, src: &[u8], at: usize) -> bool {
        for frame in self.stack.iter().rev() {
            match frame.kind {
                BracketKind::Arithmetic { .. } | BracketKind::Square => return true,
                BracketKind::Brace if is_substring(src, frame.from, at) => return true,
                BracketKind::Brace | BracketKind::Double => {}
                _ => return false,
            }
        }
        false
    }

    /// Ends the innermost bracket: a part of a word, or a compound command if none had begun before it.
    fn pop(&mut self) {
        self.stack.pop();
        if let Some(frame) = self.stack.last_mut() {
            frame.word = true;
            if matches!(frame.stage, ListStage::Start | ListStage::Variable) {
                frame.stage = ListStage::Closed;
            }
        }
    }

    fn set_stage(&mut self, stage: ListStage, word: bool) {
        if let Some(frame) = self.stack.last_mut() {
            (frame.stage, frame.word, frame.target) = (stage, word, false);
        }
    }

    /// A word begins or goes on.
    fn continue_word(&mut self) {
        let Some(frame) = self.stack.last_mut().filter(|frame| !frame.word) else { return };
        frame.word = true;
        let target = std::mem::take(&mut frame.target);
        frame.stage = match frame.stage {
            ListStage::Closed if target => ListStage::Closed,
            ListStage::Variable => ListStage::Values,
            ListStage::Function => ListStage::Start,
            ListStage::Items => ListStage::Items,
            _ => ListStage::Words,
        };
    }

    /// A redirection begins, whose target is the next word.
    fn begin_redirect(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            (frame.word, frame.target) = (false, true);
        }
    }

    /// The stage of the innermost list, if a word may begin here and no bracket around is more than a list of commands.
    pub(super) fn list_stage(&self) -> Option<ListStage> {
        let list = |frame: &LexerFrame| {
            matches!(
                frame.kind,
                BracketKind::Top
                    | BracketKind::Paren { substitution: false }
                    | BracketKind::Case { word: false, pattern: false }
            )
        };
        let frame = self.stack.last().filter(|frame| !frame.word)?;
        self.stack.iter().all(list).then_some(frame.stage)
    }

    /// The stage of the list `frames` deep.
    pub(super) fn stage_of(&self, frames: usize) -> Option<ListStage> {
        self.stack.get(frames.checked_sub(1)?).map(|frame| frame.stage)
    }

    /// Reports whether a word has begun and not ended.
    pub(super) fn is_in_word(&self) -> bool {
        self.is_in_word_of(self.stack.len())
    }

    /// Reports whether a word of the list `frames` deep has begun and not ended.
    pub(super) fn is_in_word_of(&self, frames: usize) -> bool {
        frames.checked_sub(1).and_then(|index| self.stack.get(index)).is_some_and(|frame| frame.word)
    }

    /// Reports whether the next word is the target of a redirection.
    pub(super) fn awaits_target(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.target)
    }

    /// Passes over the token at `at`, which is inside `src`; gives where it ends.
    pub(super) fn step_token(&mut self, src: &[u8], at: usize) -> (usize, ShellToken) {
        match self.kind() {
            BracketKind::Double => self.step_double(src, at),
            BracketKind::Body => self.step_body(src, at),
            BracketKind::Brace | BracketKind::Square | BracketKind::Arithmetic { .. } => {
                self.step_brackets(src, at)
            }
            BracketKind::Top
            | BracketKind::Paren { .. }
            | BracketKind::Test
            | BracketKind::Array
            | BracketKind::Case { .. } => self.step_bare(src, at),
        }
    }

    fn step_double(&mut self, src: &[u8], at: usize) -> (usize, ShellToken) {
        match src[at] {
            b'"' => {
                self.pop();
                (at + 1, ShellToken::Plain)
            }
            b'\\' => escape_token(src, at),
            b'$' => self.open_dollar(src, at, true),
            b'`' => (self.end_of_backtick(src, at), ShellToken::Plain),
            _ => (run_end(src, at, b"\"\\$`"), ShellToken::Plain),
        }
    }

    fn step_body(&mut self, src: &[u8], at: usize) -> (usize, ShellToken) {
        match src[at] {
            b'\\' => escape_token(src, at),
            b'$' => self.open_dollar(src, at, true),
            b'`' => (self.end_of_backtick(src, at), ShellToken::Plain),
            _ => (run_end(src, at, b"\\$`"), ShellToken::Plain),
        }
    }

    fn step_brackets(&mut self, src: &[u8], at: usize) -> (usize, ShellToken) {
        match (src[at], self.kind()) {
            (b'\'', BracketKind::Brace) if self.stack.last().is_some_and(|frame| frame.apostrophe) => {
                (at + 1, ShellToken::Plain)
            }
            (b'\'', _) => (self.end_of_single(src, at + 1), ShellToken::Single),
            (b'"', _) => {
                self.push(BracketKind::Double);
                (at + 1, ShellToken::Plain)
            }
            (b'\\', _) => escape_token(src, at),
            (b'$', _) => self.open_dollar(src, at, false),
            (b'`', _) => (self.end_of_backtick(src, at), ShellToken::Plain),
            (b'}', BracketKind::Brace) | (b']', BracketKind::Square) => {
                self.pop();
                (at + 1, ShellToken::Plain)
            }
            (b'(', BracketKind::Arithmetic { open }) => {
                self.replace_kind(BracketKind::Arithmetic { open: open + 1 });
                (at + 1, ShellToken::Plain)
            }
            (b')', BracketKind::Arithmetic { open }) if open > 0 => {
                self.replace_kind(BracketKind::Arithmetic { open: open - 1 });
                (at + 1, ShellToken::Plain)
            }
            (b')', BracketKind::Arithmetic { .. }) => {
                self.pop();
                (at + 1 + usize::from(src.get(at + 1) == Some(&b')')), ShellToken::Plain)
            }
            _ => (at + 1, ShellToken::Plain),
        }
    }

    fn replace_kind(&mut self, kind: BracketKind) {
        if let Some(frame) = self.stack.last_mut() {
            frame.kind = kind;
        }
    }

    /// `$` and what it opens.
    fn open_dollar(&mut self, src: &[u8], at: usize, double: bool) -> (usize, ShellToken) {
        match src.get(at + 1) {
            Some(b'(') if src.get(at + 2) == Some(&b'(') && self.is_arithmetic(src, at + 3) => {
                self.push(BracketKind::Arithmetic { open: 0 });
                (at + 3, ShellToken::Plain)
            }
            Some(b'(') => {
                self.push(BracketKind::Paren { substitution: true });
                (at + 2, ShellToken::Plain)
            }
            Some(b'{') => {
                self.push_brace(src, at + 2);
                (at + 2, ShellToken::Plain)
            }
            Some(b'[') => {
                self.push(BracketKind::Square);
                (at + 2, ShellToken::Plain)
            }
            Some(b'\'') if !double => (self.end_of_ansi(src, at + 2), ShellToken::Single),
            Some(b'"') if !double => {
                self.push(BracketKind::Double);
                (at + 2, ShellToken::Plain)
            }
            Some(b'$' | b'#' | b'?' | b'!' | b'@' | b'*' | b'-') => (at + 2, ShellToken::Plain),
            _ => (at + 1, ShellToken::Plain),
        }
    }

    fn end_of_single(&mut self, src: &[u8], from: usize) -> usize {
        self.end_behind(src, from, src[from..].iter().position(|byte| *byte == b'\''))
    }

    fn end_of_ansi(&mut self, src: &[u8], from: usize) -> usize {
        self.end_behind(src, from, escaped_position(&src[from..], b'\''))
    }

    fn end_of_backtick(&mut self, src: &[u8], at: usize) -> usize {
        self.end_behind(src, at + 1, escaped_position(&src[at + 1..], b'`'))
    }

    fn end_behind(&mut self, src: &[u8], from: usize, found: Option<usize>) -> usize {
        self.unterminated |= found.is_none();
        found.map_or(src.len(), |len| from + len + 1)
    }
}

/// End of the arithmetic closed by `))` that opened just before `from`: behind its last byte. `None` if bash does not take it for
/// arithmetic.
pub(super) fn arithmetic_end(src: &[u8], from: usize) -> Option<usize> {
    let mut lexer = ShellLexer::new_inside(BracketKind::Arithmetic { open: 0 });
    let mut at = from;
    while at < src.len() {
        let last = at;
        (at, _) = lexer.step_token(src, at);
        if lexer.frame_count() == 0 {
            return (&src[last..at] == b"))").then_some(at);
        }
    }
    None
}

/// End of the bracket of `kind` that opened just before `from`: behind its last byte. `None` if it is not closed.
pub(super) fn bracket_end(src: &[u8], from: usize, kind: BracketKind) -> Option<usize> {
    let mut lexer = ShellLexer::new_inside(kind);
    let mut at = from;
    while at < src.len() {
        (at, _) = lexer.step_token(src, at);
        if lexer.frame_count() == 0 {
            return Some(at);
        }
    }
    None
}

/// Position of the closing quote `quote`, backslashes minded, from the start of `src`.
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

fn escape_token(src: &[u8], at: usize) -> (usize, ShellToken) {
    match src.get(at + 1) {
        Some(b'\n') => (at + 2, ShellToken::Continuation),
        Some(_) => (at + 1 + char_len(src, at + 1), ShellToken::Escape),
        None => (at + 1, ShellToken::Plain),
    }
}

/// Bytes of the character at `at`.
pub(super) fn char_len(src: &[u8], at: usize) -> usize {
    1 + src[at + 1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

fn run_end(src: &[u8], at: usize, stops: &[u8]) -> usize {
    at + 1 + src[at + 1..].iter().take_while(|byte| !stops.contains(byte)).count()
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
