//! Codex's trust in hooks: it runs a hook only if its configuration holds the hash of exactly that hook.
//!
//! What Codex 0.171.0 was shown to do: the key is `FILE:EVENT:GROUP:HOOK`, the hash is SHA-256 over JSON with sorted keys of
//! the event, the matcher where the event has one, and the handler with its defaults filled in. A test asks the real Codex.

use std::path::Path;

use amplihack_config::edited_toml::as_before;
use amplihack_sys::hex::to_hex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, value};

use super::hooks::claude_event;
use super::{EditError, FoundHook, find_hooks};
use crate::event::HookEvent;

/// The state of a hook in Codex's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// Codex runs the hook.
    Trusted,
    /// The hook was never trusted: Codex skips it without a word.
    Untrusted,
    /// The hook was trusted, and changed since: Codex skips it without a word.
    Changed,
    /// The user switched the hook off.
    Disabled,
}

/// Key and hash of every hook of ours in `hooks`, the text of the file at `path`.
pub fn trust_entries(path: &Path, hooks: &str) -> Result<Vec<(String, String)>, EditError> {
    Ok(find_hooks(hooks)?.iter().filter_map(|found| trust_entry(path, found)).collect())
}

fn trust_entry(path: &Path, found: &FoundHook) -> Option<(String, String)> {
    let event = claude_event(&found.name)?;
    let (group, hook) = found.place;
    Some((format!("{}:{}:{group}:{hook}", path.display(), event_label(event)?), hash(event, found)?))
}

/// The event's name in keys and hashes.
fn event_label(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::SessionStart => "session_start",
        HookEvent::SessionStop => "session_end",
        HookEvent::UserPromptSubmit => "user_prompt_submit",
        HookEvent::PreToolUse => "pre_tool_use",
        HookEvent::PostToolUse => "post_tool_use",
        HookEvent::Stop => "stop",
        HookEvent::SubagentStop => "subagent_stop",
        HookEvent::PreCompact => "pre_compact",
        _ => return None,
    })
}

fn hash(event: HookEvent, found: &FoundHook) -> Option<String> {
    // What Codex takes for granted, and the least that it gives a hook.
    let timeout = match event {
        HookEvent::SessionStop => found.timeout.unwrap_or(3).clamp(1, 3),
        _ => found.timeout.unwrap_or(600).max(1),
    };
    let handler = json!({"async": false, "command": found.command, "timeout": timeout, "type": "command"});
    let mut identity = Map::new();
    identity.insert("event_name".to_owned(), event_label(event)?.into());
    identity.insert("hooks".to_owned(), json!([handler]));
    // These events have nothing that could be matched.
    if !matches!(event, HookEvent::UserPromptSubmit | HookEvent::Stop)
        && let Some(matcher) = &found.matcher
    {
        identity.insert("matcher".to_owned(), matcher.as_str().into());
    }
    Some(format!("sha256:{}", to_hex(Sha256::digest(sorted_json(&Value::Object(identity))))))
}

/// `value` without blanks, the keys of every object in their order.
fn sorted_json(value: &Value) -> String {
    match value {
        Value::Object(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().collect();
            pairs.sort_by_key(|(name, _)| *name);
            let pairs: Vec<String> = pairs
                .into_iter()
                .map(|(name, value)| format!("{}:{}", json!(name), sorted_json(value)))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(sorted_json).collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}

fn parse_document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| EditError::Syntax {
        line: error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1),
        why: error.message().lines().next().unwrap_or_default().to_owned(),
    })
}

/// The state of a hook by the text of Codex's configuration.
pub fn trust_state(config: &str, key: &str, hash: &str) -> Result<TrustState, EditError> {
    let document = parse_document(config)?;
    let entry = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(|state| state.get(key));
    let Some(entry) = entry else { return Ok(TrustState::Untrusted) };
    if entry.get("enabled").and_then(Item::as_bool) == Some(false) {
        return Ok(TrustState::Disabled);
    }
    Ok(match entry.get("trusted_hash").and_then(Item::as_str) {
        Some(found) if found == hash => TrustState::Trusted,
        Some(_) => TrustState::Changed,
        None => TrustState::Untrusted,
    })
}

pub(super) fn apply_trust(current: Option<&str>, entries: &[(String, String)]) -> Result<String, EditError> {
    let text = current.unwrap_or_default();
    let trusted = |(key, hash): &(String, String)| Ok(trust_state(text, key, hash)? == TrustState::Trusted);
    if entries.iter().map(trusted).collect::<Result<Vec<bool>, EditError>>()?.into_iter().all(|yes| yes) {
        return Ok(text.to_owned());
    }
    let mut document = parse_document(text)?;
    let shape = |what: &str| EditError::Shape { what: what.to_owned() };
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let hooks = document
        .entry("hooks")
        .or_insert_with(implicit)
        .as_table_like_mut()
        .ok_or_else(|| shape("something else than a table as hooks"))?;
    let state = hooks
        .entry("state")
        .or_insert_with(implicit)
        .as_table_like_mut()
        .ok_or_else(|| shape("something else than a table as hooks.state"))?;
    for (key, hash) in entries {
        let entry = state
            .entry(key)
            .or_insert_with(|| Item::Table(Table::new()))
            .as_table_like_mut()
            .ok_or_else(|| shape("something else than a table in hooks.state"))?;
        entry.insert("trusted_hash", value(hash));
    }
    Ok(as_before(document.to_string(), text))
}

pub(super) fn strip_trust(current: &str, entries: &[(String, String)]) -> Result<Option<String>, EditError> {
    let mut document = parse_document(current)?;
    let mut removed = false;
    if let Some(hooks) = document.get_mut("hooks") {
        let inline = hooks.is_inline_table();
        if let Some(hooks) = hooks.as_table_like_mut()
            && let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut)
        {
            for (key, hash) in entries {
                // Another hash is somebody else's trust in somebody else's hook.
                let ours = |entry: &Item| entry.get("trusted_hash").and_then(Item::as_str) == Some(hash);
                if state.get(key).is_some_and(ours) {
                    state.remove(key);
                    removed = true;
                }
            }
            // A table of ours without an entry is not written; within a user's `hooks = {}` it would be. A header that is there is the
            // user's, with the comment behind it.
            if removed && inline && state.is_empty() {
                hooks.remove("state");
            }
        }
    }
    if !removed {
        return Ok(Some(current.to_owned()));
    }
    let text = document.to_string();
    Ok((!text.trim().is_empty()).then(|| as_before(text, current)))
}
