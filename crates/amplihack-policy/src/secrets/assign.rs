//! Credentials that only their place shows: values of names like `password`, and what follows certain words.

use super::names::{self, Kind};
use super::values::{self, Value};
use super::{Care, Found, Rule, address, blocks, is_placeholder, marks, random};
use crate::decision::Span;

/// The credential that the sign at `at` shows.
pub(super) fn at(text: &[u8], at: usize, care: Care) -> Option<Found> {
    let rest = &text[at..];
    match text[at] {
        b'-' if rest.starts_with(b"----") => blocks::private_key(text, at),
        b'-' => database_flag(text, at, care),
        b'~' | b'.' => marks::at(text, at),
        _ if care == Care::Binary => (text[at] == b':').then(|| marks::at(text, at))?,
        b':' if rest.starts_with(b"://") => address::password(text, at + 3, care),
        b':' if rest.starts_with(b"::") => None,
        b':' => marks::at(text, at).or_else(|| assigned(text, at, care)),
        b'=' => assigned(text, at, care),
        b' ' | b'\t' => spaced(text, at, care),
        b'|' | b'?' if rest.get(1) == rest.first() => quoted_after(text, at, 2, care),
        b',' if at > 0 && matches!(text[at - 1], b'"' | b'\'') => quoted_after(text, at, 1, care),
        b'>' => element(text, at, care),
        _ => None,
    }
}

/// The name that ends before `at`; a quote may close it, blanks and a second sign of the operator may follow it.
fn name_before(text: &[u8], at: usize) -> Option<&[u8]> {
    let mut end = at;
    while end > 0 && at - end < 4 && matches!(text[end - 1], b' ' | b'"' | b'\'' | b'\\' | b'?' | b'+' | b']')
    {
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

/// `NAME = VALUE` in all its spellings.
fn assigned(text: &[u8], at: usize, care: Care) -> Option<Found> {
    // `a != b` says what it is not.
    if at > 0 && matches!(text[at - 1], b'!' | b'<' | b'>') {
        return None;
    }
    let name = name_before(text, at)?;
    if let Some(kind) = names::kind(name) {
        return judged(text, name, kind, values::after(text, at + 1)?, care);
    }
    if name == b"Private-Lines" {
        return blocks::putty_key(text, at);
    }
    if name.eq_ignore_ascii_case(b"value") {
        let name = named_beside(text, at)?;
        return judged(text, name, names::kind(name)?, values::after(text, at + 1)?, care);
    }
    // `const API_KEY: &str = "…"`
    if text[at] == b'=' && name.len() <= 16 {
        let value = values::after(text, at + 1).filter(|value| value.quoted)?;
        let start = name.as_ptr().addr() - text.as_ptr().addr();
        let typed = text[..start].iter().rev().take(24).take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'&' | b'\'' | b' ' | b'<' | b'.')
        });
        let colon = start.checked_sub(typed.count() + 1).filter(|&colon| text[colon] == b':')?;
        let name = name_before(text, colon)?;
        return judged(text, name, names::kind(name)?, value, care);
    }
    None
}

