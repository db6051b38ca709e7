//! A result as YAML: block style, strings quoted as JSON has them, which is YAML too.

use amplihack_sys::push_line;
use serde_json::Value;

/// `value` as a YAML document.
pub(super) fn render_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) => write_block(&mut out, value, 0),
        scalar => write_scalar(&mut out, "", scalar),
    }
    out
}

fn write_block(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                out.push_str(&indent);
                out.push_str(&quote_key(name));
                out.push(':');
                write_value(out, value, depth);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&indent);
                out.push('-');
                write_value(out, item, depth);
            }
        }
        scalar => write_scalar(out, &indent, scalar),
    }
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            out.push('\n');
            write_block(out, value, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            write_block(out, value, depth + 1);
        }
        plain => write_scalar(out, " ", plain),
    }
}

fn write_scalar(out: &mut String, before: &str, scalar: &Value) {
    push_line!(out, "{before}{scalar}");
}

/// A name that is a word stays one.
fn quote_key(name: &str) -> String {
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
        insta::assert_snapshot!(super::render_yaml(&value), @r#"
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
