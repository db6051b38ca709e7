//! Fields of Claude Code's record of its end.

use serde_json::value::RawValue;

use super::{ClaudeOrigin, ClaudeTokenCounts};
use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, WireValues, record};
use crate::event::UsageTotals;

record! {
    /// The agent's record of its end.
    pub(in super::super) struct ClaudeEndRecord<'a> {
        subtype: WireText<'a> = "subtype",
        is_error: WireFlag = "is_error",
        result: WireText<'a> = "result",
        structured: Option<&'a RawValue> = "structured_output",
        origin: Option<ClaudeOrigin<'a>> = "origin",
        queued: WireInt = "queued_turn_count",
        stop_reason: WireText<'a> = "stop_reason",
        errors: WireList<WireText<'a>> = "errors",
        reason: WireText<'a> = "terminal_reason",
        api_status: WireInt = "api_error_status",
        session: WireText<'a> = "session_id",
        turns: WireInt = "num_turns",
        duration: WireInt = "duration_ms",
        cost: WireReal = "total_cost_usd",
        usage: Option<ClaudeTokenCounts> = "usage",
        models: Option<WireValues<ModelCounts>> = "modelUsage",
        models_since: Option<WireValues<ModelCounts>> = "model_usage_since_last_result",
        denials: WireList<ClaudeToolDenial<'a>> = "permission_denials",
    }

    /// Tokens and cost of one model.
    pub(in super::super) struct ModelCounts {
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadInputTokens",
        cache_write: WireInt = "cacheCreationInputTokens",
        thinking: WireInt = "thinkingTokens",
        cost: WireReal = "costUSD",
    }

    /// A call that was not allowed.
    pub(in super::super) struct ClaudeToolDenial<'a> {
        tool: WireText<'a> = "tool_name",
        call: WireText<'a> = "tool_use_id",
    }
}

impl ModelCounts {
    /// Returns these amounts in the one model of all agents.
    pub(in super::super) fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            input_tokens: self.input.count_or_zero(),
            output_tokens: self.output.count_or_zero(),
            cache_read_tokens: self.cache_read.count_or_zero(),
            cache_write_tokens: self.cache_write.count_or_zero(),
            reasoning_tokens: self.thinking.as_count(),
            cost_usd: self.cost.0,
            ..UsageTotals::default()
        }
    }
}
