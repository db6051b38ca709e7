//! Whole values compared, and differences shown so that a person sees them.

use std::fmt::Write as _;

/// How many bytes before and after the first difference are shown.
const CONTEXT: usize = 60;

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
    use super::difference;

    #[test]
    fn equal_values_differ_nowhere() {
        assert_eq!(difference(b"", b""), None);
        assert_eq!(difference(b"a\0b", b"a\0b"), None);
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
