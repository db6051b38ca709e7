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
pub(crate) fn mark_text(text: &str, first: bool, out: &mut String) {
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
pub(crate) fn mark_path(text: &str) -> String {
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{TILDE}{rest}"),
        _ => text.to_owned(),
    }
}

/// The text as it was written; unknown parts stay marked.
pub(crate) fn unmark_text(marked: &str) -> String {
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
pub(crate) fn display_text(marked: &str) -> String {
    unmark_text(marked).replace(UNKNOWN, "…")
}

/// Reports whether nothing in `marked` is a glob, a tilde or unknown.
pub(crate) fn is_plain(marked: &str) -> bool {
    !marked.contains(MARKS)
}

/// Reports whether `marked` may expand to more than one name.
pub(crate) fn is_glob(marked: &str) -> bool {
    marked.contains([STAR, ANY, CLASS])
}

/// Reports whether `name` is one of the names that `pattern` may become. An unknown part may be anything.
pub(crate) fn may_be(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    // Most patterns begin with a character that the name does not: no need to look closer.
    let (first, named) = (pattern.as_bytes().first(), name.as_bytes().first());
    if first.is_some_and(u8::is_ascii_graphic) && first != named || is_plain(pattern) {
        return false;
    }
    if pattern_tokens(pattern).filter(|token| *token != PatternToken::Many).take(name.len() + 1).count()
        > name.len()
    {
        return false;
    }
    let pattern: Vec<PatternToken> = pattern_tokens(pattern).collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(PatternToken::Many) => {
                star = Some((p, n));
                p += 1;
            }
            Some(PatternToken::One) => (p, n) = (p + 1, n + 1),
            Some(PatternToken::Char(ch)) if *ch == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|token| *token == PatternToken::Many)
}

#[derive(PartialEq, Eq)]
enum PatternToken {
    Many,
    One,
    Char(char),
}

fn pattern_tokens(pattern: &str) -> impl Iterator<Item = PatternToken> {
    let mut rest = pattern.chars();
    std::iter::from_fn(move || {
        Some(match rest.next()? {
            STAR | UNKNOWN => PatternToken::Many,
            ANY => PatternToken::One,
            // A class stands for any one character: too wide is the safe side.
            CLASS => match rest.as_str().find(']') {
                Some(end) => {
                    rest = rest.as_str()[end + 1..].chars();
                    PatternToken::One
                }
                None => PatternToken::Char('['),
            },
            TILDE => PatternToken::Char('~'),
            other => PatternToken::Char(other),
        })
    })
}

/// A pattern of a configuration as marked text: `*` and `?` are active, a leading `~/` is home.
pub(crate) fn mark_pattern(text: &str) -> String {
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
        mark_text(text, true, &mut out);
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
