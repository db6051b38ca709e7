//! `env`: its options, its assignments, the command behind them, and the words of `env -S`.

use super::lexer::{ShellLexer, char_len};
use super::model::{ShellWord, WordPiece};
use super::unwrap::{WrappedCommand, leading_assignments, render_word, without_prefix};
use super::word::{WordPart, lex_word};

pub(super) fn env_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let mut at = 0;
    let mut cd = None;
    while let Some(word) = arguments.get(at).and_then(ShellWord::literal_text) {
        at += 1;
        match word.as_str() {
            "--" => break,
            "-u" | "--unset" | "-a" | "--argv0" => at += 1,
            "-C" | "--chdir" => {
                cd = arguments.get(at).cloned();
                at += 1;
            }
            _ if word.starts_with("--split-string=") => {
                return split_string(&arguments[at - 1], "--split-string=".len(), &arguments[at..]);
            }
            "-S" | "--split-string" | "-iS" | "-vS" | "-ivS" | "-viS" => {
                return arguments
                    .get(at)
                    .map(|word| split_string(word, 0, &arguments[at + 1..]))
                    .unwrap_or_default();
            }
            _ if word.starts_with('-') => {
                // In a cluster the string begins behind the `S`; behind `-u` stands the name of a variable, in which an S is a letter.
                if let Some(place) =
                    word.find('S').filter(|_| !word.starts_with("--") && !word.starts_with("-u"))
                {
                    return split_string(&arguments[at - 1], place + 1, &arguments[at..]);
                }
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    let (assignments, words) = leading_assignments(arguments.get(at..).unwrap_or_default());
    if words.is_empty() {
        Vec::new()
    } else {
        vec![WrappedCommand::Argv { words: words.to_vec(), assignments, cd }]
    }
}

/// `env -S`: the string is split into words, close enough to how a shell does it; options of env may stand in it.
fn split_string(word: &ShellWord, from: usize, rest: &[ShellWord]) -> Vec<WrappedCommand> {
    let source = render_word(&without_prefix(word, from)).replace("\\_", " ");
    let mut words: Vec<ShellWord> = vec![ShellWord::from_plain("env", word.span)];
    words.extend(shell_words(&source).into_iter().map(|pieces| ShellWord { pieces, span: word.span }));
    words.extend_from_slice(rest);
    vec![WrappedCommand::from_words(words)]
}

fn shell_words(source: &str) -> Vec<Vec<WordPiece>> {
    let src = source.as_bytes();
    let mut lexer = ShellLexer::new();
    let (mut words, mut at, mut begin) = (Vec::new(), 0, None);
    while at < src.len() {
        if lexer.frame_count() == 1 && src[at].is_ascii_whitespace() {
            words.extend(begin.take().map(|begin: usize| &source[begin..at]));
            at += 1;
            continue;
        }
        begin.get_or_insert(at);
        at = if lexer.frame_count() == 1 && !b"'\"\\".contains(&src[at]) {
            at + char_len(src, at)
        } else {
            lexer.step_token(src, at).0
        };
    }
    words.extend(begin.map(|begin| &source[begin..]));
    let plain = |word: &str| {
        let parts = lex_word(word).parts;
        parts
            .into_iter()
            .map(|part| match part {
                WordPart::Text { text, .. } => WordPiece::Literal { text, quoted: true },
                WordPart::Variable { name, .. } => WordPiece::Variable(name),
                WordPart::Dynamic { source, .. } => WordPiece::Dynamic(source),
            })
            .collect()
    };
    words.into_iter().map(plain).collect()
}
