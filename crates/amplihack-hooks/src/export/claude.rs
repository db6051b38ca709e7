//! Claude Code's `permissions`: `Bash(words:*)`, `Read(path)`, `Edit(path)`, `WebFetch(domain:host)`.

use std::path::Path;

use amplihack_policy::Decision;
use serde_json::json;

use super::call::{Call, begins, glob};
use super::{Entry, Language, Native, What};

pub(super) static LANGUAGE: Language = Language {
    place: "~/.claude/settings.json; rules there join those of other settings files",
    patterns,
    text,
    matches,
};

fn patterns(entry: &Entry) -> Vec<String> {
    // What has a star would be a wildcard, and a bracket would end the rule.
    let plain = |text: &str| !text.contains(['*', '(', ')']);
    let shell =
        |text: String, end: &str| if plain(&text) { vec![format!("Bash({text}{end})")] } else { Vec::new() };
    match &entry.what {
        What::Exactly(words) => shell(words.join(" "), ""),
        What::Words(words) => shell(words.join(" "), ":*"),
        What::Text(text) => shell(text.clone(), "*"),
        What::Read(path) => vec![format!("Read({})", absolute(path))],
        What::Write(path) => vec![format!("Edit({})", absolute(path))],
        What::Fetch(host) => vec![format!("WebFetch(domain:{host})")],
    }
}

/// One slash at the front would be the settings file's directory.
fn absolute(path: &str) -> String {
    if path.starts_with('/') { format!("/{path}") } else { path.to_owned() }
}

fn text(rules: &[Native]) -> String {
    let list = |decision| {
        let of = rules.iter().filter(|rule| rule.decision == decision);
        of.map(|rule| rule.pattern.as_str()).collect::<Vec<_>>()
    };
    let permissions = json!({ "permissions": { "deny": list(Decision::Deny), "ask": list(Decision::Ask) } });
    format!("{permissions:#}\n")
}

/// A command rule is held against each command of a script by its text. In paths only `~/` and `/**` are used here.
fn matches(pattern: &str, call: &Call<'_>) -> bool {
    let Some((tool, rest)) = pattern.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return false;
    };
    match (tool, call) {
        ("Bash", Call::Shell(..)) => call.parts().iter().any(|part| match rest.strip_suffix(":*") {
            Some(begin) => begins(&part.text, begin),
            None => glob(rest, &part.text),
        }),
        ("Read", Call::Read(path)) | ("Edit", Call::Write(path)) => file(rest, path),
        ("WebFetch", Call::Fetch(_, host)) => rest.strip_prefix("domain:") == Some(host),
        _ => false,
    }
}

/// The home and the directory are those of the policy's examples, as in every sample.
fn file(pattern: &str, path: &Path) -> bool {
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
