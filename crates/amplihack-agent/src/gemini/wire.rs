//! What is read of the lines of `gemini --output-format stream-json`.

use serde_json::value::RawValue;

use crate::decode::output::Output;
use crate::decode::wire::{Int, Str, record};
use crate::event::Totals;

record! {
    /// Any line.
    pub(super) struct Line<'a> {
        kind: Str<'a> = "type",
        session: Str<'a> = "session_id",
        model: Str<'a> = "model",
        role: Str<'a> = "role",
        content: Str<'a> = "content",
        tool: Str<'a> = "tool_name",
        call: Str<'a> = "tool_id",
        parameters: Option<&'a RawValue> = "parameters",
        status: Str<'a> = "status",
        output: Output<'a> = "output",
        message: Str<'a> = "message",
        error: Problem<'a> = "error",
        stats: Option<Counts> = "stats",
    }

    /// An error of a tool or of the run.
    pub(super) struct Problem<'a> {
        message: Str<'a> = "message",
    }

    /// What the run used; what was read from the cache is part of the input, and thinking is in the total only.
    pub(super) struct Counts {
        total: Int = "total_tokens",
        input: Int = "input_tokens",
        output: Int = "output_tokens",
        cached: Int = "cached",
        duration: Int = "duration_ms",
    }
}

impl Counts {
    /// The same amounts in the one model of all agents.
    pub(super) fn totals(&self) -> Totals {
        let input = self.input.count();
        let output = self.total.count().saturating_sub(input).max(self.output.count());
        Totals::of_whole_input(input, output, self.cached.count(), 0)
    }
}
