//! The part of an agent's settings file that is about hooks.

use jsonc_parser::{JsonValue, ParseOptions};
use serde_json::{Map, Value};

use super::harmless::make_harmless;

/// The part of a file that is about hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnHooksPart {
    /// All of a JSON file.
    All,
    /// The keys [`KEYS`] of a JSON file.
    Keys,
    /// The keys [`KEYS`] of a TOML file, and features that have to do with hooks.
    Toml,
}

/// A file's part on hooks, without a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OwnHooksContent {
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
pub(super) fn hooks_content(bytes: &[u8], part: OwnHooksPart, hooks: &mut usize) -> Option<OwnHooksContent> {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return None;
    }
    if part == OwnHooksPart::Toml {
        // By way of JSON: there is one place that knows what is harmless.
        let table: Option<toml::Table> = toml::from_str(&text).ok();
        let settings = table.and_then(|table| serde_json::to_value(table).ok());
        let Some(Value::Object(settings)) = settings else { return Some(OwnHooksContent::Unreadable) };
        let settings = codex_settings(settings, hooks);
        return (!settings.is_empty()).then_some(OwnHooksContent::Toml(settings));
    }
    let strict: Option<Value> = serde_json::from_str(&text).ok();
    let relaxed = strict.is_none();
    let settings = strict.or_else(|| {
        let value = jsonc_parser::parse_to_value(&text, &ParseOptions::default()).ok().flatten();
        value.and_then(strict_value)
    });
    let Some(Value::Object(mut settings)) = settings else { return Some(OwnHooksContent::Unreadable) };
    if part == OwnHooksPart::Keys {
        settings.retain(|key, _| KEYS.contains(&key.as_str()));
    }
    let Value::Object(settings) = make_harmless(settings.into(), hooks) else { return None };
    (!settings.is_empty()).then_some(OwnHooksContent::Json { settings, relaxed })
}

fn codex_settings(mut settings: Map<String, Value>, hooks: &mut usize) -> Map<String, Value> {
    let mut kept = Map::new();
    if let Some(mut own) = settings.remove("hooks") {
        if let Value::Object(events) = &mut own {
            // Which hooks the user trusts, by their text, which is another here. A launch needs no trust.
            events.remove("state");
        }
        kept.insert("hooks".to_owned(), make_harmless(own, hooks));
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
fn strict_value(value: JsonValue<'_>) -> Option<Value> {
    Some(match value {
        JsonValue::String(text) => text.into_owned().into(),
        JsonValue::Number(text) => serde_json::from_str(text).ok()?,
        JsonValue::Boolean(is) => is.into(),
        JsonValue::Null => Value::Null,
        JsonValue::Array(items) => items.into_iter().map(strict_value).collect::<Option<_>>()?,
        JsonValue::Object(fields) => {
            let fields =
                fields.into_iter().map(|(key, value)| Some((key.into_owned(), strict_value(value)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, part: OwnHooksPart) -> Option<OwnHooksContent> {
        hooks_content(text.as_bytes(), part, &mut 0)
    }

    fn json(settings: &Value, relaxed: bool) -> OwnHooksContent {
        OwnHooksContent::Json { settings: settings.as_object().unwrap().clone(), relaxed }
    }

    #[test]
    fn of_a_file_with_everything_only_hooks_are_taken() {
        let text = r#"{"env": {"KEY": "secret"}, "apiKeyHelper": "evil", "disableAllHooks": true, "hooks": {"Stop": []}}"#;
        let expected = json!({"disableAllHooks": true, "hooks": {"Stop": []}});
        assert_eq!(read(text, OwnHooksPart::Keys), Some(json(&expected, false)));
        assert_eq!(read(r#"{"env": {"KEY": "secret"}}"#, OwnHooksPart::Keys), None);
        assert_eq!(read(" \n", OwnHooksPart::Keys), None);
    }

    #[test]
    fn comments_and_trailing_commas_are_read_and_remembered() {
        let text =
            "{ // why\n \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\", \"timeout\": 5,}]}]} }";
        let expected = json!({"hooks": {"Stop": [{"hooks": [{"command": "true", "timeout": 5}]}]}});
        assert_eq!(read(text, OwnHooksPart::Keys), Some(json(&expected, true)));
    }

    #[test]
    fn a_file_of_hooks_keeps_its_root() {
        let text = r#"{"$schema": "https://example.org", "version": 1, "hooks": {}}"#;
        assert_eq!(
            read(text, OwnHooksPart::All),
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
        let found = hooks_content(text.as_bytes(), OwnHooksPart::Toml, &mut hooks);
        assert_eq!(found, Some(OwnHooksContent::Toml(expected.as_object().unwrap().clone())));
        assert_eq!(hooks, 1);
        assert_eq!(read("model = \"m\"\n", OwnHooksPart::Toml), None);
    }

    #[test]
    fn what_cannot_be_read_stays_unreadable() {
        for (text, part) in [
            ("{\"hooks\": ", OwnHooksPart::Keys),
            ("[]", OwnHooksPart::All),
            ("[not a { setting", OwnHooksPart::Toml),
        ] {
            assert_eq!(read(text, part), Some(OwnHooksContent::Unreadable), "{text}");
        }
    }
}
