//! A script as the parser is given it: a blank and text of the length it had, in which nothing stands that the parser does not read well.
//!
//! What is left is what commands are told apart by: keywords, operators, blanks, quotes and letters. What was read is cut out of the
//! script itself, so that no word changes. Since the lexer decides what is left, it may not confirm this text, only the script.

use super::items::is_reserved;
use super::lexer::{BracketKind, ListStage, ShellLexer, ShellToken, bracket_end, is_array};

/// Stands for what is a part of a word.
const FILLER: u8 = b'_';

/// Keywords that the parser wants a separator before, which bash does not want behind a compound command.
const CLOSERS: [&[u8]; 8] = [b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac", b"}"];

/// Programs for which the grammar has rules of its own, and a keyword that the parser also takes for one in the middle of a command.
const SPECIAL: [&[u8]; 8] =
    [b"declare", b"typeset", b"export", b"readonly", b"local", b"unset", b"unsetenv", b"esac"];

/// Bytes in front of the script.
pub(super) const LEAD: usize = 1;

/// Masks `text`, which is cleaned of here-documents.
pub(super) fn mask_script(text: &str) -> String {
    let src = text.as_bytes();
    let mut masker = ScriptMasker {
        src,
        lead: b' ',
        out: src.to_vec(),
        lexer: ShellLexer::new(),
        region: None,
        pattern: None,
        comment: None,
    };
    let mut at = 0;
    while at < src.len() {
        at = masker.mask_token(at).max(at + 1);
    }
    let mut out = vec![masker.lead];
    out.append(&mut masker.out);
    // What is filled are whole characters.
    String::from_utf8(out).unwrap_or_else(|_| format!(" {text}"))
}

/// Kind of a bracket whose inside is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RegionKind {
    /// A part of a word: the bracket is filled, too.
    Word,
    /// `[[ … ]]`
    Test,
    /// `(( … ))`
    Arithmetic,
    /// `for (( … ))`
    Loop,
}

/// A bracket that is open and whose inside is filled.
#[derive(Clone, Copy)]
struct FilledRegion {
    kind: RegionKind,
    start: usize,
    /// The lexer's frames around it.
    frames: usize,
}

/// The lexer's state before a token.
#[derive(Clone, Copy)]
struct StateBefore {
    kind: BracketKind,
    frames: usize,
    stage: Option<ListStage>,
    in_word: bool,
    target: bool,
}

struct ScriptMasker<'s> {
    src: &'s [u8],
    /// The byte in front of the script.
    lead: u8,
    out: Vec<u8>,
    lexer: ShellLexer,
    region: Option<FilledRegion>,
    /// The beginning of the pattern of a `case` that is open.
    pattern: Option<usize>,
    /// The beginning of the last comment.
    comment: Option<usize>,
}

