//! Credentials behind a blank: options of programs, and words of a few formats.

use amplihack_verdict::Span;

use super::assign::{SecretAssignment, name_at};
use super::names::SecretNameKind;
use super::values::{self, SecretValueSpan};
use super::{CredentialRule, FoundCredential, SearchStrictness, is_placeholder, random};

/// The last three letters of words that are worth a look.
const ENDS: [&[u8; 3]; 13] =
    [b"ord", b"swd", b"pwd", b"ken", b"key", b"ret", b"ass", b"ase", b"ial", b"als", b"ode", b" -p", b" by"];

/// The letters of `ENDS`, as a set that says yes too often and never no too often.
static MAY_END: [u64; 16] = {
    let mut table = [0; 16];
    let mut at = 0;
    while at < ENDS.len() {
        let (part, bit) = ending_slot(ENDS[at][0], ENDS[at][1], ENDS[at][2]);
        table[part] |= bit;
        at += 1;
    }
    table
};

const fn ending_slot(third: u8, second: u8, last: u8) -> (usize, u64) {
    let hash = (third as usize * 961 + second as usize * 31 + last as usize) % 1024;
    (hash / 64, 1 << (hash % 64))
}

/// Reports whether a blank behind this letter may be worth a look.
pub(super) const fn may_follow(last: u8) -> bool {
    matches!(last | 32, b'd' | b'n' | b'y' | b't' | b's' | b'e' | b'l' | b'p' | b'u' | b'r')
}

/// Reports whether [`credential_at`] may find something, by the three letters before the blank. Most follow other words.
#[inline]
pub(super) fn may_be_at(text: &[u8], at: usize) -> bool {
    let &[.., third, second, last] = &text[..at] else { return false };
    let (part, bit) = ending_slot(third | 32, second | 32, last | 32);
    MAY_END[part] & bit != 0 || names_user(third, second, last)
}

/// `-u`, `--user`
const fn names_user(third: u8, second: u8, last: u8) -> bool {
    second == b'-' && last == b'u' || matches!([third, second, last], [b's', b'e', b'r'])
}

/// `--password VALUE`, `-u user:password`, `login x password VALUE`, `ENV NAME VALUE`; the blank is at `at`.
pub(super) fn credential_at(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    let &[.., third, second, last] = &text[..at] else { return None };
    if names_user(third, second, last) {
        return login_credential(text, at, care);
    }
    if !ENDS.contains(&&[third | 32, second | 32, last | 32]) {
        return None;
    }
    let name = name_at(text, at)?;
    let line = before_on_line(text, name.start);
    let value = values::after_blank(text, at + 1)?;
    let word = &text[name.start..name.end];
    if matches!(word, b"-p" | b"BY" | b"by") {
        let known = line.ends_with(b"sshpass ") || line.to_ascii_lowercase().ends_with(b"identified ");
        return known.then(|| {
            SecretAssignment { text, name, kind: SecretNameKind::Password, care }.credential_in(value)
        })?;
    }
    let place = SecretAssignment::new(text, name, care)?;
    let head = line.trim_ascii();
    let told = word.starts_with(b"--")
        || [&b"ENV"[..], b"ARG", b"#define"].iter().any(|word| head.ends_with(word))
        || word == b"requirepass" && line.is_empty()
        || word.eq_ignore_ascii_case(b"password")
            && (value.quoted || line.windows(6).any(|part| part == b"login "));
    (told && !text[value.start..value.end].starts_with(b"-")).then(|| place.credential_in(value))?
}

/// Text of the line before `at`, of its end at most.
fn before_on_line(text: &[u8], at: usize) -> &[u8] {
    let line = &text[at.saturating_sub(160)..at];
    line.rsplit(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// `-u user:password`
fn login_credential(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    let name = name_at(text, at)?;
    if !matches!(&text[name.start..name.end], b"-u" | b"--user") {
        return None;
    }
    let value = values::after_blank(text, at + 1)?;
    let bytes = &text[value.start..value.end];
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let (user, password) = (&bytes[..colon], &bytes[colon + 1..]);
    let shown = !password.starts_with(b"$")
        && !password.iter().all(u8::is_ascii_digit)
        && password.len() >= 3
        && !is_placeholder(password)
        && !password.contains(&b'/');
    let counts = care == SearchStrictness::Redaction
        || password.len() >= 6
            && password != user
            && !random::is_weak(password)
            && random::looks_chosen(password);
    (shown && counts).then_some(FoundCredential {
        rule: CredentialRule("basic-auth"),
        span: Span { start: value.start + colon + 1, end: value.end },
    })
}

/// `mysql -uroot -pVALUE`; the dash is at `at`.
pub(super) fn database_flag(text: &[u8], at: usize, care: SearchStrictness) -> Option<FoundCredential> {
    if !text[at..].starts_with(b"-p") {
        return None;
    }
    let line = before_on_line(text, at);
    if !line.ends_with(b" ") || !line.windows(5).any(|part| part == b"mysql") {
        return None;
    }
    let SecretValueSpan { start, end, .. } = values::after_blank(text, at + 2)?;
    let bytes = &text[start..end];
    let shown = bytes.len() >= 8
        && random::looks_chosen(bytes)
        && !is_placeholder(bytes)
        && (care == SearchStrictness::Redaction || !random::is_weak(bytes));
    shown.then_some(FoundCredential { rule: CredentialRule("password"), span: Span { start, end } })
}
