//! What is read of the lines of `codex exec --json`.

use serde_json::value::RawValue;

use crate::decode::output::Output;
use crate::decode::wire::{Int, Str, record, whole_input};
use crate::event::Totals;

record! {
    /// Any line.
    pub(super) struct Line<'a> {
        kind: Str<'a> = "type",
        thread: Str<'a> = "thread_id",
        item: Item<'a> = "item",
        usage: Option<Counts> = "usage",
        error: Problem<'a> = "error",
        message: Str<'a> = "message",
    }

    /// Something that happens in a turn. The item of a web search has its id twice; either will do.
    pub(super) struct Item<'a> {
        id: Str<'a> = "id",
        kind: Str<'a> = "type",
        text: Str<'a> = "text",
        message: Str<'a> = "message",
        status: Str<'a> = "status",
        command: Option<&'a RawValue> = "command",
        output: Str<'a> = "aggregated_output",
        exit_code: Int = "exit_code",
        changes: Option<&'a RawValue> = "changes",
        server: Str<'a> = "server",
        tool: Str<'a> = "tool",
        arguments: Option<&'a RawValue> = "arguments",
        result: Answer<'a> = "result",
        error: Problem<'a> = "error",
        query: Option<&'a RawValue> = "query",
        action: Option<&'a RawValue> = "action",
        prompt: Option<&'a RawValue> = "prompt",
        receivers: Option<&'a RawValue> = "receiver_thread_ids",
        states: Option<&'a RawValue> = "agents_states",
    }

    /// What an MCP server gave back.
    pub(super) struct Answer<'a> {
        content: Output<'a> = "content",
    }

    /// An error.
    pub(super) struct Problem<'a> {
        message: Str<'a> = "message",
    }

    /// Tokens; what was read from and written to the cache is part of the input.
    pub(super) struct Counts {
        input: Int = "input_tokens",
        cache_read: Int = "cached_input_tokens",
        cache_write: Int = "cache_write_input_tokens",
        output: Int = "output_tokens",
    }
}

impl Counts {
    /// The same amounts in the one model of all agents.
    pub(super) fn totals(&self) -> Totals {
        whole_input(self.input, self.output, self.cache_read, self.cache_write)
    }
}