impl ScriptMasker<'_> {
    /// Masks the token at `at`; gives where it ends.
    fn mask_token(&mut self, at: usize) -> usize {
        let before = StateBefore {
            kind: self.lexer.kind(),
            frames: self.lexer.frame_count(),
            stage: self.lexer.stage_of(self.lexer.frame_count()),
            in_word: self.lexer.is_in_word(),
            target: self.lexer.awaits_target(),
        };
        let (end, token) = self.lexer.step_token(self.src, at);
        let frames = self.lexer.frame_count();
        if let Some(region) = self.region {
            self.continue_region(region, at, end);
        } else if let BracketKind::Case { pattern: true, .. } = before.kind {
            self.mask_pattern(before, token, at);
        } else if self.pattern.is_some() {
            // In quotes or brackets of the pattern.
        } else if frames > before.frames {
            self.open_region(before, at, end);
        } else {
            match token {
                ShellToken::Escape => self.fill(at, end),
                // Left to the parser, which sees that it is not closed.
                _ if self.lexer.unterminated => {}
                ShellToken::Single if self.src[at] == b'$' => self.fill(at, end),
                ShellToken::Prefix => self.out[at..end].fill(b' '),
                ShellToken::Comment => self.comment = Some(at),
                ShellToken::Newline => self.end_line(before, at),
                ShellToken::Plain if matches!(self.src[at], b'$' | b'`') => self.fill(at, end),
                ShellToken::Plain if before.kind != BracketKind::Double => self.mask_plain(before, at, end),
                _ => {}
            }
        }
        end
    }

    fn fill(&mut self, start: usize, end: usize) {
        self.out[start..end].fill(FILLER);
    }

    /// Notes the bracket that the token at `at` has opened, if its inside is to be filled.
    fn open_region(&mut self, before: StateBefore, at: usize, end: usize) {
        let arithmetic =
            if before.stage == Some(ListStage::Variable) { RegionKind::Loop } else { RegionKind::Arithmetic };
        let kind = match self.lexer.kind() {
            BracketKind::Double => {
                // `$"`
                self.fill(at, end - 1);
                return;
            }
            BracketKind::Test => RegionKind::Test,
            BracketKind::Arithmetic { .. } if self.src[at] == b'(' => arithmetic,
            BracketKind::Array if is_array(self.src, at) || is_pattern(self.src, at) => RegionKind::Word,
            BracketKind::Arithmetic { .. }
            | BracketKind::Brace
            | BracketKind::Square
            | BracketKind::Paren { substitution: true } => RegionKind::Word,
            BracketKind::Paren { .. } if self.src.get(end) == Some(&b'(') => {
                self.part_brackets(at);
                return;
            }
            _ => return,
        };
        self.region = Some(FilledRegion { kind, start: at, frames: before.frames });
    }

    /// Moves the bracket at `at` away from the next one, since the parser takes two for the beginning of arithmetic.
    fn part_brackets(&mut self, at: usize) {
        let before = at.checked_sub(1).map_or(&mut self.lead, |before| &mut self.out[before]);
        if matches!(before, b' ' | b'\t') {
            *before = b'(';
            self.out[at] = b' ';
        }
    }

    /// Fills the token in `region`, and the bracket once the token that ends at `end` has closed it, or the script has ended.
    fn continue_region(&mut self, region: FilledRegion, at: usize, end: usize) {
        let FilledRegion { kind, start, frames } = region;
        let own = self.lexer.frame_count() == frames + 1;
        if kind == RegionKind::Loop && own && self.src[at] == b';' {
            return;
        }
        let closed = self.lexer.frame_count() <= frames;
        match kind {
            RegionKind::Word => self.fill(at, end),
            _ if closed => {}
            RegionKind::Test => self.fill(at, end),
            RegionKind::Arithmetic | RegionKind::Loop => self.out[at..end].fill(b'1'),
        }
        if !closed {
            return;
        }
        self.region = None;
        match kind {
            RegionKind::Word => {
                let opening = self.src[start..].iter().take(3).take_while(|byte| b"<>$({[".contains(byte));
                let len = opening.count();
                self.fill(start, (start + len).min(end));
            }
            RegionKind::Test if at > start + 2 => {
                self.out[start + 2] = b' ';
                self.out[at - 1] = b' ';
            }
            _ => {}
        }
    }

    /// Fills the pattern of a `case` from its first letter to before its bracket.
    fn mask_pattern(&mut self, before: StateBefore, token: ShellToken, at: usize) {
        let closed = self.lexer.frame_count() < before.frames;
        let ends = matches!(self.lexer.kind(), BracketKind::Case { pattern: false, .. });
        match (self.pattern, self.src[at]) {
            (Some(start), b')') if ends => {
                self.fill(start, at);
                self.pattern = None;
            }
            // `esac`
            (None, _) if closed => {}
            (None, b'(') => self.out[at] = b' ',
            (None, b' ' | b'\t' | b'\n' | b';' | b'&') => {}
            (None, _) if token != ShellToken::Comment => self.pattern = Some(at),
            _ => {}
        }
    }

    /// Masks an end of line that ends a command, which the parser loses now and then.
    fn end_line(&mut self, before: StateBefore, at: usize) {
        let start = self.comment.take().unwrap_or(at);
        let rest = &self.src[at + 1..];
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let separator = match before.stage {
            Some(ListStage::Words | ListStage::Items) => b';',
            // `function f()` awaits its body.
            Some(ListStage::Closed) if !ends_with_empty_brackets(&self.src[..start]) => b';',
            // `for x` awaits `in`, or `do`.
            Some(ListStage::Values) if rest[blanks..].starts_with(b"do") => b';',
            Some(ListStage::Values) => b' ',
            _ => return,
        };
        // `;;`
        if is_list(before.kind) && rest.first() != Some(&b';') {
            self.out[start..=at].fill(b' ');
            self.out[start] = separator;
        }
    }

    /// Masks a token that opens nothing and is in no quotes.
    fn mask_plain(&mut self, before: StateBefore, at: usize, end: usize) {
        let src = self.src;
        match src[at] {
            // The parser takes words for the targets of some operators: it gets the shortest ones. What they are is read in the script.
            b'<' | b'>' => {
                let continues = before.target && at > 0 && matches!(src[at - 1], b'<' | b'>');
                self.out[at + usize::from(!continues)..end].fill(b' ');
            }
            b'&' if end > at + 1 => {
                self.out[at] = b'>';
                self.out[at + 1..end].fill(b' ');
            }
            b' ' | b'\t' | b';' | b'|' | b'&' | b'(' | b')' => {}
            // The number of a descriptor; the parser does not know 0.
            byte if !before.in_word && !self.lexer.is_in_word() && byte.is_ascii_digit() => {
                if byte == b'0' {
                    self.out[at] = b'1';
                }
            }
            _ if self.is_keyword(before, &src[at..end]) => {
                let closes = before.stage == Some(ListStage::Closed) && CLOSERS.contains(&&src[at..end]);
                if closes || before.stage == Some(ListStage::Values) && src[at..end] == *b"do" {
                    self.separate(at);
                }
            }
            _ => self.mask_word(before, at, end),
        }
    }

    fn mask_word(&mut self, before: StateBefore, at: usize, end: usize) {
        let src = self.src;
        if !before.in_word && (src[at] == b'-' || SPECIAL.contains(&&src[at..end])) {
            self.out[at] = FILLER;
        }
        for byte in &mut self.out[at..end] {
            if !(byte.is_ascii_alphabetic() || b"-./".contains(byte) || *byte >= 0x80) {
                *byte = FILLER;
            }
        }
    }

    /// Reports whether the lexer has just taken `word` for a keyword.
    fn is_keyword(&self, before: StateBefore, word: &[u8]) -> bool {
        if before.in_word || before.target || !std::str::from_utf8(word).is_ok_and(is_reserved) {
            return false;
        }
        let now = self.lexer.stage_of(before.frames);
        match (before.kind, before.stage) {
            _ if self.lexer.frame_count() < before.frames => true,
            (BracketKind::Case { word: true, .. }, _) => self.lexer.kind() != before.kind,
            (_, Some(ListStage::Start | ListStage::Closed | ListStage::Values)) => {
                now != Some(ListStage::Words)
            }
            _ => false,
        }
    }

    /// Puts a separator in front of `at`, if there is none and there is room.
    fn separate(&mut self, at: usize) {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        if self.src[..at].iter().rev().find(|byte| !blank(byte)) == Some(&b'\n') {
            return;
        }
        if let Some(before @ (b' ' | b'\t')) = at.checked_sub(1).and_then(|before| self.out.get_mut(before)) {
            *before = b';';
        }
    }
}

