//! The values that names have: where they are, and whether they are secret.

use super::assign::SecretAssignment;
use super::names::SecretNameKind;
use super::{SearchStrictness, is_placeholder, random, shannon_entropy};

/// A value in a text, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecretValueSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
}

const MOST: usize = 512;

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// The value behind an operator whose last sign may be at `start`.
pub(super) fn value_after(text: &[u8], start: usize) -> SecretValueSpan {
    // `:=`, `==`, `=>` are not followed by other signs of that kind in code that compares.
    let signs =
        text[start..].iter().take(6).take_while(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'=' | b'\\'));
    let mut at = start + signs.count();
    // `b"…"`, `@"…"`
    if let [b'b' | b'r' | b'u' | b'f' | b'L' | b'@', quote, ..] = text[at..]
        && is_quote(quote)
    {
        at += 1;
    }
    // `SecretString::from("…")`
    let function = text[at..].iter().take(48).take_while(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'!' | b'-' | b'$')
    });
    let call = at + function.count();
    let opened = call > at
        && match text[call..] {
            [b'(', quote, ..] => is_quote(quote),
            [b' ', quote, ..] => is_quote(quote) && text[at..call].ends_with(b"SecureString"),
            _ => false,
        };
    value_at(text, if opened { call + 1 } else { at })
}

/// The value behind a blank.
pub(super) fn after_blank(text: &[u8], start: usize) -> Option<SecretValueSpan> {
    (!text.get(start)?.is_ascii_whitespace()).then(|| value_at(text, start))
}

fn value_at(text: &[u8], at: usize) -> SecretValueSpan {
    let quote = text.get(at).copied().filter(|&byte| is_quote(byte));
    let start = at + usize::from(quote.is_some());
    let loose = |byte: u8| {
        byte.is_ascii_whitespace()
            || is_quote(byte)
            || matches!(byte, b';' | b',' | b')' | b'&' | b'|' | b'<' | b'}')
    };
    let inside = |byte: u8| match quote {
        Some(quote) => byte != quote && byte != b'\n' && byte != b'\\',
        None => !loose(byte),
    };
    let length = text[start..].iter().take(MOST).take_while(|&&byte| inside(byte)).count();
    SecretValueSpan { start, end: start + length, quoted: quote.is_some() }
}

/// In a header's value: how long the scheme before the credential is, and the credential.
pub(super) fn credential_of(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let word = |from: usize| {
        let letters = text[from..].iter().take(MOST);
        letters
            .take_while(|byte| byte.is_ascii_graphic() && !is_quote(**byte) && !matches!(byte, b',' | b'\\'))
            .count()
    };
    let first = word(start);
    let second = text.get(start + first).filter(|&&byte| byte == b' ').map(|_| word(start + first + 1));
    match second {
        Some(length) if first <= 12 && length > 0 => Some((first + 1, length)),
        _ => (first > 0).then_some((0, first)),
    }
}

/// Reports whether the value of this assignment gives something away.
pub(super) fn is_secret(place: &SecretAssignment<'_>, value: &SecretValueSpan) -> bool {
    let bytes = &place.text[value.start..value.end];
    is_plain(bytes, value.quoted) && (place.care == SearchStrictness::Redaction || is_reported(place, value))
        || value.quoted && is_made_of_signs(bytes)
}

/// Reports whether a value looks chosen or random, and not like code, a type, a path or a word.
fn is_plain(value: &[u8], quoted: bool) -> bool {
    let code =
        |byte: &u8| matches!(byte, b'(' | b'{' | b'[' | b'<') || !quoted && matches!(byte, b'$' | b'*');
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let signs =
        value.iter().filter(|byte| matches!(byte, b'!' | b'@' | b'#' | b'%' | b'^' | b'+' | b'$')).count();
    value.len() >= 6
        && !value.iter().any(code)
        && letters > 0
        && (digits > 0 || signs > 0 || random::looks_chosen(value))
        && !value.contains(&b' ')
        && !value.starts_with(b"/")
        && !value.starts_with(b"./")
        && !value.windows(2).any(|two| two == b"::")
        && !value.windows(3).any(|three| three == b"://")
        && shannon_entropy(value) >= 2.5
        && !is_placeholder(value)
}

/// Reports whether `value` is a long key that has all signs in it, parentheses too, as frameworks make them.
fn is_made_of_signs(value: &[u8]) -> bool {
    let signs = value.iter().filter(|byte| byte.is_ascii_punctuation()).count();
    let code =
        |byte: &u8| matches!(byte, b' ' | b'{' | b'}' | b'<' | b'>' | b'[' | b']' | b'"' | b'/' | b'.');
    (40..=100).contains(&value.len())
        && value.is_ascii()
        && !value.iter().any(code)
        && signs * 8 >= value.len()
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3
        && shannon_entropy(value) >= 4.3
        && !is_placeholder(value)
}

/// Reports whether a person should be told. Without quotes a value is the rest of a line of settings, or beyond doubt.
fn is_reported(place: &SecretAssignment<'_>, value: &SecretValueSpan) -> bool {
    let bytes = &place.text[value.start..value.end];
    let code = |byte: &u8| {
        matches!(byte, b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'|' | b'\\')
            || is_quote(*byte)
    };
    let sized = (8..=400).contains(&bytes.len());
    if !sized || bytes.iter().any(code) || !bytes.is_ascii() || random::is_weak(bytes) {
        return false;
    }
    let random = bytes.len() >= 16 && random::looks_random(bytes);
    let chosen = place.kind == SecretNameKind::Password && random::looks_chosen(bytes);
    if value.quoted {
        return random || chosen;
    }
    let dotted = bytes.contains(&b'.') && place.care == SearchStrictness::Code;
    let settings = place.care == SearchStrictness::Settings && ends_line(place.text, value.end);
    !dotted && random || chosen && (settings || in_list(place, value))
}

/// Reports whether it is part of a connection string, query or list of settings: `…;Password=…;`, `?password=…&`, ` password=… port=1`.
fn in_list(place: &SecretAssignment<'_>, value: &SecretValueSpan) -> bool {
    let SecretAssignment { text, name, .. } = *place;
    let close = name.end + 1 == value.start && text[name.end] == b'=';
    let before = name.start.checked_sub(1).map_or(b'\n', |before| text[before]);
    let after = text.get(value.end).copied().unwrap_or(b'\n');
    if !close {
        return false;
    }
    if before == b' ' && after == b' ' {
        return random::count_kinds(&text[value.start..value.end]) == 4;
    }
    let opens = matches!(before, b';' | b'&' | b'?') || is_quote(before);
    opens && (matches!(after, b';' | b'&') || is_quote(after))
}

/// Reports whether nothing but a comment follows on the line.
fn ends_line(text: &[u8], end: usize) -> bool {
    let rest = text[end..].iter().take(MOST).find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    rest.is_none_or(|byte| matches!(byte, b'\n' | b'#'))
}
