//! JSON in which a key may stand twice: readers differ in which of the two they take, so both are kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value whose objects hold every one of their pairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// An object, in the order in which it is written.
    Object(Vec<(String, Json)>),
    /// A list.
    List(Vec<Json>),
    /// Anything else.
    Plain(Value),
}

impl Json {
    /// Every value of `key` in this object.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Self> {
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
    pub(crate) fn repeated(&self) -> Option<&str> {
        match self {
            Self::Object(pairs) => {
                let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                let twice = names.windows(2).find_map(|two| (two.first() == two.last()).then(|| two.first()));
                twice.flatten().copied().or_else(|| pairs.iter().find_map(|(_, value)| value.repeated()))
            }
            Self::List(values) => values.iter().find_map(Self::repeated),
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

    /// The same of a copy.
    pub(crate) fn value(&self) -> Value {
        self.clone().into_value()
    }

    /// The same of an object; an empty one of anything else.
    pub(crate) fn object(&self) -> Map<String, Value> {
        if let Value::Object(map) = self.value() { map } else { Map::new() }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Every)
    }
}

struct Every;

impl<'de> Visitor<'de> for Every {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Plain(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Plain(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Json::Object(pairs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_pair_is_kept_and_a_repeated_key_is_named() {
        let json: Json = serde_json::from_str(r#"{"a":1,"b":[{"c":null,"c":2.5}],"a":"x"}"#).unwrap();
        assert_eq!(json.all("a").count(), 2);
        assert_eq!(json.get("a").and_then(Json::as_str), Some("x"));
        assert_eq!(json.repeated(), Some("a"));
        assert_eq!(json.value(), json!({"a": "x", "b": [{"c": 2.5}]}));
        let inner: Json = serde_json::from_str(r#"{"b":[{"c":null,"c":true}]}"#).unwrap();
        assert_eq!(inner.repeated(), Some("c"));
        let plain: Json = serde_json::from_str(r#"{"a":{"a":-1},"b":{"a":1}}"#).unwrap();
        assert_eq!(plain.repeated(), None);
        assert!(serde_json::from_str::<Json>(&"[".repeat(200)).is_err());
    }
}
