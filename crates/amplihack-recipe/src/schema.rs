//! Outputs against what a step's `outputs` asks for.

/// Checks JSON text against a JSON Schema; the error names the first place that does not fit.
pub(crate) fn check(schema: &serde_json::Value, json: &str) -> Result<(), String> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let validator = jsonschema::validator_for(schema).map_err(|error| format!("`outputs` is no JSON Schema: {error}"))?;
    validator.validate(&value).map_err(|error| {
        let place = error.instance_path().to_string();
        if place.is_empty() { error.to_string() } else { format!("at {place}: {error}") }
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn the_first_place_that_does_not_fit_is_named() {
        let schema = serde_json::json!({
            "type": "object",
            "required": ["count"],
            "properties": { "count": { "type": "integer" } }
        });
        assert_eq!(check(&schema, r#"{"count": 3}"#), Ok(()));
        insta::assert_snapshot!(check(&schema, r#"{"count": "x"}"#).unwrap_err(), @r#"at /count: "x" is not of type "integer""#);
        insta::assert_snapshot!(check(&schema, "{}").unwrap_err(), @r#""count" is a required property"#);
        assert!(check(&serde_json::json!({ "type": 7 }), "{}").unwrap_err().contains("no JSON Schema"));
    }
}
