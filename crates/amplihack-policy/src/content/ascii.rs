//! Words of ASCII characters: what each byte adds to one, and a whole word of letters at once.

use super::known::{SEED, hash_step};

/// Lower case of the ASCII characters that words are made of; 0 for the others.
pub(super) static FOLD: [u8; 256] =
    by_byte!(|byte| if byte.is_ascii_alphanumeric() || byte == b'_' { byte.to_ascii_lowercase() } else { 0 });

/// Bits for the kinds of characters in an ASCII word; a word without any has 0.
pub(super) mod word_bits {
    /// Anything that makes words.
    pub(in super::super) const LETTER: u8 = 1;
    /// A small letter.
    pub(in super::super) const LOWER: u8 = 2;
    /// A digit that may stand for a letter.
    pub(in super::super) const LEET: u8 = 4;
    /// Another digit.
    pub(in super::super) const DIGIT: u8 = 8;
    /// `_`
    pub(in super::super) const LOW_LINE: u8 = 16;
}

/// The bits that each byte adds to a word; 0 for a byte that ends one, and for one that is not ASCII.
pub(super) static HAS: [u8; 256] = by_byte!(|byte| match byte {
    b'a'..=b'z' => word_bits::LETTER | word_bits::LOWER,
    b'A'..=b'Z' => word_bits::LETTER,
    b'0' | b'1' | b'3' | b'4' | b'5' | b'7' => word_bits::LEET,
    b'0'..=b'9' => word_bits::DIGIT,
    b'_' => word_bits::LOW_LINE,
    _ => 0,
});

/// Bytes that continue, or may continue, a word of letters: the rest of a word's characters, an apostrophe, anything that is not ASCII.
pub(super) static GOES_ON: [bool; 256] =
    by_byte!(|byte| !byte.is_ascii() || HAS[byte as usize] != 0 || byte == b'\'');

/// In each byte the bit that makes a letter small.
const SMALL: u64 = 0x2020_2020_2020_2020;

/// The word of ASCII letters that begins at `at`: its end, its hash and whether a letter of it is small. `None` where there may be
/// more to the word, and at the end of the text.
///
/// Eight bytes at a time, without a branch for each: most of any text is such words.
#[inline]
pub(super) fn plain_word(bytes: &[u8], at: usize) -> Option<(usize, u64, bool)> {
    let (mut end, mut hash, mut small) = (at, SEED, 0);
    loop {
        let eight = u64::from_le_bytes(*bytes.get(end..)?.first_chunk()?);
        let len = letters_in(eight);
        let word = if len == 8 { u64::MAX } else { (1 << (len * 8)) - 1 };
        small |= eight & word & SMALL;
        if len > 0 {
            hash = hash_step(hash, (eight | SMALL) & word);
        }
        end += len;
        if len < 8 {
            break;
        }
    }
    (!GOES_ON[usize::from(*bytes.get(end)?)]).then_some((end, hash, small != 0))
}

/// Number of ASCII letters among eight bytes, counted from the lowest on.
#[inline]
const fn letters_in(eight: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let small = (eight | SMALL) & !HIGH;
    // The highest bit of each byte says yes or no; no sum reaches into the next byte.
    let from_a = small + (0x80 - b'a' as u64) * ONES;
    let behind_z = small + (0x7f - b'z' as u64) * ONES;
    let other = !(from_a & !behind_z & !eight) & HIGH;
    other.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_from_the_first_byte_on() {
        let count = |text: &[u8; 8]| letters_in(u64::from_le_bytes(*text));
        for byte in 0..=255_u8 {
            let expected = if byte.is_ascii_alphabetic() { 8 } else { 0 };
            assert_eq!(count(&[byte; 8]), expected, "{byte}");
            for at in 0..8 {
                let mut text = *b"azAZmMbY";
                text[at] = byte;
                assert_eq!(count(&text), if byte.is_ascii_alphabetic() { 8 } else { at }, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn a_plain_word_ends_where_no_word_goes_on() {
        let read = |text: &str| plain_word(text.as_bytes(), 0).map(|(end, _, small)| (end, small));
        for (text, expected) in [
            ("ignore all the rest", Some((6, true))),
            ("IGNORE all the rest", Some((6, false))),
            ("instructions, and so on", Some((12, true))),
            ("abcdefgh, and so on", Some((8, true))),
            ("don't go on with this", None),
            ("id_rsa and others", None),
            ("ignor\u{e9} all the rest", None),
            ("rule2 and the rest", None),
            // Too near to the end to read eight bytes: the slow way.
            ("ignore", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