fn ends_with_empty_brackets(src: &[u8]) -> bool {
    src.trim_ascii_end().strip_suffix(b")").is_some_and(|rest| rest.trim_ascii_end().ends_with(b"("))
}

/// Reports whether commands stand in a bracket of `kind`.
fn is_list(kind: BracketKind) -> bool {
    matches!(
        kind,
        BracketKind::Top | BracketKind::Paren { .. } | BracketKind::Case { word: false, pattern: false }
    )
}

/// Reports whether the bracket at `at` opens an extended pattern in which nothing can run.
fn is_pattern(src: &[u8], at: usize) -> bool {
    at > 0
        && b"?*+@!".contains(&src[at - 1])
        && bracket_end(src, at + 1, BracketKind::Array)
            .is_some_and(|end| !src[at..end].iter().any(|byte| b";&<>\n".contains(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_does_not_read_well_is_masked() {
        for (text, masked) in [
            ("ls $x/a \"$(b \"c\")\" `d` $'e'", " ls _x/a \"________\" ___ ____"),
            ("x=$((1<<20)) y[$i]=a z+=(a b) ls ~/a", " x___________ y__i__a z_______ ls _/a"),
            ("((x=1<<2)); for ((i=0;i<9;)); do a; done", " ((111111)); for ((111;111;)); do a; done"),
            ("[[ a < $(b) ]] && [ -f c ]", " [[ ________ ]] && _ _f c _"),
            ("ls !(a|b).c {a,b} } { ! -", " ls ______.c _a_b_ _ _ _ _"),
            ("a 5<>b 2>&1 0<c &>>d >&- <<<e a9>f", " a 5< b 2> _ 1<c >  d > _ <  e a_>f"),
            ("! a; time -p -- { b; }; time -p c", "   a;            { b; }; time _p c"),
            ("case \"$x\" in (a|$b) c;; *\" \") d;; esac", " case \"_x\" in  ____) c;; ____) d;; esac"),
            ("for x do a; done; if (b) then c; fi", " for x;do a; done; if (b);then c; fi"),
            ("declare -a x=(a \"b c\"); local y", " _eclare _a x__________; _ocal y"),
            ("a\\ b\\;c", " a__b__c"),
            ("a # b\nc\nfor x\ndo\n(d)\ndone", " a ;   c;for x;do\n(d);done"),
            ("for x # a\n\n in b\ndo c; done", " for x       in b;do c; done"),
            ("((a) | b); (((1)); c)", "( (a) | b);( ((1)); c)"),
        ] {
            assert_eq!(mask_script(text), masked, "{text}");
        }
    }

    #[test]
    fn what_may_run_is_not_masked() {
        for text in
            ["ls a(b)", "ls \"a;b\" 'c' # d", "f() { a; }", "if a; then b; else c; fi | d", "(a &) && { b; }"]
        {
            assert_eq!(&mask_script(text)[LEAD..], text);
        }
        assert_eq!(mask_script("ls @(a;b)"), " ls _(a;b)");
        assert_eq!(mask_script("!(rm x)"), "  (rm x)");
    }
}
