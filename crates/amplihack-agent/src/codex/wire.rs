//! Fields that are read from the lines of `codex exec --json`.

use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::plan::WirePlanEntry;
use crate::decode::wire::{WireEntries, WireInt, WireList, WireText, record, whole_input};
use crate::event::{AgentFileChange, FileChangeKind, UsageTotals};

record! {
    /// Any line.
    pub(super) struct CodexLine<'a> {
        kind: WireText<'a> = "type",
        thread: WireText<'a> = "thread_id",
        item: CodexItem<'a> = "item",
        usage: Option<CodexTokenCounts> = "usage",
        error: CodexProblem<'a> = "error",
        message: WireText<'a> = "message",
    }

    /// Something that happens in a turn. The item of a web search has its id twice; either will do.
    pub(super) struct CodexItem<'a> {
        id: WireText<'a> = "id",
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        message: WireText<'a> = "message",
        status: WireText<'a> = "status",
        command: Option<&'a RawValue> = "command",
        output: WireText<'a> = "aggregated_output",
        exit_code: WireInt = "exit_code",
        changes: Option<&'a RawValue> = "changes",
        server: WireText<'a> = "server",
        tool: WireText<'a> = "tool",
        arguments: Option<&'a RawValue> = "arguments",
        result: CodexToolAnswer<'a> = "result",
        error: CodexProblem<'a> = "error",
        query: Option<&'a RawValue> = "query",
        action: Option<&'a RawValue> = "action",
        prompt: Option<&'a RawValue> = "prompt",
        receivers: Option<&'a RawValue> = "receiver_thread_ids",
        states: Option<&'a RawValue> = "agents_states",
        todos: WireList<WirePlanEntry<'a>> = "items",
    }

    /// A file of a patch.
    pub(super) struct CodexChange<'a> {
        path: WireText<'a> = "path",
        kind: WireText<'a> = "kind",
    }

    /// Step of a web search.
    pub(super) struct CodexWebAction<'a> {
        query: WireText<'a> = "query",
        url: WireText<'a> = "url",
        pattern: WireText<'a> = "pattern",
    }

    /// State of a nested agent.
    pub(super) struct CodexAgentState<'a> {
        status: WireText<'a> = "status",
        message: WireText<'a> = "message",
    }

    /// Answer of an MCP server.
    pub(super) struct CodexToolAnswer<'a> {
        content: WireToolOutput<'a> = "content",
    }

    /// An error.
    pub(super) struct CodexProblem<'a> {
        message: WireText<'a> = "message",
    }

    /// Tokens; what was read from and written to the cache is part of the input.
    pub(super) struct CodexTokenCounts {
        input: WireInt = "input_tokens",
        cache_read: WireInt = "cached_input_tokens",
        cache_write: WireInt = "cache_write_input_tokens",
        output: WireInt = "output_tokens",
        reasoning: WireInt = "reasoning_output_tokens",
    }
}

impl CodexTokenCounts {
    /// Returns these amounts in the one model of all agents.
    pub(super) fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            reasoning_tokens: self.reasoning.as_count(),
            ..whole_input(self.input, self.output, self.cache_read, self.cache_write)
        }
    }
}

/// The nested agents' states in `json`, by thread.
pub(super) fn agent_states(json: &RawValue) -> Vec<(String, CodexAgentState<'_>)> {
    serde_json::from_str::<WireEntries<CodexAgentState<'_>>>(json.get()).unwrap_or_default().0
}

/// The texts of the list in `json`.
pub(super) fn text_list(json: &RawValue) -> Vec<String> {
    serde_json::from_str::<WireList<WireText<'_>>>(json.get()).unwrap_or_default().into_texts()
}

/// The files of a patch.
pub(super) fn file_changes(json: &RawValue) -> Vec<AgentFileChange> {
    let list = serde_json::from_str::<WireList<CodexChange<'_>>>(json.get()).unwrap_or_default();
    let change = |change: CodexChange<'_>| {
        let kind = match change.kind.text() {
            "add" => FileChangeKind::Add,
            "delete" => FileChangeKind::Delete,
            "update" => FileChangeKind::Update,
            _ => FileChangeKind::Other,
        };
        AgentFileChange::new(change.path.into_string(), kind)
    };
    list.0.into_iter().map(change).collect()
}
