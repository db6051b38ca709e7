//! Reader zero: scripts so plain that there is only one way to read them. Most commands of agents are; anything else is not read here.

use super::items::{RawCommand, RawRedirect, RawShellText, ShellItem};
use super::model::RedirectKind;

/// Words that mean something else to bash or to the parser where a program is expected.
const RESERVED: [&str; 31] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select",
    "function", "time", "coproc", "in", "declare", "typeset", "export", "readonly", "local", "unset",
    "unsetenv", "let", "alias", "eval", "exec", "test", "source", "return",
];

/// The items that `text` runs, if it is words, plain quotes and variables, lists, pipes and redirections to files; else `None`.
pub(super) fn read(text: &str) -> Option<Vec<ShellItem>> {
    let mut reader = PlainReader { text, src: text.as_bytes(), at: 0 };
    let mut items = Vec::new();
    reader.skip_blanks(true);
    while reader.at < reader.src.len() {
        items.push(reader.read_pipeline()?);
        match reader.list_operator()? {
            ListOperator::Ends => break,
            ListOperator::May => {}
            ListOperator::Must if reader.at < reader.src.len() => {}
            ListOperator::Must => return None,
        }
    }
    Some(items)
}

/// Operator behind a pipeline.
enum ListOperator {
    /// The end of the script.
    Ends,
    /// `;` or an end of line: another may follow.
    May,
    /// `&&` or `||`: another must follow.
    Must,
}

struct PlainReader<'a> {
    text: &'a str,
    src: &'a [u8],
    at: usize,
}

impl PlainReader<'_> {
    fn peek_byte(&self) -> Option<u8> {
        self.src.get(self.at).copied()
    }

    fn byte_after(&self) -> Option<u8> {
        self.src.get(self.at + 1).copied()
    }

    fn skip_blanks(&mut self, lines: bool) {
        while let Some(b' ' | b'\t' | b'\n') = self.peek_byte() {
            if !lines && self.peek_byte() == Some(b'\n') {
                break;
            }
            self.at += 1;
        }
    }

    fn list_operator(&mut self) -> Option<ListOperator> {
        match (self.peek_byte(), self.byte_after()) {
            (None, _) => Some(ListOperator::Ends),
            (Some(b'\n'), _) => {
                self.skip_blanks(true);
                Some(ListOperator::May)
            }
            (Some(b';'), next) if next != Some(b';') && next != Some(b'&') => {
                self.at += 1;
                self.skip_blanks(true);
                Some(ListOperator::May)
            }
            (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => {
                self.at += 2;
                self.skip_blanks(true);
                Some(ListOperator::Must)
            }
            _ => None,
        }
    }

    fn read_pipeline(&mut self) -> Option<ShellItem> {
        let first = ShellItem::Simple(self.read_command()?);
        if self.peek_byte() != Some(b'|') || self.byte_after() == Some(b'|') {
            return Some(first);
        }
        let mut stages = vec![first];
        while self.peek_byte() == Some(b'|') && self.byte_after() != Some(b'|') {
            self.at += 1;
            self.skip_blanks(true);
            stages.push(ShellItem::Simple(self.read_command()?));
        }
        Some(ShellItem::Pipe(stages))
    }

    /// A command with at least one word; the first is no keyword and sets no variable.
    fn read_command(&mut self) -> Option<RawCommand> {
        let mut simple = RawCommand::default();
        loop {
            match self.peek_byte() {
                None | Some(b'\n' | b';' | b'&' | b'|') => break,
                Some(b'>' | b'<') => {
                    if simple.words.is_empty() {
                        return None;
                    }
                    simple.redirects.push(self.read_redirect()?);
                }
                Some(_) => {
                    let word = self.read_word()?;
                    // `2>`: the digit is no word. Whether other letters right before it are, and `0`, the readers disagree about.
                    if matches!(self.peek_byte(), Some(b'>' | b'<')) {
                        let digit = matches!(word.text.as_bytes(), [b'1'..=b'9']);
                        if !digit || simple.words.is_empty() {
                            return None;
                        }
                        continue;
                    }
                    // tree-sitter loses words behind a redirection in a list.
                    let misplaced = !simple.redirects.is_empty();
                    if misplaced || simple.words.is_empty() && !is_program(&word.text) {
                        return None;
                    }
                    simple.words.push(word);
                }
            }
            self.skip_blanks(false);
        }
        (!simple.words.is_empty()).then_some(simple)
    }

    /// `> file`, `>> file`, `< file`, `>&1`.
    fn read_redirect(&mut self) -> Option<RawRedirect> {
        let kind = match (self.peek_byte()?, self.byte_after()?) {
            (b'>', b'>') => {
                self.at += 2;
                RedirectKind::Append
            }
            (b'>', b'&') => {
                self.at += 2;
                let target =
                    RawShellText { start: self.at, text: self.text.get(self.at..=self.at)?.to_owned() };
                self.at += 1;
                let ends = matches!(self.peek_byte(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|'));
                let digit = target.text.bytes().all(|byte| byte.is_ascii_digit());
                return (digit && ends).then_some(RawRedirect { kind: RedirectKind::Duplicate, target });
            }
            (b'>', b'|' | b'(') | (b'<', b'<' | b'&' | b'>' | b'(') => return None,
            (b'>', _) => {
                self.at += 1;
                RedirectKind::Write
            }
            _ => {
                self.at += 1;
                RedirectKind::Read
            }
        };
        self.skip_blanks(false);
        Some(RawRedirect { kind, target: self.read_word()? })
    }

    fn read_word(&mut self) -> Option<RawShellText> {
        let start = self.at;
        if self.peek_byte() == Some(b'=') {
            return None;
        }
        while let Some(byte) = self.peek_byte() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.skip_quote(|byte| byte != b'\'')?,
                b'"' => self.skip_quote(|byte| !b"\"\\`$!".contains(&byte))?,
                b'$' if self.byte_after().is_some_and(|next| next.is_ascii_alphabetic() || next == b'_') => {
                    self.at += 1;
                }
                _ if byte.is_ascii_alphanumeric() || b"_-./:,@%+=*".contains(&byte) => self.at += 1,
                _ => return None,
            }
        }
        // Readers disagree about a lone `-`.
        let lone = &self.text[start..self.at] == "-";
        (self.at > start && !lone).then(|| RawShellText { start, text: self.text[start..self.at].to_owned() })
    }

    /// Passes over a quotation in one line, of bytes that mean themselves.
    fn skip_quote(&mut self, inside: fn(u8) -> bool) -> Option<()> {
        let quote = self.peek_byte()?;
        let rest = &self.src[self.at + 1..];
        let len = rest.iter().take_while(|&&byte| inside(byte) && byte >= b' ').count();
        self.at += len + 2;
        (rest.get(len) == Some(&quote)).then_some(())
    }
}

