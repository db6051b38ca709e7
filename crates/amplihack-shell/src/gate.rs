//! Input that no parser gets to see: bytes that hide text from a reader, and scripts that are too long.

use amplihack_verdict::Span;

use super::model::UndecidedPart;
use crate::limits::Limits;

/// `src` as text, or why it is refused before anything reads it.
pub(super) fn admit_script<'a>(src: &'a [u8], limits: &Limits) -> Result<&'a str, UndecidedPart> {
    if src.len() > limits.bytes {
        let why = format!("the script has {} bytes, more than the {} that are read", src.len(), limits.bytes);
        return Err(UndecidedPart { why, span: Span { start: 0, end: src.len() } });
    }
    let text = std::str::from_utf8(src).map_err(|error| {
        refuse_at("bytes that are not UTF-8", error.valid_up_to(), error.error_len().unwrap_or(1))
    })?;
    if let Some((at, byte)) = src.iter().enumerate().find(|(at, byte)| is_bad_control(src, *at, **byte)) {
        let what = match byte {
            0 => "a NUL byte",
            b'\r' => "a carriage return in the middle of a line",
            _ => "a control character",
        };
        return Err(refuse_at(what, at, 1));
    }
    if src.is_ascii() {
        return Ok(text);
    }
    match text.char_indices().find(|(_, c)| is_deceptive(*c)) {
        Some((at, c)) => Err(refuse_at("a character that changes how text is shown", at, c.len_utf8())),
        None => Ok(text),
    }
}

fn refuse_at(what: &str, at: usize, len: usize) -> UndecidedPart {
    UndecidedPart { why: format!("the script holds {what}"), span: Span { start: at, end: at + len } }
}

/// bash takes a carriage return as a letter, people and terminals do not: only one that ends a line is let through.
fn is_bad_control(src: &[u8], at: usize, byte: u8) -> bool {
    match byte {
        b'\t' | b'\n' => false,
        b'\r' => src.get(at + 1).is_some_and(|next| *next != b'\n'),
        _ => byte < 0x20 || byte == 0x7f,
    }
}

/// Bidirectional controls and the C1 controls.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(src: &[u8]) -> String {
        admit_script(src, &Limits::default()).unwrap_err().why
    }

    #[test]
    fn hidden_text_is_refused() {
        assert_eq!(why(b"ls \xff"), "the script holds bytes that are not UTF-8");
        assert_eq!(why(b"ls \0"), "the script holds a NUL byte");
        assert_eq!(why(b"ls \x1b[2K"), "the script holds a control character");
        assert_eq!(why(b"ls\rrm"), "the script holds a carriage return in the middle of a line");
        assert_eq!(
            why("ls \u{202e}".as_bytes()),
            "the script holds a character that changes how text is shown"
        );
    }

    #[test]
    fn honest_text_passes() {
        for src in ["", "ls\r\n", "ls\r", "echo 'Grüße, 世界'\n\tls"] {
            assert_eq!(admit_script(src.as_bytes(), &Limits::default()).unwrap(), src);
        }
    }

    #[test]
    fn length_is_limited() {
        let limits = Limits { bytes: 4, ..Limits::default() };
        assert!(admit_script(b"ls -l", &limits).unwrap_err().why.contains("5 bytes"));
    }
}
