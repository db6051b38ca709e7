//! Building blocks of schemas: objects that have these keys and no others.
#![expect(clippy::needless_pass_by_value, reason = "a schema is built from parts that nothing else needs")]

use amplihack_agent::AgentBinary;
use amplihack_agent::event::schema::schema_text;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// An object with exactly these keys. One whose name ends in `?` may be missing.
pub(super) fn object<const N: usize>(keys: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = keys.iter().map(|(key, _)| *key).filter(|key| !key.ends_with('?')).collect();
    let properties: Map<String, Value> =
        keys.iter().map(|(key, value)| (key.trim_end_matches('?').to_owned(), value.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// `object` with the keys of `more` as well.
pub(super) fn merged(mut object: Value, more: &Value) -> Value {
    for part in ["properties", "$defs"] {
        if let Some(entries) = more[part].as_object() {
            let into = &mut object[part];
            if into.is_null() {
                *into = json!({});
            }
            into.as_object_mut().into_iter().for_each(|into| into.extend(entries.clone()));
        }
    }
    if let (Some(into), Some(keys)) = (object["required"].as_array_mut(), more["required"].as_array()) {
        into.extend(keys.iter().cloned());
    }
    object
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A number of things.
pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

pub(super) fn integer() -> Value {
    json!({ "type": "integer" })
}

pub(super) fn number() -> Value {
    json!({ "type": "number" })
}

/// A time: RFC 3339, UTC.
pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// The name of an agent.
pub(super) fn agent() -> Value {
    words(&AgentBinary::ALL.map(AgentBinary::name))
}

/// A word of this list.
pub(super) fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// Any JSON: somebody else's.
pub(super) fn anything() -> Value {
    Value::Bool(true)
}

/// An object whose keys somebody else chose.
pub(super) fn map(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

pub(super) fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

pub(super) fn nullable(value: Value) -> Value {
    any_of([value, json!({ "type": "null" })])
}

pub(super) fn any_of<const N: usize>(values: [Value; N]) -> Value {
    json!({ "anyOf": values.to_vec() })
}

/// An object of a series: `type` is `name`, beside `keys`.
pub(super) fn tagged<const N: usize>(name: &str, keys: [(&str, Value); N]) -> Value {
    merged(object([("type", json!({ "const": name }))]), &object(keys))
}

/// The schema of a type, closed: it has these keys and no others.
pub(super) fn typed<T: JsonSchema>() -> Value {
    let mut schema: Value = serde_json::from_str(&schema_text::<T>()).unwrap_or_default();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
        map.remove("title");
    }
    close(&mut schema);
    schema
}

/// The schema of the type without the definitions that it refers to, which [`file_text`] wants once.
fn close(schema: &mut Value) {
    let scalar = match &schema["type"] {
        Value::String(name) => name != "object",
        Value::Array(names) => names.iter().all(|name| name != "object"),
        _ => false,
    };
    let Some(map) = schema.as_object_mut() else { return };
    let closed = scalar
        || ["additionalProperties", "const", "enum"].into_iter().any(|key| map.contains_key(key))
        // Only described: any JSON.
        || !["type", "$ref", "properties", "oneOf", "anyOf", "allOf"].into_iter().any(|key| map.contains_key(key));
    if !closed {
        map.insert("unevaluatedProperties".to_owned(), false.into());
    }
    inside(map);
}

/// Closes the values that an object or a list holds. The branches of a composition stay open: they see only their own keys.
fn inside(map: &mut Map<String, Value>) {
    for key in ["properties", "$defs"] {
        for (_, value) in map.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            match value.as_object_mut() {
                Some(definition) if key == "$defs" => inside(definition),
                _ => close(value),
            }
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(value) = map.get_mut(key) {
            close(value);
        }
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for branch in map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(branch) = branch.as_object_mut() {
                inside(branch);
            }
        }
    }
}

/// A whole schema as its file: with its title, and each definition once.
pub(super) fn file_text(title: &str, mut schema: Value) -> String {
    let mut definitions = Map::new();
    hoist(&mut schema, &mut definitions);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    format!("{schema:#}\n")
}

fn hoist(schema: &mut Value, definitions: &mut Map<String, Value>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Object(mut own)) = map.remove("$defs") {
                own.values_mut().for_each(|value| hoist(value, definitions));
                definitions.extend(own);
            }
            map.values_mut().for_each(|value| hoist(value, definitions));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| hoist(value, definitions)),
        _ => {}
    }
}