/// The name that an attribute or a line before says: `key="NAME" value=…`, `name: NAME⏎ value: …`.
fn named_beside(text: &[u8], at: usize) -> Option<&[u8]> {
    let window = &text[at.saturating_sub(120)..at];
    let label = |word: &[u8]| {
        let found = window.windows(word.len()).rposition(|part| part.eq_ignore_ascii_case(word))?;
        Some(found + word.len())
    };
    let start = label(b"name=").max(label(b"key=")).max(label(b"name:"))?;
    let start = start + window[start..].iter().take_while(|byte| matches!(byte, b' ' | b'"' | b'\'')).count();
    let length = window[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'))
        .count();
    // At most one line between them.
    let lines = window[start..].iter().filter(|&&byte| byte == b'\n').count();
    (lines <= 1 && length > 0).then(|| &window[start..start + length])
}

/// `getenv("NAME") || "VALUE"`, `("NAME", "VALUE")`.
fn quoted_after(text: &[u8], at: usize, operator: usize, care: Care) -> Option<Found> {
    let value = values::after(text, at + operator).filter(|value| value.quoted)?;
    let end = if at > 0 && text[at - 1] == b')' { at - 1 } else { at };
    let name = name_before(text, end)?;
    judged(text, name, names::kind(name)?, value, care)
}

/// `<password>VALUE</password>`
fn element(text: &[u8], at: usize, care: Care) -> Option<Found> {
    let name = name_before(text, at).filter(|name| text[..at].ends_with(name))?;
    let kind = names::kind(name)?;
    let before = text[..at - name.len()].last();
    if !matches!(before, Some(b'<')) {
        return None;
    }
    let length = text[at + 1..].iter().take(512).take_while(|&&byte| byte != b'<' && byte != b'\n').count();
    let closed = text[at + 1 + length..].starts_with(b"</");
    let value = Value { start: at + 1, end: at + 1 + length, quoted: true };
    closed.then(|| judged(text, name, kind, value, care))?
}

/// A found credential, if its value is one.
fn judged(text: &[u8], name: &[u8], kind: Kind, value: Value, care: Care) -> Option<Found> {
    let Value { mut start, end, .. } = value;
    let bytes = &text[start..end];
    let rule = match kind {
        Kind::Login => (bytes.len() >= 12 && blocks::is_login(bytes)).then_some("basic-auth")?,
        Kind::Header => {
            let (scheme, length) = values::credential_of(text, start)?;
            start += scheme;
            let bytes = &text[start..start + length];
            let login = blocks::is_login(bytes);
            let shown = length >= 8
                && (login || length >= 20 && random::looks_random(bytes))
                && !is_placeholder(bytes);
            let rule = if login { "basic-auth" } else { "bearer" };
            return shown.then_some(Found { rule: Rule(rule), span: Span { start, end: start + length } });
        }
        Kind::Password | Kind::Key => {
            let provider = names::provider(name, bytes)
                .filter(|_| random::entropy(bytes) >= 2.9 && !is_placeholder(bytes));
            match provider {
                Some(rule) => rule,
                None if values::is_secret(text, name, &value, kind, care) => "password",
                None => return None,
            }
        }
    };
    Some(Found { rule: Rule(rule), span: Span { start, end } })
}

/// What follows a blank: `--password VALUE`, `-u user:password`, `login x password VALUE`, `ENV NAME VALUE`.
fn spaced(text: &[u8], at: usize, care: Care) -> Option<Found> {
    let &[.., third, second, last] = &text[..at] else { return None };
    // Most blanks follow other words.
    let user = last == b'u' && second == b'-' && third.is_ascii_whitespace()
        || (third, second, last) == (b's', b'e', b'r');
    if !user && !ENDS.contains(&[third | 32, second | 32, last | 32]) {
        return None;
    }
    let name = name_before(text, at).filter(|name| text[..at].ends_with(name))?;
    let value = values::after_blank(text, at + 1)?;
    let bytes = &text[value.start..value.end];
    if user {
        let colon = bytes.iter().position(|&byte| byte == b':')?;
        let shown = matches!(name, b"-u" | b"--user") && is_login(&bytes[..colon], &bytes[colon + 1..], care);
        return shown.then_some(Found {
            rule: Rule("basic-auth"),
            span: Span { start: value.start + colon + 1, end: value.end },
        });
    }
    let line = before_on_line(text, at - name.len());
    if matches!(name, b"-p" | b"BY" | b"by") {
        let known = line.ends_with(b"sshpass ") || line.to_ascii_lowercase().ends_with(b"identified ");
        return known.then(|| judged(text, name, Kind::Password, value, care))?;
    }
    let kind = names::kind(name)?;
    let head = line.trim_ascii();
    let told = name.starts_with(b"--")
        || [&b"ENV"[..], b"ARG", b"#define"].iter().any(|word| head.ends_with(word))
        || name == b"requirepass" && line.is_empty()
        || name.eq_ignore_ascii_case(b"password")
            && (value.quoted || line.windows(6).any(|part| part == b"login "));
    (told && !bytes.starts_with(b"-")).then(|| judged(text, name, kind, value, care))?
}

/// The last three letters of words before a blank that are worth a look.
const ENDS: [[u8; 3]; 13] = [
    *b"ord", *b"swd", *b"pwd", *b"ken", *b"key", *b"ret", *b"ass", *b"ase", *b"ial", *b"als", *b"ode",
    *b" -p", *b" by",
];

/// What is on the line before `at`, of its end at most.
fn before_on_line(text: &[u8], at: usize) -> &[u8] {
    let line = &text[at.saturating_sub(160)..at];
    line.rsplit(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// `mysql -uroot -pVALUE`
fn database_flag(text: &[u8], at: usize, care: Care) -> Option<Found> {
    let value = text[at..].strip_prefix(b"-p").and_then(|_| values::after_blank(text, at + 2))?;
    let line = before_on_line(text, at);
    let known = line.ends_with(b" ") && line.windows(5).any(|part| part == b"mysql");
    let bytes = &text[value.start..value.end];
    let shown = care == Care::Redaction || random::looks_chosen(bytes) && bytes.len() >= 8;
    (known && shown).then(|| judged(text, b"-p", Kind::Password, value, care))?
}

/// Whether the password of `user:password` after `-u` is one.
fn is_login(user: &[u8], password: &[u8], care: Care) -> bool {
    let shown = !password.starts_with(b"$")
        && !password.iter().all(u8::is_ascii_digit)
        && password.len() >= 3
        && !is_placeholder(password)
        && !password.contains(&b'/');
    let counts = care == Care::Redaction
        || password.len() >= 6
            && password != user
            && !random::is_weak(password)
            && random::looks_chosen(password);
    shown && counts
}
