//! Private keys, plain and in base64, and web tokens.

use amplihack_verdict::Span;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::shapes::CredentialChars;
use super::{CredentialRule, FoundCredential, shannon_entropy};

/// No key is longer.
const MOST: usize = 64 << 10;

/// A private key between its marks, to the end mark or to where the next mark or the text's end is; `at` is its first dash.
pub(super) fn private_key(text: &[u8], at: usize) -> Option<FoundCredential> {
    let rest = text[at..].strip_prefix(b"-----BEGIN ").or_else(|| text[at..].strip_prefix(b"---- BEGIN "))?;
    let label = rest.iter().take(60).position(|&byte| byte == b'-')?;
    let name = rest[..label].trim_ascii_end();
    if !name.ends_with(b"PRIVATE KEY")
        && !name.ends_with(b"PRIVATE KEY BLOCK")
        && name != b"SSH2 ENCRYPTED PRIVATE KEY"
    {
        return None;
    }
    let body = at + 11 + label + rest[label..].iter().take(5).take_while(|&&byte| byte == b'-').count();
    let window = &text[body..text.len().min(body + MOST)];
    let marked = window.windows(4).position(|four| four == b"----");
    // The marks alone, in documentation or code, are none.
    if !holds_key(&window[..marked.unwrap_or(window.len())]) {
        return None;
    }
    let marked = marked.map(|mark| body + mark);
    let end = match marked {
        Some(mark) if text[mark..].trim_ascii_start().starts_with(b"-----END ") => {
            let tail = mark + 9;
            text[tail..]
                .windows(5)
                .take(70)
                .position(|five| five == b"-----")
                .map_or(tail, |dashes| tail + dashes + 5)
        }
        Some(mark) => mark,
        None => body + window.len(),
    };
    Some(FoundCredential { rule: CredentialRule("private-key"), span: Span { start: at, end } })
}

/// Reports whether a line of a key is soon: forty letters of base64, drawn at random.
fn holds_key(body: &[u8]) -> bool {
    let body = &body[..body.len().min(500)];
    body.split(|&byte| !CredentialChars::Base64.contains_byte(byte))
        .any(|run| run.len() >= 40 && shannon_entropy(run) >= 3.0)
}

/// A private key that was encoded once more, as in a kubeconfig.
pub(super) fn encoded_key(text: &[u8], at: usize) -> Option<FoundCredential> {
    // What is no key is told by its head, so that looking is soon over.
    let head = STANDARD.decode(text.get(at..at + 64)?).ok()?;
    if !head.windows(11).any(|part| part == b"PRIVATE KEY") {
        return None;
    }
    let length =
        text[at..].iter().take(MOST).take_while(|&&byte| CredentialChars::Base64.contains_byte(byte)).count();
    (length >= 120).then(|| {
        let end = at + length;
        let padding = text[end..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        FoundCredential { rule: CredentialRule("private-key"), span: Span { start: at, end: end + padding } }
    })
}

/// The secret part of a key of PuTTY, behind the `:` of its `Private-Lines`.
pub(super) fn putty_key(text: &[u8], at: usize) -> Option<FoundCredential> {
    let head =
        text[at + 1..].iter().take(8).take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace());
    let start = at + 1 + head.count();
    let letters = text[start..].iter().take(MOST);
    let length = letters
        .take_while(|&&byte| {
            CredentialChars::Base64.contains_byte(byte) || matches!(byte, b'\r' | b'\n' | b'=')
        })
        .count();
    let length = text[start..start + length].trim_ascii_end().len();
    (length >= 40 && shannon_entropy(&text[start..start + length]) >= 3.0).then_some(FoundCredential {
        rule: CredentialRule("private-key"),
        span: Span { start, end: start + length },
    })
}

/// `eyJ….eyJ….…`
pub(super) fn web_token(text: &[u8], at: usize) -> Option<FoundCredential> {
    if !text[at..].starts_with(b"eyJ") {
        return None;
    }
    // Words with dashes or dots between them overlap: each is looked at, but not to the end of all.
    let most = if at > 0 && matches!(text[at - 1], b'-' | b'.') { 512 } else { 16 << 10 };
    let length =
        text[at..].iter().take(most).take_while(|&&byte| CredentialChars::Dotted.contains_byte(byte)).count();
    let token = &text[at..at + length];
    let mut parts = token.split(|&byte| byte == b'.');
    let (head, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let shaped =
        head.len() >= 17 && claims.starts_with(b"eyJ") && claims.len() >= 10 && signature.len() >= 16;
    let end = at + head.len() + claims.len() + signature.len() + 2;
    shaped.then_some(FoundCredential { rule: CredentialRule("jwt"), span: Span { start: at, end } })
}

/// Reports whether `value` is `user:password` in base64.
pub(super) fn is_login(value: &[u8]) -> bool {
    // Logs cut them off.
    let whole = &value[..value.len() / 4 * 4];
    let Ok(plain) = STANDARD.decode(whole) else { return false };
    let colon = plain.iter().position(|&byte| byte == b':');
    colon.is_some_and(|colon| {
        let (user, password) = (&plain[..colon], &plain[colon + 1..]);
        !user.is_empty()
            && user.iter().all(u8::is_ascii_graphic)
            && password.len() >= 6
            && !super::is_placeholder(password)
            && !super::random::is_weak(password)
    })
}
