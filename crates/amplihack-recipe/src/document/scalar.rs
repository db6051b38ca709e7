//! What scalars without quotes mean, and nodes as values.

use super::tree::{Kind, Node};
use crate::model::Argument;
use crate::template::Template;
use crate::value::{Value, quoted};

/// A scalar without quotes.
#[derive(Debug, PartialEq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    /// A number, as JSON.
    Number(String),
    Text,
}

/// The type of a scalar without quotes: JSON's words in three spellings, whole numbers without leading zeros and those of other
/// bases (`0x`, `0o`, `0b`), decimal numbers. Numbers that are none are nothing.
pub(super) fn plain(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" | ".nan" | ".NaN" | ".NAN" => return Plain::Null,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" => {
            return Plain::Null;
        }
        "true" | "True" | "TRUE" => return Plain::Bool(true),
        "false" | "False" | "FALSE" => return Plain::Bool(false),
        _ => {}
    }
    number(text).map_or(Plain::Text, Plain::Number)
}

fn number(text: &str) -> Option<String> {
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
pub(super) fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Scalar { text, plain: false } => Value::string(text.as_str()),
        Kind::Scalar { text, .. } => match plain(text) {
            Plain::Null => Value::null(),
            Plain::Bool(value) => Value::json(&value.into()),
            Plain::Number(json) => Value::typed(text.as_str(), json),
            Plain::Text => Value::string(text.as_str()),
        },
        Kind::List(_) | Kind::Map(_) => {
            let mut out = String::new();
            write(node, &mut out);
            Value::from_json(&out).unwrap_or_else(Value::null)
        }
    }
}

/// A node as a value with templates in its texts.
pub(super) fn argument(node: &Node) -> Argument {
    match &node.kind {
        Kind::Scalar { text, .. } if !crate::template::placeholders(text).is_empty() => {
            Argument::Template(Template::parse(text))
        }
        Kind::Scalar { .. } => Argument::Value(value(node)),
        Kind::List(items) => Argument::List(items.iter().map(|item| argument(item)).collect()),
        Kind::Map(entries) => {
            Argument::Map(entries.iter().map(|entry| (entry.key.clone(), argument(&entry.value))).collect())
        }
    }
}

fn write(node: &Node, out: &mut String) {
    match &node.kind {
        Kind::Scalar { .. } => out.push_str(&value(node).json_text()),
        Kind::List(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Kind::Map(entries) => {
            out.push('{');
            for (number, entry) in entries.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(&entry.key));
                out.push(':');
                write(&entry.value, out);
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
            assert_eq!(plain(text), Plain::Number(want.to_owned()), "{text}");
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
            assert_eq!(plain(text), Plain::Text, "{text}");
        }
        for text in ["", "~", "null", "NULL", ".nan", "-.inf"] {
            assert_eq!(plain(text), Plain::Null, "{text}");
        }
        assert_eq!((plain("True"), plain("FALSE")), (Plain::Bool(true), Plain::Bool(false)));
    }
}
