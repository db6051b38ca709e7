//! What of an agent's settings file is about hooks.

use jsonc_parser::{JsonValue, ParseOptions};
use serde_json::{Map, Value};

use super::harmless::harmless;

/// How much of a file is about hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of a JSON file.
    All,
    /// These keys of a JSON file: [`KEYS`].
    Keys,
    /// The same of a TOML file, and features that have to do with hooks.
    Toml,
}

/// A file's part on hooks, without a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// JSON, in the original with comments or commas that JSON itself has not.
    Json { settings: Map<String, Value>, relaxed: bool },
    /// TOML.
    Toml(Map<String, Value>),
    /// The original cannot be read, and neither can the copy.
    Unreadable,
}

/// Settings on hooks in files that have others besides.
const KEYS: &[&str] = &["disableAllHooks", "hooks", "hooksConfig"];

/// The part of a file with these bytes; `None` if there is nothing on hooks in it. `hooks` grows by the hooks found.
pub(super) fn content(bytes: &[u8], part: Part, hooks: &mut usize) -> Option<Content> {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return None;
    }
    if part == Part::Toml {
        // By way of JSON: there is one place that knows what is harmless.
        let table: Option<toml::Table> = toml::from_str(&text).ok();
        let settings = table.and_then(|table| serde_json::to_value(table).ok());
        let Some(Value::Object(settings)) = settings else { return Some(Content::Unreadable) };
        let settings = of_codex(settings, hooks);
        return (!settings.is_empty()).then_some(Content::Toml(settings));
    }
    let strict: Option<Value> = serde_json::from_str(&text).ok();
    let relaxed = strict.is_none();
    let settings = strict.or_else(|| {
        let value = jsonc_parser::parse_to_value(&text, &ParseOptions::default()).ok().flatten();
        value.and_then(plain)
    });
    let Some(Value::Object(mut settings)) = settings else { return Some(Content::Unreadable) };
    if part == Part::Keys {
        settings.retain(|key, _| KEYS.contains(&key.as_str()));
    }
    let Value::Object(settings) = harmless(settings.into(), hooks) else { return None };
    (!settings.is_empty()).then_some(Content::Json { settings, relaxed })
}

fn of_codex(mut settings: Map<String, Value>, hooks: &mut usize) -> Map<String, Value> {
    let mut kept = Map::new();
    if let Some(mut own) = settings.remove("hooks") {
        if let Value::Object(events) = &mut own {
            // Which hooks the user trusts, by their text, which is another here. A launch needs no trust.
            events.remove("state");
        }
        kept.insert("hooks".to_owned(), harmless(own, hooks));
    }
    if let Some(Value::Object(mut features)) = settings.remove("features") {
        features.retain(|name, value| name.contains("hook") && value.is_boolean());
        if !features.is_empty() {
            kept.insert("features".to_owned(), features.into());
        }
    }
    kept
}

/// A value of JSON with comments as one of JSON; `None` for a number that JSON has not.
fn plain(value: JsonValue<'_>) -> Option<Value> {
    Some(match value {
        JsonValue::String(text) => text.into_owned().into(),
        JsonValue::Number(text) => serde_json::from_str(text).ok()?,
        JsonValue::Boolean(is) => is.into(),
        JsonValue::Null => Value::Null,
        JsonValue::Array(items) => items.into_iter().map(plain).collect::<Option<_>>()?,
        JsonValue::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| Some((key.into_owned(), plain(value)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, part: Part) -> Option<Content> {
        content(text.as_bytes(), part, &mut 0)
    }

    fn json(settings: &Value, relaxed: bool) -> Content {
        Content::Json { settings: settings.as_object().unwrap().clone(), relaxed }
    }

    #[test]
    fn of_a_file_with_everything_only_hooks_are_taken() {
        let text = r#"{"env": {"KEY": "secret"}, "apiKeyHelper": "evil", "disableAllHooks": true, "hooks": {"Stop": []}}"#;
        let expected = json!({"disableAllHooks": true, "hooks": {"Stop": []}});
        assert_eq!(read(text, Part::Keys), Some(json(&expected, false)));
        assert_eq!(read(r#"{"env": {"KEY": "secret"}}"#, Part::Keys), None);
        assert_eq!(read(" \n", Part::Keys), None);
    }

    #[test]
    fn comments_and_trailing_commas_are_read_and_remembered() {
        let text =
            "{ // why\n \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\", \"timeout\": 5,}]}]} }";
        let expected = json!({"hooks": {"Stop": [{"hooks": [{"command": "true", "timeout": 5}]}]}});
        assert_eq!(read(text, Part::Keys), Some(json(&expected, true)));
    }

    #[test]
    fn a_file_of_hooks_keeps_its_root() {
        let text = r#"{"$schema": "https://example.org", "version": 1, "hooks": {}}"#;
        assert_eq!(
            read(text, Part::All),
            Some(json(&json!({"$schema": "true", "version": 1, "hooks": {}}), false))
        );
    }

    #[test]
    fn of_codexs_settings_hooks_and_their_features_are_taken() {
        let text = "model = \"m\"\nnotify = [\"evil\"]\n[features]\nhooks = false\nshell_tool = false\n\
                    [hooks.state.\"/h\"]\ntrusted_hash = \"abc\"\n\
                    [[hooks.Stop]]\nhooks = [{type = \"command\", command = \"evil\", timeout = 5}]\n";
        let expected = json!({
            "features": {"hooks": false},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}]},
        });
        let mut hooks = 0;
        let found = content(text.as_bytes(), Part::Toml, &mut hooks);
        assert_eq!(found, Some(Content::Toml(expected.as_object().unwrap().clone())));
        assert_eq!(hooks, 1);
        assert_eq!(read("model = \"m\"\n", Part::Toml), None);
    }

    #[test]
    fn what_cannot_be_read_stays_unreadable() {
        for (text, part) in
            [("{\"hooks\": ", Part::Keys), ("[]", Part::All), ("[not a { setting", Part::Toml)]
        {
            assert_eq!(read(text, part), Some(Content::Unreadable), "{text}");
        }
    }
}
