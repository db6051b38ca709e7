//! JSON that names no key twice: readers differ about which value of two counts, and strict ones refuse the document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The one value of `text`.
///
/// # Errors
/// The text is not one JSON document, or an object in it, at any depth, names a key twice.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    let mut found = documents(text).map_err(|(_, why)| why)?;
    match (found.pop(), found.len()) {
        (Some(value), 0) => Ok(value),
        (None, _) => Err("there is no document".to_owned()),
        (Some(_), more) => Err(format!("there are {} documents, not one", more + 1)),
    }
}

/// The values of `text`, one after another, with any white space between them.
///
/// # Errors
/// The values before the first that cannot be read, and the reason.
pub fn documents(text: &[u8]) -> Result<Vec<Value>, (Vec<Value>, String)> {
    let mut read = serde_json::Deserializer::from_slice(text);
    let mut found = Vec::new();
    loop {
        if read.end().is_ok() {
            return Ok(found);
        }
        match Unique.deserialize(&mut read) {
            Ok(value) => found.push(value),
            Err(error) => return Err((found, error.to_string())),
        }
    }
}

/// A value whose objects name each key once.
#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{documents, parse};

    #[test]
    fn every_kind_of_value_is_read_as_serde_json_reads_it() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,0.5,"é\n",{"b":{}}],"":{"a":1}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"session":1,"session":1}"#,
            r#"{"x":{"session":1,"b":2,"session":3}}"#,
            r#"[[{"session":1,"\u0073ession":2}]]"#,
        ] {
            let why = parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(r#"the key "session" is there twice"#), "{why}");
        }
        assert_eq!(parse(br#"[{"a":1},{"a":1}]"#), Ok(json!([{"a": 1}, {"a": 1}])));
    }

    #[test]
    fn one_document_is_one() {
        assert!(parse(b"").is_err() && parse(b"{} {}").is_err() && parse(b"{}x").is_err());
        assert_eq!(documents(b"{}\n[1]\n"), Ok(vec![json!({}), json!([1])]));
        let (before, _) = documents(b"{}\n{\"a\":").unwrap_err();
        assert_eq!(before, [json!({})]);
    }
}
