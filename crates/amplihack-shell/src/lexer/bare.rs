//! The lexer outside of quotes: words, keywords and operators of lists of commands.

use super::super::items::is_reserved;
use super::{BracketKind, LexerFrame, ListStage, ShellLexer, ShellToken, escape_token};

impl ShellLexer {
    pub(super) fn step_bare(&mut self, src: &[u8], at: usize) -> (usize, ShellToken) {
        let Some(&frame) = self.stack.last() else { return (at + 1, ShellToken::Plain) };
        let next = src.get(at + 1).copied();
        match src[at] {
            b'\n' => {
                if matches!(frame.kind, BracketKind::Test | BracketKind::Array)
                    || frame.stage == ListStage::Values
                {
                    self.set_stage(frame.stage, false);
                } else {
                    self.set_stage(ListStage::Start, false);
                }
                (at + 1, ShellToken::Newline)
            }
            b'\r' => (at + 1, ShellToken::LineFeedFiller),
            b' ' | b'\t' => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.word = false;
                }
                (at + 1, ShellToken::Plain)
            }
            b'#' if !frame.word => (line_end(src, at), ShellToken::Comment),
            b'\\' => {
                let (end, token) = escape_token(src, at);
                if token == ShellToken::Escape {
                    self.continue_word();
                }
                (end, token)
            }
            b'\'' => {
                self.continue_word();
                (self.end_of_single(src, at + 1), ShellToken::Single)
            }
            b'"' => {
                self.continue_word();
                self.push(BracketKind::Double);
                (at + 1, ShellToken::Plain)
            }
            b'$' => {
                self.continue_word();
                self.open_dollar(src, at, false)
            }
            b'`' => {
                self.continue_word();
                (self.end_of_backtick(src, at), ShellToken::Plain)
            }
            b'<' | b'>' => self.step_angle(src, at, frame),
            b'(' => (self.open_paren(src, at, frame), ShellToken::Plain),
            b')' => {
                self.close_paren(src, at, frame);
                (at + 1, ShellToken::Plain)
            }
            // `&>` is a redirection: taken for a separator, it would make its target a command.
            b'&' if next == Some(b'>') && !matches!(frame.kind, BracketKind::Test | BracketKind::Array) => {
                self.begin_redirect();
                (at + 2 + usize::from(src.get(at + 2) == Some(&b'>')), ShellToken::Plain)
            }
            b';' | b'|' | b'&' => (self.step_separator(src, at), ShellToken::Plain),
            _ if !frame.word => self.step_word(src, at, frame),
            _ => (at + 1, ShellToken::Plain),
        }
    }

    /// `<` or `>` and what belongs to it.
    fn step_angle(&mut self, src: &[u8], at: usize, frame: LexerFrame) -> (usize, ShellToken) {
        let next = src.get(at + 1).copied();
        if next == Some(b'(') && frame.kind != BracketKind::Test {
            self.continue_word();
            self.push(BracketKind::Paren { substitution: true });
            return (at + 2, ShellToken::Plain);
        }
        if src[at..].starts_with(b"<<<") {
            self.begin_redirect();
            return (at + 3, ShellToken::Plain);
        }
        if src[at..].starts_with(b"<<") && frame.kind != BracketKind::Test {
            // Who reads here-documents passes over the delimiter.
            let closed = frame.stage == ListStage::Closed;
            self.set_stage(if closed { ListStage::Closed } else { ListStage::Words }, false);
            let strip = src.get(at + 2) == Some(&b'-');
            return (at + 2 + usize::from(strip), ShellToken::HereDocument { strip });
        }
        self.begin_redirect();
        // `>&` and `<&` belong together: the `&` ends no command.
        (at + 1 + usize::from(matches!(next, Some(b'&' | b'|'))), ShellToken::Plain)
    }

    fn open_paren(&mut self, src: &[u8], at: usize, frame: LexerFrame) -> usize {
        if matches!(frame.kind, BracketKind::Case { pattern: true, .. }) && !frame.word {
            return at + 1;
        }
        let command = frame.stage.takes_keyword() || frame.stage == ListStage::Variable;
        if command && src.get(at + 1) == Some(&b'(') && self.is_arithmetic(src, at + 2) {
            self.push(BracketKind::Arithmetic { open: 0 });
            return at + 2;
        }
        // In a word, bash takes it only for an array's or for a pattern's; `f()` is empty, and `x=()` an array all the same.
        let filled = src.get(at + 1) != Some(&b')') || is_array(src, at);
        let in_word = frame.word && frame.stage == ListStage::Words && filled;
        self.push(if in_word { BracketKind::Array } else { BracketKind::Paren { substitution: false } });
        at + 1
    }

    fn close_paren(&mut self, src: &[u8], at: usize, frame: LexerFrame) {
        match frame.kind {
            BracketKind::Paren { substitution: false } => {
                self.pop();
                let empty = src[..at].trim_ascii_end().ends_with(b"(");
                match self.stack.last().map(|frame| frame.stage) {
                    // `f() {`: what follows an empty pair may be a keyword.
                    Some(ListStage::Words) if empty => self.set_stage(ListStage::Start, false),
                    Some(ListStage::Words) => {}
                    // So may what follows a subshell.
                    _ => self.set_stage(ListStage::Closed, false),
                }
            }
            BracketKind::Paren { .. } | BracketKind::Array => self.pop(),
            BracketKind::Case { word, pattern: true } => {
                self.replace_kind(BracketKind::Case { word, pattern: false });
                self.set_stage(ListStage::Start, false);
            }
            _ => {
                self.stray += 1;
                self.set_stage(frame.stage, false);
            }
        }
    }

    fn step_separator(&mut self, src: &[u8], at: usize) -> usize {
        let ends_item = src[at] == b';' && matches!(src.get(at + 1), Some(b';' | b'&'));
        if let (BracketKind::Case { word, .. }, true) = (self.kind(), ends_item) {
            self.replace_kind(BracketKind::Case { word, pattern: true });
        }
        let list = !matches!(self.kind(), BracketKind::Test | BracketKind::Array);
        self.set_stage(if list { ListStage::Start } else { ListStage::Words }, false);
        if src[at..].starts_with(b";;&") { at + 3 } else { at + 1 + usize::from(ends_item) }
    }

    /// The first letters of a word, which may be a keyword.
    fn step_word(&mut self, src: &[u8], at: usize, frame: LexerFrame) -> (usize, ShellToken) {
        let end = at + src[at..].iter().take_while(|byte| is_keyword_byte(**byte)).count();
        let end = if end == at { at + 1 } else { end };
        let word = &src[at..end];
        if !src.get(end).is_none_or(|byte| ENDS_WORD.contains(byte)) {
            self.continue_word();
            return (end, ShellToken::Plain);
        }
        // Here the parser differs from bash: digits that overflow are a word, `{NAME}` is none. Whoever cleans the script has to know.
        if matches!(src.get(end), Some(b'<' | b'>')) && !frame.target && frame.kind != BracketKind::Test {
            if word.iter().all(u8::is_ascii_digit) {
                if is_descriptor(word) {
                    return (end, ShellToken::Plain);
                }
                self.continue_word();
                return (end, ShellToken::Number);
            }
            if is_descriptor_name(word) {
                return (end, ShellToken::DescriptorName);
            }
        }
        // A target is never a keyword: `> done` writes a file.
        let keyword = frame.stage.takes_keyword() && !frame.target;
        match (frame.kind, word) {
            (BracketKind::Test, b"]]") => self.pop(),
            (BracketKind::Case { word: true, .. }, b"in") => {
                self.replace_kind(BracketKind::Case { word: false, pattern: true });
                self.set_stage(ListStage::Start, false);
            }
            (BracketKind::Case { word: false, .. }, b"esac") if keyword => self.pop(),
            (
                BracketKind::Case { pattern: true, .. }
                | BracketKind::Case { word: true, .. }
                | BracketKind::Test,
                _,
            ) => {
                self.continue_word();
            }
            (_, b"do") if frame.stage == ListStage::Values => return self.step_keyword(src, end, word),
            (_, b"in") if frame.stage == ListStage::Values => self.set_stage(ListStage::Items, true),
            _ if keyword => return self.step_keyword(src, end, word),
            _ => self.continue_word(),
        }
        (end, ShellToken::Plain)
    }

    fn step_keyword(&mut self, src: &[u8], end: usize, word: &[u8]) -> (usize, ShellToken) {
        match word {
            b"case" => self.push(BracketKind::Case { word: true, pattern: false }),
            b"[[" => self.push(BracketKind::Test),
            b"if" | b"while" | b"until" | b"{" => {
                self.keywords += 1;
                self.set_stage(ListStage::Start, true);
            }
            b"fi" | b"done" | b"}" => {
                self.keywords = self.keywords.saturating_sub(1);
                self.set_stage(ListStage::Closed, true);
            }
            b"then" | b"do" | b"else" | b"elif" => self.set_stage(ListStage::Start, true),
            b"function" => self.set_stage(ListStage::Function, true),
            b"for" => {
                self.keywords += 1;
                self.set_stage(ListStage::Variable, true);
            }
            b"!" if !ends_command(&src[end + blank_len(&src[end..])..]) => {
                self.set_stage(ListStage::Start, true);
                return (end, ShellToken::Prefix);
            }
            // In front of a program it is read as the program that it is to other shells, and behind a pipe to bash.
            b"time" if !follows_pipe(&src[..end - word.len()]) => {
                let behind = time_options(src, end);
                if begins_compound(&src[behind + blank_len(&src[behind..])..]) {
                    self.set_stage(ListStage::Start, true);
                    return (behind, ShellToken::Prefix);
                }
                self.continue_word();
            }
            b"select" => {
                self.keywords += 1;
                self.set_stage(ListStage::Variable, true);
                return (end, ShellToken::Keyword);
            }
            b"coproc" => {
                self.set_stage(ListStage::Start, true);
                return (end, ShellToken::Keyword);
            }
            _ => self.continue_word(),
        }
        (end, ShellToken::Plain)
    }
}

