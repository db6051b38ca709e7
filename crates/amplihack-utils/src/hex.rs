//! Bytes as text: digests, and names that nobody else takes.

use std::fmt::Write as _;

/// `bytes` in hexadecimal, in small letters.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_byte_is_two_digits() {
        assert_eq!(super::hex([0, 0x0a, 0xff]), "000aff");
        assert_eq!(super::hex(""), "");
    }
}
