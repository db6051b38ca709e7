//! Whole values compared, and differences shown so that a person sees them.

use std::fmt::Write as _;

/// How many bytes before and after the first difference are shown.
const CONTEXT: usize = 60;

/// Fails the test unless both byte strings are the same; shows lengths and the surroundings of the first difference.
#[track_caller]
pub fn assert_same_bytes(what: &str, left: impl AsRef<[u8]>, right: impl AsRef<[u8]>) {
    if let Some(text) = difference(left.as_ref(), right.as_ref()) {
        panic!("{what} differs\n{text}");
    }
}

/// The first difference of two byte strings in words; `None` if there is none.
pub fn difference(left: &[u8], right: &[u8]) -> Option<String> {
    if left == right {
        return None;
    }
    let at = left.iter().zip(right).position(|(a, b)| a != b).unwrap_or_else(|| left.len().min(right.len()));
    let mut text = format!("first difference at byte {at}\n");
    for (name, bytes) in [("left ", left), ("right", right)] {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name} ({} bytes): {}", bytes.len(), around(bytes, at));
    }
    Some(text)
}

fn around(bytes: &[u8], at: usize) -> String {
    let from = at.saturating_sub(CONTEXT);
    let to = (at + CONTEXT).min(bytes.len());
    let before = if from > 0 { "…" } else { "" };
    let after = if to < bytes.len() { "…" } else { "" };
    let cut = at.min(bytes.len());
    format!("{before}{}⟨{}⟩{after}", bytes[from..cut].escape_ascii(), bytes[cut..to].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::{assert_same_bytes, difference};

    #[test]
    fn equal_values_pass() {
        assert_same_bytes("nothing", "", "");
        assert_same_bytes("text", "a\0b", b"a\0b");
    }

    #[test]
    fn the_first_difference_is_named() {
        let text = difference(b"prompt\n\n", b"prompt\n").unwrap();
        assert!(text.contains("byte 7"), "{text}");
        assert!(text.contains("(8 bytes)") && text.contains("(7 bytes)"), "{text}");
        let text = difference(&[b'a'; 500], b"aab").unwrap();
        assert!(text.contains("byte 2") && text.contains('…'), "{text}");
    }
}
