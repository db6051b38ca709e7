//! Scripts that tree-sitter reads too slowly: its time doubles with each `|` where something is wrong around them, without a look at the
//! clock meanwhile.

use std::ops::Range;

use super::lexer::{BracketKind, ShellLexer, ShellToken, escaped_position};

/// `|` up to which a script is read that is wrong around them.
const BARS: usize = 16;

/// Looks at a script, token by token.
#[derive(Default)]
pub(super) struct SlowParseDetector {
    /// `|` and `&&` in the longest list so far.
    pub(super) longest: usize,
    /// Number of `|` and `&&` in the current list so far.
    list: usize,
    group: AlternativeCounter,
    hollow: EmptyCommandDetector,
}

impl SlowParseDetector {
    /// Looks at what the lexer has just passed over; `outside`: what was open before it. Says why the script is not to be read.
    pub(super) fn check_token(
        &mut self,
        lexer: &ShellLexer,
        outside: BracketKind,
        token: ShellToken,
        src: &[u8],
        range: Range<usize>,
    ) -> Option<&'static str> {
        let at = range.start;
        if token == ShellToken::Plain && self.group.count_byte(lexer, outside, src, at) > BARS {
            return Some("a pattern with too many alternatives");
        }
        if token == ShellToken::Plain && src[at] == b'`' && count_bars(&src[at + 1..]) > BARS {
            return Some("backticks that are not closed, or with an empty command");
        }
        self.list = match (token, src[at]) {
            (ShellToken::Plain, b'|') => self.list + 1,
            (ShellToken::Plain, b'&') if range.len() == 1 && lexer.kind() != BracketKind::Double => {
                self.list + usize::from(src.get(range.end) == Some(&b'&'))
            }
            (ShellToken::Newline, _) | (ShellToken::Plain, b';') => 0,
            _ => self.list,
        };
        self.longest = self.longest.max(self.list);
        let hollow = self.hollow.check_token(lexer, token, src, at);
        (hollow && self.longest > BARS).then_some("a long list with an empty command")
    }
}

/// `|` in backticks that bash does not take, because they are never closed or have an empty command.
fn count_bars(rest: &[u8]) -> usize {
    let closed = escaped_position(rest, b'`');
    let inner = &rest[..closed.unwrap_or(rest.len())];
    let bars = inner.split(|byte| *byte == b'|').count() - 1;
    if bars > BARS && closed.is_some() && !is_hollow(inner) { 0 } else { bars }
}

fn is_hollow(src: &[u8]) -> bool {
    let (mut lexer, mut hollow, mut at) = (ShellLexer::new(), EmptyCommandDetector::default(), 0);
    while at < src.len() {
        let (end, token) = lexer.step_token(src, at);
        if hollow.check_token(&lexer, token, src, at) {
            return true;
        }
        at = end.max(at + 1);
    }
    false
}

/// Detects a `|` behind no command, or a redirection without a target, which bash does not take.
#[derive(Default)]
struct EmptyCommandDetector {
    /// A command has begun since the last operator.
    command: bool,
    /// A redirection waits for its target.
    redirect: bool,
    found: bool,
}

impl EmptyCommandDetector {
    /// Looks at what the lexer has just passed over.
    fn check_token(&mut self, lexer: &ShellLexer, token: ShellToken, src: &[u8], at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| src[before]);
        let arrow = matches!(before, Some(b'<' | b'>'));
        let operator = token != ShellToken::Plain || lexer.kind() != BracketKind::Double;
        match src[at] {
            b' ' | b'\t' | b'!' => return self.found,
            b'<' | b'>' if operator => {
                (self.command, self.redirect) = (true, true);
                return self.found;
            }
            // `>|`, `>&`, `<(`
            b'|' | b'&' | b'(' if arrow => return self.found,
            b'|' if operator => {
                self.found |= !self.command && before != Some(b'|');
                self.command = false;
            }
            b'&' | b';' | b'(' | b'\n' if operator => self.command = false,
            _ => {
                (self.command, self.redirect) = (true, false);
                return self.found;
            }
        }
        self.found |= self.redirect;
        self.redirect = false;
        self.found
    }
}

/// A bracket that stands in a word, and how many `|` are in it.
#[derive(Default)]
struct AlternativeCounter {
    /// The lexer's frames inside it.
    frames: Option<usize>,
    bars: usize,
}

impl AlternativeCounter {
    /// Looks at the byte that the lexer has just passed over; `outside`: what was open before it.
    fn count_byte(&mut self, lexer: &ShellLexer, outside: BracketKind, src: &[u8], at: usize) -> usize {
        if self.frames.is_some_and(|frames| lexer.frame_count() < frames) {
            *self = Self::default();
        }
        match (self.frames, src[at]) {
            // In `[[ … ]]` it is an expression.
            (None, b'(')
                if outside != BracketKind::Test && at > 0 && !b" \t\n;&|()<>$`\"".contains(&src[at - 1]) =>
            {
                self.frames = Some(lexer.frame_count());
            }
            (Some(_), b'|') if lexer.kind() != BracketKind::Double => self.bars += 1,
            _ => {}
        }
        self.bars
    }
}
