//! The types of scalars without quotes, and nodes as values.

use super::tree::{YamlNode, YamlNodeKind};
use crate::model::SubRecipeArgument;
use crate::template::TextTemplate;
use crate::value::{RecipeValue, quote_json};

/// A scalar without quotes.
#[derive(Debug, PartialEq)]
pub(super) enum PlainScalar {
    Null,
    Bool(bool),
    /// A number, as JSON.
    Number(String),
    Text,
}

/// The type of a scalar without quotes: JSON's words in three spellings, whole numbers without leading zeros and those of other
/// bases (`0x`, `0o`, `0b`), decimal numbers. Numbers that are none are nothing.
pub(super) fn classify_plain(text: &str) -> PlainScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" | ".nan" | ".NaN" | ".NAN" => return PlainScalar::Null,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" => {
            return PlainScalar::Null;
        }
        "true" | "True" | "TRUE" => return PlainScalar::Bool(true),
        "false" | "False" | "FALSE" => return PlainScalar::Bool(false),
        _ => {}
    }
    parse_yaml_number(text).map_or(PlainScalar::Text, PlainScalar::Number)
}

fn parse_yaml_number(text: &str) -> Option<String> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let first = digits.bytes().next()?;
    if !first.is_ascii_digit() && first != b'.' {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            if digits.starts_with(['+', '-']) {
                return None;
            }
            return u64::from_str_radix(digits, radix).ok().map(|number| format!("{sign}{number}"));
        }
    }
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    if whole > 1 && first == b'0' {
        return None;
    }
    let json = format!("{sign}{digits}");
    if serde_json::from_str::<f64>(&json).is_ok_and(f64::is_finite) {
        return Some(json);
    }
    // `.5`, `1.`: numbers in YAML, not in JSON.
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number = json.parse::<f64>().ok().filter(|number| decimal && number.is_finite())?;
    Some(format!("{number:?}"))
}

/// A node as a value: a scalar keeps its spelling, lists and maps become JSON.
pub(super) fn node_value(node: &YamlNode) -> RecipeValue {
    match &node.kind {
        YamlNodeKind::Scalar { text, plain: false } => RecipeValue::from_string(text.as_str()),
        YamlNodeKind::Scalar { text, .. } => match classify_plain(text) {
            PlainScalar::Null => RecipeValue::null(),
            PlainScalar::Bool(value) => RecipeValue::from_json_value(&value.into()),
            PlainScalar::Number(json) => RecipeValue::from_typed(text.as_str(), json),
            PlainScalar::Text => RecipeValue::from_string(text.as_str()),
        },
        YamlNodeKind::List(_) | YamlNodeKind::Map(_) => {
            let mut out = String::new();
            write_json(node, &mut out);
            RecipeValue::from_json(&out).unwrap_or_else(RecipeValue::null)
        }
    }
}

/// A node as a value with templates in its texts.
pub(super) fn node_argument(node: &YamlNode) -> SubRecipeArgument {
    match &node.kind {
        YamlNodeKind::Scalar { text, .. } if !crate::template::find_placeholders(text).is_empty() => {
            SubRecipeArgument::Template(TextTemplate::parse(text))
        }
        YamlNodeKind::Scalar { .. } => SubRecipeArgument::Value(node_value(node)),
        YamlNodeKind::List(items) => {
            SubRecipeArgument::List(items.iter().map(|item| node_argument(item)).collect())
        }
        YamlNodeKind::Map(entries) => SubRecipeArgument::Map(
            entries.iter().map(|entry| (entry.key.clone(), node_argument(&entry.value))).collect(),
        ),
    }
}

fn write_json(node: &YamlNode, out: &mut String) {
    match &node.kind {
        YamlNodeKind::Scalar { .. } => out.push_str(&node_value(node).json_text()),
        YamlNodeKind::List(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        YamlNodeKind::Map(entries) => {
            out.push('{');
            for (number, entry) in entries.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                out.push_str(&quote_json(&entry.key));
                out.push(':');
                write_json(&entry.value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_plain_scalars() {
        for (text, want) in [
            ("5", "5"),
            ("-5", "-5"),
            ("+5", "5"),
            ("0", "0"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("0b101", "5"),
            ("1.10", "1.10"),
            ("12e3", "12e3"),
            (".5", "0.5"),
            ("1.", "1.0"),
            ("-.5", "-0.5"),
        ] {
            assert_eq!(classify_plain(text), PlainScalar::Number(want.to_owned()), "{text}");
        }
        for text in [
            "yes",
            "010",
            "007",
            "2024-01-02",
            "1_000",
            "0x",
            "0xZ",
            "0x+1",
            "1e",
            ".",
            "-",
            "+",
            "1.2.3",
            "1e999",
            "e5",
            "--1",
        ] {
            assert_eq!(classify_plain(text), PlainScalar::Text, "{text}");
        }
        for text in ["", "~", "null", "NULL", ".nan", "-.inf"] {
            assert_eq!(classify_plain(text), PlainScalar::Null, "{text}");
        }
        assert_eq!(
            (classify_plain("True"), classify_plain("FALSE")),
            (PlainScalar::Bool(true), PlainScalar::Bool(false))
        );
    }
}
