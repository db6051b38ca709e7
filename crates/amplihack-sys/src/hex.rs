//! Bytes as text: digests, and names that nobody else takes.

use std::io;

use crate::push_text;

use rustix::rand::{GetRandomFlags, getrandom};

/// `bytes` in hexadecimal, in small letters.
pub fn to_hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        push_text!(text, "{byte:02x}");
    }
    text
}

/// `N` random bytes, at most 256.
///
/// # Errors
/// There is no source of random numbers.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "so few bytes come whole or not at all") };
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}

/// 128 random bits in hexadecimal: a word that nobody guesses.
///
/// # Errors
/// There is no source of random numbers.
pub fn random_word() -> io::Result<String> {
    random_bytes::<16>().map(to_hex)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_byte_is_two_digits() {
        assert_eq!(super::to_hex([0, 0x0a, 0xff]), "000aff");
        assert_eq!(super::to_hex(""), "");
    }

    #[test]
    fn a_random_word_does_not_come_twice() {
        let word = super::random_word().unwrap();
        assert_eq!(word.len(), 32);
        assert_ne!(word, super::random_word().unwrap());
    }
}
