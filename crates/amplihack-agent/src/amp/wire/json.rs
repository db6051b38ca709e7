//! JSON of which nothing is known: its text, and a tree of it on request.

use serde_json::Value;

use super::scan::Cursor;

/// A JSON value as the text that came. Read as a tree only where somebody asks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Box<str>);

impl Json {
    /// `text` was read as one whole value.
    pub(super) fn from_scan(text: &str) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.0
    }

    /// The tree. Lone surrogates are U+FFFD in it; what is nested more than 256 deep is a string that holds the JSON.
    pub fn to_value(&self) -> Value {
        Cursor::new(&self.0).value().unwrap_or_else(|_| Value::String(self.0.to_string()))
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Default for Json {
    /// `null`
    fn default() -> Self {
        Self("null".into())
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
