//! Outputs against what a step's `outputs` asks for: the part of JSON Schema that is about the shape of values.
//!
//! A keyword that is not known is an error and not passed over: what asks for more than is checked must not look checked. (The
//! library for all of JSON Schema switches the JSON reader of the whole program to other orders and numbers.)

use serde_json::{Map, Value};

/// Keywords that say nothing about values.
const NOTES: &[&str] =
    &["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"];

/// Checks JSON text against a schema; the error names the first place that does not fit.
pub(crate) fn check_schema(schema: &Value, json: &str) -> Result<(), String> {
    let value: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    check_value(schema, &value, "")
        .map_err(|(place, fault)| if place.is_empty() { fault } else { format!("at {place}: {fault}") })
}

type OutputSchemaFault = (String, String);

fn check_value(schema: &Value, value: &Value, place: &str) -> Result<(), OutputSchemaFault> {
    let fault = |text: String| Err((place.to_owned(), text));
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Bool(false) => return fault("nothing is allowed here".to_owned()),
        Value::Object(keywords) => keywords,
        _ => return fault("`outputs` is not a JSON Schema: a schema is an object, true or false".to_owned()),
    };
    for (keyword, asked) in keywords {
        match keyword.as_str() {
            "type" => {
                let names = match asked {
                    Value::Array(names) => names.as_slice(),
                    one => std::slice::from_ref(one),
                };
                if !names.iter().any(|name| is_type(value, name.as_str().unwrap_or_default())) {
                    return fault(format!("{} is not of type {}", shorten_json(value), shorten_json(asked)));
                }
            }
            "enum" => {
                if !asked.as_array().is_some_and(|all| all.contains(value)) {
                    return fault(format!("{} is none of {}", shorten_json(value), shorten_json(asked)));
                }
            }
            "const" => {
                if asked != value {
                    return fault(format!("{} is not {}", shorten_json(value), shorten_json(asked)));
                }
            }
            "properties" | "required" | "additionalProperties" | "minProperties" | "maxProperties" => {
                check_object(keyword, asked, keywords, value, place)?;
            }
            "items" | "minItems" | "maxItems" | "uniqueItems" => check_list(keyword, asked, value, place)?,
            "minLength" | "maxLength" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                check_bound(keyword, asked, value).or_else(fault)?;
            }
            "allOf" | "anyOf" | "oneOf" => {
                let all = asked.as_array().map(Vec::as_slice).unwrap_or_default();
                let fitting = all.iter().filter(|schema| check_value(schema, value, place).is_ok()).count();
                let holds = match keyword.as_str() {
                    "allOf" => fitting == all.len(),
                    "anyOf" => fitting > 0,
                    _ => fitting == 1,
                };
                if !holds {
                    return fault(format!(
                        "{} fits {fitting} of {} in {keyword}",
                        shorten_json(value),
                        all.len()
                    ));
                }
            }
            "not" => {
                if check_value(asked, value, place).is_ok() {
                    return fault(format!("{} is what `not` excludes", shorten_json(value)));
                }
            }
            // Passed over, and they alone: any other keyword asks for something, which must not look checked.
            note if NOTES.contains(&note) => {}
            other => {
                return fault(format!(
                    "`outputs` asks for `{other}`, which is not checked here; leave it out"
                ));
            }
        }
    }
    Ok(())
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

fn check_object(
    keyword: &str,
    asked: &Value,
    all: &Map<String, Value>,
    value: &Value,
    place: &str,
) -> Result<(), OutputSchemaFault> {
    // JSON Schema applies these to objects only; what has to be one is told by `type`.
    let Value::Object(entries) = value else { return Ok(()) };
    let fault = |text: String| Err((place.to_owned(), text));
    let number = asked.as_u64().unwrap_or_default();
    match keyword {
        "properties" => {
            for (name, schema) in asked.as_object().into_iter().flatten() {
                if let Some(inner) = entries.get(name) {
                    check_value(schema, inner, &format!("{place}/{name}"))?;
                }
            }
        }
        "required" => {
            let names = asked.as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = names.into_iter().find(|name| !entries.contains_key(*name)) {
                return fault(format!("`{missing}` is missing"));
            }
        }
        "additionalProperties" => {
            let known = all.get("properties").and_then(Value::as_object);
            let others =
                entries.iter().filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
            for (name, inner) in others {
                if asked == &Value::Bool(false) {
                    return fault(format!("`{name}` is not asked for"));
                }
                check_value(asked, inner, &format!("{place}/{name}"))?;
            }
        }
        "minProperties" if (entries.len() as u64) < number => {
            return fault(format!("fewer than {number} entries"));
        }
        "maxProperties" if entries.len() as u64 > number => {
            return fault(format!("more than {number} entries"));
        }
        _ => {}
    }
    Ok(())
}

