//! Amp's `amp.permissions`: rules in order, globs over whole arguments. `*` crosses everything, nothing else is special.

use amplihack_verdict::Decision;
use serde_json::{Value, json};

use super::call::{PermissionCall, matches_glob};
use super::{ExportEntry, ExportSubject, NativeRule, PermissionLanguage};

pub(super) static LANGUAGE: PermissionLanguage = PermissionLanguage {
    place: "amp.permissions in Amp's settings.json, before rules that allow",
    patterns: amp_patterns,
    text: render_amp_settings,
    matches: matches_amp_pattern,
};

fn amp_patterns(entry: &ExportEntry) -> Vec<String> {
    let action = if entry.decision == Decision::Deny { "reject" } else { "ask" };
    let rule = |tool: &str, key: &str, globs: Vec<String>| {
        vec![json!({ "tool": tool, "action": action, "matches": { key: globs } }).to_string()]
    };
    let shell = |globs: Vec<String>, plain: &str| {
        // A star would be a wildcard, and a slash in front would begin a regular expression.
        if plain.contains('*') || plain.starts_with('/') { Vec::new() } else { rule("Bash", "cmd", globs) }
    };
    match &entry.what {
        ExportSubject::Exactly(words) => shell(vec![words.join(" ")], &words.join(" ")),
        ExportSubject::Words(words) => {
            let text = words.join(" ");
            shell(vec![text.clone(), format!("{text} *")], &text)
        }
        ExportSubject::Text(text) => shell(vec![format!("{text}*")], text),
        ExportSubject::Read(path) => rule("Read", "path", vec![whole_path(path)]),
        ExportSubject::Write(path) => rule("{create_file,edit_file}", "path", vec![whole_path(path)]),
        ExportSubject::Fetch(host) => {
            let of = |scheme: &str| {
                vec![
                    format!("{scheme}://{host}"),
                    format!("{scheme}://{host}/*"),
                    format!("{scheme}://{host}:*"),
                ]
            };
            rule("read_web_page", "url", [of("http"), of("https")].concat())
        }
    }
}

/// A path of the home, or of a directory, wherever that is. An absolute one would be a regular expression if it ended in a slash.
fn whole_path(path: &str) -> String {
    let path = path.strip_suffix("/**").map_or_else(|| path.to_owned(), |dir| format!("{dir}/*"));
    match path.strip_prefix("~/") {
        Some(rest) => format!("*/{rest}"),
        None if path.starts_with('/') => path,
        None => format!("*{path}"),
    }
}

fn render_amp_settings(rules: &[NativeRule]) -> String {
    let rules: Vec<Value> =
        rules.iter().filter_map(|rule| serde_json::from_str(&rule.pattern).ok()).collect();
    format!("{:#}\n", json!({ "amp.permissions": rules }))
}

fn matches_amp_pattern(pattern: &str, call: &PermissionCall<'_>) -> bool {
    let Ok(rule) = serde_json::from_str::<Value>(pattern) else { return false };
    let globs = |key: &str| rule["matches"][key].as_array().cloned().unwrap_or_default();
    let any = |key: &str, text: &str| {
        globs(key).iter().filter_map(Value::as_str).any(|pattern| matches_glob(pattern, text))
    };
    match (rule["tool"].as_str(), call) {
        (Some("Bash"), PermissionCall::Shell(script, _)) => any("cmd", script),
        (Some("Read"), PermissionCall::Read(path))
        | (Some("{create_file,edit_file}"), PermissionCall::Write(path)) => {
            any("path", &path.to_string_lossy())
        }
        (Some("read_web_page"), PermissionCall::Fetch(url, _)) => any("url", url),
        _ => false,
    }
}
