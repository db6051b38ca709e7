//! A script as each parser is given it: text of the length it had, in which nothing stands that the parser does not read well.
//!
//! What was read is cut out of the script itself, so that no word changes.

use std::borrow::Cow;

use super::items::is_reserved;
use super::lexer::{BracketKind, ListStage, ShellLexer, ShellToken};

/// A script for each parser.
pub(super) struct MaskedScript<'t> {
    /// For tree-sitter: without extended patterns, which it takes for subshells, without an end of line between a command and a
    /// compound one, which it loses, with `>>` for `<>` and
    /// another number for the descriptor 0, which it does not know.
    pub(super) tree: Cow<'t, str>,
    /// For brush: without comments, and without `<` and `>` in arithmetic, which would keep it from being asked.
    pub(super) brush: Cow<'t, str>,
}

/// Masks `text`, which is cleaned of here-documents.
pub(super) fn mask_script(text: &str) -> MaskedScript<'_> {
    if !may_change(text.as_bytes()) {
        return MaskedScript { tree: Cow::Borrowed(text), brush: Cow::Borrowed(text) };
    }
    let src = text.as_bytes();
    let (mut tree, mut brush) = (src.to_vec(), src.to_vec());
    let mut lexer = ShellLexer::new();
    let (mut at, mut comment) = (0, false);
    while at < src.len() {
        let (stage, in_word, calculates) =
            (lexer.stage_of(lexer.frame_count()), lexer.is_in_word(), is_arithmetic(lexer.kind()));
        let kind = lexer.kind();
        let (end, token) = lexer.step_token(src, at);
        let end = end.max(at + 1);
        // A descriptor right before its redirection.
        let descriptor = !in_word && !lexer.is_in_word() && matches!(src.get(end), Some(b'<' | b'>'));
        match (token, src[at]) {
            (ShellToken::Plain, b'0') if descriptor && is_list(kind) => tree[at] = b'1',
            (ShellToken::Comment, _) => brush[at..end].fill(b' '),
            (ShellToken::Plain, b'<' | b'>') if calculates => brush[at] = b'+',
            (ShellToken::Plain, b'<') if is_list(kind) && src.get(end) == Some(&b'>') => tree[at] = b'>',
            (ShellToken::Newline, _)
                if is_list(kind)
                    && stage == Some(ListStage::Words)
                    && !comment
                    && opens_compound(&src[end..]) =>
            {
                tree[at] = b';';
            }
            (ShellToken::Plain, b'(') if in_word && lexer.frame_count() > 1 => {
                if let Some(len) = pattern_len(src, at) {
                    tree[at - 1..at + len].fill(b'_');
                }
            }
            _ => {}
        }
        comment = token == ShellToken::Comment;
        at = end;
    }
    let text_of = |bytes: Vec<u8>| {
        String::from_utf8(bytes).map_or(Cow::Borrowed(text), |changed| {
            if changed == text { Cow::Borrowed(text) } else { Cow::Owned(changed) }
        })
    };
    MaskedScript { tree: text_of(tree), brush: text_of(brush) }
}

/// Reports whether anything in `src` might have to be masked.
fn may_change(src: &[u8]) -> bool {
    src.iter().any(|byte| matches!(byte, b'#' | b'\n' | b'<'))
        || src
            .windows(2)
            .any(|pair| matches!(pair, b"((" | b"$[" | b"0>" | [b'?' | b'*' | b'+' | b'@' | b'!', b'(']))
}

fn is_arithmetic(kind: BracketKind) -> bool {
    matches!(kind, BracketKind::Arithmetic { .. } | BracketKind::Square)
}

fn is_list(kind: BracketKind) -> bool {
    matches!(
        kind,
        BracketKind::Top | BracketKind::Paren { .. } | BracketKind::Case { word: false, pattern: false }
    )
}

/// Reports whether the first word of `src` opens a compound command.
fn opens_compound(src: &[u8]) -> bool {
    const CLOSE: [&str; 9] = ["then", "elif", "else", "fi", "do", "done", "esac", "in", "}"];
    let src = src.trim_ascii_start();
    let len = src.iter().take_while(|byte| !b" \t\r\n;&|()<>".contains(byte)).count();
    let word = std::str::from_utf8(&src[..len]).unwrap_or_default();
    is_reserved(word) && !CLOSE.contains(&word)
}

/// The bytes of `(a|b)` at `at`, if an extended pattern stands there in which nothing can run.
fn pattern_len(src: &[u8], at: usize) -> Option<usize> {
    if !matches!(src[at - 1], b'?' | b'*' | b'+' | b'@' | b'!') {
        return None;
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-*?|/[],:=+@%^".contains(byte);
    let len = src[at + 1..].iter().take_while(|byte| plain(byte)).count();
    (src.get(at + 1 + len) == Some(&b')')).then_some(len + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_parser_does_not_read_well_is_masked() {
        for (text, tree, brush) in [
            ("ls # 1234567890>\nrm x", "ls # 1234567890>\nrm x", "ls              \nrm x"),
            ("echo $((1<<20))", "echo $((1<<20))", "echo $((1++20))"),
            ("((x=1<<2)); ls <f", "((x=1<<2)); ls <f", "((x=1++2)); ls <f"),
            ("ls !(a|b).c", "ls ______.c", "ls !(a|b).c"),
            ("a=1 b=2\nwhile x; do y; done", "a=1 b=2;while x; do y; done", "a=1 b=2\nwhile x; do y; done"),
            ("exec 5<>/dev/tcp/h/9", "exec 5>>/dev/tcp/h/9", "exec 5<>/dev/tcp/h/9"),
            ("ls 0<&2 10> f 00<f", "ls 1<&2 10> f 10<f", "ls 0<&2 10> f 00<f"),
            ("ls\n! x", "ls;! x", "ls\n! x"),
        ] {
            let masked = mask_script(text);
            assert_eq!((&*masked.tree, &*masked.brush), (tree, brush), "{text}");
        }
    }

    #[test]
    fn what_may_run_is_not_masked() {
        for text in [
            "ls @(a;b)",
            "!(rm x)",
            "ls @($(a))",
            "a &&\nwhile x; do y; done",
            "ls \"#\" '#' a#b",
            "f()\n{ a; }",
        ] {
            let masked = mask_script(text);
            assert_eq!((&*masked.tree, &*masked.brush), (text, text));
        }
    }
}