/// Reports whether the bracket at `at` opens an array: `NAME=` or `NAME+=` stands before it.
pub(in super::super) fn is_array(src: &[u8], at: usize) -> bool {
    let Some(before) = src[..at].strip_suffix(b"=") else { return false };
    let before = before.strip_suffix(b"+").unwrap_or(before);
    let len = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let (rest, name) = before.split_at(before.len() - len);
    let begins = rest.last().is_none_or(|byte| b" \t\n;&|()".contains(byte));
    begins && name.first().is_some_and(|byte| !byte.is_ascii_digit())
}

fn line_end(src: &[u8], at: usize) -> usize {
    at + src[at..].iter().take_while(|byte| **byte != b'\n').count()
}

/// Bytes that end a word without quotes and backslashes.
const ENDS_WORD: &[u8] = b" \t\r\n;&|()<>";

/// Reports whether nothing of a command stands at the start of `rest`.
fn ends_command(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| b"\n;&|)#".contains(byte))
}

/// Reports whether a compound command, or another prefix of a pipeline, stands at the start of `rest`.
fn begins_compound(rest: &[u8]) -> bool {
    let len = rest.iter().take_while(|byte| !ENDS_WORD.contains(byte)).count();
    let word = std::str::from_utf8(&rest[..len]).unwrap_or_default();
    rest.first() == Some(&b'(') || word == "time" || is_reserved(word)
}

