//! Positions in a text that are worth a look: many bytes at a time, without a branch for each.
//!
//! A place is told by three bytes: the one before it, its own, and the one behind it. Each kind of place is a bit, and each byte has three sets
//! of them, one for where it stands. What is left by that is one byte in ten.

use super::{ByteStep, STEPS, shapes, spaced};

/// Number of bytes that are looked over at once.
pub(super) const AT_ONCE: usize = 64;

/// Of six kinds of beginnings, by their second byte: fewer words look like one by chance.
const BEGINNINGS: u64 = 6;
const ESCAPED: u64 = 1 << 6;
const BLANK: u64 = 1 << 7;
const ANY: u64 = 1 << 8;
const COLON: u64 = 1 << 9;
const TWICE: u64 = 1 << 10;
const QUOTED: u64 = 1 << 11;
const ELEMENT: u64 = 1 << 12;

/// Bits of a byte that stands before a place; those of one at a place and of one behind it are higher.
const BEFORE: u64 = 0xffff;
const AT: u32 = 16;
const BEHIND: u32 = 32;

static KINDS: [u64; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    loop {
        let (mut before, mut at, mut behind) = (ANY | TWICE, 0, ANY | ESCAPED | QUOTED | ELEMENT);
        if matches!(STEPS[byte as usize], ByteStep::Word) {
            at |= ESCAPED;
        } else {
            before |= (1 << BEGINNINGS) - 1;
        }
        match byte {
            b'=' | b'~' | b'.' => at |= ANY,
            b' ' | b'\t' => at |= BLANK,
            b':' => at |= COLON,
            b',' => at |= QUOTED,
            b'>' => at |= ELEMENT,
            b'-' | b'|' | b'?' => at |= TWICE,
            b'\\' | b'%' => before |= ESCAPED,
            b'"' | b'\'' => before |= QUOTED,
            _ => {}
        }
        if spaced::may_follow(byte) {
            before |= BLANK;
        }
        if byte.is_ascii_alphanumeric() {
            before |= ELEMENT;
        }
        if byte != b':' {
            before |= COLON;
            behind |= COLON;
        }
        if matches!(byte, b'-' | b'|' | b'?' | b'p') {
            behind |= TWICE;
        }
        if !byte.is_ascii_whitespace() {
            behind |= BLANK;
        }
        kinds[byte as usize] = before | at << AT | behind << BEHIND;
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    let mut at = 0;
    while let Some([first, second]) = shapes::first_two(at) {
        let kind = 1 << (second as u64 % BEGINNINGS);
        kinds[first as usize] |= kind << AT;
        kinds[second as usize] |= kind << BEHIND;
        at += 1;
    }
    kinds
};

/// Places among the [`AT_ONCE`] bytes from `from` on, as bits from the lowest on. Says yes too often and never no too often.
pub(super) fn candidates_among(text: &[u8], from: usize) -> u64 {
    // What is beyond the text is nothing.
    let mut end = [b'\n'; AT_ONCE + 1];
    let rest = &text[from..];
    let window = if let Some(window) = rest.first_chunk() {
        window
    } else {
        end[..rest.len()].copy_from_slice(rest);
        &end
    };
    let mut before = KINDS[usize::from(from.checked_sub(1).map_or(b'\n', |before| text[before]))];
    let mut here = KINDS[usize::from(window[0])];
    let mut places = 0;
    // Eight in a row are written out by the compiler.
    for (group, eight) in window[1..].as_chunks::<8>().0.iter().enumerate() {
        let mut found = 0;
        for (at, byte) in eight.iter().enumerate() {
            let behind = KINDS[usize::from(*byte)];
            found |= u64::from(before & here >> AT & behind >> BEHIND & BEFORE != 0) << at;
            (before, here) = (here, behind);
        }
        places |= found << (8 * group);
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{ByteStep, STEPS, SearchStrictness, assign, word_credential, word_may_be_at};
    use super::{AT_ONCE, candidates_among};

    proptest! {
        #[test]
        fn no_place_is_missed(
            parts in proptest::collection::vec(
                prop_oneof![
                    4 => "[-=:~.,>|?%\\\\ \t\n\"'a-zA-Z0-9_<@/]{1,3}",
                    1 => prop_oneof![
                        Just("password".to_owned()), Just("-----BEGIN ".to_owned()), Just("AKIA".to_owned()), Just("ghp_".to_owned()),
                        Just("token".to_owned()), Just("://".to_owned()), Just("SK".to_owned()), Just("x9R2vK7qLm4TzW8p".to_owned()),
                    ],
                ],
                0..60,
            ),
        ) {
            let text = parts.concat().into_bytes();
            let is_word = |at: usize| STEPS[usize::from(text[at])] == ByteStep::Word;
            for at in 0..text.len() {
                let needed = if is_word(at) {
                    (at == 0 || !is_word(at - 1)) && word_may_be_at(&text, at) && word_credential(&text, at).is_some()
                } else {
                    [SearchStrictness::Redaction, SearchStrictness::Binary].into_iter().any(|care| assign::may_be_at(&text, at) && assign::credential_at(&text, at, care).is_some())
                };
                let from = at / AT_ONCE * AT_ONCE;
                prop_assert!(!needed || candidates_among(&text, from) >> (at - from) & 1 == 1, "{at} of {:?}", String::from_utf8_lossy(&text));
            }
        }
    }
}
