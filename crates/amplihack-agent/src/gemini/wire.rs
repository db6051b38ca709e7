//! Fields that are read from the lines of `gemini --output-format stream-json`.

use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::wire::{WireInt, WireText, record};
use crate::event::UsageTotals;

record! {
    /// Any line.
    pub(super) struct GeminiLine<'a> {
        kind: WireText<'a> = "type",
        session: WireText<'a> = "session_id",
        model: WireText<'a> = "model",
        role: WireText<'a> = "role",
        content: WireText<'a> = "content",
        tool: WireText<'a> = "tool_name",
        call: WireText<'a> = "tool_id",
        parameters: Option<&'a RawValue> = "parameters",
        status: WireText<'a> = "status",
        output: WireToolOutput<'a> = "output",
        message: WireText<'a> = "message",
        severity: WireText<'a> = "severity",
        error: GeminiProblem<'a> = "error",
        stats: Option<GeminiRunCounts> = "stats",
    }

    /// An error of a tool or of the run.
    pub(super) struct GeminiProblem<'a> {
        kind: WireText<'a> = "type",
        message: WireText<'a> = "message",
    }

    /// Arguments of a call that starts a nested agent, or that replaces text.
    pub(super) struct GeminiCallWords<'a> {
        agent: WireText<'a> = "agent_name",
        prompt: WireText<'a> = "prompt",
        old: WireText<'a> = "old_string",
    }

    /// Tokens of the run; what was read from the cache is part of the input, and thinking is in the total only.
    pub(super) struct GeminiRunCounts {
        total: WireInt = "total_tokens",
        input: WireInt = "input_tokens",
        output: WireInt = "output_tokens",
        cached: WireInt = "cached",
        duration: WireInt = "duration_ms",
    }
}

impl GeminiRunCounts {
    /// Returns these amounts in the one model of all agents.
    pub(super) fn to_totals(&self) -> UsageTotals {
        let input = self.input.count_or_zero();
        let said = self.output.count_or_zero();
        let output = self.total.count_or_zero().saturating_sub(input).max(said);
        UsageTotals {
            reasoning_tokens: self.total.as_count().map(|_| output - said),
            ..UsageTotals::of_whole_input(input, output, self.cached.count_or_zero(), 0)
        }
    }
}
