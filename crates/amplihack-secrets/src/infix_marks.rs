//! Credentials that a sign in their middle shows: `Q~`, `.atlasv1.`, `:AA`.

use amplihack_verdict::Span;

use super::shapes::CredentialChars;
use super::{CredentialRule, FoundCredential, is_placeholder, shannon_entropy};

/// The credential around the sign at `at`.
pub(super) fn credential_at(text: &[u8], at: usize) -> Option<FoundCredential> {
    match text[at] {
        b'~' => azure_client_secret(text, at),
        b'.' => terraform_token(text, at).or_else(|| discord_token(text, at)),
        b':' => telegram_token(text, at),
        _ => None,
    }
}

/// Number of `chars` that end before `at`, if there are no more than `most`.
fn count_before(text: &[u8], at: usize, chars: CredentialChars, most: usize) -> Option<usize> {
    let count = text[..at].iter().rev().take(most + 1).take_while(|&&byte| chars.contains_byte(byte)).count();
    (count <= most).then_some(count)
}

/// Number of `chars` that begin at `at`, if there are no more than `most`.
fn count_after(text: &[u8], at: usize, chars: CredentialChars, most: usize) -> Option<usize> {
    let count = text[at..].iter().take(most + 1).take_while(|&&byte| chars.contains_byte(byte)).count();
    (count <= most).then_some(count)
}

fn credential_if_random(
    text: &[u8],
    rule: &'static str,
    start: usize,
    end: usize,
    bits: f64,
) -> Option<FoundCredential> {
    let value = &text[start..end];
    (shannon_entropy(value) >= bits && !is_placeholder(value))
        .then_some(FoundCredential { rule: CredentialRule(rule), span: Span { start, end } })
}

/// Three letters, a digit, `Q~`, and 31 to 34 letters.
fn azure_client_secret(text: &[u8], at: usize) -> Option<FoundCredential> {
    let start = at.checked_sub(5)?;
    let head = &text[start..at];
    if head[4] != b'Q' || !head[3].is_ascii_digit() || count_before(text, at, CredentialChars::Url, 5)? != 5 {
        return None;
    }
    let rest = text[at + 1..]
        .iter()
        .take(36)
        .take_while(|&&byte| CredentialChars::Dotted.contains_byte(byte) || byte == b'~')
        .count();
    let rest = rest - usize::from(text[at + 1..at + 1 + rest].ends_with(b"."));
    (31..=34)
        .contains(&rest)
        .then(|| credential_if_random(text, "azure-client-secret", start, at + 1 + rest, 3.5))?
}

/// Fourteen letters, `.atlasv1.`, and at least sixty.
fn terraform_token(text: &[u8], at: usize) -> Option<FoundCredential> {
    let rest = at + text[at..].strip_prefix(b".atlasv1.").map(|_| 9)?;
    let head = count_before(text, at, CredentialChars::Alnum, 14)?;
    let length = count_after(text, rest, CredentialChars::Url, 80)?;
    (head == 14 && length >= 60)
        .then(|| credential_if_random(text, "terraform-token", at - head, rest + length, 3.5))?
}

/// A bot's number in base64, a dot, six or seven letters, a dot, and 27 to 40.
fn discord_token(text: &[u8], at: usize) -> Option<FoundCredential> {
    let second = [7, 8].into_iter().map(|length| at + length).find(|&dot| text.get(dot) == Some(&b'.'))?;
    if count_after(text, at + 1, CredentialChars::Url, 7)? != second - at - 1 {
        return None;
    }
    let head = count_before(text, at, CredentialChars::Url, 28)?;
    let start = at - head;
    let length = count_after(text, second + 1, CredentialChars::Url, 40)?;
    let shaped =
        (23..=28).contains(&head) && (27..=40).contains(&length) && matches!(text[start], b'M' | b'N' | b'O');
    (shaped && (start == 0 || text[start - 1] != b'.'))
        .then(|| credential_if_random(text, "discord-token", start, second + 1 + length, 4.0))?
}

/// A bot's number, `:AA`, and 33 letters.
fn telegram_token(text: &[u8], at: usize) -> Option<FoundCredential> {
    if !text[at + 1..].starts_with(b"A") {
        return None;
    }
    let digits = text[..at].iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    let start = at - digits;
    let length = count_after(text, at + 1, CredentialChars::Url, 35)?;
    let apart = start == 0 || !text[start - 1].is_ascii_alphanumeric() || text[..start].ends_with(b"bot");
    ((8..=10).contains(&digits) && length == 35 && apart)
        .then(|| credential_if_random(text, "telegram-token", start, at + 1 + length, 3.5))?
}
