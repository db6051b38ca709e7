//! Credentials that only their place shows: values of names like `password`.

use amplihack_verdict::Span;

use super::names::{self, SecretNameKind};
use super::values::{self, SecretValueSpan};
use super::{
    CredentialRule, FoundCredential, SearchStrictness, address, blocks, infix_marks, is_placeholder, random,
    spaced,
};

/// A name that says its value is secret, and where that stands.
#[derive(Clone, Copy)]
pub(super) struct SecretAssignment<'a> {
    pub(super) text: &'a [u8],
    pub(super) name: Span,
    pub(super) kind: SecretNameKind,
    pub(super) care: SearchStrictness,
}

impl<'a> SecretAssignment<'a> {
    pub(super) fn new(text: &'a [u8], name: Span, care: SearchStrictness) -> Option<Self> {
        let kind = names::name_kind(&text[name.start..name.end])?;
        Some(Self { text, name, kind, care })
    }

    fn name_bytes(&self) -> &'a [u8] {
        &self.text[self.name.start..self.name.end]
    }

    /// The credential, if the value is one.
    pub(super) fn credential_in(&self, value: SecretValueSpan) -> Option<FoundCredential> {
        let SecretValueSpan { start, end, .. } = value;
        let bytes = &self.text[start..end];
        let rule = match self.kind {
            SecretNameKind::Login => {
                (bytes.len() >= 12 && blocks::is_login(bytes)).then_some("basic-auth")?
            }
            SecretNameKind::Header => return self.header_credential(start),
            SecretNameKind::Password | SecretNameKind::Key => names::provider_rule(self.name_bytes(), bytes)
                .filter(|_| random::shannon_entropy(bytes) >= 2.9 && !is_placeholder(bytes))
                .or_else(|| values::is_secret(self, &value).then_some("password"))?,
        };
        Some(FoundCredential { rule: CredentialRule(rule), span: Span { start, end } })
    }

    /// The credential behind the scheme of a header's value.
    fn header_credential(&self, start: usize) -> Option<FoundCredential> {
        let (scheme, length) = values::credential_of(self.text, start)?;
        let basic = self.text[start..start + scheme].eq_ignore_ascii_case(b"basic ");
        let start = start + scheme;
        let bytes = &self.text[start..start + length];
        let shown = if basic {
            self.care == SearchStrictness::Redaction && length >= 8 || blocks::is_login(bytes)
        } else {
            length >= 20 && random::looks_random(bytes)
        };
        let rule = if basic { "basic-auth" } else { "bearer" };
        (shown && !is_placeholder(bytes)).then_some(FoundCredential {
            rule: CredentialRule(rule),
            span: Span { start, end: start + length },
        })
    }
}

/// Reports whether [`credential_at`] may find something: most signs show nothing beside their neighbors, and calls cost more than all the
/// rest of a search.
#[inline]
pub(super) fn may_be_at(text: &[u8], at: usize) -> bool {
    let next = |ahead| text.get(at + ahead).copied().unwrap_or(b'\n');
    let before = at.checked_sub(1).map_or(b'\n', |before| text[before]);
    match text[at] {
        b' ' | b'\t' => spaced::may_be_at(text, at),
        b'-' => matches!(next(1), b'-' | b'p'),
        b'.' => next(1) == b'a' || next(7) == b'.' || next(8) == b'.',
        b',' => matches!(before, b'"' | b'\''),
        b'>' => before.is_ascii_alphanumeric(),
        sign @ (b'|' | b'?') => next(1) == sign,
        _ => true,
    }
}

/// The credential that the sign at `at` shows.
pub(super) fn credential_at(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    let rest = &text[at..];
    let before = at.checked_sub(1).map_or(b'\n', |before| text[before]);
    match text[at] {
        b'-' if rest.starts_with(b"----") => blocks::private_key(text, at),
        b'~' | b'.' => infix_marks::credential_at(text, at),
        _ if care == SearchStrictness::Binary => {
            (text[at] == b':').then(|| infix_marks::credential_at(text, at))?
        }
        b'-' => spaced::database_flag(text, at, care),
        b':' if rest.starts_with(b"://") => address::address_password(text, at + 3, care),
        b':' if rest.starts_with(b"::") || before == b':' => None,
        b':' => infix_marks::credential_at(text, at).or_else(|| assigned_credential(text, at, care)),
        // `a != b` says what it is not.
        b'=' if !matches!(before, b'!' | b'<' | b'>') => assigned_credential(text, at, care),
        b' ' | b'\t' => spaced::credential_at(text, at, care),
        b'|' | b'?' if rest.get(1) == rest.first() => quoted_after(text, at, 2, care),
        b',' if matches!(before, b'"' | b'\'') => quoted_after(text, at, 1, care),
        b'>' if before.is_ascii_alphanumeric() => element_credential(text, at, care),
        _ => None,
    }
}

