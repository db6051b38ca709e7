//! Files that are about to leave the machine: what in them must not.

use std::borrow::Cow;

use amplihack_sys::hex::to_hex;
use amplihack_sys::push_text;
use sha2::{Digest, Sha256};

use super::{CredentialRule, FoundCredential, SearchStrictness, search_text};

/// A credential in a file, told without telling it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SecretFinding {
    /// The path as it was given to [`scan_file`].
    pub path: String,
    /// The line that it begins in; the first is 1.
    pub line: usize,
    /// Kind of the credential.
    pub rule: CredentialRule,
    /// Text for a person to know it by: its length and, of a provider's that has at least twenty characters, the first four.
    pub masked: String,
    /// Sixteen hexadecimal digits that stay the same as long as value, kind and path do; for [`AllowedSecrets`](super::AllowedSecrets).
    pub fingerprint: String,
}

/// The credentials in the file `path` with the content `bytes`, in order.
///
/// `path` should be relative to the repository, with `/` between its parts: it is a part of each fingerprint, and its ending tells code
/// from settings. Text need not be UTF-8; UTF-16 is read as such. In a file with a NUL in its first KiB only what a provider's shape
/// shows is looked for. Nothing is unpacked or decompressed. Linear in the content.
pub fn scan_file(path: &str, bytes: &[u8]) -> Vec<SecretFinding> {
    scan_part(path, bytes, usize::MAX)
}

/// Credentials in a part of a file, of which the bytes from `again` on are looked at again with what follows them: what begins there and
/// reaches the part's end is left for then.
pub fn scan_part(path: &str, bytes: &[u8], again: usize) -> Vec<SecretFinding> {
    let text = as_bytes_of_ascii(bytes);
    let care = if text[..text.len().min(1024)].contains(&0) {
        SearchStrictness::Binary
    } else if is_code(path) {
        SearchStrictness::Code
    } else {
        SearchStrictness::Settings
    };
    let (mut line, mut counted) = (1, 0);
    let mut findings = Vec::new();
    for FoundCredential { rule, span } in search_text(&text, care) {
        if span.start >= again && span.end == text.len() {
            continue;
        }
        line += text[counted..span.start].split(|&byte| byte == b'\n').count() - 1;
        counted = span.start;
        let value = &text[span.start..span.end];
        findings.push(SecretFinding {
            path: path.to_owned(),
            line,
            rule,
            masked: mask_credential(rule, value),
            fingerprint: credential_fingerprint(value, rule, path),
        });
    }
    findings
}

/// UTF-16, known by its mark or by the NULs of its Latin letters, as UTF-8.
fn as_bytes_of_ascii(bytes: &[u8]) -> Cow<'_, [u8]> {
    let head = &bytes[..bytes.len().min(1024) / 2 * 2];
    let nul = |odd: usize| {
        let pairs = head.chunks_exact(2);
        let all = pairs.len();
        head.len() >= 16 && pairs.filter(|pair| pair[odd] == 0 && pair[1 - odd] != 0).count() * 10 >= all * 9
    };
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units).into_bytes())
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ if nul(1) => wide(u16::from_le_bytes),
        _ if nul(0) => wide(u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// Endings of files in whose text a word without quotes is a name, not a value.
const CODE: &[&str] = &[
    "c", "cc", "cjs", "clj", "coffee", "cpp", "cs", "css", "cts", "cxx", "dart", "erl", "ex", "exs", "go",
    "gradle", "groovy", "h", "hpp", "hs", "html", "java", "jl", "js", "jsx", "kt", "kts", "less", "lua", "m",
    "map", "mjs", "ml", "mm", "mts", "nim", "php", "pl", "pm", "py", "pyi", "r", "rb", "rs", "sass", "scala",
    "scss", "sol", "svelte", "swift", "ts", "tsx", "vue", "zig",
];

fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| CODE.iter().any(|code| ending.eq_ignore_ascii_case(code)))
}

/// Something to know a credential by that does not tell it.
fn mask_credential(rule: CredentialRule, value: &[u8]) -> String {
    let mut shown = String::new();
    if rule.is_provider() && value.len() >= 20 {
        shown.extend(value[..4].iter().filter(|byte| byte.is_ascii_graphic()).map(|&byte| char::from(byte)));
    }
    push_text!(shown, "… ({} bytes)", value.len());
    shown
}

fn credential_fingerprint(value: &[u8], rule: CredentialRule, path: &str) -> String {
    let mut hash = Sha256::new();
    for part in [value, rule.0.as_bytes(), path.as_bytes()] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    to_hex(&hash.finalize()[..8])
}
