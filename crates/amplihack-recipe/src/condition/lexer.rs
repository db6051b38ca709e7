//! The words of a condition.

use std::ops::Range;

use super::ConditionError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConditionToken {
    Name(String),
    Number(String),
    String(String),
    /// `== != < <= > >= ( ) [ ] , .` and the words `and or not in`.
    Sign(&'static str),
}

pub(super) type SpannedToken = (ConditionToken, Range<usize>);

/// Operators and brackets, longer ones first.
const SIGNS: [(&str, &str); 14] = [
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "and"),
    ("||", "or"),
    ("<", "<"),
    (">", ">"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (",", ","),
    (".", "."),
];

pub(super) fn tokenize_condition(text: &str) -> Result<Vec<SpannedToken>, ConditionError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (token, end) = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\'' | b'"' => lex_string(text, at)?,
            byte if byte.is_ascii_digit() => lex_number(bytes, at, text)?,
            b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => lex_number(bytes, at, text)?,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => lex_word(bytes, at, text)?,
            _ => match SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
                Some((sign, means)) => (ConditionToken::Sign(means), at + sign.len()),
                None => return Err(unexpected_character(text, at)),
            },
        };
        tokens.push((token, at..end));
        at = end;
    }
    Ok(tokens)
}

fn unexpected_character(text: &str, at: usize) -> ConditionError {
    let char = text[at..].chars().next().unwrap_or_default();
    let error = ConditionError::new(format!("unexpected character: '{char}'"), at..at + char.len_utf8());
    match char {
        '=' => error.with_help("equality is `==`"),
        '!' => error.with_help("negation is `not`, inequality `!=`"),
        '{' => error.with_help("names are written without braces in a condition: `name == 'x'`"),
        '&' => error.with_help("write `and` or `&&`"),
        '|' => error.with_help("write `or` or `||`; there are no filters"),
        '+' | '-' | '*' | '/' | '%' => error.with_help("conditions do not calculate; do it in a step"),
        _ => error,
    }
}

fn lex_string(text: &str, open: usize) -> Result<(ConditionToken, usize), ConditionError> {
    let quote = text.as_bytes()[open] as char;
    let mut out = String::new();
    let mut chars = text[open + 1..].char_indices();
    while let Some((at, char)) = chars.next() {
        if char == quote {
            return Ok((ConditionToken::String(out), open + 1 + at + 1));
        }
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => out.push('\n'),
            Some((_, 't')) => out.push('\t'),
            Some((_, 'r')) => out.push('\r'),
            Some((_, char @ ('\\' | '\'' | '"'))) => out.push(char),
            Some((_, char)) => out.extend(['\\', char]),
            None => break,
        }
    }
    Err(ConditionError::new("unterminated string", open..text.len()))
}

fn lex_number(bytes: &[u8], at: usize, text: &str) -> Result<(ConditionToken, usize), ConditionError> {
    let digits = at + usize::from(bytes[at] == b'-');
    let end =
        digits + bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let number = &text[at..end];
    let letter = bytes.get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if number.matches('.').count() > 1 || number.ends_with('.') || letter {
        return Err(ConditionError::new(format!("not a number: '{number}'"), at..end));
    }
    Ok((ConditionToken::Number(number.to_owned()), end))
}

fn lex_word(bytes: &[u8], at: usize, text: &str) -> Result<(ConditionToken, usize), ConditionError> {
    let letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut end = at;
    while letter(bytes.get(end))
        || (bytes.get(end) == Some(&b'-') && bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic))
    {
        end += 1;
    }
    let word = &text[at..end];
    let token = match word {
        "and" => ConditionToken::Sign("and"),
        "or" => ConditionToken::Sign("or"),
        "not" => ConditionToken::Sign("not"),
        "in" => ConditionToken::Sign("in"),
        _ => {
            check_name(word, at..end)?;
            ConditionToken::Name(word.to_owned())
        }
    };
    Ok((token, end))
}

/// Names with `__` are kept for what may come.
pub(super) fn check_name(name: &str, span: Range<usize>) -> Result<(), ConditionError> {
    if name.contains("__") {
        return Err(ConditionError::new(format!("unsafe name: '{name}' has a double underscore"), span));
    }
    Ok(())
}
