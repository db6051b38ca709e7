//! What tree-sitter reads too slowly: its time doubles with each `|` where something is wrong around them, and it does not look at the
//! clock meanwhile.

use std::ops::Range;

use super::lexer::{Kind, Lexer, Token, escaped_position};

/// `|` up to which a script is read that is wrong around them.
const BARS: usize = 16;

/// Looks at a script, token by token.
#[derive(Default)]
pub(super) struct Slow {
    /// `|` and `&&` in the longest list so far.
    pub(super) longest: usize,
    /// The same in this list.
    list: usize,
    group: Group,
    hollow: Hollow,
}

impl Slow {
    /// Looks at what the lexer has just passed over; `outside`: what was open before it. Says why the script is not to be read.
    pub(super) fn take(
        &mut self,
        lexer: &Lexer,
        outside: Kind,
        token: Token,
        src: &[u8],
        range: Range<usize>,
    ) -> Option<&'static str> {
        let at = range.start;
        if token == Token::Plain && self.group.take(lexer, outside, src, at) > BARS {
            return Some("a pattern with too many alternatives");
        }
        if token == Token::Plain && src[at] == b'`' && bars(&src[at + 1..]) > BARS {
            return Some("backticks that are not closed, or with an empty command");
        }
        self.list = match (token, src[at]) {
            (Token::Plain, b'|') => self.list + 1,
            (Token::Plain, b'&') if range.len() == 1 && lexer.kind() != Kind::Double => {
                self.list + usize::from(src.get(range.end) == Some(&b'&'))
            }
            (Token::Newline, _) | (Token::Plain, b';') => 0,
            _ => self.list,
        };
        self.longest = self.longest.max(self.list);
        let hollow = self.hollow.take(lexer, token, src, at);
        (hollow && self.longest > BARS).then_some("a long list with an empty command")
    }
}

/// `|` in backticks that bash does not take, because they are never closed or have an empty command.
fn bars(rest: &[u8]) -> usize {
    let closed = escaped_position(rest, b'`');
    let inner = &rest[..closed.unwrap_or(rest.len())];
    let bars = inner.split(|byte| *byte == b'|').count() - 1;
    if bars > BARS && closed.is_some() && !is_hollow(inner) { 0 } else { bars }
}

fn is_hollow(src: &[u8]) -> bool {
    let (mut lexer, mut hollow, mut at) = (Lexer::new(), Hollow::default(), 0);
    while at < src.len() {
        let (end, token) = lexer.step(src, at);
        if hollow.take(&lexer, token, src, at) {
            return true;
        }
        at = end.max(at + 1);
    }
    false
}

/// Whether a `|` stands behind no command, or a redirection has no target, which bash does not take.
#[derive(Default)]
struct Hollow {
    /// A command has begun since the last operator.
    command: bool,
    /// A redirection waits for its target.
    redirect: bool,
    found: bool,
}

impl Hollow {
    /// Looks at what the lexer has just passed over.
    fn take(&mut self, lexer: &Lexer, token: Token, src: &[u8], at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| src[before]);
        let arrow = matches!(before, Some(b'<' | b'>'));
        let operator = token != Token::Plain || lexer.kind() != Kind::Double;
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
struct Group {
    /// The lexer's frames inside it.
    frames: Option<usize>,
    bars: usize,
}

impl Group {
    /// Looks at the byte that the lexer has just passed over; `outside`: what was open before it.
    fn take(&mut self, lexer: &Lexer, outside: Kind, src: &[u8], at: usize) -> usize {
        if self.frames.is_some_and(|frames| lexer.frames() < frames) {
            *self = Self::default();
        }
        match (self.frames, src[at]) {
            // In `[[ … ]]` it is an expression.
            (None, b'(')
                if outside != Kind::Test && at > 0 && !b" \t\n;&|()<>$`\"".contains(&src[at - 1]) =>
            {
                self.frames = Some(lexer.frames());
            }
            (Some(_), b'|') if lexer.kind() != Kind::Double => self.bars += 1,
            _ => {}
        }
        self.bars
    }
}
