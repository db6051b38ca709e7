//! A word letter by letter, and the known words that it may spell: look-alikes, digits for letters, marks around it.

use super::known::known_word;
use super::words::ClassSet;

/// The longest word that can be known, in bytes.
pub(super) const LONGEST: usize = 40;

/// The word that is being read.
#[derive(Clone, Copy)]
pub(super) struct SpelledWord {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) plain: [u8; LONGEST],
    /// Length of `alike`: the word with look-alikes replaced, if it has any.
    pub(super) alike_len: usize,
    alike: [u8; LONGEST],
    look_alikes: bool,
    pub(super) digits: bool,
    pub(super) lower: bool,
    long: bool,
}

impl Default for SpelledWord {
    fn default() -> Self {
        Self {
            start: 0,
            len: 0,
            plain: [0; LONGEST],
            alike_len: 0,
            alike: [0; LONGEST],
            look_alikes: false,
            digits: false,
            lower: false,
            long: false,
        }
    }
}

impl SpelledWord {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && !self.long
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.alike_len = 0;
        self.look_alikes = false;
        self.digits = false;
        self.lower = false;
        self.long = false;
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if self.len == LONGEST {
            self.long = true;
            return;
        }
        self.plain[self.len] = byte;
        self.len += 1;
    }

    pub(super) fn push_char(&mut self, c: char, alike: Option<u8>) {
        self.look_alikes |= alike.is_some();
        // The second spelling is kept from the first character that is not ASCII on.
        if self.alike_len == 0 {
            self.alike[..self.len].copy_from_slice(&self.plain[..self.len]);
            self.alike_len = self.len;
        }
        let mut utf8 = [0; 4];
        let bytes = c.encode_utf8(&mut utf8).as_bytes();
        for &byte in bytes {
            self.push(byte);
        }
        match alike {
            Some(byte) => self.push_alike(byte),
            None => bytes.iter().for_each(|&byte| self.push_alike(byte)),
        }
    }

    #[inline]
    pub(super) fn push_alike(&mut self, byte: u8) {
        if self.alike_len < LONGEST {
            self.alike[self.alike_len] = byte;
            self.alike_len += 1;
        }
    }

    /// The known word that this is, or looks like.
    pub(super) fn find_known(&self) -> Option<(&'static str, ClassSet)> {
        // No known word is one ASCII letter.
        if self.long || self.len == 1 {
            return None;
        }
        let plain = &self.plain[..self.len];
        if let Some(found) = known_word(plain) {
            return Some(found);
        }
        if self.look_alikes
            && let Some(found) = known_word(&self.alike[..self.alike_len])
        {
            return Some(found);
        }
        if plain.first() == Some(&b'_') || plain.last() == Some(&b'_') {
            return known_word(trim_emphasis(plain));
        }
        if self.digits && (3..=16).contains(&self.len) && plain.iter().any(u8::is_ascii_lowercase) {
            return [b'i', b'l'].into_iter().find_map(|one| decode_leet(plain, one));
        }
        None
    }
}

/// `_emphasis_` without its marks.
fn trim_emphasis(mut word: &[u8]) -> &[u8] {
    while let [b'_', rest @ ..] | [rest @ .., b'_'] = word {
        word = rest;
    }
    word
}

/// A word with digits for letters: `1n57ruc710n5`.
fn decode_leet(word: &[u8], one: u8) -> Option<(&'static str, ClassSet)> {
    let mut spelled = [0; LONGEST];
    for (to, &from) in spelled.iter_mut().zip(word) {
        *to = match from {
            b'0' => b'o',
            b'1' => one,
            b'3' => b'e',
            b'4' => b'a',
            b'5' => b's',
            b'7' => b't',
            other => other,
        };
    }
    known_word(&spelled[..word.len()])
}
