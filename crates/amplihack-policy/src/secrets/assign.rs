//! Credentials that only their place shows: values of names like `password`, users' passwords in addresses.

use super::{Found, Rule, entropy, is_placeholder};
use crate::decision::Span;

/// Endings of names whose values are secret, without signs, in lower case.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "credential",
    "credentials",
    "authkey",
];

/// The credential whose name ends right before `at`: an `=`, `:`, a blank after a flag, or `://`.
pub(super) fn at(text: &[u8], at: usize) -> Option<Found> {
    match text[at] {
        b':' if text[at..].starts_with(b"://") => url_password(text, at + 3),
        b'=' | b':' => named(text, at, name_before(text, at)?),
        b' ' => flag(text, at),
        _ => None,
    }
}

/// The name that ends before `at`; a quote may close it, blanks may follow it.
fn name_before(text: &[u8], at: usize) -> Option<&[u8]> {
    let mut end = at;
    while end > 0 && at - end < 4 && matches!(text[end - 1], b' ' | b'"' | b'\'' | b'\\') {
        end -= 1;
    }
    let length = text[..end]
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        .count();
    (length > 0).then(|| &text[end - length..end])
}

fn is_secret(name: &[u8]) -> bool {
    let plain: String = name
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    NAMES.iter().any(|ending| plain.ends_with(ending))
}

fn named(text: &[u8], at: usize, name: &[u8]) -> Option<Found> {
    if !is_secret(name) {
        return None;
    }
    let mut start = at + 1;
    // `:=`, `==`, `=>` are not followed by other signs of that kind in code that compares.
    while start < text.len() && start - at < 6 && matches!(text[start], b' ' | b'>' | b'=' | b'\\') {
        start += 1;
    }
    let quote = text.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    start += usize::from(quote.is_some());
    let loose = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'"' | b'\'' | b'`' | b';' | b',' | b')' | b'&' | b'|' | b'<' | b'}')
    };
    let length = text[start..]
        .iter()
        .take(512)
        .take_while(|&&byte| {
            quote.map_or_else(|| !loose(byte), |quote| byte != quote && byte != b'\n' && byte != b'\\')
        })
        .count();
    secret_value(&text[start..start + length], quote.is_some())
        .then_some(Found { rule: Rule("password"), span: Span { start, end: start + length } })
}

/// Whether a value looks chosen or random, and not like code, a type, a path or a word.
fn secret_value(value: &[u8], quoted: bool) -> bool {
    let code =
        |byte: &u8| matches!(byte, b'(' | b'{' | b'[' | b'<') || !quoted && matches!(byte, b'$' | b'*');
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let signs =
        value.iter().filter(|byte| matches!(byte, b'!' | b'@' | b'#' | b'%' | b'^' | b'+' | b'$')).count();
    value.len() >= 6
        && !value.iter().any(code)
        && letters > 0
        && (digits > 0 || signs > 0)
        && !value.contains(&b' ')
        && !value.starts_with(b"/")
        && !value.starts_with(b"./")
        && !value.windows(2).any(|two| two == b"::")
        && !value.windows(3).any(|three| three == b"://")
        && entropy(value) >= 2.5
        && !is_placeholder(value)
}

/// `--password VALUE`, `--token VALUE`, `-u user:password`.
fn flag(text: &[u8], at: usize) -> Option<Found> {
    let name = name_before(text, at)?;
    let mut start = at + 1;
    start += usize::from(matches!(text.get(start), Some(b'"' | b'\'')));
    let length = text[start..]
        .iter()
        .take(512)
        .take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\''))
        .count();
    let value = &text[start..start + length];
    if matches!(name, b"-u" | b"--user") {
        let colon = value.iter().position(|&byte| byte == b':')?;
        let password = &value[colon + 1..];
        let shown = !password.starts_with(b"$")
            && !password.iter().all(u8::is_ascii_digit)
            && password.len() >= 3
            && !is_placeholder(password)
            && !password.contains(&b'/');
        return shown.then_some(Found {
            rule: Rule("basic-auth"),
            span: Span { start: start + colon + 1, end: start + length },
        });
    }
    let named = name.starts_with(b"--") && is_secret(name) && !value.starts_with(b"-");
    (named && secret_value(value, false))
        .then_some(Found { rule: Rule("password"), span: Span { start, end: start + length } })
}

/// The password in `scheme://user:password@host`; `start` is behind the slashes.
fn url_password(text: &[u8], start: usize) -> Option<Found> {
    let authority = text[start..]
        .iter()
        .take(512)
        .take_while(|byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#')
        })
        .count();
    let authority = &text[start..start + authority];
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    let colon = authority[..host].iter().position(|&byte| byte == b':')?;
    let password = &authority[colon + 1..host];
    let shown = password.len() >= 3
        && !is_placeholder(password)
        && !matches!(password, b"password" | b"pass" | b"pw" | b"passwd" | b"secret");
    shown.then_some(Found {
        rule: Rule("url-password"),
        span: Span { start: start + colon + 1, end: start + host },
    })
}
