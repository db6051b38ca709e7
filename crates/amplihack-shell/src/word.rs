//! A single word of a script: its parts with quotes removed, and the scripts inside it.

use super::ansi::unescape_backslashes;
use super::lexer::{BracketKind, arithmetic_end, bracket_end, char_len, escaped_position};

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPart {
    /// Text as the command gets it.
    Text { text: String, quoted: bool },
    /// `$NAME`, `${NAME}`, `$@`, `${NAME[@]}`.
    Variable { name: String, quoted: bool },
    /// Any other expansion, with its source; `nested`: it is this one of [`LexedWord::nested`].
    Dynamic { source: String, quoted: bool, nested: Option<usize> },
}

/// Kind of embedding of a script in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmbeddingKind {
    /// `$(…)` or backticks.
    Output,
    /// `<(…)`
    Reader,
    /// `>(…)`
    Writer,
}

/// A script inside a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NestedScript {
    pub(super) embed: EmbeddingKind,
    pub(super) text: String,
    /// Byte of the word at which `text` stands; `None` if the word does not have it there, character by character.
    pub(super) at: Option<usize>,
}

/// A word taken apart.
#[derive(Debug, Default)]
pub(super) struct LexedWord {
    pub(super) parts: Vec<WordPart>,
    pub(super) nested: Vec<NestedScript>,
    /// `${NAME@P}`: the value is expanded once more.
    pub(super) prompts: Vec<String>,
}

/// Takes a word apart.
pub(super) fn lex_word(word: &str) -> LexedWord {
    let mut reader = WordReader { src: word, out: LexedWord::default(), depth: 0 };
    reader.read_bare();
    reader.out
}

/// Takes text apart that is expanded as in double quotes, but in which `"` is a letter: a here-document, a prompt.
pub(super) fn lex_text(text: &str) -> LexedWord {
    let mut reader = WordReader { src: text, out: LexedWord::default(), depth: 0 };
    reader.read_double(0, false);
    reader.out
}

/// The scripts anywhere in text that is not read more closely: arithmetic, `[[ … ]]`, operands of `${…}`.
pub(super) fn scan_scripts(text: &str) -> Vec<NestedScript> {
    let mut reader = WordReader { src: text, out: LexedWord::default(), depth: 0 };
    reader.scan_between(0, text.len(), false);
    reader.out.nested
}

/// Expansions within expansions of one word. What is deeper is given out as a script, which is refused for its depth.
const DEEPEST: usize = 32;

struct WordReader<'a> {
    src: &'a str,
    out: LexedWord,
    /// Expansions around the place that is read.
    depth: usize,
}