fn check_list(keyword: &str, asked: &Value, value: &Value, place: &str) -> Result<(), OutputSchemaFault> {
    let Value::Array(items) = value else { return Ok(()) };
    let fault = |text: String| Err((place.to_owned(), text));
    let number = asked.as_u64().unwrap_or_default();
    match keyword {
        "items" => {
            for (index, item) in items.iter().enumerate() {
                check_value(asked, item, &format!("{place}/{index}"))?;
            }
        }
        "minItems" if (items.len() as u64) < number => return fault(format!("fewer than {number} items")),
        "maxItems" if items.len() as u64 > number => return fault(format!("more than {number} items")),
        "uniqueItems" if asked == &Value::Bool(true) => {
            if let Some((_, twice)) =
                items.iter().enumerate().find(|(index, item)| items[..*index].contains(item))
            {
                return fault(format!("{} is there twice", shorten_json(twice)));
            }
        }
        _ => {}
    }
    Ok(())
}

fn check_bound(keyword: &str, asked: &Value, value: &Value) -> Result<(), String> {
    let Some(limit) = asked.as_f64() else { return Err(format!("`outputs` has no number for {keyword}")) };
    let found = match (keyword, value) {
        #[expect(clippy::cast_precision_loss, reason = "no text has 2^53 characters")]
        ("minLength" | "maxLength", Value::String(text)) => text.chars().count() as f64,
        ("minLength" | "maxLength", _) => return Ok(()),
        (_, Value::Number(number)) => number.as_f64().unwrap_or(f64::NAN),
        _ => return Ok(()),
    };
    let holds = match keyword {
        "minLength" | "minimum" => found >= limit,
        "maxLength" | "maximum" => found <= limit,
        "exclusiveMinimum" => found > limit,
        _ => found < limit,
    };
    if holds { Ok(()) } else { Err(format!("{} is beyond {keyword} {limit}", shorten_json(value))) }
}

fn shorten_json(value: &Value) -> String {
    let text = value.to_string();
    let shown: String = text.chars().take(80).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check_schema;

    #[test]
    fn the_first_place_that_does_not_fit_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["count"],
            "properties": {
                "count": { "type": "integer", "minimum": 1 },
                "names": { "type": "array", "items": { "type": "string", "maxLength": 3 } },
                "kind": { "enum": ["a", "b"] }
            },
            "additionalProperties": false
        });
        assert_eq!(check_schema(&schema, r#"{"count": 3, "names": ["x"], "kind": "a"}"#), Ok(()));
        for (json, fault) in [
            (r#"{"count": "x"}"#, r#"at /count: "x" is not of type "integer""#),
            ("{}", "`count` is missing"),
            (r#"{"count": 0}"#, "at /count: 0 is beyond minimum 1"),
            (r#"{"count": 1, "names": ["ab", "abcd"]}"#, r#"at /names/1: "abcd" is beyond maxLength 3"#),
            (r#"{"count": 1, "kind": "c"}"#, r#"at /kind: "c" is none of ["a","b"]"#),
            (r#"{"count": 1, "more": 1}"#, "`more` is not asked for"),
            ("[]", r#"[] is not of type "object""#),
        ] {
            assert_eq!(check_schema(&schema, json), Err(fault.to_owned()), "{json}");
        }
    }

    #[test]
    fn what_is_not_checked_is_refused() {
        let fault = check_schema(&json!({ "pattern": "x" }), "\"x\"").unwrap_err();
        assert_eq!(fault, "`outputs` asks for `pattern`, which is not checked here; leave it out");
        assert!(check_schema(&json!([]), "1").is_err());
    }

    #[test]
    fn schemas_are_combined() {
        let number = json!({ "type": "number" });
        let small = json!({ "maximum": 3 });
        for (schema, two, five) in [
            (json!({ "allOf": [number, small] }), true, false),
            (json!({ "anyOf": [small, { "const": 5 }] }), true, true),
            (json!({ "oneOf": [number, small] }), false, true),
            (json!({ "not": small }), false, true),
        ] {
            assert_eq!(
                (check_schema(&schema, "2").is_ok(), check_schema(&schema, "5").is_ok()),
                (two, five),
                "{schema}"
            );
        }
    }
}
