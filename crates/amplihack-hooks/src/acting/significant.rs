//! The part of a settings file that a person trusts: everything but keys that start nothing, whatever its order and its blanks.

use std::str::from_utf8;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use toml_edit::{DocumentMut, Item, TableLike, Value as TomlValue};

/// The significant part of JSON settings of which the keys `harmless` start nothing. The whole content where agents may read it in
/// another way than this reader: with comments, or if it is no JSON.
pub(super) fn significant_json(content: &[u8], harmless: &[&str]) -> Vec<u8> {
    of_json(content, harmless).unwrap_or_else(|| content.to_vec())
}

/// The significant part of TOML settings of which the keys `harmless` start nothing. The whole content if it is no TOML.
pub(super) fn significant_toml(content: &[u8], harmless: &[&str]) -> Vec<u8> {
    of_toml(content, harmless).unwrap_or_else(|| content.to_vec())
}

/// A byte in front of what is no whole content, so that no content is taken for it.
const PART: &str = "\0";

fn of_json(content: &[u8], harmless: &[&str]) -> Option<Vec<u8>> {
    let text = from_utf8(content).ok()?;
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
    let Value::Object(mut object) = parsed.value? else { return None };
    // Of names with other letters in the text, none is left out.
    let is_harmless = |name: &str| harmless.iter().any(|harmless| name == format!("\"{harmless}\""));
    object.properties.retain(|found| !is_harmless(found.name.text(text)));
    let mut out = PART.to_owned();
    write_json(&Value::Object(object), text, &mut out)?;
    Some(out.into_bytes())
}

/// Writes `value` with its keys in order. Of several with one name, of which readers take different ones, all are written as they come;
/// `None` for a name that may be another's in other letters.
fn write_json(value: &Value<'_>, text: &str, out: &mut String) -> Option<()> {
    match value {
        Value::Object(object) => {
            let mut properties: Vec<_> =
                object.properties.iter().map(|found| (found.name.text(text), &found.value)).collect();
            properties.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in properties {
                if name.contains('\\') {
                    return None;
                }
                out.push_str(name);
                out.push(':');
                write_json(value, text, out)?;
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(array) => {
            out.push('[');
            for value in &array.elements {
                write_json(value, text, out)?;
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(other.text(text)),
    }
    Some(())
}

fn of_toml(content: &[u8], harmless: &[&str]) -> Option<Vec<u8>> {
    let mut document: DocumentMut = from_utf8(content).ok()?.parse().ok()?;
    for key in harmless {
        document.remove(key);
    }
    let mut out = PART.to_owned();
    write_table(document.as_table(), &mut out);
    Some(out.into_bytes())
}

fn write_table(table: &dyn TableLike, out: &mut String) {
    let mut items: Vec<_> = table.iter().collect();
    items.sort_by_key(|(key, _)| *key);
    out.push('{');
    for (key, item) in items {
        write_text(key, out);
        out.push(':');
        match item {
            Item::None => {}
            Item::Value(value) => write_toml(value, out),
            Item::Table(table) => write_table(table, out),
            Item::ArrayOfTables(tables) => {
                out.push('[');
                for table in tables {
                    write_table(table, out);
                    out.push(',');
                }
                out.push(']');
            }
        }
        out.push(',');
    }
    out.push('}');
}

fn write_toml(value: &TomlValue, out: &mut String) {
    match value {
        TomlValue::String(text) => write_text(text.value(), out),
        TomlValue::Array(array) => {
            out.push('[');
            for value in array {
                write_toml(value, out);
                out.push(',');
            }
            out.push(']');
        }
        TomlValue::InlineTable(table) => write_table(table, out),
        TomlValue::Integer(number) => out.push_str(&number.value().to_string()),
        TomlValue::Float(number) => {
            out.push('f');
            out.push_str(&number.value().to_string());
        }
        TomlValue::Boolean(value) => out.push_str(&value.value().to_string()),
        TomlValue::Datetime(time) => out.push_str(&time.value().to_string()),
    }
}

/// Writes `text` so that its end is where it ends.
fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARMLESS: &[&str] = &["model", "permissions"];

    #[test]
    fn json_is_the_same_whatever_harmless_keys_and_blanks_say() {
        let significant = |text: &str| significant_json(text.as_bytes(), HARMLESS);
        let first = significant(r#"{"hooks": {"A": [1, {"b": "x y"}], "B": []}, "env": {"C": "d"}}"#);
        let again = r#"{"model":"m","env":{"C":"d"},"permissions":{"allow":["x"]},
            "hooks":{"B":[],"A":[1,{"b":"x y"}]}}"#;
        assert_eq!(significant(again), first);
        for other in [
            r#"{"hooks": {"A": [1, {"b": "xy"}], "B": []}, "env": {"C": "d"}}"#,
            r#"{"hooks": {"A": [{"b": "x y"}, 1], "B": []}, "env": {"C": "d"}}"#,
            r#"{"hooks": {"A": [1, {"b": "x y"}], "B": []}, "env": {"C": "d"}, "more": 1}"#,
            r#"{"hooks": {"A": [1, {"b": "x y"}], "B": []}}"#,
            // A second value for one key, which this reader or the agent would not see.
            r#"{"hooks": 1, "hooks": {"A": [1, {"b": "x y"}], "B": []}, "env": {"C": "d"}}"#,
            r#"{"hooks": {"A": [1, {"b": "x y"}], "B": [], "B": [2]}, "env": {"C": "d"}}"#,
            r#"{"hooks": {"A": [1, {"b": "x y"}], "B": []}, "env": {"C": "d"}, "mod\u0065l": 1}"#,
        ] {
            assert_ne!(significant(other), first, "{other}");
        }
        for whole in [
            "{\"hooks\": 1 // why\n}",
            "no json",
            "[1]",
            "\u{feff}{}",
            "{'model': 1}",
            r#"{"\u0061": 1, "a": 2}"#,
        ] {
            assert_eq!(significant(whole), whole.as_bytes());
        }
    }

    #[test]
    fn toml_is_the_same_whatever_harmless_keys_and_blanks_say() {
        let significant = |text: &str| significant_toml(text.as_bytes(), HARMLESS);
        let first = significant("[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a\", \"b\"]\n");
        let again = "# why\nmodel = \"m\"\n\nmcp_servers.x = { args = ['a','b'], command = 'c' }\n";
        assert_eq!(significant(again), first);
        for other in [
            "[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a b\"]\n",
            "[mcp_servers.x]\ncommand = \"c\"\nargs = [\"b\", \"a\"]\n",
            "[mcp_servers.y]\ncommand = \"c\"\nargs = [\"a\", \"b\"]\n",
            "[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a\", \"b\"]\nenv = { A = \"1\" }\n",
            "[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a\", \"b\"]\n[[hooks.Stop]]\nx = 1\n",
            "features.x = true\n[mcp_servers.x]\ncommand = \"c\"\nargs = [\"a\", \"b\"]\n",
        ] {
            assert_ne!(significant(other), first, "{other}");
        }
        assert_ne!(significant("a = 1"), significant("a = \"1\""));
        assert_eq!(significant("no toml"), b"no toml");
    }
}
