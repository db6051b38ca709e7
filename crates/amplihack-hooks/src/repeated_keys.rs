//! JSON in which a key may stand twice: readers differ in which of the two they take, so both are kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value whose objects hold every one of their pairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RepeatedKeyJson {
    /// An object, in the order in which it is written.
    Object(Vec<(String, RepeatedKeyJson)>),
    /// A list.
    List(Vec<RepeatedKeyJson>),
    /// Anything else.
    Plain(Value),
}

impl RepeatedKeyJson {
    /// Every value of `key` in this object.
    pub(crate) fn values_of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Self> {
        let pairs = if let Self::Object(pairs) = self { pairs.as_slice() } else { &[] };
        pairs.iter().filter(move |(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of `key`, the last if it stands twice.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let pairs = if let Self::Object(pairs) = self { pairs.as_slice() } else { &[] };
        pairs.iter().rfind(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::Plain(Value::String(text)) = self { Some(text) } else { None }
    }

    pub(crate) fn is_null(&self) -> bool {
        *self == Self::Plain(Value::Null)
    }

    /// A key that stands twice in one object, here or anywhere below.
    pub(crate) fn repeated_key(&self) -> Option<&str> {
        match self {
            Self::Object(pairs) => {
                let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                let twice = names.windows(2).find_map(|two| (two.first() == two.last()).then(|| two.first()));
                twice.flatten().copied().or_else(|| pairs.iter().find_map(|(_, value)| value.repeated_key()))
            }
            Self::List(values) => values.iter().find_map(Self::repeated_key),
            Self::Plain(_) => None,
        }
    }

    /// As other readers have it: of a key that stands twice the last.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Object(pairs) => {
                Value::Object(pairs.into_iter().map(|(name, value)| (name, value.into_value())).collect())
            }
            Self::List(values) => values.into_iter().map(Self::into_value).collect(),
            Self::Plain(value) => value,
        }
    }

    /// As some readers have it: of a key that stands twice the first.
    pub(crate) fn into_first_value(self) -> Value {
        match self {
            Self::Object(pairs) => Value::Object(
                pairs.into_iter().rev().map(|(name, value)| (name, value.into_first_value())).collect(),
            ),
            Self::List(values) => values.into_iter().map(Self::into_first_value).collect(),
            Self::Plain(value) => value,
        }
    }

    /// Reports whether a key stands more than twice in an object, here or anywhere below.
    pub(crate) fn is_repeated_more_than_twice(&self) -> bool {
        match self {
            Self::Object(pairs) => {
                let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                names.windows(3).any(|three| three.first() == three.last())
                    || pairs.iter().any(|(_, value)| value.is_repeated_more_than_twice())
            }
            Self::List(values) => values.iter().any(Self::is_repeated_more_than_twice),
            Self::Plain(_) => false,
        }
    }

    /// Returns a copy as [`Self::into_value`] does.
    pub(crate) fn to_value(&self) -> Value {
        self.clone().into_value()
    }

    /// Returns a copy of an object as [`Self::into_value`] does; an empty object of anything else.
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        if let Value::Object(map) = self.to_value() { map } else { Map::new() }
    }
}

impl<'de> Deserialize<'de> for RepeatedKeyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RepeatedKeyVisitor)
    }
}

struct RepeatedKeyVisitor;

impl<'de> Visitor<'de> for RepeatedKeyVisitor {
    type Value = RepeatedKeyJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<RepeatedKeyJson, E> {
        Ok(RepeatedKeyJson::Plain(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<RepeatedKeyJson, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(RepeatedKeyJson::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RepeatedKeyJson, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(RepeatedKeyJson::Object(pairs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_pair_is_kept_and_a_repeated_key_is_named() {
        let json: RepeatedKeyJson =
            serde_json::from_str(r#"{"a":1,"b":[{"c":null,"c":2.5}],"a":"x"}"#).unwrap();
        assert_eq!(json.values_of("a").count(), 2);
        assert_eq!(json.get("a").and_then(RepeatedKeyJson::as_str), Some("x"));
        assert_eq!(json.repeated_key(), Some("a"));
        assert_eq!(json.to_value(), json!({"a": "x", "b": [{"c": 2.5}]}));
        assert_eq!(json.clone().into_first_value(), json!({"a": 1, "b": [{"c": null}]}));
        assert!(!json.is_repeated_more_than_twice());
        let inner: RepeatedKeyJson = serde_json::from_str(r#"{"b":[{"c":null,"c":true}]}"#).unwrap();
        assert_eq!(inner.repeated_key(), Some("c"));
        let plain: RepeatedKeyJson = serde_json::from_str(r#"{"a":{"a":-1},"b":{"a":1}}"#).unwrap();
        assert_eq!(plain.repeated_key(), None);
        assert!(serde_json::from_str::<RepeatedKeyJson>(&"[".repeat(200)).is_err());
    }
}
