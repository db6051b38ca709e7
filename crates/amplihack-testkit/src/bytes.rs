//! Bytes that survive JSON: shown as text when they are UTF-8, else as `{"hex": "…"}`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};

/// A byte string, exact in every record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The bytes as text, what is not UTF-8 replaced.
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl std::fmt::Debug for Bytes {
    /// Like a string literal, what is not printable escaped.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<OsString> for Bytes {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl PartialEq<str> for Bytes {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Bytes {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Hex { hex: String },
}

impl From<Bytes> for Wire {
    fn from(bytes: Bytes) -> Self {
        String::from_utf8(bytes.0)
            .map_or_else(|error| Self::Hex { hex: to_hex(error.as_bytes()) }, Self::Text)
    }
}

impl From<Wire> for Bytes {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Text(text) => Self(text.into_bytes()),
            Wire::Hex { hex } => Self(unhex(&hex)),
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match *pair {
            [high, low] => digit(high).zip(digit(low)).map(|(high, low)| high * 16 + low),
            _ => None,
        })
        .map(|byte| byte.expect("records are written with whole hex digits"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn text_stays_readable_and_other_bytes_stay_exact() {
        let all = Bytes((0..=255).collect());
        for bytes in [Bytes::from("it's $HOME 漢字\n"), all, Bytes(vec![0xff, 0, 0x0a]), Bytes(Vec::new())]
        {
            let json = serde_json::to_string(&bytes).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), bytes, "{json}");
        }
        assert_eq!(serde_json::to_string(&Bytes::from("a'b")).unwrap(), r#""a'b""#);
        assert_eq!(serde_json::to_string(&Bytes(vec![0xff, 0x0a])).unwrap(), r#"{"hex":"ff0a"}"#);
    }
}
