//! Runs of base64, percent, hexadecimal or `\u` escapes, decoded once.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use amplihack_verdict::Span;

/// Shorter runs hide no sentence.
const SHORTEST: usize = 24;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Returns the decoded text of long encoded runs in `text`, where it is text. All of it together is no longer than `text`.
pub(super) fn decode_runs(text: &str) -> Vec<(Span, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // A run that is long enough has all of a window: looked at from its end, most windows are passed after a byte or two.
    while let Some(window) = bytes.get(at..at + SHORTEST) {
        if let Some(gap) = window.iter().rposition(|&byte| KINDS[usize::from(byte)] == 0) {
            at += gap + 1;
            continue;
        }
        let start = at;
        let mut kinds = 0;
        while let Some(kind) = bytes.get(at).map(|&byte| KINDS[usize::from(byte)]).filter(|kind| *kind != 0) {
            kinds |= kind;
            at += 1;
        }
        if let Some(plain) = decode_run(&text[start..at], kinds) {
            found.push((Span { start, end: at }, plain));
        }
    }
    found
}

/// Bits for the kinds of characters in an encoded run.
mod run_bits {
    /// Hexadecimal digits.
    pub(super) const HEX: u8 = 1;
    /// Other letters, `+` and `/`.
    pub(super) const LETTER: u8 = 2;
    /// `-` and `_`, which base64 for addresses has.
    pub(super) const URL: u8 = 4;
    /// `=`
    pub(super) const EQUALS: u8 = 8;
    /// `.` and `~`, which end a run of base64.
    pub(super) const DOT: u8 = 16;
    /// `\`
    pub(super) const BACKSLASH: u8 = 32;
    /// `%`
    pub(super) const PERCENT: u8 = 64;
}

/// The kind of each byte in a run; 0 for a byte that ends one: blanks, quotes, brackets.
static KINDS: [u8; 256] = by_byte!(|byte| match byte {
    b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => run_bits::HEX,
    b'g'..=b'z' | b'G'..=b'Z' | b'+' | b'/' => run_bits::LETTER,
    b'-' | b'_' => run_bits::URL,
    b'=' => run_bits::EQUALS,
    b'.' | b'~' => run_bits::DOT,
    b'\\' => run_bits::BACKSLASH,
    b'%' => run_bits::PERCENT,
    _ => 0,
});

fn decode_run(run: &str, kinds: u8) -> Option<String> {
    if kinds & run_bits::PERCENT != 0 {
        return decode_percent(run);
    }
    if kinds & run_bits::BACKSLASH != 0 && run.contains("\\u") {
        return decode_unicode(run);
    }
    if run.len().is_multiple_of(2) && kinds == run_bits::HEX {
        return decode_hex(run);
    }
    if kinds & (run_bits::DOT | run_bits::BACKSLASH) == 0 {
        return decode_base64(run, kinds);
    }
    // A run may begin with the name of a field or end in a sentence's dot.
    run.split(['.', '~', '\\'])
        .filter(|part| part.len() >= SHORTEST)
        .find_map(|part| decode_base64(part, kinds))
}

/// `kinds` of the run, or of more than it.
fn decode_base64(run: &str, kinds: u8) -> Option<String> {
    let body = if kinds & run_bits::EQUALS == 0 {
        run
    } else {
        let named = run.rsplit_once('=').filter(|(_, rest)| rest.len() >= SHORTEST);
        named.map_or(run, |(_, rest)| rest).trim_end_matches('=')
    };
    let url = kinds & run_bits::URL != 0 && body.contains(['-', '_']);
    let engine = if url { &URL } else { &PLAIN };
    // Most runs are paths or random bytes, which the first twelve bytes show.
    let mut head = [0; 16];
    let decoded = engine.decode_slice(body.get(..16)?, &mut head).ok()?;
    if !head.iter().take(decoded).all(|&byte| byte >= b' ' && byte != 0x7f || is_blank(byte)) {
        return None;
    }
    // A length that no encoder makes is a cut run.
    let whole = if body.len() % 4 == 1 { &body[..body.len() - 1] } else { body };
    bytes_to_text(engine.decode(whole).ok()?)
}

/// The control characters of text.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\t')
}

fn decode_percent(run: &str) -> Option<String> {
    let (bytes, mut out, mut at, mut escapes) = (run.as_bytes(), Vec::with_capacity(run.len()), 0, 0);
    while at < bytes.len() {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2)).filter(|_| bytes[at] == b'%');
        if let Some((high, low)) = pair.and_then(|(high, low)| Some((hex_nibble(*high)?, hex_nibble(*low)?)))
        {
            out.push(high << 4 | low);
            at += 3;
            escapes += 1;
        } else {
            out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
            at += 1;
        }
    }
    if escapes >= 3 { bytes_to_text(out) } else { None }
}

fn decode_unicode(run: &str) -> Option<String> {
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

fn decode_hex(run: &str) -> Option<String> {
    let pairs = run.as_bytes().as_chunks::<2>().0.iter();
    bytes_to_text(
        pairs.map(|[high, low]| Some(hex_nibble(*high)? << 4 | hex_nibble(*low)?)).collect::<Option<_>>()?,
    )
}

fn hex_nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Bytes as text, if that is what they are.
fn bytes_to_text(bytes: Vec<u8>) -> Option<String> {
    // Control characters are looked for in bytes first, which settles nearly everything that is no text.
    if bytes.iter().any(|&byte| byte < b' ' && !is_blank(byte) || byte == 0x7f) {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    if text.is_ascii() {
        return text.bytes().any(|byte| matches!(byte, b' ' | b'\n')).then_some(text);
    }
    (!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))).then_some(text)
}
