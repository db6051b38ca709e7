//! Text of words in which the shell would still do something: marks for it, and matching of names against it.

/// An active `*`.
pub(crate) const STAR: char = '\u{F0001}';
/// An active `?`.
pub(crate) const ANY: char = '\u{F0002}';
/// An active `[`.
pub(crate) const CLASS: char = '\u{F0003}';
/// A part that is not known before the script runs.
pub(crate) const UNKNOWN: char = '\u{F0004}';
/// An active `~` at the start.
pub(crate) const TILDE: char = '\u{F0005}';

const MARKS: [char; 5] = [STAR, ANY, CLASS, UNKNOWN, TILDE];

/// Puts marks in place of what the shell expands in unquoted `text`; `first`: it starts the word.
pub(crate) fn mark(text: &str, first: bool, out: &mut String) {
    for (at, ch) in text.char_indices() {
        out.push(match ch {
            '*' => STAR,
            '?' => ANY,
            '[' => CLASS,
            '~' if first && at == 0 => TILDE,
            other => other,
        });
    }
}

/// A path from an option or from code: programs put the home in for a leading `~` where the shell did not.
pub(crate) fn path(text: &str) -> String {
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{TILDE}{rest}"),
        _ => text.to_owned(),
    }
}

/// The text as it was written; unknown parts stay marked.
pub(crate) fn plain(marked: &str) -> String {
    marked
        .chars()
        .map(|ch| match ch {
            STAR => '*',
            ANY => '?',
            CLASS => '[',
            TILDE => '~',
            other => other,
        })
        .collect()
}

/// The text for a person.
pub(crate) fn shown(marked: &str) -> String {
    plain(marked).replace(UNKNOWN, "…")
}

/// Whether nothing in `marked` is a glob, a tilde or unknown.
pub(crate) fn is_plain(marked: &str) -> bool {
    !marked.contains(MARKS)
}

/// Whether `marked` may expand to more than one name.
pub(crate) fn is_glob(marked: &str) -> bool {
    marked.contains([STAR, ANY, CLASS])
}

/// Whether `name` is one of the names that `pattern` may become. An unknown part may be anything.
pub(crate) fn may_be(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    // Most patterns begin with a character that the name does not: no need to look closer.
    let (first, named) = (pattern.as_bytes().first(), name.as_bytes().first());
    if first.is_some_and(u8::is_ascii_graphic) && first != named || is_plain(pattern) {
        return false;
    }
    if tokens(pattern).filter(|token| *token != Token::Many).take(name.len() + 1).count() > name.len() {
        return false;
    }
    let pattern: Vec<Token> = tokens(pattern).collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(Token::Many) => {
                star = Some((p, n));
                p += 1;
            }
            Some(Token::One) => (p, n) = (p + 1, n + 1),
            Some(Token::Char(ch)) if *ch == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|token| *token == Token::Many)
}

#[derive(PartialEq, Eq)]
enum Token {
    Many,
    One,
    Char(char),
}

fn tokens(pattern: &str) -> impl Iterator<Item = Token> {
    let mut rest = pattern.chars();
    std::iter::from_fn(move || {
        Some(match rest.next()? {
            STAR | UNKNOWN => Token::Many,
            ANY => Token::One,
            // A class stands for any one character: too wide is the safe side.
            CLASS => match rest.as_str().find(']') {
                Some(end) => {
                    rest = rest.as_str()[end + 1..].chars();
                    Token::One
                }
                None => Token::Char('['),
            },
            TILDE => Token::Char('~'),
            other => Token::Char(other),
        })
    })
}

/// A pattern of a configuration as marked text: `*` and `?` are active, a leading `~/` is home.
pub(crate) fn pattern(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (at, ch) in text.char_indices() {
        out.push(match ch {
            '*' => STAR,
            '?' => ANY,
            '~' if at == 0 => TILDE,
            other => other,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globbed(text: &str) -> String {
        let mut out = String::new();
        mark(text, true, &mut out);
        out
    }

    #[test]
    fn names_match_what_bash_would_expand() {
        for (pattern, name, expected) in [
            ("su*", "sub", true),
            ("zz*", "sub", false),
            ("*", "anything", true),
            ("s?b", "sub", true),
            ("[a-s]ub", "sub", true),
            ("[broken", "[broken", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("plain", "plain", true),
        ] {
            assert_eq!(may_be(&globbed(pattern), name), expected, "{pattern} {name}");
        }
        assert!(may_be(&format!("build-{UNKNOWN}"), "build-7"));
        assert!(!may_be(&format!("build-{UNKNOWN}"), "proj"));
    }
}
