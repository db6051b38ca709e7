//! JSON that is passed on as it came: not parsed, not reordered, not changed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::sound::{is_sound, mend_surrogates};

/// A JSON value in the text that it came in.
#[derive(Debug, Clone)]
pub struct EventJson(Box<RawValue>);

impl EventJson {
    /// The value in its own text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// The value, parsed. What JSON allows and no number type holds is null.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl From<Box<RawValue>> for EventJson {
    /// As from a reference.
    fn from(raw: Box<RawValue>) -> Self {
        if is_sound(raw.get()) { Self(raw) } else { Self::from(&*raw) }
    }
}

impl EventJson {
    /// The value, if every reader takes it.
    pub(crate) fn from_sound(raw: &RawValue) -> Option<Self> {
        is_sound(raw.get()).then(|| Self(raw.to_owned()))
    }
}

impl From<&RawValue> for EventJson {
    /// The value; one that not every reader takes, mended, of keys that are there twice the last, or as a string of its text: events are
    /// written down and read again.
    fn from(raw: &RawValue) -> Self {
        let mended = mend_surrogates(raw.get()).and_then(|text| RawValue::from_string(text).ok());
        let parsed = |raw: &RawValue| {
            Self::from_sound(&to_raw_value(&serde_json::from_str::<Value>(raw.get()).ok()?).ok()?)
        };
        Self::from_sound(raw)
            .or_else(|| Self::from_sound(mended.as_deref()?))
            .or_else(|| parsed(mended.as_deref().unwrap_or(raw)))
            .unwrap_or_else(|| Self::from(&Value::from(raw.get())))
    }
}

impl From<&Value> for EventJson {
    fn from(value: &Value) -> Self {
        // A value always has a text.
        to_raw_value(value).map(Self).unwrap_or_default()
    }
}

impl Default for EventJson {
    /// `null`.
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for EventJson {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() || self.to_value() == other.to_value()
    }
}

impl Eq for EventJson {}

impl Serialize for EventJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EventJson {
    /// By way of a value: an event's tag is looked for first, and after that its own text is gone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}

/// A line as a JSON string; bytes that are no UTF-8 are written as an array of numbers.
pub(super) mod line {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum RawLineForm {
        Text(String),
        Bytes(Vec<u8>),
    }

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(in super::super) fn serialize<S: Serializer>(
        line: &Option<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Some(line) = line else { return serializer.serialize_none() };
        match std::str::from_utf8(line) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(line.iter()),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bytes>, D::Error> {
        Ok(Option::<RawLineForm>::deserialize(deserializer)?.map(|line| match line {
            RawLineForm::Text(text) => text.into(),
            RawLineForm::Bytes(bytes) => bytes.into(),
        }))
    }
}
