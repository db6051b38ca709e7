//! Code of shells whose language is not bash's: the commands in it, as far as words and brackets show them.

use amplihack_verdict::Span;

use super::model::{ShellWord, WordPiece};
use super::oneliner;
use super::unwrap::{TOO_MANY, WrappedCommand};
use super::variables::push_literal;

/// Commands of one text that are looked at.
const MOST: usize = 256;

/// The commands that `code` starts: those between its brackets and lines, those of its calls, and those that bash reads in it.
pub(super) fn foreign_commands(code: &str) -> Vec<WrappedCommand> {
    // First what bash reads, since that knows which command feeds which.
    let mut found = vec![WrappedCommand::Foreign(code.to_owned())];
    found.extend(split_segments(code).into_iter().map(WrappedCommand::from_words));
    for start in oneliner::started_commands(code, false, false) {
        found.push(match start {
            oneliner::StartedCommand::Script(text) => WrappedCommand::Script { text, positional: Vec::new() },
            oneliner::StartedCommand::Argv(words) => WrappedCommand::from_words(
                words.into_iter().map(|text| ShellWord::from_plain(text, Span::default())).collect(),
            ),
            oneliner::StartedCommand::TooMany => WrappedCommand::Unknown(TOO_MANY),
        });
    }
    if found.len() > MOST {
        found = vec![WrappedCommand::Unknown(TOO_MANY)];
    }
    found
}

/// The words between what ends a command in any of these languages.
fn split_segments(code: &str) -> Vec<Vec<ShellWord>> {
    let (mut found, mut words, mut pieces): (Vec<Vec<ShellWord>>, Vec<ShellWord>, Vec<WordPiece>) =
        Default::default();
    let mut bare = String::new();
    let mut rest = code.chars();
    loop {
        let next = rest.next();
        if let Some(quote @ ('\'' | '"' | '`')) = next {
            push_bare(&mut bare, &mut pieces);
            let text: String = rest.by_ref().take_while(|ch| *ch != quote).collect();
            push_literal(&text, true, &mut pieces);
            continue;
        }
        let ends =
            next.is_none_or(|ch| matches!(ch, ';' | '|' | '&' | '\n' | '{' | '}' | '(' | ')' | '[' | ']'));
        if !ends && next.is_some_and(|ch| !ch.is_whitespace()) {
            bare.extend(next);
            continue;
        }
        push_bare(&mut bare, &mut pieces);
        if !pieces.is_empty() {
            words.push(ShellWord { pieces: std::mem::take(&mut pieces), span: Span::default() });
        }
        if ends {
            let made = std::mem::take(&mut words);
            let command: Vec<ShellWord> = made.into_iter().skip_while(is_assignment).collect();
            found.extend(Some(command).filter(|words| is_command(words)));
        }
        if next.is_none() || found.len() > MOST {
            return found;
        }
    }
}

/// Puts text outside of quotes to a word, variables in it as what they are.
fn push_bare(bare: &mut String, pieces: &mut Vec<WordPiece>) {
    let text = std::mem::take(bare);
    // `^rm` of Nushell, `e:rm` of Elvish, `!rm` and `$` before a bracket of Xonsh.
    let text = if pieces.is_empty() {
        text.strip_prefix("e:").unwrap_or(&text).trim_start_matches(['^', '!', '@']).to_owned()
    } else {
        text
    };
    if text.is_empty() || text == "$" {
        return;
    }
    let home = ["$HOME", "$nu.home-path", "$nu.home-dir", "$env.HOME", "$E:HOME", "$ENV.HOME"];
    if let Some(behind) = home.iter().find_map(|name| text.strip_prefix(name)) {
        pieces.push(WordPiece::Variable("HOME".to_owned()));
        pieces.push(WordPiece::Literal { text: behind.to_owned(), quoted: false });
    } else if text.contains('$') {
        pieces.push(WordPiece::Dynamic(text));
    } else {
        push_literal(&text, false, pieces);
    }
}

fn is_assignment(word: &ShellWord) -> bool {
    word.literal_text().is_some_and(|text| text.contains('='))
}

/// Reports whether words begin with a program's name.
fn is_command(words: &[ShellWord]) -> bool {
    words.first().and_then(ShellWord::literal_text).is_some_and(|name| !name.contains(['*', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_between_brackets() {
        let found = |code: &str| {
            let words = split_segments(code);
            words.iter().map(|words| super::super::unwrap::render_words(words)).collect::<Vec<_>>()
        };
        assert_eq!(found("if true { ^rm -rf ~ }"), ["if true", "rm -rf ~"]);
        assert_eq!(found("ls | where size > 1kb; e:rm 'a b'"), ["ls", "where size > 1kb", "rm a b"]);
        assert_eq!(found("let x = (rm -rf $env.HOME)"), ["let x =", "rm -rf ${HOME}"]);
        assert_eq!(found("$(rm x) 'open"), ["rm x", "open"]);
        assert_eq!(found("A=1 rm x; $x y"), ["rm x"]);
    }
}
