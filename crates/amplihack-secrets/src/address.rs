//! Passwords in addresses: `scheme://user:password@host`.

use amplihack_verdict::Span;

use super::{CredentialRule, FoundCredential, SearchStrictness, is_placeholder, random};

/// The password of the address whose authority begins at `start`.
pub(super) fn address_password(text: &[u8], start: usize, care: SearchStrictness) -> Option<FoundCredential> {
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
        && !authority.starts_with(b"[redacted:")
        && !matches!(password, b"password" | b"pass" | b"pw" | b"passwd" | b"secret");
    let counts = care == SearchStrictness::Redaction
        || opens_something(&authority[..colon], password, &authority[host + 1..]);
    (shown && counts).then_some(FoundCredential {
        rule: CredentialRule("url-password"),
        span: Span { start: start + colon + 1, end: start + host },
    })
}

/// Reports whether `password` is more than that of a manual or of a database for tests.
fn opens_something(user: &[u8], password: &[u8], host: &[u8]) -> bool {
    let code = |byte: &u8| {
        matches!(byte, b'{' | b'}' | b'(' | b')' | b'[' | b'|' | b'\\' | b'`' | b',' | b';' | b'*')
    };
    let letters = password.iter().all(u8::is_ascii_lowercase) || password.iter().all(u8::is_ascii_uppercase);
    let example =
        ["example.", "example:", ".test", ".invalid", "host:port", "hostname", "localhost", "127.0.0.1"]
            .iter()
            .any(|word| host.windows(word.len()).any(|part| part == word.as_bytes()));
    password.len() >= 6
        && !password.eq_ignore_ascii_case(user)
        && !password.iter().any(code)
        && !password.starts_with(b"$")
        && (!letters || password.len() >= 12)
        && !random::is_weak(password)
        && (!example || random::looks_random(password))
}