impl WordReader<'_> {
    fn push_text(&mut self, more: &str, quoted: bool) {
        if let Some(WordPart::Text { text, quoted: last }) = self.out.parts.last_mut()
            && *last == quoted
        {
            text.push_str(more);
        } else {
            self.out.parts.push(WordPart::Text { text: more.to_owned(), quoted });
        }
    }

    fn read_bare(&mut self) {
        let src = self.src.as_bytes();
        let mut at = 0;
        while at < src.len() {
            at = match src[at] {
                b'\\' if at + 1 < src.len() => {
                    let end = at + 1 + char_len(src, at + 1);
                    self.push_text(&self.src[at + 1..end], true);
                    end
                }
                b'\'' => {
                    let len =
                        src[at + 1..].iter().position(|byte| *byte == b'\'').unwrap_or(src.len() - at - 1);
                    self.push_text(&self.src[at + 1..at + 1 + len], true);
                    at + len + 2
                }
                b'"' => self.read_double(at + 1, true),
                b'$' if src.get(at + 1) == Some(&b'\'') => {
                    let len = escaped_position(&src[at + 2..], b'\'').unwrap_or(src.len() - at - 2);
                    self.push_text(&unescape_backslashes(&self.src[at + 2..at + 2 + len]), true);
                    at + len + 3
                }
                b'$' if src.get(at + 1) == Some(&b'"') => self.read_double(at + 2, true),
                b'$' => self.read_dollar(at, false),
                b'`' => self.read_backtick(at, false),
                b'<' | b'>' if src.get(at + 1) == Some(&b'(') => {
                    let embed = if src[at] == b'<' { EmbeddingKind::Reader } else { EmbeddingKind::Writer };
                    self.push_substitution(at, at + 2, false, embed)
                }
                _ => {
                    let len = src[at + 1..].iter().take_while(|byte| !b"\\'\"$`<>".contains(byte)).count();
                    self.push_text(&self.src[at..=at + len], false);
                    at + len + 1
                }
            }
            .min(src.len());
        }
    }

    /// From behind the opening quote to behind the closing one, or to the end.
    fn read_double(&mut self, from: usize, quote: bool) -> usize {
        let src = self.src.as_bytes();
        let mut at = from;
        if quote && src.get(at) == Some(&b'"') {
            self.push_text("", true);
        }
        while at < src.len() {
            at = match src[at] {
                b'"' if quote => return at + 1,
                b'\\'
                    if src
                        .get(at + 1)
                        .is_some_and(|next| b"$`\\".contains(next) || (quote && *next == b'"')) =>
                {
                    self.push_text(&self.src[at + 1..at + 2], true);
                    at + 2
                }
                b'$' => self.read_dollar(at, true),
                b'`' => self.read_backtick(at, true),
                _ => {
                    let len = src[at + 1..].iter().take_while(|byte| !b"\"\\$`".contains(byte)).count();
                    self.push_text(&self.src[at..=at + len], true);
                    at + len + 1
                }
            }
            .min(src.len());
        }
        at
    }

    fn read_dollar(&mut self, at: usize, quoted: bool) -> usize {
        let src = self.src.as_bytes();
        if self.depth > DEEPEST {
            let text = self.src[at..].to_owned();
            self.push_nested(
                at,
                src.len(),
                quoted,
                NestedScript { embed: EmbeddingKind::Output, text, at: None },
            );
            return src.len();
        }
        match src.get(at + 1) {
            // `$((` opens arithmetic only if it closes as such; else it is a substitution that begins with a subshell, whose commands run.
            Some(b'(') if src.get(at + 2) == Some(&b'(') && self.push_arithmetic(at, quoted).is_some() => {
                self.arithmetic_end(at)
            }
            Some(b'(') => self.push_substitution(at, at + 2, quoted, EmbeddingKind::Output),
            Some(b'[') => {
                let end = bracket_end(src, at + 2, BracketKind::Square).unwrap_or(src.len());
                self.push_opaque(at, end, quoted);
                end
            }
            Some(b'{') => self.read_braces(at, quoted),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let end = at + 1 + name_len(&src[at + 1..]);
                self.push_variable(&self.src[at + 1..end], quoted);
                end
            }
            Some(b'0'..=b'9' | b'@' | b'*') => {
                self.push_variable(&self.src[at + 1..at + 2], quoted);
                at + 2
            }
            Some(b'?' | b'#' | b'$' | b'!' | b'-') => {
                self.push_opaque(at, at + 2, quoted);
                at + 2
            }
            _ => {
                self.push_text("$", quoted);
                at + 1
            }
        }
    }

    fn push_variable(&mut self, name: &str, quoted: bool) {
        self.out.parts.push(WordPart::Variable { name: name.to_owned(), quoted });
    }

    /// An expansion whose outcome is not known; scripts in it are found.
    fn push_opaque(&mut self, at: usize, end: usize, quoted: bool) {
        let source = self.src.get(at..end).unwrap_or_default().to_owned();
        self.out.parts.push(WordPart::Dynamic { source, quoted, nested: None });
        self.depth += 1;
        self.scan_between(at + 2, end, quoted);
        self.depth -= 1;
    }

    fn arithmetic_end(&self, at: usize) -> usize {
        bracket_end(self.src.as_bytes(), at + 3, BracketKind::Arithmetic { open: 0 })
            .unwrap_or(self.src.len())
    }

    fn push_arithmetic(&mut self, at: usize, quoted: bool) -> Option<()> {
        let end = arithmetic_end(self.src.as_bytes(), at + 3)?;
        self.push_opaque(at, end, quoted);
        Some(())
    }

    fn push_substitution(&mut self, at: usize, from: usize, quoted: bool, embed: EmbeddingKind) -> usize {
        let src = self.src.as_bytes();
        let (text, end) = match bracket_end(src, from, BracketKind::Paren { substitution: true }) {
            Some(end) => (&self.src[from..end - 1], end),
            None => (&self.src[from..], src.len()),
        };
        self.push_nested(at, end, quoted, NestedScript { embed, text: text.to_owned(), at: Some(from) });
        end
    }

    fn push_nested(&mut self, at: usize, end: usize, quoted: bool, nested: NestedScript) {
        let number = self.out.nested.len();
        self.out.parts.push(WordPart::Dynamic {
            source: self.src[at..end].to_owned(),
            quoted,
            nested: Some(number),
        });
        self.out.nested.push(nested);
    }

    fn read_backtick(&mut self, at: usize, quoted: bool) -> usize {
        let src = self.src.as_bytes();
        let len = escaped_position(&src[at + 1..], b'`').unwrap_or(src.len() - at - 1);
        let raw = &self.src[at + 1..at + 1 + len];
        let mut text = String::with_capacity(raw.len());
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            let special =
                |next: &char| c == '\\' && (matches!(next, '$' | '`' | '\\') || (quoted && *next == '"'));
            text.push(chars.next_if(special).unwrap_or(c));
        }
        let nested = NestedScript { embed: EmbeddingKind::Output, text, at: None };
        let end = (at + len + 2).min(src.len());
        self.push_nested(at, end, quoted, nested);
        end
    }

    /// `${…}`
    fn read_braces(&mut self, at: usize, quoted: bool) -> usize {
        let src = self.src.as_bytes();
        // bash 5.3: `${ list; }` and `${| list; }` run in this shell.
        if matches!(src.get(at + 2), Some(b' ' | b'\t' | b'\n' | b'|')) {
            let end = bracket_end(src, at + 2, BracketKind::Brace).unwrap_or(src.len());
            let text = self.src.get(at + 3..end.saturating_sub(1)).unwrap_or_default().to_owned();
            self.push_nested(
                at,
                end,
                quoted,
                NestedScript { embed: EmbeddingKind::Output, text, at: Some(at + 3) },
            );
            return end;
        }
        let end = bracket_end(src, at + 2, BracketKind::Brace).unwrap_or(src.len());
        let inner = self.src.get(at + 2..end.saturating_sub(1)).unwrap_or_default();
        let name = match inner.as_bytes().first() {
            Some(b'@' | b'*') => 1,
            Some(b'0'..=b'9') => inner.bytes().take_while(u8::is_ascii_digit).count(),
            _ => name_len(inner.as_bytes()),
        };
        let whole = name > 0 && (matches!(&inner[name..], "" | "[@]" | "[*]") || is_number(&inner[name..]));
        if whole {
            self.push_variable(inner, quoted);
            return end;
        }
        if inner.ends_with("@P") {
            self.out.prompts.push(inner[..name].to_owned());
        }
        self.push_opaque(at, end, quoted);
        end
    }

    /// Finds scripts between two places, whatever else is there. Single quotes hide them, but not inside double quotes.
    fn scan_between(&mut self, from: usize, to: usize, quoted: bool) {
        let src = self.src.as_bytes();
        let to = to.min(src.len());
        let parts = self.out.parts.len();
        let (mut at, mut double) = (from, quoted);
        while at < to {
            at = match src[at] {
                b'\\' if at + 1 < to => at + 1 + char_len(src, at + 1),
                b'\'' if !double => {
                    let prompt = at > 0 && src[at - 1] == b'$';
                    let inner = &src[at + 1..to];
                    let len = if prompt {
                        escaped_position(inner, b'\'')
                    } else {
                        inner.iter().position(|byte| *byte == b'\'')
                    };
                    at + 2 + len.unwrap_or(inner.len())
                }
                b'"' if !quoted => {
                    double = !double;
                    at + 1
                }
                b'$' if matches!(src.get(at + 1), Some(b'(' | b'{' | b'[')) => self.read_dollar(at, double),
                b'`' => self.read_backtick(at, double),
                b'<' | b'>' if src.get(at + 1) == Some(&b'(') && !double => {
                    let embed = if src[at] == b'<' { EmbeddingKind::Reader } else { EmbeddingKind::Writer };
                    self.push_substitution(at, at + 2, false, embed)
                }
                _ => at + 1,
            };
        }
        self.out.parts.truncate(parts);
    }
}

