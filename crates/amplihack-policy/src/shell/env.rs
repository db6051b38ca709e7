//! `env`: its options, its assignments, the command behind them, and the words of `env -S`.

use super::lexer::{Lexer, char_len};
use super::model::Word;
use super::unwrap::{Inner, leading_assignments, render, without};
use super::word::{Part, lex};

pub(super) fn env(arguments: &[Word]) -> Vec<Inner> {
    let mut at = 0;
    let mut cd = None;
    while let Some(word) = arguments.get(at).and_then(Word::literal) {
        at += 1;
        match word.as_str() {
            "--" => break,
            "-u" | "--unset" | "-a" | "--argv0" => at += 1,
            "-C" | "--chdir" => {
                cd = arguments.get(at).cloned();
                at += 1;
            }
            _ if word.starts_with("--split-string=") => {
                return split(&arguments[at - 1], "--split-string=".len(), &arguments[at..]);
            }
            "-S" | "--split-string" | "-iS" | "-vS" | "-ivS" | "-viS" => {
                return arguments
                    .get(at)
                    .map(|word| split(word, 0, &arguments[at + 1..]))
                    .unwrap_or_default();
            }
            _ if word.starts_with('-') => {
                if let Some(place) =
                    word.find('S').filter(|_| !word.starts_with("--") && !word.starts_with("-u"))
                {
                    return split(&arguments[at - 1], place + 1, &arguments[at..]);
                }
            }
            _ => {
                at -= 1;
                break;
            }
        }
    }
    let (assignments, words) = leading_assignments(arguments.get(at..).unwrap_or_default());
    if words.is_empty() { Vec::new() } else { vec![Inner::Argv { words: words.to_vec(), assignments, cd }] }
}

/// `env -S`: the string is split into words, close enough to how a shell does it; options of env may stand in it.
fn split(word: &Word, from: usize, rest: &[Word]) -> Vec<Inner> {
    let source = render(&without(word, from)).replace("\\_", " ");
    let mut words: Vec<Word> = vec![Word::plain("env", word.span)];
    words.extend(shell_words(&source).into_iter().map(|text| Word::plain(text, word.span)));
    words.extend_from_slice(rest);
    vec![Inner::argv(words)]
}

fn shell_words(source: &str) -> Vec<String> {
    let src = source.as_bytes();
    let mut lexer = Lexer::new();
    let (mut words, mut at, mut begin) = (Vec::new(), 0, None);
    while at < src.len() {
        if lexer.frames() == 1 && src[at].is_ascii_whitespace() {
            words.extend(begin.take().map(|begin: usize| &source[begin..at]));
            at += 1;
            continue;
        }
        begin.get_or_insert(at);
        at = if lexer.frames() == 1 && !b"'\"\\".contains(&src[at]) {
            at + char_len(src, at)
        } else {
            lexer.step(src, at).0
        };
    }
    words.extend(begin.map(|begin| &source[begin..]));
    let plain = |word: &str| {
        let parts = lex(word).parts;
        parts
            .into_iter()
            .map(|part| match part {
                Part::Text { text, .. } => text,
                Part::Variable { name, .. } => format!("${{{name}}}"),
                Part::Dynamic { source, .. } => source,
            })
            .collect()
    };
    words.into_iter().map(plain).collect()
}