/// Letters of names, as a table: most of a scan is going back over them.
static NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    table
};

fn is_name(byte: u8) -> bool {
    NAME[usize::from(byte)]
}

/// The name that ends at `end`.
pub(super) fn name_at(text: &[u8], end: usize) -> Option<Span> {
    let length = text[..end].iter().rev().take(64).take_while(|&&byte| is_name(byte)).count();
    let start = end - length;
    // The end of a path in code, `Key::Token`, is the name of a type.
    (length > 0 && !text[..start].ends_with(b"::")).then_some(Span { start, end })
}

/// The name that ends before `at`; a quote may close it, blanks and a second sign of the operator may follow it.
fn name_before(text: &[u8], at: usize) -> Option<Span> {
    name_at(text, end_before(text, at))
}

/// End of the name before `at`, if there is such a name.
fn end_before(text: &[u8], at: usize) -> usize {
    let between = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b'?' | b'+' | b']');
    at - text[..at].iter().rev().take(4).take_while(between).count()
}

/// `NAME = VALUE` in all its spellings.
fn assigned_credential(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    let end = end_before(text, at);
    // Two letters tell of most names that they are none of these, before anybody looks where they begin.
    if text[at] == b':'
        && !names::may_end_so(&text[..end])
        && !matches!(text[..end], [.., b'u' | b'U' | b'e', b'e' | b'E' | b's'])
    {
        return None;
    }
    let span = name_at(text, end)?;
    if let Some(place) = SecretAssignment::new(text, span, care) {
        return place.credential_in(values::value_after(text, at + 1));
    }
    let name = &text[span.start..span.end];
    if name.len() == 5 && name.eq_ignore_ascii_case(b"value") {
        return SecretAssignment::new(text, named_beside(text, at)?, care)?
            .credential_in(values::value_after(text, at + 1));
    }
    if name == b"Private-Lines" {
        return blocks::putty_key(text, at);
    }
    if text[at] != b'=' || name.len() > 16 {
        return None;
    }
    // `const API_KEY: &str = "…"`
    let typed =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'&' | b'\'' | b' ' | b'<' | b'.');
    let before = text[..span.start].iter().rev().take(24).take_while(typed).count();
    let colon = span.start.checked_sub(before + 1).filter(|&colon| text[colon] == b':')?;
    let place = SecretAssignment::new(text, name_before(text, colon)?, care)?;
    place.credential_in(Some(values::value_after(text, at + 1)).filter(|value| value.quoted)?)
}

/// The name that an attribute or a line before says: `key="NAME" value=…`, `name: NAME⏎ value: …`.
fn named_beside(text: &[u8], at: usize) -> Option<Span> {
    let from = at.saturating_sub(120);
    let window = &text[from..at];
    let label = |word: &[u8]| {
        let found = window.windows(word.len()).rposition(|part| part.eq_ignore_ascii_case(word))?;
        Some(found + word.len())
    };
    let start = label(b"name=").max(label(b"key=")).max(label(b"name:"))?;
    let start = start + window[start..].iter().take_while(|byte| matches!(byte, b' ' | b'"' | b'\'')).count();
    let length = window[start..].iter().take_while(|&&byte| is_name(byte) || byte == b':').count();
    // At most one line between them.
    let lines = window[start..].split(|&byte| byte == b'\n').count();
    (lines <= 2 && length > 0).then(|| Span { start: from + start, end: from + start + length })
}

/// `getenv("NAME") || "VALUE"`, `("NAME", "VALUE")`.
fn quoted_after(text: &[u8], at: usize, operator: usize, care: SearchStrictness) -> Option<FoundCredential> {
    let end = end_before(text, if at > 0 && text[at - 1] == b')' { at - 1 } else { at });
    if !names::may_end_so(&text[..end]) {
        return None;
    }
    let place = SecretAssignment::new(text, name_at(text, end)?, care)?;
    place.credential_in(Some(values::value_after(text, at + operator)).filter(|value| value.quoted)?)
}

/// `<password>VALUE</password>`
fn element_credential(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    if !names::may_end_so(&text[..at]) {
        return None;
    }
    let place = SecretAssignment::new(text, name_at(text, at)?, care)?;
    if !text[..place.name.start].ends_with(b"<") {
        return None;
    }
    let length = text[at + 1..].iter().take(512).take_while(|&&byte| byte != b'<' && byte != b'\n').count();
    let end = at + 1 + length;
    text[end..]
        .starts_with(b"</")
        .then(|| place.credential_in(SecretValueSpan { start: at + 1, end, quoted: true }))?
}
