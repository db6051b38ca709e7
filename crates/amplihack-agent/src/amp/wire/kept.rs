//! What the fields of a wire type do not say: a key that is there with `null`, with an empty value, or with another type.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::scan::{Cursor, Fault};
use crate::decode::wire::whole;

/// Known keys whose presence the typed field does not show. Written back under the typed fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Kept(Vec<(&'static str, Value)>);

impl Kept {
    pub(super) fn keep(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    /// Starts the wire form: what was kept, and what nobody knows.
    pub(super) fn start(&self, extra: &Map<String, Value>) -> Map<String, Value> {
        let mut map = extra.clone();
        for (key, value) in self.0.iter().filter(|_| !amplihack_utils::sabotage::active("amp-wire-form")) {
            map.insert((*key).to_owned(), value.clone());
        }
        map
    }

    /// A string, or nothing with whatever else is there kept.
    pub(super) fn text(
        &mut self,
        key: &'static str,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<String>, Fault> {
        if cursor.peek() == b'"' {
            return Ok(Some(cursor.string()?.into_owned()));
        }
        self.odd(key, cursor)?;
        Ok(None)
    }

    /// A string that is emitted only if it is not empty.
    pub(super) fn filled(&mut self, key: &'static str, cursor: &mut Cursor<'_>) -> Result<String, Fault> {
        let text = self.text(key, cursor)?;
        if text.as_deref() == Some("") {
            self.keep(key, Value::String(String::new()));
        }
        Ok(text.unwrap_or_default())
    }

    /// A whole number that is not negative. One that is written as a fraction, `12.0`, counts, and is kept as it came.
    pub(super) fn count(&mut self, key: &'static str, cursor: &mut Cursor<'_>) -> Result<Option<u64>, Fault> {
        let from = cursor.at();
        if cursor.peek().is_ascii_digit() {
            if let Ok(number) = cursor.number()?.parse() {
                return Ok(Some(number));
            }
            cursor.go(from);
        }
        let value = cursor.value()?;
        let count = as_count(&value);
        self.keep(key, value);
        Ok(count)
    }

    /// `true`; anything else is kept.
    pub(super) fn flag(&mut self, key: &'static str, cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
        if cursor.peek() == b't' {
            cursor.skip()?;
            return Ok(true);
        }
        self.odd(key, cursor)?;
        Ok(false)
    }

    /// A list of strings; anything else, and an empty list, is kept.
    pub(super) fn texts(&mut self, key: &'static str, cursor: &mut Cursor<'_>) -> Result<Vec<String>, Fault> {
        let from = cursor.at();
        let mut texts = Vec::new();
        let mut odd = cursor.peek() != b'[';
        if !odd {
            cursor.array(|cursor| {
                if cursor.peek() == b'"' {
                    texts.push(cursor.string()?.into_owned());
                } else {
                    cursor.skip()?;
                    odd = true;
                }
                Ok::<_, Fault>(())
            })?;
        }
        if odd || texts.is_empty() {
            cursor.go(from);
            self.odd(key, cursor)?;
            texts.clear();
        }
        Ok(texts)
    }

    /// Keeps the value that comes.
    pub(super) fn odd(&mut self, key: &'static str, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let value = cursor.value()?;
        self.keep(key, value);
        Ok(())
    }
}

/// Takes a key of which nothing is known.
pub(super) fn unknown(
    extra: &mut Map<String, Value>,
    key: Cow<'_, str>,
    cursor: &mut Cursor<'_>,
) -> Result<(), Fault> {
    let value = cursor.value()?;
    if !amplihack_utils::sabotage::active("amp-wire-extra") {
        extra.insert(key.into_owned(), value);
    }
    Ok(())
}

/// Writes `value` if there is one.
pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

/// A number without a fraction, however it is written.
fn as_count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| whole(value.as_f64()?)?.try_into().ok())
}

/// Writes `count` if there is one, unless what was kept says just that.
pub(super) fn put_count(map: &mut Map<String, Value>, key: &str, count: Option<u64>) {
    if count.is_some() && map.get(key).and_then(as_count) != count {
        put(map, key, count);
    }
}

/// Writes `text` if it is not empty.
pub(super) fn put_filled(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), text.into());
    }
}