/// Reports whether a first word is just a program's name.
fn is_program(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte))
        && !word.bytes().all(|byte| byte.is_ascii_digit())
        && !RESERVED.contains(&word)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use amplihack_sys::WorkLimit;
    use proptest::prelude::*;

    use super::super::items::collect_commands;
    use super::super::mask::mask_script;
    use super::super::outline::find_disagreement;
    use super::super::tree;
    use super::*;

    /// Whether `text` is plain; then the parser and the lexer find the same.
    fn agree(text: &str) -> Result<bool, TestCaseError> {
        let Some(items) = read(text) else { return Ok(false) };
        let limit = WorkLimit::from_now(Duration::from_secs(20));
        let tree = tree::read(text, &mask_script(text), limit).expect("time enough");
        prop_assert_eq!(tree.error, None, "{:?}", text);
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        collect_commands(&items, &mut ours);
        collect_commands(&tree.items, &mut others);
        prop_assert_eq!(ours, others, "the parser reads {:?}", text);
        prop_assert_eq!(find_disagreement(text, &items), None, "the lexer reads {:?}", text);
        Ok(true)
    }

    const PIECES: [&str; 58] = [
        "ls",
        "rm",
        "git",
        "a.b",
        "./x",
        "-rf",
        "--x=y",
        "x=y",
        "*.o",
        "'q q'",
        "\"d d\"",
        "'",
        "\"",
        "$HOME",
        "$x/y",
        "\"$x\"",
        " ",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        ";",
        "; ",
        "&&",
        " && ",
        "|",
        " | ",
        "||",
        "&",
        "2>&1",
        " 2>&1 ",
        "2>/dev/null",
        ">",
        ">>",
        "<",
        "> f",
        ">&2",
        "10>f",
        "if",
        "time",
        "test",
        "in",
        "do",
        "%",
        "@",
        ":",
        ",",
        "=",
        "+",
        "$",
        "\\",
        "#",
        "(",
        ")",
        "é",
        "'é'",
        "0",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_plain_is_read_alike_by_all_readers(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 1..12)) {
            agree(&pieces.concat())?;
        }

        #[test]
        fn plain_scripts_are_read_alike_by_all_readers(
            words in proptest::collection::vec("[a-z./@%:,=+*-]{1,4}|'[a-z |;>$é]{0,4}'|\"[a-z |;>'é]{0,4}\"|\\$[a-z_]{1,3}", 1..7),
            between in proptest::collection::vec(proptest::sample::select(&[" ", "  ", " && ", "; ", "\n", " | ", " > ", " 2>&1 ", " || ", " >> ", ">", " 2>"][..]), 7),
        ) {
            let text: String = words.iter().zip(&between).flat_map(|(word, gap)| [word.as_str(), gap]).collect();
            agree(&format!("run {}", text.trim()))?;
        }
    }

    #[test]
    fn everyday_commands_are_plain() {
        for text in [
            "ls -la",
            "cargo test -p x 2>&1 | tail -20",
            "cd crates && rg -n 'fn main' --type rust | head",
            "git commit -m \"fix: rm -rf / in docs\"",
            "npm ci && npm run build; echo done > log",
            "find . -name '*.o' -delete",
            "rm -rf $HOME/x\n",
        ] {
            assert_eq!(agree(text).ok(), Some(true), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for text in [
            "",
            "X=1 ls",
            "$x -rf",
            "ls &",
            "ls `x`",
            "ls $(x)",
            "ls \\x",
            "ls {a,b}",
            "ls 0> f",
            "ls ~",
            "! ls",
            "ls #x",
            "(ls)",
            "ls &&",
            "ls; ; ls",
            "if x",
            "ls 'a",
            "ls \"a$x\"",
            "cat <<E",
            "cat <(x)",
            "ls |& x",
            "a > b > ",
            "> f ls",
            "é",
            "ls [a]",
            "ls a?",
            "ls > f a",
        ] {
            assert_eq!(read(text).filter(|items| !items.is_empty()), None, "{text:?}");
        }
    }
}
