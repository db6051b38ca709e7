//! The letter that a reader sees in a character: case, accents, look-alikes and invisible characters taken away.

/// The result of folding one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldedChar {
    /// Nothing is to be seen of it: the word goes on.
    Gone,
    /// A letter, digit or mark of a word that is written with blanks around it. `alike` is the Latin letter it looks like.
    Letter { plain: char, alike: Option<u8> },
    /// A character of a script without blanks between words.
    Dense(char),
    /// Anything else, as the ASCII character that it stands for, if any.
    Other(char),
}

/// Cyrillic and Greek small letters with the Latin one that they look like. Sorted.
const ALIKE: &[(char, u8)] = &[
    ('\u{131}', b'i'),
    ('\u{251}', b'a'),
    ('\u{261}', b'g'),
    ('\u{269}', b'i'),
    ('\u{28b}', b'u'),
    ('\u{3b1}', b'a'),
    ('\u{3b3}', b'y'),
    ('\u{3b5}', b'e'),
    ('\u{3b7}', b'n'),
    ('\u{3b9}', b'i'),
    ('\u{3ba}', b'k'),
    ('\u{3bd}', b'v'),
    ('\u{3bf}', b'o'),
    ('\u{3c1}', b'p'),
    ('\u{3c3}', b'o'),
    ('\u{3c4}', b't'),
    ('\u{3c5}', b'u'),
    ('\u{3c7}', b'x'),
    ('\u{3c9}', b'w'),
    ('\u{3f2}', b'c'),
    ('\u{3f3}', b'j'),
    ('\u{430}', b'a'),
    ('\u{432}', b'b'),
    ('\u{433}', b'r'),
    ('\u{435}', b'e'),
    ('\u{43a}', b'k'),
    ('\u{43c}', b'm'),
    ('\u{43d}', b'h'),
    ('\u{43e}', b'o'),
    ('\u{43f}', b'n'),
    ('\u{440}', b'p'),
    ('\u{441}', b'c'),
    ('\u{442}', b't'),
    ('\u{443}', b'y'),
    ('\u{445}', b'x'),
    ('\u{455}', b's'),
    ('\u{456}', b'i'),
    ('\u{458}', b'j'),
    ('\u{475}', b'v'),
    ('\u{4bb}', b'h'),
    ('\u{4cf}', b'l'),
    ('\u{501}', b'd'),
    ('\u{51b}', b'q'),
    ('\u{51d}', b'w'),
    ('\u{578}', b'n'),
    ('\u{57d}', b'u'),
    ('\u{585}', b'o'),
];

/// The part of [`ALIKE`] from U+0430 to U+044F, by the last five bits of the letter; 0 for those without.
static CYRILLIC: [u8; 32] = {
    let (mut table, mut at) = ([0; 32], 0);
    while at < ALIKE.len() {
        let code = ALIKE[at].0 as usize;
        if code >= 0x430 && code <= 0x44f {
            table[code & 0x1f] = ALIKE[at].1;
        }
        at += 1;
    }
    table
};

/// Folds a character that is not ASCII.
///
/// Compatibility decomposition (NFKD) with its accents dropped, which for single letters is NFKC without accents; a
/// character that stands for several keeps the first.
pub(super) fn fold_char(c: char) -> FoldedChar {
    let code = u32::from(c);
    // Most of what is not ASCII needs no look-up: the everyday letters of Russian and Chinese.
    match code {
        0x4e00..=0x9fff => return FoldedChar::Dense(c),
        // й is и with an accent.
        0x439 => return FoldedChar::Letter { plain: '\u{438}', alike: None },
        0x430..=0x44f => {
            let alike = Some(CYRILLIC[code as usize & 0x1f]).filter(|&alike| alike != 0);
            return FoldedChar::Letter { plain: c, alike };
        }
        _ => {}
    }
    if is_invisible(code) {
        return FoldedChar::Gone;
    }
    match code {
        // Tag characters spell ASCII that nobody sees.
        0xe0020..=0xe007e => return fold_ascii(u8::try_from(code - 0xe0000).unwrap_or(b' ')),
        0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7a3 | 0x20000..=0x3ffff => {
            return FoldedChar::Dense(c);
        }
        // Typographic quotes, dashes and blanks.
        0x2018..=0x201b | 0x2032 => return FoldedChar::Other('\''),
        0x201c..=0x201f | 0xab | 0xbb => return FoldedChar::Other('"'),
        0x2010..=0x2015 => return FoldedChar::Other('-'),
        0x3002 => return FoldedChar::Other('.'),
        0xa0 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 => return FoldedChar::Other(' '),
        _ => {}
    }
    if may_decompose(code) { fold_decomposed(c) } else { fold_letter(c) }
}

