//! Hooks in Claude's format, which Claude Code's settings and Codex's `hooks.json` share.

use amplihack_config::agent_binary::AgentBinary;
use jsonc_parser::cst::{CstNode, CstObject};
use serde_json::{Value, json};

use super::json::{is_bare, list_or_create, parse_tree, parse_value, root_object, to_cst_input};
use super::{EditError, RegisteredCommand};
use crate::event::HookEvent;
use crate::host::hook_host;
use crate::registration::HookRegistration;

/// A command of ours that a text registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHook {
    /// The program and the event.
    pub registered: RegisteredCommand,
    /// The whole command.
    pub command: String,
    /// Seconds.
    pub timeout: Option<u64>,
    /// The event's name in the text.
    pub name: String,
    /// The place of its group among the event's groups, and its own in the group.
    pub place: (usize, usize),
    /// The matcher of the group; `None` if it has none.
    pub matcher: Option<String>,
}

/// The commands of ours in a text in Claude's format.
pub fn find_hooks(text: &str) -> Result<Vec<FoundHook>, EditError> {
    let value = parse_value(text)?;
    let mut all = Vec::new();
    for (name, groups) in value["hooks"].as_object().into_iter().flatten() {
        for (outer, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (inner, hook) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                let Some(command) = hook["command"].as_str() else { continue };
                let Some(registered) = RegisteredCommand::parse(command) else { continue };
                all.push(FoundHook {
                    registered,
                    command: command.to_owned(),
                    timeout: hook["timeout"].as_u64(),
                    name: name.clone(),
                    place: (outer, inner),
                    matcher: group["matcher"].as_str().map(str::to_owned),
                });
            }
        }
    }
    Ok(all)
}

/// The group that one hook of ours is.
fn hook_group(hook: &HookRegistration) -> Value {
    let one = json!({"type": "command", "command": hook.command, "timeout": hook.timeout});
    json!({"matcher": "*", "hooks": [one]})
}

/// Reports whether exactly these hooks are registered already, each once and in its event.
fn are_registered(text: &str, hooks: &[HookRegistration]) -> Result<bool, EditError> {
    let found = find_hooks(text)?;
    let same = |hook: &HookRegistration| {
        let fits = |found: &&FoundHook| {
            found.command == hook.command
                && found.timeout == Some(hook.timeout.into())
                && found.matcher.as_deref() == Some("*")
                && hook.name == found.name
        };
        found.iter().filter(fits).count() == 1
    };
    Ok(found.len() == hooks.len() && hooks.iter().all(same))
}

pub(super) fn apply_hooks(
    current: Option<&str>,
    agent: AgentBinary,
    hooks: &[HookRegistration],
) -> Result<String, EditError> {
    let text = current.unwrap_or_default();
    if !are_registered(text, hooks)? {
        let text = put_hooks(text, hooks)?;
        // Of a file that is not plain JSON some hosts read no hooks; repeated keys hide what was put in.
        if hook_host(agent).is_ok_and(|host| host.plain_json) {
            serde_json::from_str::<Value>(&text).map_err(|error| EditError::Syntax {
                line: error.line(),
                why: format!("{agent} takes no comments and no trailing commas here"),
            })?;
        }
        if !are_registered(&text, hooks)? {
            return Err(EditError::Shape { what: "one of its keys twice".to_owned() });
        }
        return Ok(text);
    }
    Ok(text.to_owned())
}

fn put_hooks(text: &str, hooks: &[HookRegistration]) -> Result<String, EditError> {
    let fresh = text.trim().is_empty();
    let root = parse_tree(text)?;
    let object = root_object(&root)?;
    let names: Vec<&str> = hooks.iter().filter_map(|hook| hook.event.claude_name()).collect();
    remove_ours(&object, &names)?;
    let events = object
        .object_value_or_create("hooks")
        .ok_or_else(|| EditError::Shape { what: "something else than an object as hooks".to_owned() })?;
    for hook in hooks {
        let groups = list_or_create(&events, hook.name)?;
        groups.ensure_multiline();
        groups.append(to_cst_input(&hook_group(hook)));
    }
    let mut text = root.to_string();
    if fresh && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

pub(super) fn strip_hooks(current: &str) -> Result<Option<String>, EditError> {
    if find_hooks(current)?.is_empty() {
        return Ok(Some(current.to_owned()));
    }
    let root = parse_tree(current)?;
    remove_ours(&root_object(&root)?, &[])?;
    let text = root.to_string();
    Ok((!is_bare(&text)).then_some(text))
}

/// Takes our commands out, and what is empty then and held something before: but for the events `wanted`, which get new ones in their places.
fn remove_ours(object: &CstObject, wanted: &[&str]) -> Result<(), EditError> {
    let Some(hooks) = object.get("hooks") else { return Ok(()) };
    let shape = |what: &str| EditError::Shape { what: what.to_owned() };
    let events = hooks.object_value().ok_or_else(|| shape("something else than an object as hooks"))?;
    let mut removed = false;
    for event in events.properties() {
        // Somebody else's shape is not ours to judge.
        let Some(groups) = event.array_value() else { continue };
        let mut here = false;
        for group in groups.elements() {
            here |= remove_from_group(&group);
        }
        removed |= here;
        let stays = event.decoded_name().is_some_and(|name| wanted.contains(&name.as_str()));
        // A comment is the user's, even in an empty list.
        let is_empty = groups.elements().is_empty() && !groups.children().iter().any(CstNode::is_comment);
        if here && !stays && is_empty {
            event.remove();
        }
    }
    if wanted.is_empty() && removed && events.properties().is_empty() {
        hooks.remove();
    }
    Ok(())
}

/// Removes our commands from the group and reports whether there were any; a group that held nothing else goes whole.
fn remove_from_group(group: &CstNode) -> bool {
    let Some(hooks) = group.as_object().and_then(|group| group.array_value("hooks")) else { return false };
    let ours = |hook: &CstNode| {
        let command = hook.as_object()?.get("command")?.value()?.as_string_lit()?.decoded_value().ok()?;
        RegisteredCommand::parse(&command)
    };
    let (ours, theirs): (Vec<CstNode>, Vec<CstNode>) =
        hooks.elements().into_iter().partition(|hook| ours(hook).is_some());
    let any = !ours.is_empty();
    if any && theirs.is_empty() {
        group.clone().remove();
    } else {
        ours.into_iter().for_each(CstNode::remove);
    }
    any
}

/// The event of a name in Claude's format.
pub(super) fn claude_event(name: &str) -> Option<HookEvent> {
    [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PermissionRequest,
        HookEvent::PostToolUse,
        HookEvent::Stop,
        HookEvent::SubagentStop,
        HookEvent::PreCompact,
        HookEvent::SessionStop,
    ]
    .into_iter()
    .find(|event| event.claude_name() == Some(name))
}
