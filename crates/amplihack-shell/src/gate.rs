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
    let bad = text.char_indices().find_map(|(at, c)| {
        let what = if is_deceptive(c) || is_direction_mark(c) && !is_quoted(text, at) {
            "a character that changes how text is shown"
        } else if is_tag(c) && !is_in_flag(text, at) {
            "a character that is not shown"
        } else {
            return None;
        };
        Some(refuse_at(what, at, c.len_utf8()))
    });
    bad.map_or(Ok(text), Err)
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

/// Controls that order the text after them, and the C1 controls.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Marks with a direction: Hebrew and Arabic need them beside digits and signs. They order nothing but their neighbors.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
}

/// Letters that nothing shows, and that a model reads.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Tags that a flag of a region has behind it: letters and digits, and the end.
const FLAG_TAGS: usize = 7;

/// Reports whether the tag at `at` belongs to the flag of a region, such as Scotland's.
fn is_in_flag(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let tags = before.chars().rev().take_while(|c| is_tag(*c)).count();
    tags < FLAG_TAGS && before.chars().rev().nth(tags) == Some('\u{1f3f4}')
}

/// Reports whether the character at `at` stands in quotes, as far as that can be told without reading the script: text for people does.
fn is_quoted(text: &str, at: usize) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for c in text.get(..at).unwrap_or_default().chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"') | None, '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    quote.is_some()
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
    fn marks_with_a_direction_pass_in_quotes_only() {
        let admitted = |src: &str| admit_script(src.as_bytes(), &Limits::default()).is_ok();
        for mark in ['\u{61c}', '\u{200e}', '\u{200f}'] {
            for (src, passes) in [
                (format!("git commit -m 'תיקון {mark}(3)'"), true),
                (format!("git commit -m \"a \\\" {mark}\""), true),
                (format!("echo 'it'{mark}"), false),
                (format!("rm{mark} -rf x"), false),
                (format!("echo \\' {mark}"), false),
            ] {
                assert_eq!(admitted(&src), passes, "{src:?}");
            }
        }
        assert!(!admitted("echo '\u{202e}'"), "an override orders what follows");
    }

    #[test]
    fn tags_pass_in_flags_only() {
        let scotland = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        assert!(admit_script(format!("echo '{scotland}'").as_bytes(), &Limits::default()).is_ok());
        for src in
            ["echo '\u{e0072}\u{e006d}'", "echo '\u{e0001}'", &format!("echo '{scotland}\u{e0072}\u{e006d}'")]
        {
            assert_eq!(why(src.as_bytes()), "the script holds a character that is not shown", "{src:?}");
        }
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
