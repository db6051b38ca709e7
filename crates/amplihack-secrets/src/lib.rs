//! Credentials in text, found by their shapes: a prefix, letters, a length, randomness, and not a placeholder; and by their names.
//!
//! One search serves the redaction of what is written down, the rules about what leaves the machine, and the [`scan_file`] of files. It costs
//! a start nothing: its tables are made by the compiler.

mod address;
mod allow;
mod assign;
mod blocks;
mod candidates;
mod infix_marks;
mod names;
mod random;
mod scan;
mod shapes;
mod spaced;
mod values;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

pub use allow::{AllowedSecrets, NotAFingerprint};
use random::{is_placeholder, shannon_entropy};
pub use scan::{SecretFinding, scan_file, scan_part};

use amplihack_verdict::Span;

/// Kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct CredentialRule(pub &'static str);

impl CredentialRule {
    /// Reports whether the shape itself tells the provider, and opens an account: not signed addresses, public API keys or passwords.
    pub fn is_provider(self) -> bool {
        !matches!(
            self.0,
            "password" | "url-password" | "basic-auth" | "bearer" | "azure-sas" | "google-api-key" | "jwt"
        )
    }
}

impl fmt::Display for CredentialRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A credential in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundCredential {
    /// Kind of the credential.
    pub rule: CredentialRule,
    /// The credential alone, without the name in front of it.
    pub span: Span,
}

/// Certainty that a search requires of a credential that has no shape of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchStrictness {
    /// Rather too much than too little: what is taken out of a log is not missed.
    Redaction,
    /// Each stops a person: only what opens something. Values may go without quotes.
    Settings,
    /// Only credentials that open something, in text where words without quotes are names.
    Code,
    /// Shapes only.
    Binary,
}

/// The credentials in `text`, in order, none inside another. Linear in the text.
pub fn find_credentials(text: &[u8]) -> Vec<FoundCredential> {
    search_text(text, SearchStrictness::Redaction)
}

/// Action of a search at a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteStep {
    /// Nothing begins here.
    Over,
    /// A letter of a word; a shape may begin with its first.
    Word,
    /// A sign that credentials have beside or inside them.
    Sign,
}

static STEPS: [ByteStep; 256] = {
    let mut steps = [ByteStep::Over; 256];
    let mut byte = 0_u8;
    loop {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            steps[byte as usize] = ByteStep::Word;
        } else if matches!(byte, b'=' | b':' | b' ' | b'\t' | b'-' | b'~' | b'.' | b',' | b'>' | b'|' | b'?')
        {
            steps[byte as usize] = ByteStep::Sign;
        }
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    steps
};

fn search_text(text: &[u8], care: SearchStrictness) -> Vec<FoundCredential> {
    let mut found: Vec<FoundCredential> = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let mut places = candidates::candidates_among(text, from);
        // What is right behind a credential may be another one, even if no word begins there.
        if found.last().is_some_and(|last| last.span.end == from) {
            places |= 1;
        }
        let mut next = from + candidates::AT_ONCE;
        while places != 0 {
            let at = from + places.trailing_zeros() as usize;
            places &= places - 1;
            let hit = at_place(text, at, care).filter(|hit| {
                hit.span.end > at && found.last().is_none_or(|last| last.span.end <= hit.span.start)
            });
            if let Some(hit) = hit {
                found.push(with_best_name(text, hit));
                next = hit.span.end;
                break;
            }
        }
        from = next;
    }
    found
}

/// The credential that the word or the sign at `at` shows.
#[inline]
fn at_place(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    match STEPS[usize::from(text[at])] {
        ByteStep::Sign if assign::may_be_at(text, at) => assign::credential_at(text, at, care),
        ByteStep::Word if word_may_be_at(text, at) => {
            word_credential(text, at).filter(|hit| care != SearchStrictness::Binary || hit.rule.0 != "bearer")
        }
        _ => None,
    }
}

/// Reports whether [`word_credential`] may find something: most words begin as nothing does that is looked for.
#[inline]
fn word_may_be_at(text: &[u8], at: usize) -> bool {
    shapes::may_begin(text, at)
        || at.checked_sub(1).is_some_and(|before| matches!(text[before], b'\\' | b'%'))
}

/// The credential that begins with the word at `at`, or behind the letters of it that belong to an escape: `\n`, `%3D`.
fn word_credential(text: &[u8], at: usize) -> Option<FoundCredential> {
    shapes::credential_at(text, at).or_else(|| {
        match (at.checked_sub(1).map(|before| text[before])?, &text[at..]) {
            (b'\\', [b'n' | b'r' | b't', ..]) => shapes::credential_at(text, at + 1),
            (b'%', [first, second, ..]) if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => {
                shapes::credential_at(text, at + 2)
            }
            _ => None,
        }
    })
}

/// A value that its place shows may have a shape with a better name.
fn with_best_name(text: &[u8], hit: FoundCredential) -> FoundCredential {
    if !matches!(hit.rule.0, "password" | "url-password" | "basic-auth" | "bearer") {
        return hit;
    }
    let inner = (hit.span.start..hit.span.end).find_map(|inner| {
        let begins = inner == hit.span.start || STEPS[usize::from(text[inner - 1])] != ByteStep::Word;
        begins.then(|| shapes::credential_at(text, inner))?
    });
    inner.map_or(hit, |inner| FoundCredential { rule: inner.rule, ..hit })
}

/// `text` with each credential replaced by `[redacted:<rule>]`.
pub fn redact_credentials(text: &str) -> Cow<'_, str> {
    let found = find_credentials(text.as_bytes());
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for FoundCredential { rule, span } in found {
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
