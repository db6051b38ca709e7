//! The words of a condition.

use std::ops::Range;

use super::ConditionError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(String),
    String(String),
    /// `== != < <= > >= ( ) [ ] , .` and the words `and or not in`.
    Sign(&'static str),
}

pub(super) type Spanned = (Token, Range<usize>);

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

pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>, ConditionError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (token, end) = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\'' | b'"' => string(text, at)?,
            byte if byte.is_ascii_digit() => number(bytes, at, text)?,
            b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => number(bytes, at, text)?,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => word(bytes, at, text)?,
            _ => match SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
                Some((sign, means)) => (Token::Sign(means), at + sign.len()),
                None => return Err(unexpected(text, at)),
            },
        };
        tokens.push((token, at..end));
        at = end;
    }
    Ok(tokens)
}

fn unexpected(text: &str, at: usize) -> ConditionError {
    let char = text[at..].chars().next().unwrap_or_default();
    let error = ConditionError::new(format!("unexpected character: '{char}'"), at..at + char.len_utf8());
    match char {
        '=' => error.help("equality is `==`"),
        '!' => error.help("negation is `not`, inequality `!=`"),
        '{' => error.help("names are written without braces in a condition: `name == 'x'`"),
        '&' => error.help("write `and` or `&&`"),
        '|' => error.help("write `or` or `||`; there are no filters"),
        '+' | '-' | '*' | '/' | '%' => error.help("conditions do not calculate; do it in a step"),
        _ => error,
    }
}

fn string(text: &str, open: usize) -> Result<(Token, usize), ConditionError> {
    let quote = text.as_bytes()[open] as char;
    let mut out = String::new();
    let mut chars = text[open + 1..].char_indices();
    while let Some((at, char)) = chars.next() {
        if char == quote {
            return Ok((Token::String(out), open + 1 + at + 1));
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

fn number(bytes: &[u8], at: usize, text: &str) -> Result<(Token, usize), ConditionError> {
    let digits = at + usize::from(bytes[at] == b'-');
    let end =
        digits + bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let number = &text[at..end];
    let letter = bytes.get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if number.matches('.').count() > 1 || number.ends_with('.') || letter {
        return Err(ConditionError::new(format!("not a number: '{number}'"), at..end));
    }
    Ok((Token::Number(number.to_owned()), end))
}

fn word(bytes: &[u8], at: usize, text: &str) -> Result<(Token, usize), ConditionError> {
    let letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut end = at;
    while letter(bytes.get(end))
        || (bytes.get(end) == Some(&b'-') && bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic))
    {
        end += 1;
    }
    let word = &text[at..end];
    let token = match word {
        "and" => Token::Sign("and"),
        "or" => Token::Sign("or"),
        "not" => Token::Sign("not"),
        "in" => Token::Sign("in"),
        _ => {
            safe(word, at..end)?;
            Token::Name(word.to_owned())
        }
    };
    Ok((token, end))
}

/// Names with `__` are kept for what may come.
pub(super) fn safe(name: &str, span: Range<usize>) -> Result<(), ConditionError> {
    if name.contains("__") {
        return Err(ConditionError::new(format!("unsafe name: '{name}' has a double underscore"), span));
    }
    Ok(())
}
