//! A value of a recipe: the exact text that went in, and what it is as JSON, found when somebody asks.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use amplihack_agent::event::is_sound;
use serde::de::{MapAccess, Visitor};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A value: text that comes back byte for byte, and a typed view of it. Cheap to clone.
#[derive(Clone)]
pub struct Value(Arc<Inner>);

struct Inner {
    text: Box<str>,
    form: Form,
    view: OnceLock<View>,
}

/// Where the text comes from, and so what it may mean.
enum Form {
    /// Always a string.
    String,
    /// Typed if the whole of it, without blanks around it, is JSON.
    Output,
    /// JSON without blanks.
    Json,
    /// Shown as the text, typed as this JSON.
    Typed(Box<str>),
}

enum View {
    Null,
    Bool(bool),
    Number(Box<str>),
    /// `None`: the text itself.
    String(Option<Box<str>>),
    List(Vec<Value>),
    Object(Vec<(Box<str>, Value)>),
}

/// What a value is. Numbers are in their own spelling.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number as it was written.
    Number(&'a str),
    /// Text.
    String(&'a str),
    /// An array.
    List(&'a [Value]),
    /// An object, its keys in their order.
    Object(&'a [(Box<str>, Value)]),
}

impl Value {
    fn new(text: impl Into<Box<str>>, form: Form) -> Self {
        Self(Arc::new(Inner { text: text.into(), form, view: OnceLock::new() }))
    }

    /// A string, whatever it looks like.
    pub fn string(text: impl Into<Box<str>>) -> Self {
        Self::new(text, Form::String)
    }

    /// What a step has printed: typed if the whole text is JSON, shown as it was printed.
    pub fn output(text: impl Into<Box<str>>) -> Self {
        Self::new(text, Form::Output)
    }

    /// A JSON value.
    pub fn json(value: &serde_json::Value) -> Self {
        Self::new(value.to_string(), Form::Json)
    }

    /// `null`
    pub fn null() -> Self {
        Self::new("null", Form::Json)
    }

    /// JSON text; `None` if it is not JSON. Numbers and the order of keys stay as they are.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(text).ok().map(Self::from_raw)
    }

    /// The same of JSON that was read already.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        // A string once, and not as JSON and as text: it may be long.
        if let Some(string) =
            raw.get().starts_with('"').then(|| serde_json::from_str::<Box<str>>(raw.get()).ok()).flatten()
        {
            return Self::string(string);
        }
        Self::new(compact(raw.get()), Form::Json)
    }

    /// Text that is shown as it is and means the JSON `json`.
    pub(crate) fn typed(text: impl Into<Box<str>>, json: impl Into<Box<str>>) -> Self {
        Self::new(text, Form::Typed(json.into()))
    }

    /// A value of the command line (`--set name=value`): JSON unless it is a JSON string, `True` and `False`, whole and decimal
    /// numbers; any other text is a string.
    pub fn argument(text: &str) -> Self {
        match text.trim() {
            "true" | "True" => return Self::typed("true", "true"),
            "false" | "False" => return Self::typed("false", "false"),
            trimmed if trimmed.starts_with('"') => return Self::string(text),
            _ => {}
        }
        if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
            let json = number_in_range(raw.get()).unwrap_or_else(|| compact(raw.get()));
            return Self::typed(text, json);
        }
        let number = text.parse::<i64>().map(|whole| whole.to_string()).ok();
        let number =
            number.or_else(|| text.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| format!("{n:?}")));
        match number {
            Some(json) => Self::typed(text, json),
            None => Self::string(text),
        }
    }

    /// What a template inserts: a string's text, nothing for `null`, else the value as it was written.
    pub fn text(&self) -> &str {
        let text = &*self.0.text;
        let special = match self.0.form {
            Form::String | Form::Typed(_) => false,
            Form::Json => text.starts_with('"') || text == "null",
            Form::Output => {
                let trimmed = text.trim_matches(blank);
                trimmed.starts_with('"') || trimmed == "null"
            }
        };
        match self.kind() {
            Kind::String(text) if special => text,
            Kind::Null => "",
            _ => text,
        }
    }

    /// Bytes of its text.
    pub(crate) fn len(&self) -> usize {
        self.0.text.len()
    }

    /// What it is.
    pub fn kind(&self) -> Kind<'_> {
        if matches!(self.0.form, Form::String) {
            return Kind::String(&self.0.text);
        }
        match self.0.view.get_or_init(|| self.look()) {
            View::Null => Kind::Null,
            View::Bool(value) => Kind::Bool(*value),
            View::Number(text) => Kind::Number(text),
            View::String(text) => Kind::String(text.as_deref().unwrap_or(&self.0.text)),
            View::List(items) => Kind::List(items),
            View::Object(entries) => Kind::Object(entries),
        }
    }

    fn look(&self) -> View {
        let source = match &self.0.form {
            Form::Typed(json) => json,
            _ => self.0.text.trim_matches(blank),
        };
        view(source).unwrap_or(View::String(None))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// The value below these keys: names in objects, numbers in lists.
    pub fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<Self> {
        let mut value = self.clone();
        for key in path {
            let key = key.as_ref();
            let next = match value.kind() {
                Kind::Object(entries) => {
                    entries.iter().rev().find(|(name, _)| **name == *key).map(|(_, value)| value)
                }
                Kind::List(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            value = next?.clone();
        }
        Some(value)
    }

    /// As JSON text without blanks; numbers in their own spelling, keys in their order.
    pub fn json_text(&self) -> Cow<'_, str> {
        match (&self.0.form, self.kind()) {
            (Form::Json, _) => Cow::Borrowed(&self.0.text),
            (Form::Typed(json), _) => Cow::Borrowed(json),
            (_, Kind::String(text)) => Cow::Owned(quoted(text)),
            (Form::String | Form::Output, _) => Cow::Owned(compact(self.0.text.trim_matches(blank))),
        }
    }

    /// As a JSON value. What JSON values cannot hold (a number out of range, a hundred levels) is a string.
    pub fn to_json(&self) -> serde_json::Value {
        match self.kind() {
            Kind::String(text) => serde_json::Value::String(text.to_owned()),
            _ => serde_json::from_str(&self.json_text())
                .unwrap_or_else(|_| serde_json::Value::String(self.0.text.to_string())),
        }
    }

    /// The same with `value` below `path`; `None` if there is no object or list on the way.
    pub(crate) fn with<S: AsRef<str>>(&self, path: &[S], value: &Self) -> Option<Self> {
        let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
        let key = key.as_ref();
        let mut out = String::new();
        match self.kind() {
            Kind::Object(entries) => {
                let old = entries.iter().find(|(name, _)| **name == *key);
                let new = match old {
                    Some((_, old)) => old.with(rest, value)?,
                    None if rest.is_empty() => value.clone(),
                    None => return None,
                };
                let kept =
                    entries.iter().map(|(name, old)| (&**name, if **name == *key { &new } else { old }));
                let added = old.is_none().then_some((key, &new));
                write_object(&mut out, kept.chain(added));
            }
            Kind::List(items) => {
                let index = key.parse::<usize>().ok().filter(|index| *index < items.len())?;
                let new = items[index].with(rest, value)?;
                write_list(
                    &mut out,
                    items.iter().enumerate().map(|(at, old)| if at == index { &new } else { old }),
                );
            }
            _ => return None,
        }
        Some(Self::new(out, Form::Json))
    }

    /// An object of these entries.
    pub(crate) fn object<'a>(entries: impl Iterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut out = String::new();
        write_object(&mut out, entries);
        Self::new(out, Form::Json)
    }

    /// A list of these items.
    pub(crate) fn list<'a>(items: impl Iterator<Item = &'a Self>) -> Self {
        let mut out = String::new();
        write_list(&mut out, items);
        Self::new(out, Form::Json)
    }
}