/// Folds an ASCII character that stands behind another sign.
fn fold_ascii(byte: u8) -> FoldedChar {
    let lower = byte.to_ascii_lowercase();
    if lower.is_ascii_alphanumeric() || lower == b'_' {
        FoldedChar::Letter { plain: char::from(lower), alike: None }
    } else {
        FoldedChar::Other(char::from(byte))
    }
}

fn fold_decomposed(c: char) -> FoldedChar {
    let mut first = None;
    unicode_normalization::char::decompose_compatible(c, |part| {
        if first.is_none() && !is_accent(u32::from(part)) {
            first = Some(part);
        }
    });
    match first {
        None => FoldedChar::Gone,
        Some(part) if part.is_ascii() => fold_ascii(u8::try_from(u32::from(part)).unwrap_or(b' ')),
        Some(part) => fold_letter(part),
    }
}

fn fold_letter(c: char) -> FoldedChar {
    if is_accent(u32::from(c)) {
        return FoldedChar::Gone;
    }
    // Letters, digits and the vowel signs of Indic scripts make words.
    if !c.is_alphanumeric() && !matches!(u32::from(c), 0x900..=0xdff) {
        return FoldedChar::Other(c);
    }
    let plain = c.to_lowercase().next().unwrap_or(c);
    FoldedChar::Letter { plain, alike: latin_lookalike(plain) }
}

fn latin_lookalike(c: char) -> Option<u8> {
    ALIKE.binary_search_by_key(&c, |&(from, _)| from).ok().map(|at| ALIKE[at].1)
}

/// Accents on Latin, Greek and Cyrillic letters, Arabic vowel signs.
fn is_accent(code: u32) -> bool {
    matches!(code, 0x300..=0x36f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0x64b..=0x65f | 0x670)
}

/// Blocks whose characters stand for others. Everything else is spared the look-up.
fn may_decompose(code: u32) -> bool {
    matches!(code,
        0xa0..=0x24f | 0x2b0..=0x2ff | 0x386..=0x3ce | 0x400..=0x45f | 0x476..=0x477 | 0x4c1..=0x4f9
        | 0x622..=0x626 | 0x1d2c..=0x1dbf | 0x1e00..=0x1fff | 0x2070..=0x209f | 0x2100..=0x218f | 0x2460..=0x24ff
        | 0xfb00..=0xfdff | 0xfe30..=0xffef | 0x1d400..=0x1d7ff | 0x1f100..=0x1f1ff)
}

/// Characters without width or with the power to reorder text.
fn is_invisible(code: u32) -> bool {
    matches!(code,
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff9..=0xfffb
        | 0xe0000..=0xe001f | 0xe007f | 0xe0100..=0xe01ef)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> String {
        of.chars()
            .filter_map(|c| match fold_char(c) {
                FoldedChar::Gone => None,
                FoldedChar::Letter { plain, alike } => Some(alike.map_or(plain, char::from)),
                FoldedChar::Dense(c) | FoldedChar::Other(c) => Some(c),
            })
            .collect()
    }

    #[test]
    fn look_alikes_are_sorted_and_everything_folds_to_what_is_seen() {
        assert!(ALIKE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (from, to) in [
            ("\u{456}gn\u{43e}r\u{435}".replace(['g', 'n', 'r'], ""), "ioe"),
            ("ｉｇｎｏｒｅ".to_owned(), "ignore"),
            ("𝐢𝒈𝓷𝕠𝖗𝚎".to_owned(), "ignore"),
            ("ⓘⓖⓝⓞⓡⓔ".to_owned(), "ignore"),
            ("éÜñç".to_owned(), "eunc"),
            ("\u{200b}\u{202e}\u{feff}\u{ad}".to_owned(), ""),
            ("\u{e0069}\u{e0067}".to_owned(), "ig"),
            ("忽略".to_owned(), "忽略"),
            ("Йё".to_owned(), "иe"),
            ("“”’—".to_owned(), "\"\"'-"),
        ] {
            assert_eq!(text(&from), to, "{from:?}");
        }
    }
}
