//! Credentials that a sign in their middle shows: `Q~`, `.atlasv1.`, `:AA`.

use super::shapes::Chars;
use super::{Found, Rule, entropy, is_placeholder};
use crate::decision::Span;

/// The credential around the sign at `at`.
pub(super) fn at(text: &[u8], at: usize) -> Option<Found> {
    match text[at] {
        b'~' => azure_client_secret(text, at),
        b'.' => terraform(text, at).or_else(|| discord(text, at)),
        b':' => telegram(text, at),
        _ => None,
    }
}

/// How many of `chars` end before `at`, if there are no more than `most`.
fn before(text: &[u8], at: usize, chars: Chars, most: usize) -> Option<usize> {
    let count = text[..at].iter().rev().take(most + 1).take_while(|&&byte| chars.has(byte)).count();
    (count <= most).then_some(count)
}

/// How many of `chars` begin at `at`, if there are no more than `most`.
fn after(text: &[u8], at: usize, chars: Chars, most: usize) -> Option<usize> {
    let count = text[at..].iter().take(most + 1).take_while(|&&byte| chars.has(byte)).count();
    (count <= most).then_some(count)
}

fn found(text: &[u8], rule: &'static str, start: usize, end: usize, bits: f64) -> Option<Found> {
    let value = &text[start..end];
    (entropy(value) >= bits && !is_placeholder(value))
        .then_some(Found { rule: Rule(rule), span: Span { start, end } })
}

/// Three letters, a digit, `Q~`, and 31 to 34 letters.
fn azure_client_secret(text: &[u8], at: usize) -> Option<Found> {
    let start = at.checked_sub(5)?;
    let head = &text[start..at];
    if head[4] != b'Q' || !head[3].is_ascii_digit() || before(text, at, Chars::Url, 5)? != 5 {
        return None;
    }
    let rest =
        text[at + 1..].iter().take(36).take_while(|&&byte| Chars::Dotted.has(byte) || byte == b'~').count();
    let rest = rest - usize::from(text[at + 1..at + 1 + rest].ends_with(b"."));
    (31..=34).contains(&rest).then(|| found(text, "azure-client-secret", start, at + 1 + rest, 3.5))?
}

/// Fourteen letters, `.atlasv1.`, and at least sixty.
fn terraform(text: &[u8], at: usize) -> Option<Found> {
    let rest = at + text[at..].strip_prefix(b".atlasv1.").map(|_| 9)?;
    let head = before(text, at, Chars::Alnum, 14)?;
    let length = after(text, rest, Chars::Url, 80)?;
    (head == 14 && length >= 60).then(|| found(text, "terraform-token", at - head, rest + length, 3.5))?
}

/// A bot's number in base64, a dot, six or seven letters, a dot, and 27 to 40.
fn discord(text: &[u8], at: usize) -> Option<Found> {
    let second = [7, 8].into_iter().map(|length| at + length).find(|&dot| text.get(dot) == Some(&b'.'))?;
    if after(text, at + 1, Chars::Url, 7)? != second - at - 1 {
        return None;
    }
    let head = before(text, at, Chars::Url, 28)?;
    let start = at - head;
    let length = after(text, second + 1, Chars::Url, 40)?;
    let shaped =
        (23..=28).contains(&head) && (27..=40).contains(&length) && matches!(text[start], b'M' | b'N' | b'O');
    (shaped && (start == 0 || text[start - 1] != b'.'))
        .then(|| found(text, "discord-token", start, second + 1 + length, 4.0))?
}

/// A bot's number, `:AA`, and 33 letters.
fn telegram(text: &[u8], at: usize) -> Option<Found> {
    if !text[at + 1..].starts_with(b"A") {
        return None;
    }
    let digits = text[..at].iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    let start = at - digits;
    let length = after(text, at + 1, Chars::Url, 35)?;
    let apart = start == 0 || !text[start - 1].is_ascii_alphanumeric() || text[..start].ends_with(b"bot");
    ((8..=10).contains(&digits) && length == 35 && apart)
        .then(|| found(text, "telegram-token", start, at + 1 + length, 3.5))?
}
