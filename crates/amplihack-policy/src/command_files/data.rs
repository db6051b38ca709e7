//! Commands in settings: JSON of hosts, editors and packages, and the heads of Markdown.

use serde_json::{Map, Value};

use super::EmbeddedCommand;
use super::yaml::YamlKeyValue;

/// Keys whose text is a command.
const COMMANDS: [&str; 18] = [
    "command",
    "cmd",
    "bash",
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "otelHeadersHelper",
    "discoveryCommand",
    "callCommand",
    "toolDiscoveryCommand",
    "toolCallCommand",
    "notify",
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
    "initializeCommand",
];

/// Deepest nesting of values that is searched.
const DEPTH: usize = 32;

/// Commands of hooks, servers, tasks and helpers, and variables that are set for what they start.
pub(super) fn settings_commands(text: &str) -> Vec<EmbeddedCommand> {
    let mut found = Vec::new();
    match parse_lenient(text) {
        Some(value) => walk_value(&value, 0, &mut found),
        None => found.extend(search_commands(text)),
    }
    found
}

/// The scripts of a `package.json`.
pub(super) fn package_scripts(text: &str) -> Vec<EmbeddedCommand> {
    let value = parse_lenient(text);
    let scripts = value.as_ref().and_then(|value| value.get("scripts")?.as_object());
    let scripts = scripts.into_iter().flatten();
    scripts.filter_map(|(name, script)| Some(EmbeddedCommand::new(name, script.as_str()?))).collect()
}

/// JSON, with the comments and commas that editors allow taken away where it needs that.
fn parse_lenient(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text).ok().or_else(|| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let plain = lines.join("\n");
        let mut tight = String::with_capacity(plain.len());
        for part in plain.split_inclusive(['}', ']']) {
            // The last part may end in any letter.
            let head = part.strip_suffix(['}', ']']).unwrap_or(part);
            let trimmed = if head.len() < part.len() { head.trim_end().strip_suffix(',') } else { None };
            tight.push_str(trimmed.unwrap_or(head));
            tight.push_str(&part[head.len()..]);
        }
        serde_json::from_str(&tight).ok()
    })
}

fn walk_value(value: &Value, depth: usize, found: &mut Vec<EmbeddedCommand>) {
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| walk_value(value, depth + 1, found)),
        Value::Object(map) => {
            for (name, value) in map {
                if COMMANDS.contains(&name.as_str()) {
                    found.extend(read_command(name, value, map));
                } else if matches!(name.as_str(), "env" | "environment") {
                    found.extend(export_commands(value));
                }
                walk_value(value, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// A command with the arguments beside it.
fn read_command(name: &str, value: &Value, beside: &Map<String, Value>) -> Option<EmbeddedCommand> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(shell_quoted).collect()
    };
    let script = match value {
        Value::String(text) => {
            let arguments = beside.get("args").map(words).unwrap_or_default();
            std::iter::once(text.clone()).chain(arguments).collect::<Vec<_>>().join(" ")
        }
        Value::Array(_) => words(value).join(" "),
        _ => return None,
    };
    (!script.trim().is_empty()).then(|| EmbeddedCommand::new(name, script))
}

fn export_commands(value: &Value) -> Vec<EmbeddedCommand> {
    let plain =
        |name: &str| !name.is_empty() && name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_');
    let set = value.as_object().into_iter().flatten().filter(|(name, _)| plain(name));
    let one = |(name, value): (&String, &Value)| {
        Some(EmbeddedCommand::new("env", format!("export {name}={}", shell_quoted(value.as_str()?))))
    };
    set.filter_map(one).collect()
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Commands of a text that is no JSON: whatever follows a key that holds one.
fn search_commands(text: &str) -> Vec<EmbeddedCommand> {
    let mut found = Vec::new();
    for name in COMMANDS {
        for rest in text.split(&format!("\"{name}\"")).skip(1) {
            let Some(rest) = rest.trim_start().strip_prefix(':').map(str::trim_start) else { continue };
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                found.extend(read_command(name, &value, &Map::new()));
            }
        }
    }
    found
}

/// Commands among the keys of a head, with arguments that stand beside them.
pub(super) fn of_entries(entries: &[YamlKeyValue]) -> Vec<EmbeddedCommand> {
    let mut found = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if !COMMANDS.contains(&entry.key.as_str()) {
            continue;
        }
        let beside = entries[at + 1..].iter().take_while(|next| next.indent >= entry.indent);
        let arguments = beside.take_while(|next| next.key != entry.key).filter(|next| next.key == "args");
        let script = std::iter::once(entry.value.clone())
            .chain(arguments.map(|next| shell_quoted(&next.value)))
            .collect::<Vec<_>>();
        found.push(EmbeddedCommand::new(&entry.key, script.join(" ")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        settings_commands(text).into_iter().map(|command| command.script).collect()
    }

    #[test]
    fn hooks_servers_and_variables_are_commands() {
        let text = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"touch a"}]}]},
            "mcpServers":{"s":{"command":"npx","args":["-y","it's"],"env":{"LD_PRELOAD":"./x.so"}}},
            "statusLine":{"type":"command","command":"~/s.sh"},"permissions":{"allow":["Bash(ls)"]}}"#;
        let mut found = all(text);
        found.sort();
        assert_eq!(found, ["export LD_PRELOAD='./x.so'", "npx '-y' 'it'\\''s'", "touch a", "~/s.sh"]);
        assert_eq!(all("// c\n{\"tasks\": [{\"command\": \"ls\",},],}"), ["ls"]);
        assert_eq!(all("{\"command\": \"rm x\", oops"), ["rm x"]);
        assert!(all("{\"name\": \"x\"}").is_empty());
        // What is no JSON may end in any letter.
        assert!(all("{\"a\": [1,],} \u{fffd}").is_empty());
    }

    #[test]
    fn scripts_have_names() {
        let found = package_scripts(r#"{"name":"p","scripts":{"build":"tsc","test":"jest"}}"#);
        assert_eq!(found, [EmbeddedCommand::new("build", "tsc"), EmbeddedCommand::new("test", "jest")]);
    }
}