/// Bytes of the variable's name that `src` starts with.
pub(super) fn name_len(src: &[u8]) -> usize {
    if src.first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    src.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

/// `[0]`
fn is_number(subscript: &str) -> bool {
    let inner = subscript.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|digits| {
        !digits.is_empty() && digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(word: &str) -> String {
        lex_word(word)
            .parts
            .iter()
            .map(|part| match part {
                WordPart::Text { text, .. } => text.clone(),
                WordPart::Variable { name, .. } => format!("<{name}>"),
                WordPart::Dynamic { source, .. } => format!("[{source}]"),
            })
            .collect()
    }

    #[test]
    fn quotes_are_removed() {
        for (word, want) in [
            ("\\rm", "rm"),
            ("r''m", "rm"),
            ("'r'\"m\"", "rm"),
            ("$'\\x72m'", "rm"),
            ("$\"rm\"", "rm"),
            ("a\\ b", "a b"),
            ("\"a\\\"\\n\"", "a\"\\n"),
            ("$x${y}$1", "<x><y><1>"),
            ("${a[@]}", "<a[@]>"),
            ("\"$(ls)\"", "[$(ls)]"),
            ("${x:-y}", "[${x:-y}]"),
            ("$", "$"),
            ("''", ""),
            ("$((1+2))x", "[$((1+2))]x"),
            ("'open", "open"),
            ("\"open", "open"),
            ("é\\é", "éé"),
        ] {
            assert_eq!(plain(word), want, "{word}");
        }
    }

    fn nested(word: &str) -> Vec<String> {
        lex_word(word).nested.into_iter().map(|nested| nested.text).collect()
    }

    #[test]
    fn scripts_are_found() {
        for word in [
            "$(ls)",
            "`ls`",
            "\"$(ls)\"",
            "\"`ls`\"",
            "${x:-$(ls)}",
            "\"${x:-'$(ls)'}\"",
            "$((1+$(ls)))",
            "<(ls)",
            ">(ls)",
            "$[1+$(ls)]",
            "${a[$(ls)]}",
            "\"${x:-\"$(ls)\"}\"",
            "$((a[$(ls)]))",
            "\"a`ls`\"",
            "${x/$(ls)/b}",
        ] {
            assert_eq!(nested(word), ["ls"], "{word}");
        }
        for word in ["'$(ls)'", "\\$(ls)", "\"\\$(ls)\"", "$'$(ls)'", "\\`ls\\`"] {
            assert!(nested(word).is_empty(), "{word}");
        }
        assert_eq!(nested("`echo \\`ls\\``"), ["echo `ls`"]);
    }

    /// Found by random input: time that is the square of the depth, and the end of the stack.
    #[test]
    fn what_is_too_deep_is_given_out_as_a_script() {
        let deep = |times: usize| format!("{}$(ls){}", "${a:-".repeat(times), "}".repeat(times));
        assert_eq!(nested(&deep(20)), ["ls"]);
        let found = nested(&deep(40_000));
        assert!(matches!(found.as_slice(), [rest] if rest.starts_with("${a:-${a:-")), "{}", found.len());
    }
}
