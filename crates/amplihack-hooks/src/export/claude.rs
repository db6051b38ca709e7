//! Claude Code's `permissions`: `Bash(words:*)`, `Read(path)`, `Edit(path)`, `WebFetch(domain:host)`.

use std::path::Path;

use amplihack_verdict::Decision;
use serde_json::json;

use super::call::{PermissionCall, begins_with_words, matches_glob};
use super::{ExportEntry, ExportSubject, NativeRule, PermissionLanguage};

pub(super) static LANGUAGE: PermissionLanguage = PermissionLanguage {
    place: "~/.claude/settings.json; rules there join those of other settings files",
    patterns: claude_patterns,
    text: render_claude_settings,
    matches: matches_claude_rule,
};

fn claude_patterns(entry: &ExportEntry) -> Vec<String> {
    // What has a star would be a wildcard, and a bracket would end the rule.
    let plain = |text: &str| !text.contains(['*', '(', ')']);
    let shell =
        |text: String, end: &str| if plain(&text) { vec![format!("Bash({text}{end})")] } else { Vec::new() };
    match &entry.what {
        ExportSubject::Exactly(words) => shell(words.join(" "), ""),
        ExportSubject::Words(words) => shell(words.join(" "), ":*"),
        ExportSubject::Text(text) => shell(text.clone(), "*"),
        ExportSubject::Read(path) => vec![format!("Read({})", rule_path(path))],
        ExportSubject::Write(path) => vec![format!("Edit({})", rule_path(path))],
        ExportSubject::Fetch(host) => vec![format!("WebFetch(domain:{host})")],
    }
}

/// `path` with a second slash if it is absolute: a single one at the front would be the settings file's directory.
fn rule_path(path: &str) -> String {
    if path.starts_with('/') { format!("/{path}") } else { path.to_owned() }
}

fn render_claude_settings(rules: &[NativeRule]) -> String {
    let list = |decision| {
        let of = rules.iter().filter(|rule| rule.decision == decision);
        of.map(|rule| rule.pattern.as_str()).collect::<Vec<_>>()
    };
    let permissions = json!({ "permissions": { "deny": list(Decision::Deny), "ask": list(Decision::Ask) } });
    format!("{permissions:#}\n")
}

/// A command rule is held against each command of a script by its text. In paths only `~/` and `/**` are used here.
fn matches_claude_rule(pattern: &str, call: &PermissionCall<'_>) -> bool {
    let Some((tool, rest)) = pattern.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return false;
    };
    match (tool, call) {
        ("Bash", PermissionCall::Shell(..)) => {
            call.script_commands().iter().any(|part| match rest.strip_suffix(":*") {
                Some(begin) => begins_with_words(&part.text, begin),
                None => matches_glob(rest, &part.text),
            })
        }
        ("Read", PermissionCall::Read(path)) | ("Edit", PermissionCall::Write(path)) => {
            matches_path(rest, path)
        }
        ("WebFetch", PermissionCall::Fetch(_, host)) => rest.strip_prefix("domain:") == Some(host),
        _ => false,
    }
}

/// The home and the directory are those of the policy's examples, as in every sample.
fn matches_path(pattern: &str, path: &Path) -> bool {
    use amplihack_policy::rules::ExampleWorld as World;
    let pattern = match pattern.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", World::HOME),
        None => pattern.strip_prefix('/').map_or_else(|| format!("{}/{pattern}", World::CWD), str::to_owned),
    };
    let path = Path::new(World::CWD).join(path);
    match pattern.strip_suffix("/**") {
        Some(dir) => path.starts_with(dir) && path != Path::new(dir),
        None => path == Path::new(&pattern),
    }
}
