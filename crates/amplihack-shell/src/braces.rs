//! Brace expansion: one source word to many.

use super::lexer::{ShellLexer, char_len};

/// Words that one word may become; beyond it nothing is expanded.
const MOST: usize = 1024;

/// Bytes that are looked at for one word; beyond it nothing is expanded.
const MOST_SPENT: usize = 1 << 20;

/// Bytes that are copied in the time that one is looked at.
const COPIED: usize = 16;

/// The words that `word` stands for. `None` if there are too many, or finding out takes too long: too many bytes, or longer than until
/// `over` says so.
pub(super) fn expand_braces(word: &str, over: impl Fn() -> bool) -> Option<Vec<String>> {
    if !word.contains('{') {
        return Some(vec![word.to_owned()]);
    }
    let mut spent = 0;
    let mut done = Vec::new();
    let mut todo = vec![(String::new(), word.to_owned())];
    while let Some((before, rest)) = todo.pop() {
        if done.len() + todo.len() > MOST || over() {
            return None;
        }
        let found = first_expression(&rest, &mut spent);
        if spent > MOST_SPENT {
            return None;
        }
        match found {
            Some((start, end, choices)) => {
                if choices.len() > MOST {
                    return None;
                }
                for choice in choices.iter().rev() {
                    spent += (before.len() + choice.len() + rest.len()) / COPIED;
                    if spent > MOST_SPENT {
                        return None;
                    }
                    todo.push((format!("{before}{}", &rest[..start]), format!("{choice}{}", &rest[end..])));
                }
            }
            None => done.push(before + &rest),
        }
    }
    Some(done)
}

/// The first brace expression: where it begins and ends, and what it stands for.
fn first_expression(word: &str, spent: &mut usize) -> Option<(usize, usize, Vec<String>)> {
    let src = word.as_bytes();
    let mut lexer = ShellLexer::new();
    let mut at = 0;
    while at < src.len() && *spent <= MOST_SPENT {
        *spent += 1;
        if lexer.frame_count() == 1 && src[at] == b'{' {
            if let Some(found) = read_expression(word, at, spent) {
                return Some(found);
            }
            at += 1;
            continue;
        }
        at = step_over(&mut lexer, src, at);
    }
    None
}

/// Over quotes, substitutions and `${…}` whole; else over one character.
fn step_over(lexer: &mut ShellLexer, src: &[u8], at: usize) -> usize {
    if lexer.frame_count() == 1 && !b"$`'\"\\<>".contains(&src[at]) {
        return at + char_len(src, at);
    }
    lexer.step_token(src, at).0
}

fn read_expression(word: &str, open: usize, spent: &mut usize) -> Option<(usize, usize, Vec<String>)> {
    let src = word.as_bytes();
    let mut lexer = ShellLexer::new();
    let (mut at, mut depth, mut from, mut parts) = (open + 1, 0, open + 1, Vec::new());
    while at < src.len() && *spent <= MOST_SPENT {
        *spent += 1;
        match src[at] {
            b'{' if lexer.frame_count() == 1 => depth += 1,
            b'}' if lexer.frame_count() == 1 && depth > 0 => depth -= 1,
            b'}' if lexer.frame_count() == 1 => {
                parts.push(word.get(from..at)?.to_owned());
                let choices = if parts.len() > 1 { Some(parts) } else { expand_sequence(parts.first()?) };
                return choices.map(|choices| (open, at + 1, choices));
            }
            b',' if lexer.frame_count() == 1 && depth == 0 => {
                parts.push(word.get(from..at)?.to_owned());
                from = at + 1;
            }
            _ => {
                at = step_over(&mut lexer, src, at);
                continue;
            }
        }
        at += 1;
    }
    None
}

/// `1..3`, `a..e`, `01..10..2`.
fn expand_sequence(text: &str) -> Option<Vec<String>> {
    let mut parts = text.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    if parts.next().is_some() {
        return None;
    }
    if let (Ok(first), Ok(last)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let padded =
            [from, to].iter().any(|part| part.trim_start_matches('-').starts_with('0') && part.len() > 1);
        let width = if padded { from.len().max(to.len()) } else { 0 };
        return Some(
            number_sequence(first, last, step).into_iter().map(|n| format!("{n:0width$}")).collect(),
        );
    }
    let (first, last) = (single_letter(from)?, single_letter(to)?);
    let letters = number_sequence(i64::from(first), i64::from(last), step);
    Some(
        letters
            .into_iter()
            .filter_map(|n| u8::try_from(n).ok())
            .map(|byte| char::from(byte).to_string())
            .collect(),
    )
}

fn single_letter(text: &str) -> Option<u8> {
    let byte = *text.as_bytes().first()?;
    (text.len() == 1 && byte.is_ascii_alphabetic()).then_some(byte)
}

fn number_sequence(first: i64, last: i64, step: u64) -> Vec<i64> {
    let count = usize::try_from(first.abs_diff(last) / step).unwrap_or(usize::MAX).min(MOST) + 1;
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    let sign = if last < first { -1 } else { 1 };
    (0..count)
        .map_while(|n| first.checked_add(i64::try_from(n).ok()?.checked_mul(step)?.checked_mul(sign)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::expand_braces;

    #[test]
    fn expressions() {
        for (word, want) in [
            ("{rm,-rf,/}", "rm -rf /"),
            ("a{b,c}d", "abd acd"),
            ("a{b,{c,d}}", "ab ac ad"),
            ("{1..3}", "1 2 3"),
            ("{c..a}", "c b a"),
            ("{01..03..2}", "01 03"),
            ("{a}", "{a}"),
            ("'{a,b}'", "'{a,b}'"),
            ("${a,b}", "${a,b}"),
            ("{a,b", "{a,b"),
            ("\\{a,b}", "\\{a,b}"),
            ("{\"a,b\",c}", "\"a,b\" c"),
            ("{r,}m", "rm m"),
            ("{a,b}{c,d}", "ac ad bc bd"),
            ("{{a,b}", "{a {b"),
        ] {
            assert_eq!(expand_braces(word, || false).unwrap().join(" "), want, "{word}");
        }
        assert_eq!(expand_braces("{1..100000}", || false), None);
        assert_eq!(expand_braces("{1..99}{1..99}", || false), None);
    }
}
