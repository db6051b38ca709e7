//! Codex's items that are calls of tools, and their answers.

use serde_json::value::RawValue;

use super::script::shell_script;
use super::wire::{CodexItem, CodexWebAction, file_changes};
use crate::decode::tools::{describe_call, settle_exit};
use crate::decode::wire::json_text;
use crate::event::{AgentToolKind, EventJson, ToolCall, ToolLocation, ToolResult};

/// Kinds of the tools, by name.
const KINDS: &[(&str, AgentToolKind)] = &[
    ("command_execution", AgentToolKind::Execute),
    ("file_change", AgentToolKind::Edit),
    ("web_search", AgentToolKind::Search),
    ("mcp__*", AgentToolKind::Mcp),
];

/// Reports whether `item` is a search whose words are not known yet: Codex tells them when it has searched.
pub(super) fn is_search_begun(item: &CodexItem<'_>) -> bool {
    item.kind.text() == "web_search" && search_words(item).is_none()
}

/// The call that `item` is, if it is one.
pub(super) fn described_call(item: &CodexItem<'_>) -> Option<ToolCall> {
    let kind = item.kind.text();
    let input = match kind {
        "command_execution" => fields_object(&[("command", item.command)]),
        "file_change" => fields_object(&[("changes", item.changes)]),
        "web_search" => fields_object(&[("query", item.query), ("action", item.action)]),
        "collab_tool_call" => {
            fields_object(&[("prompt", item.prompt), ("receiver_thread_ids", item.receivers)])
        }
        "mcp_tool_call" => item.arguments.map(EventJson::from).unwrap_or_default(),
        _ => return None,
    };
    let name = match kind {
        "mcp_tool_call" => format!("mcp__{}__{}", item.server.text(), item.tool.text()),
        "collab_tool_call" => item.tool.text().to_owned(),
        kind => kind.to_owned(),
    };
    let mut call = ToolCall::new(item.id.text(), name, input);
    match kind {
        "command_execution" => {
            call.command = item.command.and_then(json_text).as_deref().and_then(shell_script);
        }
        "web_search" => call.query = search_words(item),
        "collab_tool_call" => call.kind = AgentToolKind::Agent,
        "file_change" => {
            let changes = item.changes.map(file_changes).unwrap_or_default();
            call.locations = changes.into_iter().map(|change| ToolLocation::new(change.path)).collect();
        }
        _ => {}
    }
    describe_call(&mut call, KINDS);
    Some(call)
}

/// The result of a call.
pub(super) fn answer_result(item: CodexItem<'_>) -> ToolResult {
    let words = (item.kind.text() == "web_search").then(|| search_words(&item)).flatten();
    let problem = item.error.message.into_option();
    let failed = matches!(item.status.text(), "failed" | "declined") || problem.is_some();
    let (output, images) = match (item.kind.text(), item.states) {
        ("mcp_tool_call", _) => {
            let (text, images) = item.result.content.into_parts();
            (problem.unwrap_or(text), images)
        }
        ("collab_tool_call", Some(states)) => (states.get().to_owned(), Vec::new()),
        // What was found goes to the model only.
        ("web_search", _) => (words.unwrap_or_default(), Vec::new()),
        _ => (item.output.into_string(), Vec::new()),
    };
    // A patch that failed changed nothing.
    let changes = item.changes.filter(|_| !failed).map(file_changes).unwrap_or_default();
    let mut result =
        ToolResult { is_error: failed, changes, images, ..ToolResult::new(item.id.into_string(), output) };
    settle_exit(&mut result, item.exit_code.0);
    result
}

/// The words that a search is for, or the page that it opens.
fn search_words(item: &CodexItem<'_>) -> Option<String> {
    let action: CodexWebAction<'_> =
        item.action.and_then(|action| serde_json::from_str(action.get()).ok()).unwrap_or_default();
    let words = [item.query.and_then(json_text), action.query.into_option(), action.url.into_option()];
    words.into_iter().flatten().chain(action.pattern.into_option()).find(|words| !words.is_empty())
}

/// An object of the fields that are there, each in its own text.
fn fields_object(fields: &[(&str, Option<&RawValue>)]) -> EventJson {
    let there: Vec<String> =
        fields.iter().filter_map(|(name, value)| Some(format!("\"{name}\":{}", (*value)?.get()))).collect();
    RawValue::from_string(format!("{{{}}}", there.join(","))).map(EventJson::from).unwrap_or_default()
}
