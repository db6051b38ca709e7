//! Runs of base64, percent, hexadecimal or `\u` escapes, decoded once.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::decision::Span;

/// Shorter runs hide no sentence.
const SHORTEST: usize = 24;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// What long encoded runs in `text` say, if it is text. All of it together is no longer than `text`.
pub(super) fn decoded(text: &str) -> Vec<(Span, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // A run that is long enough has all of a window: looked at from its end, most windows are passed after a byte or two.
    while let Some(window) = bytes.get(at..at + SHORTEST) {
        if let Some(gap) = window.iter().rposition(|&byte| !RUN[usize::from(byte)]) {
            at += gap + 1;
            continue;
        }
        let start = at;
        at += SHORTEST;
        while at < bytes.len() && RUN[usize::from(bytes[at])] {
            at += 1;
        }
        if let Some(plain) = decode(&text[start..at]) {
            found.push((Span { start, end: at }, plain));
        }
    }
    found
}

/// Bytes that runs are made of: no blanks, quotes or brackets.
static RUN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric()
            || matches!(c, b'+' | b'/' | b'=' | b'-' | b'_' | b'%' | b'\\' | b'.' | b'~');
        byte += 1;
    }
    table
};

fn decode(run: &str) -> Option<String> {
    if run.contains('%') {
        return escaped(run);
    }
    if run.contains("\\u") {
        return unicode(run);
    }
    if run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return hex(run);
    }
    // A run may begin with the name of a field or end in a sentence's dot.
    run.split(['.', '~', '\\']).filter(|part| part.len() >= SHORTEST).find_map(base64)
}

fn base64(run: &str) -> Option<String> {
    let run = run.rsplit_once('=').filter(|(_, rest)| rest.len() >= SHORTEST).map_or(run, |(_, rest)| rest);
    let body = run.trim_end_matches('=');
    let engine = if body.contains(['-', '_']) { &URL } else { &PLAIN };
    // Most runs are paths or random bytes, which the first twelve bytes show.
    let head = engine.decode(body.get(..16)?).ok()?;
    if !head.iter().all(|&byte| byte >= b' ' && byte != 0x7f || matches!(byte, b'\n' | b'\r' | b'\t')) {
        return None;
    }
    // A length that no encoder makes is a cut run.
    let whole = if body.len() % 4 == 1 { &body[..body.len() - 1] } else { body };
    text(engine.decode(whole).ok()?)
}

fn escaped(run: &str) -> Option<String> {
    let (bytes, mut out, mut at, mut escapes) = (run.as_bytes(), Vec::with_capacity(run.len()), 0, 0);
    while at < bytes.len() {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2)).filter(|_| bytes[at] == b'%');
        if let Some((high, low)) = pair.and_then(|(high, low)| Some((nibble(*high)?, nibble(*low)?))) {
            out.push(high << 4 | low);
            at += 3;
            escapes += 1;
        } else {
            out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
            at += 1;
        }
    }
    if escapes >= 3 { text(out) } else { None }
}

fn unicode(run: &str) -> Option<String> {
    let mut out = String::new();
    let mut escapes = 0;
    let mut rest = run;
    while let Some(c) = rest.chars().next() {
        let code = rest.strip_prefix("\\u").and_then(|tail| u32::from_str_radix(tail.get(..4)?, 16).ok());
        if let Some(c) = code.and_then(char::from_u32) {
            out.push(c);
            escapes += 1;
            rest = &rest[6..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    (escapes >= 3).then_some(out)
}

fn hex(run: &str) -> Option<String> {
    let pairs = run.as_bytes().as_chunks::<2>().0.iter();
    text(pairs.map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect::<Option<_>>()?)
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Bytes as text, if that is what they are.
fn text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let odd = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    (!odd && (text.contains([' ', '\n']) || !text.is_ascii())).then_some(text)
}
