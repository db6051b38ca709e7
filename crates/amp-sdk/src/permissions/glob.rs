//! The two globs of permission rules: names of tools as file names are matched, in any case, and values with `*` alone.

/// Reports whether `text` matches `pattern`, when only `*` is special: any run of characters, also none.
pub(super) fn matches_star(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A glob over names of tools: `*`, `?`, `[ab]`, `{a,b}`, `{1..3}`, and `\` before what is to be itself.
#[derive(Debug, Clone)]
pub(super) struct ToolGlob {
    /// The pattern in lower case.
    whole: String,
    /// Token lists, a list for each alternative of the braces.
    alternatives: Vec<Vec<GlobToken>>,
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobToken {
    /// Exactly the given character.
    One(char),
    /// Any character but `/`.
    Any,
    /// Any run of characters but `/`.
    Run,
    /// A character of the ranges, or, if negated, a character of none of them.
    Class { ranges: Vec<(char, char)>, negated: bool },
}

/// Maximum number of alternatives in a pattern: enough for any list of tools, too few to fill the memory.
const MOST: usize = 4096;

impl ToolGlob {
    pub(super) fn new(pattern: &str) -> Self {
        let whole = pattern.to_lowercase();
        let alternatives = expand_braces(&whole).iter().map(|pattern| parse_tokens(pattern)).collect();
        Self { whole, alternatives }
    }

    pub(super) fn matches(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        if tool == self.whole || self.whole.chars().all(|c| c == '*') && !self.whole.is_empty() {
            return true;
        }
        let tool: Vec<char> = tool.chars().collect();
        self.alternatives.iter().any(|tokens| match_tokens(tokens, &tool))
    }
}

/// Expands the braces of `pattern`, outermost first.
fn expand_braces(pattern: &str) -> Vec<String> {
    let (mut open, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(pattern) = open.pop() {
        if done.len() + open.len() > MOST {
            break;
        }
        match find_braces(&pattern) {
            None => done.push(pattern),
            Some((start, end, alternatives)) => {
                let (before, after) = (&pattern[..start], &pattern[end..]);
                open.extend(alternatives.iter().map(|one| format!("{before}{one}{after}")));
            }
        }
    }
    done
}

/// The first braces that hold a comma or a range of numbers: where they begin, where they end, what they stand for.
fn find_braces(pattern: &str) -> Option<(usize, usize, Vec<String>)> {
    let mut from = 0;
    while let Some(start) = find_unescaped(pattern, from, '{') {
        let (mut depth, mut commas, mut at) = (0_usize, vec![start], start);
        while let Some(c) = pattern[at..].chars().next() {
            match c {
                '\\' => at += pattern[at + 1..].chars().next().map_or(0, char::len_utf8),
                '{' => depth += 1,
                ',' if depth == 1 => commas.push(at),
                '}' if depth == 1 => {
                    commas.push(at);
                    let parts = commas.windows(2).map(|two| pattern[two[0] + 1..two[1]].to_owned());
                    let parts = if commas.len() > 2 {
                        Some(parts.collect())
                    } else {
                        number_range(&pattern[start + 1..at])
                    };
                    if let Some(parts) = parts {
                        return Some((start, at + 1, parts));
                    }
                    break;
                }
                '}' => depth -= 1,
                _ => {}
            }
            at += c.len_utf8();
        }
        from = start + 1;
    }
    None
}

/// The numbers of `1..3`, in either direction.
fn number_range(text: &str) -> Option<Vec<String>> {
    let (from, to) = text.split_once("..")?;
    let (from, to): (i32, i32) = (from.parse().ok()?, to.parse().ok()?);
    let numbers = from.min(to)..=from.max(to);
    (from.abs_diff(to) < 4096).then(|| numbers.map(|number| number.to_string()).collect())
}

/// Finds `wanted` without a `\` before it.
fn find_unescaped(pattern: &str, from: usize, wanted: char) -> Option<usize> {
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            c if c == wanted && at >= from => return Some(at),
            _ => {}
        }
    }
    None
}

fn parse_tokens(pattern: &str) -> Vec<GlobToken> {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '*' if tokens.last() == Some(&GlobToken::Run) => {}
            '*' => tokens.push(GlobToken::Run),
            '?' => tokens.push(GlobToken::Any),
            '\\' => {
                tokens.push(GlobToken::One(chars.get(at).copied().unwrap_or('\\')));
                at += 1;
            }
            '[' => match parse_class(&chars[at..]) {
                Some((token, length)) => {
                    tokens.push(token);
                    at += length;
                }
                None => tokens.push(GlobToken::One('[')),
            },
            c => tokens.push(GlobToken::One(c)),
        }
    }
    tokens
}

/// The class whose `[` was just read, and how long the rest of it is.
fn parse_class(chars: &[char]) -> Option<(GlobToken, usize)> {
    let negated = matches!(chars.first(), Some('!' | '^'));
    let first = usize::from(negated);
    let end = (first + 1..chars.len()).find(|&at| chars[at] == ']')?;
    let (mut ranges, mut at) = (Vec::new(), first);
    while at < end {
        if at + 2 < end && chars[at + 1] == '-' {
            ranges.push((chars[at], chars[at + 2]));
            at += 3;
        } else {
            ranges.push((chars[at], chars[at]));
            at += 1;
        }
    }
    Some((GlobToken::Class { ranges, negated }, end + 1))
}

impl GlobToken {
    fn matches_char(&self, c: char) -> bool {
        match self {
            Self::One(one) => *one == c,
            Self::Any => c != '/',
            Self::Run => false,
            Self::Class { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated && c != '/'
            }
        }
    }
}

/// Reports whether `tokens` match all of `text`. Backtracks to the last run only, so that the time stays a product of both lengths.
fn match_tokens(tokens: &[GlobToken], text: &[char]) -> bool {
    let (mut token, mut at, mut back) = (0, 0, None);
    loop {
        match tokens.get(token) {
            Some(GlobToken::Run) => {
                back = Some((token + 1, at));
                token += 1;
                continue;
            }
            Some(one) if text.get(at).is_some_and(|c| one.matches_char(*c)) => {
                (token, at) = (token + 1, at + 1);
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match back {
            Some((after, from)) if text.get(from).is_some_and(|c| *c != '/') => {
                back = Some((after, from + 1));
                (token, at) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn braces_nest_and_stand_for_themselves_without_a_comma() {
        let all = |pattern: &str| {
            let mut all = expand_braces(pattern);
            all.sort();
            all.join(" ")
        };
        assert_eq!(all("a{b,{c,d}e}f"), "abf acef adef");
        assert_eq!(all("{a}{b,c}"), "{a}b {a}c");
        assert_eq!(all("{a,b"), "{a,b");
        assert_eq!(all("x{3..1}"), "x1 x2 x3");
        assert_eq!(all("\\{a,b}"), "\\{a,b}");
        assert!(expand_braces(&"{a,b}".repeat(40)).len() <= MOST + 1);
    }

    proptest! {
        #[test]
        fn a_star_takes_anything(parts in prop::collection::vec("[ab/\n]{0,3}", 1..4), fill in "[abc\n]{0,4}") {
            let text = parts.join(&fill);
            prop_assert!(matches_star(&parts.join("*"), &text));
            let longer = text + "z";
            let open = parts.len() > 1 && parts.last().is_some_and(String::is_empty);
            prop_assert_eq!(matches_star(&parts.join("*"), &longer), open);
        }

        #[test]
        fn no_pattern_is_too_much(pattern in "[a*?\\[\\]{},!^\\\\é-]{0,12}", tool in "[a-cé/]{0,8}") {
            let glob = ToolGlob::new(&pattern);
            glob.matches(&tool);
            prop_assert!(glob.matches(&pattern));
        }
    }
}
