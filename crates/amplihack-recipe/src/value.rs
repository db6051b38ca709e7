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
pub struct RecipeValue(Arc<RecipeValueInner>);

struct RecipeValueInner {
    text: Box<str>,
    form: RecipeValueForm,
    view: OnceLock<RecipeValueView>,
}

/// The origin of the text, which decides its possible types.
enum RecipeValueForm {
    /// Always a string.
    String,
    /// Typed if the whole of it, without blanks around it, is JSON.
    Output,
    /// JSON without blanks.
    Json,
    /// Shown as the text, typed as this JSON.
    Typed(Box<str>),
}

enum RecipeValueView {
    Null,
    Bool(bool),
    Number(Box<str>),
    /// `None`: the text itself.
    String(Option<Box<str>>),
    List(Vec<RecipeValue>),
    Object(Vec<(Box<str>, RecipeValue)>),
}

/// The type and contents of a value. Numbers are in their own spelling.
#[derive(Debug, Clone, Copy)]
pub enum RecipeValueKind<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number as it was written.
    Number(&'a str),
    /// Text.
    String(&'a str),
    /// An array.
    List(&'a [RecipeValue]),
    /// An object, its keys in their order.
    Object(&'a [(Box<str>, RecipeValue)]),
}

impl RecipeValue {
    fn new(text: impl Into<Box<str>>, form: RecipeValueForm) -> Self {
        Self(Arc::new(RecipeValueInner { text: text.into(), form, view: OnceLock::new() }))
    }

    /// A string, whatever it looks like.
    pub fn from_string(text: impl Into<Box<str>>) -> Self {
        Self::new(text, RecipeValueForm::String)
    }

    /// Returns the value of a step's output: typed if the whole text is JSON, shown as it was printed.
    pub fn from_output(text: impl Into<Box<str>>) -> Self {
        Self::new(text, RecipeValueForm::Output)
    }

    /// A JSON value.
    pub fn from_json_value(value: &serde_json::Value) -> Self {
        Self::new(value.to_string(), RecipeValueForm::Json)
    }

    /// `null`
    pub fn null() -> Self {
        Self::new("null", RecipeValueForm::Json)
    }

    /// JSON text; `None` if it is not JSON. Numbers and the order of keys stay as they are.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(text).ok().map(Self::from_raw)
    }

    /// Converts JSON that was parsed already.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        // A string once, and not as JSON and as text: it may be long.
        if let Some(string) =
            raw.get().starts_with('"').then(|| serde_json::from_str::<Box<str>>(raw.get()).ok()).flatten()
        {
            return Self::from_string(string);
        }
        Self::new(compact_json(raw.get()), RecipeValueForm::Json)
    }

    /// Text that is shown as it is and means the JSON `json`.
    pub(crate) fn from_typed(text: impl Into<Box<str>>, json: impl Into<Box<str>>) -> Self {
        Self::new(text, RecipeValueForm::Typed(json.into()))
    }

    /// A value of the command line (`--set name=value`): JSON unless it is a JSON string, `True` and `False`, whole and decimal
    /// numbers; any other text is a string.
    pub fn from_argument(text: &str) -> Self {
        match text.trim() {
            "true" | "True" => return Self::from_typed("true", "true"),
            "false" | "False" => return Self::from_typed("false", "false"),
            trimmed if trimmed.starts_with('"') => return Self::from_string(text),
            _ => {}
        }
        if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
            let json = number_in_range(raw.get()).unwrap_or_else(|| compact_json(raw.get()));
            return Self::from_typed(text, json);
        }
        let number = text.parse::<i64>().map(|whole| whole.to_string()).ok();
        let number =
            number.or_else(|| text.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| format!("{n:?}")));
        match number {
            Some(json) => Self::from_typed(text, json),
            None => Self::from_string(text),
        }
    }

    /// The text that a template inserts: a string's text, nothing for `null`, else the value as it was written.
    pub fn text(&self) -> &str {
        let text = &*self.0.text;
        let special = match self.0.form {
            RecipeValueForm::String | RecipeValueForm::Typed(_) => false,
            RecipeValueForm::Json => text.starts_with('"') || text == "null",
            RecipeValueForm::Output => {
                let trimmed = text.trim_matches(is_blank);
                trimmed.starts_with('"') || trimmed == "null"
            }
        };
        match self.kind() {
            RecipeValueKind::String(text) if special => text,
            RecipeValueKind::Null => "",
            _ => text,
        }
    }

    /// Bytes of its text.
    pub(crate) fn len(&self) -> usize {
        self.0.text.len()
    }

    /// The type of the value with its contents.
    pub fn kind(&self) -> RecipeValueKind<'_> {
        if matches!(self.0.form, RecipeValueForm::String) {
            return RecipeValueKind::String(&self.0.text);
        }
        match self.0.view.get_or_init(|| self.derive_view()) {
            RecipeValueView::Null => RecipeValueKind::Null,
            RecipeValueView::Bool(value) => RecipeValueKind::Bool(*value),
            RecipeValueView::Number(text) => RecipeValueKind::Number(text),
            RecipeValueView::String(text) => RecipeValueKind::String(text.as_deref().unwrap_or(&self.0.text)),
            RecipeValueView::List(items) => RecipeValueKind::List(items),
            RecipeValueView::Object(entries) => RecipeValueKind::Object(entries),
        }
    }

    fn derive_view(&self) -> RecipeValueView {
        let source = match &self.0.form {
            RecipeValueForm::Typed(json) => json,
            _ => self.0.text.trim_matches(is_blank),
        };
        parse_view(source).unwrap_or(RecipeValueView::String(None))
    }

    /// Reports whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.kind(), RecipeValueKind::Null)
    }

    /// The value below these keys: names in objects, numbers in lists.
    pub fn value_at<S: AsRef<str>>(&self, path: &[S]) -> Option<Self> {
        let mut value = self.clone();
        for key in path {
            let key = key.as_ref();
            let next = match value.kind() {
                RecipeValueKind::Object(entries) => {
                    entries.iter().rev().find(|(name, _)| **name == *key).map(|(_, value)| value)
                }
                RecipeValueKind::List(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            value = next?.clone();
        }
        Some(value)
    }

    /// As JSON text without blanks; numbers in their own spelling, keys in their order.
    pub fn json_text(&self) -> Cow<'_, str> {
        match (&self.0.form, self.kind()) {
            (RecipeValueForm::Json, _) => Cow::Borrowed(&self.0.text),
            (RecipeValueForm::Typed(json), _) => Cow::Borrowed(json),
            (_, RecipeValueKind::String(text)) => Cow::Owned(quote_json(text)),
            (RecipeValueForm::String | RecipeValueForm::Output, _) => {
                Cow::Owned(compact_json(self.0.text.trim_matches(is_blank)))
            }
        }
    }

    /// As a JSON value. What JSON values cannot hold (a number out of range, a hundred levels) is a string.
    pub fn to_json(&self) -> serde_json::Value {
        match self.kind() {
            RecipeValueKind::String(text) => serde_json::Value::String(text.to_owned()),
            _ => serde_json::from_str(&self.json_text())
                .unwrap_or_else(|_| serde_json::Value::String(self.0.text.to_string())),
        }
    }

    /// Returns a copy with `value` below `path`; `None` if there is no object or list on the way.
    pub(crate) fn with_value<S: AsRef<str>>(&self, path: &[S], value: &Self) -> Option<Self> {
        let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
        let key = key.as_ref();
        let mut out = String::new();
        match self.kind() {
            RecipeValueKind::Object(entries) => {
                let old = entries.iter().find(|(name, _)| **name == *key);
                let new = match old {
                    Some((_, old)) => old.with_value(rest, value)?,
                    None if rest.is_empty() => value.clone(),
                    None => return None,
                };
                let kept =
                    entries.iter().map(|(name, old)| (&**name, if **name == *key { &new } else { old }));
                let added = old.is_none().then_some((key, &new));
                write_object(&mut out, kept.chain(added));
            }
            RecipeValueKind::List(items) => {
                let index = key.parse::<usize>().ok().filter(|index| *index < items.len())?;
                let new = items[index].with_value(rest, value)?;
                write_list(
                    &mut out,
                    items.iter().enumerate().map(|(at, old)| if at == index { &new } else { old }),
                );
            }
            _ => return None,
        }
        Some(Self::new(out, RecipeValueForm::Json))
    }

    /// An object of these entries.
    pub(crate) fn from_entries<'a>(entries: impl Iterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut out = String::new();
        write_object(&mut out, entries);
        Self::new(out, RecipeValueForm::Json)
    }

    /// A list of these items.
    pub(crate) fn from_items<'a>(items: impl Iterator<Item = &'a Self>) -> Self {
        let mut out = String::new();
        write_list(&mut out, items);
        Self::new(out, RecipeValueForm::Json)
    }
}