/// Reports whether `before` ends with `|` or `|&`.
fn follows_pipe(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let before = before.strip_suffix(b"&").unwrap_or(before);
    before.ends_with(b"|") && !before.ends_with(b"||")
}

/// Behind `-p` and `--`, which are `time`'s own.
fn time_options(src: &[u8], mut end: usize) -> usize {
    loop {
        let at = end + blank_len(&src[end..]);
        let len = src[at..].iter().take_while(|byte| !ENDS_WORD.contains(byte)).count();
        if at == end || !matches!(&src[at..at + len], b"-p" | b"--") {
            return end;
        }
        end = at + len;
    }
}

/// Reports whether digits are the number of a descriptor to bash.
fn is_descriptor(digits: &[u8]) -> bool {
    std::str::from_utf8(digits).is_ok_and(|digits| digits.parse::<i32>().is_ok())
}

/// `{NAME}` or `{NAME[…]}`.
fn is_descriptor_name(word: &[u8]) -> bool {
    let Some(name) = word.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")) else { return false };
    let len = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    len > 0 && !name[0].is_ascii_digit() && (len == name.len() || name[len] == b'[' && name.ends_with(b"]"))
}

/// Bytes of blanks and continued lines at the start of `src`.
fn blank_len(src: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += match &src[at..] {
            [b' ' | b'\t', ..] => 1,
            [b'\\', b'\n', ..] => 2,
            _ => return at,
        };
    }
}

fn is_keyword_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_{}![]".contains(&byte)
}
