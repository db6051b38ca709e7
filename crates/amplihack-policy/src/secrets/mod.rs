//! Credentials in text, found by their shapes: a prefix, letters, a length, randomness, and not a placeholder.

mod assign;
mod shapes;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use crate::decision::Span;

/// Which kind of credential it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule(pub &'static str);

impl Rule {
    /// Whether the shape itself tells whose credential it is, and it opens an account: not signed addresses, public API keys or passwords.
    pub fn is_provider(self) -> bool {
        !matches!(
            self.0,
            "password" | "url-password" | "basic-auth" | "bearer" | "azure-sas" | "google-api-key" | "jwt"
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A credential in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its kind.
    pub rule: Rule,
    /// The credential alone, without the name in front of it.
    pub span: Span,
}

/// The credentials in `text`, in order, none inside another. Linear in the text.
pub fn find(text: &[u8]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let hit = shapes::at(text, at).or_else(|| assign::at(text, at));
        at = match hit {
            Some(hit) if hit.span.end > at => {
                // The value of an assignment may hold a shape with a better name.
                let inner = (hit.rule.0 == "password")
                    .then(|| (hit.span.start..hit.span.end).find_map(|inner| shapes::at(text, inner)));
                let hit = inner.flatten().map_or(hit, |inner| Found { rule: inner.rule, ..hit });
                found.push(hit);
                hit.span.end
            }
            _ => at + 1,
        };
    }
    found
}

/// `text` with each credential replaced by `[redacted:<rule>]`.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = find(text.as_bytes());
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for Found { rule, span } in found {
        // Spans end at ASCII bytes; should one not, the whole character goes.
        let start = text.floor_char_boundary(span.start).max(from);
        let end = text.ceil_char_boundary(span.end);
        out.push_str(&text[from..start]);
        out.push_str("[redacted:");
        out.push_str(rule.0);
        out.push(']');
        from = end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Shannon's entropy of `bytes` in bits a byte: 0 for one byte repeated, about 4 for random hexadecimal, about 5 for random base64 of 40.
pub fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX).max(1));
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Words that stand where a credential will be.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "your",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "xxxx",
    "****",
    "....",
    "dummy",
    "insert",
    "replace",
    "todo",
    "sample",
    "my_",
    "my-",
    "mytoken",
    "mypassword",
    "fake",
    "notreal",
    "not-a-real",
    "0000000",
    "1234567890",
    "abcdefgh",
    "deadbeef",
    "test-",
    "test_",
    "none",
    "null",
    "undefined",
    "secret_here",
    "goes-here",
    "goes_here",
    "foobar",
];

/// Whether `value` only stands for a credential.
pub fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let names = PLACEHOLDERS.iter().any(|word| lower.windows(word.len()).any(|part| part == word.as_bytes()));
    names || matches!(value, [b'<' | b'$' | b'{' | b'%' | b'[' | b'(' | b'*', ..])
}
