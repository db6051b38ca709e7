//! Readings of a payload by the program that acts on it: of two values the first or the last, of two dialects either.

use serde_json::{Map, Value};

use super::read::PayloadError;
use crate::repeated_keys::RepeatedKeyJson;

/// Fields in which hosts put a tool's name.
pub(super) const NAMES: [&str; 2] = ["tool_name", "toolName"];
/// Fields in which hosts put a tool's arguments.
pub(super) const INPUTS: [&str; 3] = ["tool_input", "toolInput", "toolArgs"];
/// The field in which some put both.
const NESTED: &str = "toolUse";
/// Levels down to which a payload is read; what lies deeper stays text. Readers of values end at 128.
const DEEPEST: usize = 100;

/// A payload's JSON.
#[derive(Debug)]
pub(super) struct HookPayload {
    json: RepeatedKeyJson,
    /// `true` if a part of the payload lies deeper than is read.
    pub(super) is_deep: bool,
}

impl HookPayload {
    /// Parses `bytes`. Halves of surrogate pairs become U+FFFD, as they do where a host hands them to a program.
    ///
    /// # Errors
    /// What is not one JSON value.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, PayloadError> {
        let error = match serde_json::from_slice(bytes) {
            Ok(json) => return Ok(Self { json, is_deep: false }),
            Err(error) => PayloadError::Json(error.to_string()),
        };
        let text = std::str::from_utf8(bytes).map_err(|_| error.clone())?;
        let (json, is_deep) = parse_lenient(text).ok_or(error)?;
        Ok(Self { json, is_deep })
    }

    /// The payload with the last of each repeated key.
    pub(super) fn last_reading(self) -> Value {
        self.json.into_value()
    }

    /// Every object that a host may take the payload for: with the first and with the last of each repeated key.
    ///
    /// # Errors
    /// A key that stands three times, so that it may have a value that neither has.
    pub(super) fn each_reading(mut self) -> Result<(Vec<Value>, bool), PayloadError> {
        let mut is_deep = self.is_deep;
        open_arguments(&mut self.json, &mut is_deep);
        if self.json.repeated_key().is_none() {
            return Ok((vec![self.json.into_value()], is_deep));
        }
        if self.json.is_repeated_more_than_twice() {
            return Err(PayloadError::Shape("a key that stands three times"));
        }
        Ok((vec![self.json.clone().into_value(), self.json.into_first_value()], is_deep))
    }
}

/// `text` as JSON that other readers take too, and whether a part of it was too deep.
fn parse_lenient(text: &str) -> Option<(RepeatedKeyJson, bool)> {
    let mended = amplihack_agent::event::mend_surrogates(text);
    let text = mended.as_deref().unwrap_or(text);
    let shallow = flatten_deep_values(text);
    let json = serde_json::from_str(shallow.as_deref().unwrap_or(text)).ok()?;
    Some((json, shallow.is_some()))
}

/// Puts arguments that are a text of JSON in its place where only this reader takes the text, or where it is ambiguous itself.
fn open_arguments(json: &mut RepeatedKeyJson, is_deep: &mut bool) {
    let RepeatedKeyJson::Object(pairs) = json else { return };
    for (name, value) in pairs {
        if name == NESTED
            && let RepeatedKeyJson::Object(inner) = value
        {
            inner
                .iter_mut()
                .filter(|(name, _)| name == "input")
                .for_each(|(_, input)| open_argument_text(input, is_deep));
        } else if INPUTS.contains(&name.as_str()) {
            open_argument_text(value, is_deep);
        }
    }
}

fn open_argument_text(value: &mut RepeatedKeyJson, is_deep: &mut bool) {
    let Some(text) = value.as_str() else { return };
    match serde_json::from_str::<RepeatedKeyJson>(text) {
        Ok(inner @ RepeatedKeyJson::Object(_)) if inner.repeated_key().is_some() => *value = inner,
        Ok(_) => {}
        Err(_) => {
            if let Some((inner @ RepeatedKeyJson::Object(_), deep)) = parse_lenient(text) {
                *value = inner;
                *is_deep |= deep;
            }
        }
    }
}