fn write_object<'a>(out: &mut String, entries: impl Iterator<Item = (&'a str, &'a Value)>) {
    out.push('{');
    for (number, (name, value)) in entries.enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&quoted(name));
        out.push(':');
        out.push_str(&value.json_text());
    }
    out.push('}');
}

fn write_list<'a>(out: &mut String, items: impl Iterator<Item = &'a Value>) {
    out.push('[');
    for (number, value) in items.enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&value.json_text());
    }
    out.push(']');
}

/// What JSON calls blank.
fn blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r')
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}

/// `json` without the blanks between its tokens.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut string, mut escaped) = (false, false);
    for char in json.chars() {
        if string {
            string = escaped || char != '"';
            escaped = !escaped && char == '\\';
        } else if blank(char) {
            continue;
        } else {
            string = char == '"';
        }
        out.push(char);
    }
    out
}

/// A whole number that no 64 bits hold, as the decimal number that JSON readers make of it.
fn number_in_range(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let fits = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    (whole && !fits).then(|| serde_json::from_str::<f64>(text).ok().map(|number| format!("{number:?}")))?
}

/// One level of JSON; `None` if it is not JSON.
fn view(text: &str) -> Option<View> {
    let first = *text.as_bytes().first()?;
    if !(b"{[\"-tfn".contains(&first) || first.is_ascii_digit()) {
        return None;
    }
    let raw = serde_json::from_str::<&RawValue>(text).ok()?;
    let child = |raw: &RawValue| Value::new(compact(raw.get()), Form::Json);
    Some(match first {
        b'{' => View::Object(
            serde_json::Deserializer::from_str(raw.get())
                .deserialize_map(Entries)
                .ok()?
                .into_iter()
                .map(|(name, raw)| (name.into(), child(raw)))
                .collect(),
        ),
        b'[' => View::List(
            serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()?.into_iter().map(child).collect(),
        ),
        b'"' => View::String(Some(serde_json::from_str::<String>(raw.get()).ok()?.into())),
        b't' => View::Bool(true),
        b'f' => View::Bool(false),
        b'n' => View::Null,
        _ => View::Number(raw.get().into()),
    })
}

/// Reads an object's entries in their order; of a key that is there twice the last value counts.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(String, &'de RawValue)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
            if let Some(&place) = places.get(&name) {
                let entry: &mut (String, &'de RawValue) = &mut entries[place];
                entry.1 = raw;
            } else {
                places.insert(name.clone(), entries.len());
                entries.push((name, raw));
            }
        }
        Ok(entries)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.json_text())
    }
}

impl PartialEq for Value {
    /// The same text and the same JSON.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() && self.json_text() == other.json_text()
    }
}

impl Serialize for Value {
    /// For writers of JSON: numbers and the order of keys stay as they are; of a key that is there twice the last value counts.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.kind() {
            // Without a copy: it may be long.
            Kind::String(text) => return serializer.serialize_str(text),
            _ => self.json_text(),
        };
        match self.kind() {
            Kind::List(items) if !is_sound(&text) => serializer.collect_seq(items),
            Kind::Object(entries) if !is_sound(&text) => {
                serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
            }
            _ => RawValue::from_string(text.into_owned())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
