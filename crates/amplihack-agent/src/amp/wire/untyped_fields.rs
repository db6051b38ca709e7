//! Presence of known keys that the fields of a wire type do not show: `null`, an empty value, or another type.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::scan::{JsonCursor, ScanFault};
use crate::decode::wire::whole_number;

/// Known keys whose presence the typed field does not show. Written back under the typed fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UntypedFields(Vec<(&'static str, Value)>);

impl UntypedFields {
    pub(super) fn keep_value(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    /// Starts the wire form: what was kept, and what nobody knows.
    pub(super) fn start_map(&self, extra: &Map<String, Value>) -> Map<String, Value> {
        let mut map = extra.clone();
        for (key, value) in self.0.iter().filter(|_| !amplihack_sys::sabotage::is_active("amp-wire-form")) {
            map.insert((*key).to_owned(), value.clone());
        }
        map
    }

    /// A string, or nothing with whatever else is there kept.
    pub(super) fn read_text(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Option<String>, ScanFault> {
        if cursor.peek() == b'"' {
            return Ok(Some(cursor.read_string()?.into_owned()));
        }
        self.keep_next(key, cursor)?;
        Ok(None)
    }

    /// A string that is emitted only if it is not empty.
    pub(super) fn read_filled(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<String, ScanFault> {
        let text = self.read_text(key, cursor)?;
        if text.as_deref() == Some("") {
            self.keep_value(key, Value::String(String::new()));
        }
        Ok(text.unwrap_or_default())
    }

    /// A whole number that is not negative. One that is written as a fraction, `12.0`, counts, and is kept as it came.
    pub(super) fn read_count(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Option<u64>, ScanFault> {
        let from = cursor.position();
        if cursor.peek().is_ascii_digit() {
            if let Ok(number) = cursor.read_number()?.parse() {
                return Ok(Some(number));
            }
            cursor.move_to(from);
        }
        let value = cursor.read_value()?;
        let count = as_count(&value);
        self.keep_value(key, value);
        Ok(count)
    }

    /// `true`; anything else is kept.
    pub(super) fn read_flag(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<bool, ScanFault> {
        if cursor.peek() == b't' {
            cursor.skip_value()?;
            return Ok(true);
        }
        self.keep_next(key, cursor)?;
        Ok(false)
    }

    /// A list of strings; anything else, and an empty list, is kept.
    pub(super) fn read_texts(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Vec<String>, ScanFault> {
        let from = cursor.position();
        let mut texts = Vec::new();
        let mut odd = cursor.peek() != b'[';
        if !odd {
            cursor.read_array(|cursor| {
                if cursor.peek() == b'"' {
                    texts.push(cursor.read_string()?.into_owned());
                } else {
                    cursor.skip_value()?;
                    odd = true;
                }
                Ok::<_, ScanFault>(())
            })?;
        }
        if odd || texts.is_empty() {
            cursor.move_to(from);
            self.keep_next(key, cursor)?;
            texts.clear();
        }
        Ok(texts)
    }

    /// Keeps the value that comes.
    pub(super) fn keep_next(
        &mut self,
        key: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<(), ScanFault> {
        let value = cursor.read_value()?;
        self.keep_value(key, value);
        Ok(())
    }
}

/// Takes a key of which nothing is known.
pub(super) fn read_unknown_field(
    extra: &mut Map<String, Value>,
    key: Cow<'_, str>,
    cursor: &mut JsonCursor<'_>,
) -> Result<(), ScanFault> {
    let value = cursor.read_value()?;
    if !amplihack_sys::sabotage::is_active("amp-wire-extra") {
        extra.insert(key.into_owned(), value);
    }
    Ok(())
}

/// Writes `value` if there is one.
pub(super) fn put_value(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

/// A number without a fraction, however it is written.
fn as_count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| whole_number(value.as_f64()?)?.try_into().ok())
}

/// Writes `count` if there is one, unless what was kept says just that.
pub(super) fn put_count(map: &mut Map<String, Value>, key: &str, count: Option<u64>) {
    if count.is_some() && map.get(key).and_then(as_count) != count {
        put_value(map, key, count);
    }
}

/// Writes `text` if it is not empty.
pub(super) fn put_filled(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), text.into());
    }
}