/// `text` with every value below the deepest level as a text of its own; `None` if there is none.
fn flatten_deep_values(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut copied) = (String::new(), 0);
    let (mut depth, mut at, mut begin) = (0_usize, 0, None);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at += string_len(&bytes[at..]),
            b'[' | b'{' => {
                if depth == DEEPEST {
                    begin = Some(at);
                    out.push_str(text.get(copied..at)?);
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == DEEPEST
                    && let Some(begin) = begin.take()
                {
                    out.push_str(&Value::from(text.get(begin..=at)?).to_string());
                    copied = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 || begin.is_some() {
        return None;
    }
    out.push_str(text.get(copied..)?);
    Some(out)
}

/// Bytes of the string at the start of `bytes` before its closing quote.
fn string_len(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += 1 + usize::from(bytes[at] == b'\\');
    }
    at
}

/// `map` with each of the names and each of the arguments that it has for a tool, if it has several; the one that is taken first is
/// the first.
pub(super) fn each_tool(map: Map<String, Value>) -> Vec<Map<String, Value>> {
    let nested = |key: &str| map.get(NESTED).and_then(|nested| nested.get(key)).filter(|one| !one.is_null());
    let values = |fields: &[&'static str], inner: &str| {
        let flat = fields.iter().map(|field| (*field, map.get(*field).filter(|one| !one.is_null())));
        let found: Vec<(&'static str, Value)> = flat
            .chain([(NESTED, nested(inner))])
            .filter_map(|(field, value)| Some((field, value?.clone())))
            .collect();
        found
    };
    let (names, inputs) = (values(&NAMES, "name"), values(&INPUTS, "input"));
    let differ = |values: &[(&str, Value)]| values.windows(2).any(|two| two[0].1 != two[1].1);
    // The usual payload: fields that agree are one reading, and nothing is copied.
    if !differ(&names) && !differ(&inputs) {
        return vec![map];
    }
    let mut bare = map.clone();
    bare.retain(|key, _| key != NESTED && !NAMES.contains(&key.as_str()) && !INPUTS.contains(&key.as_str()));
    let put = |map: &mut Map<String, Value>, (field, value): &(&str, Value), inner: &str| {
        if *field == NESTED {
            let nested = map.entry(NESTED).or_insert_with(|| Value::Object(Map::new()));
            nested[inner] = value.clone();
        } else {
            map.insert((*field).to_owned(), value.clone());
        }
    };
    // Each name with each of the arguments: which of them a host takes is not known, and the strictest verdict counts.
    let mut found = Vec::new();
    for name in &names {
        let mut with_name = bare.clone();
        put(&mut with_name, name, "name");
        let of_inputs = inputs.iter().map(|input| {
            let mut whole = with_name.clone();
            put(&mut whole, input, "input");
            whole
        });
        found.extend(of_inputs);
        if inputs.is_empty() {
            found.push(with_name);
        }
    }
    if found.is_empty() { vec![map] } else { found }
}

/// The place of the tool's arguments in a payload.
pub(crate) fn arguments_mut(payload: &mut Value) -> Option<&mut Value> {
    let map = payload.as_object_mut()?;
    let flat = INPUTS.into_iter().find(|field| map.get(*field).is_some_and(|value| !value.is_null()));
    match flat {
        Some(field) => map.get_mut(field),
        None => map.get_mut(NESTED)?.get_mut("input"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_lies_deep_is_text() {
        let nested = |depth: usize| format!("{}\"]\"{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(flatten_deep_values(&nested(100)), None);
        let text = flatten_deep_values(&format!("{{\"a\":{},\"b\":{}}}", nested(120), nested(99))).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["b"], serde_json::from_str::<Value>(&nested(99)).unwrap());
        let mut inner = &value["a"];
        while let Some(next) = inner.get(0) {
            inner = next;
        }
        assert_eq!(inner, &Value::from(nested(21)));
        assert_eq!(flatten_deep_values(&"[".repeat(1_000_000)), None);
        assert!(flatten_deep_values(&nested(100_000)).is_some());
    }

    #[test]
    fn names_and_arguments_are_combined() {
        let map = json!({"tool_name": "a", "toolName": "b", "toolArgs": 1, "toolUse": {"name": "a", "input": 2}, "x": 3});
        let all: Vec<Value> =
            each_tool(map.as_object().unwrap().clone()).into_iter().map(Value::Object).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], json!({"tool_name": "a", "toolArgs": 1, "x": 3}));
        assert_eq!(all[5], json!({"toolUse": {"name": "a", "input": 2}, "x": 3}));
        let same = json!({"tool_name": "a", "toolName": "a", "tool_input": {}, "toolArgs": {}});
        assert_eq!(each_tool(same.as_object().unwrap().clone()).len(), 1);
    }
}
