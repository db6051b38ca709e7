//! JSON of which nothing is known: its text, and a tree of it on request.

use serde_json::Value;

use super::scan::JsonCursor;

/// A JSON value as the text that came. Read as a tree only where somebody asks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AmpJson(Box<str>);

impl AmpJson {
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
        JsonCursor::new(&self.0).read_value().unwrap_or_else(|_| Value::String(self.0.to_string()))
    }
}

impl From<&Value> for AmpJson {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Default for AmpJson {
    /// `null`
    fn default() -> Self {
        Self("null".into())
    }
}

impl std::fmt::Debug for AmpJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Display for AmpJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
