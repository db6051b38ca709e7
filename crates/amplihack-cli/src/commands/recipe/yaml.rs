//! A result as YAML: block style, strings quoted as JSON has them, which is YAML too.

use std::fmt::Write as _;

use serde_json::Value;

/// `value` as a YAML document.
pub(super) fn render(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) => block(&mut out, value, 0),
        scalar => line(&mut out, "", scalar),
    }
    out
}

fn block(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                out.push_str(&indent);
                out.push_str(&key(name));
                out.push(':');
                inner(out, value, depth);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&indent);
                out.push('-');
                inner(out, item, depth);
            }
        }
        scalar => line(out, &indent, scalar),
    }
}

fn inner(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            out.push('\n');
            block(out, value, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(out, value, depth + 1);
        }
        plain => line(out, " ", plain),
    }
}

fn line(out: &mut String, before: &str, scalar: &Value) {
    let _ = writeln!(out, "{before}{scalar}");
}

/// A name that is a word stays one.
fn key(name: &str) -> String {
    let word = !name.is_empty()
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&name.to_ascii_lowercase().as_str());
    if word { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_nested_is_indented_and_what_is_empty_is_not() {
        let value = serde_json::json!({
            "a": { "b": [1, { "c": "it's: \n two" }], "empty": [], "none": {} },
            "no": null,
            "1": true,
        });
        insta::assert_snapshot!(super::render(&value), @r#"
        "1": true
        a:
          b:
            - 1
            -
              c: "it's: \n two"
          empty: []
          none: {}
        "no": null
        "#);
    }
}