fn write_object<'a>(out: &mut String, entries: impl Iterator<Item = (&'a str, &'a RecipeValue)>) {
    out.push('{');
    for (number, (name, value)) in entries.enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&quote_json(name));
        out.push(':');
        out.push_str(&value.json_text());
    }
    out.push('}');
}

fn write_list<'a>(out: &mut String, items: impl Iterator<Item = &'a RecipeValue>) {
    out.push('[');
    for (number, value) in items.enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&value.json_text());
    }
    out.push(']');
}

/// Reports whether JSON takes `char` for a blank.
fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r')
}

/// `text` as a JSON string.
pub(crate) fn quote_json(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}

/// `json` without the blanks between its tokens.
pub(crate) fn compact_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut string, mut escaped) = (false, false);
    for char in json.chars() {
        if string {
            string = escaped || char != '"';
            escaped = !escaped && char == '\\';
        } else if is_blank(char) {
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

/// Parses a level of JSON; `None` if it is not JSON.
fn parse_view(text: &str) -> Option<RecipeValueView> {
    let first = *text.as_bytes().first()?;
    if !(b"{[\"-tfn".contains(&first) || first.is_ascii_digit()) {
        return None;
    }
    let raw = serde_json::from_str::<&RawValue>(text).ok()?;
    let child = |raw: &RawValue| RecipeValue::new(compact_json(raw.get()), RecipeValueForm::Json);
    Some(match first {
        b'{' => RecipeValueView::Object(
            serde_json::Deserializer::from_str(raw.get())
                .deserialize_map(ObjectEntriesVisitor)
                .ok()?
                .into_iter()
                .map(|(name, raw)| (name.into(), child(raw)))
                .collect(),
        ),
        b'[' => RecipeValueView::List(
            serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()?.into_iter().map(child).collect(),
        ),
        b'"' => RecipeValueView::String(Some(serde_json::from_str::<String>(raw.get()).ok()?.into())),
        b't' => RecipeValueView::Bool(true),
        b'f' => RecipeValueView::Bool(false),
        b'n' => RecipeValueView::Null,
        _ => RecipeValueView::Number(raw.get().into()),
    })
}

/// Reads an object's entries in their order; of a key that is there twice the last value counts.
struct ObjectEntriesVisitor;

impl<'de> Visitor<'de> for ObjectEntriesVisitor {
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

impl fmt::Debug for RecipeValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.json_text())
    }
}

impl PartialEq for RecipeValue {
    /// Reports whether text and JSON are equal.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() && self.json_text() == other.json_text()
    }
}

impl Serialize for RecipeValue {
    /// For writers of JSON: numbers and the order of keys stay as they are; of a key that is there twice the last value counts.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.kind() {
            // Without a copy: it may be long.
            RecipeValueKind::String(text) => return serializer.serialize_str(text),
            _ => self.json_text(),
        };
        match self.kind() {
            RecipeValueKind::List(items) if !is_sound(&text) => serializer.collect_seq(items),
            RecipeValueKind::Object(entries) if !is_sound(&text) => {
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
