//! Soundness of JSON: its grammar allows more than a reader of values takes.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Readers of values end at 128 levels, those of the event around them included.
const DEEPEST: u8 = 100;

/// Reports whether every reader takes `text`: no key twice in an object, no half of a surrogate pair, no number beyond all numbers, not too
/// deep.
pub fn is_sound(text: &str) -> bool {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    JsonDepth(0).deserialize(&mut deserializer).is_ok()
}

/// Values at this depth.
#[derive(Clone, Copy)]
struct JsonDepth(u8);

impl JsonDepth {
    fn one_deeper<E: Error>(self) -> Result<Self, E> {
        if self.0 < DEEPEST { Ok(Self(self.0 + 1)) } else { Err(E::custom("too deep")) }
    }
}

impl<'de> DeserializeSeed<'de> for JsonDepth {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonDepth {
    type Value = ();
    crate::decode::wire::missing!(bool number text null);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let below = self.one_deeper()?;
        while list.next_element_seed(below)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let below = self.one_deeper()?;
        let mut keys = HashSet::new();
        while let Some(JsonObjectKey(key)) = map.next_key()? {
            if !keys.insert(key) {
                return Err(A::Error::custom("a key is there twice"));
            }
            map.next_value_seed(below)?;
        }
        Ok(())
    }
}

/// A key, borrowed from the text unless it has escapes.
#[derive(Deserialize)]
struct JsonObjectKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// `line` with every escaped half of a surrogate pair replaced; `None` if there is none.
///
/// JavaScript writes them where it has cut a text in the middle of a character; they are JSON, but no text.
pub fn mend_surrogates(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        let unit = escaped_surrogate(bytes, at);
        let paired = unit.is_some_and(|unit| unit < 0xdc00)
            && escaped_surrogate(bytes, at + 6).is_some_and(|unit| unit >= 0xdc00);
        match unit {
            Some(_) if !paired => {
                mended.push_str(line.get(copied..at)?);
                mended.push_str("\\ufffd");
                copied = at + 6;
                at = copied;
            }
            Some(_) => at += 12,
            None => at += 2,
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(line.get(copied..)?);
    Some(mended)
}

/// The surrogate that is escaped at `at`.
fn escaped_surrogate(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::{is_sound, mend_surrogates};

    #[test]
    fn only_halves_are_mended() {
        for (line, expected) in [
            (r#""a""#, None),
            (r#""\ud83e\udd80 \\ud83e \n""#, None),
            (r#""\ud83e""#, Some(r#""\ufffd""#)),
            (r#""é\udd80\ud83e\ud83e\udd80\\\udd80""#, Some(r#""é\ufffd\ufffd\ud83e\udd80\\\ufffd""#)),
            (r"\ud8", None),
            (r"\ud83e\", Some(r"\ufffd\")),
        ] {
            assert_eq!(mend_surrogates(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn what_readers_refuse_is_not_sound() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (text, sound) in [
            (r#"{"a":[1,-2,1.5e300,"\ud83e\udd80",null,true]}"#, true),
            (r#"{"a":"\ud83e"}"#, false),
            (r#"{"\ud83e":1}"#, false),
            (r#"{"a":{"a":1},"b":{"a":2}}"#, true),
            (r#"[{"a":1,"b":2,"\u0061":3}]"#, false),
            ("1e400", false),
            (&nested(100), true),
            (&nested(101), false),
        ] {
            assert_eq!(is_sound(text), sound, "{text}");
        }
    }
}
