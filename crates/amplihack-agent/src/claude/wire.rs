//! Fields that are read from the lines of Claude Code's `stream-json`.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, WireValues, missing, record};
use crate::event::UsageTotals;

// Records of other agents, and of parts of this one, have fields of the same names: each is what one agent writes there.
record! {
    /// Any line.
    pub(super) struct ClaudeLine<'a> {
        kind: WireText<'a> = "type",
        subtype: WireText<'a> = "subtype",
        message: ClaudeMessage<'a> = "message",
        event: ClaudeStreamEvent<'a> = "event",
        parent: WireText<'a> = "parent_tool_use_id",
    }

    /// A message of the model, or of the user.
    pub(super) struct ClaudeMessage<'a> {
        id: WireText<'a> = "id",
        model: WireText<'a> = "model",
        content: ClaudeContent<'a> = "content",
        usage: Option<ClaudeTokenCounts> = "usage",
    }

    /// A part of a message's content.
    pub(super) struct ClaudeBlock<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        thinking: WireText<'a> = "thinking",
        id: WireText<'a> = "id",
        name: WireText<'a> = "name",
        input: Option<&'a RawValue> = "input",
        call: WireText<'a> = "tool_use_id",
        content: WireToolOutput<'a> = "content",
        is_error: WireFlag = "is_error",
    }

    /// An event of the model's own stream.
    pub(super) struct ClaudeStreamEvent<'a> {
        kind: WireText<'a> = "type",
        message: ClaudeMessage<'a> = "message",
        delta: ClaudeBlockDelta<'a> = "delta",
        usage: Option<ClaudeTokenCounts> = "usage",
    }

    /// The next part of a block.
    pub(super) struct ClaudeBlockDelta<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        thinking: WireText<'a> = "thinking",
    }

    /// Tokens, as the model's API counts them.
    pub(super) struct ClaudeTokenCounts {
        input: WireInt = "input_tokens",
        output: WireInt = "output_tokens",
        cache_read: WireInt = "cache_read_input_tokens",
        cache_write: WireInt = "cache_creation_input_tokens",
    }

    /// The blocks of a line in their own text, for those that have no place.
    pub(super) struct ClaudeLineTexts<'a> {
        message: TextMessage<'a> = "message",
    }
    pub(super) struct TextMessage<'a> {
        content: WireList<&'a RawValue> = "content",
    }

    /// A line of type `system`.
    pub(super) struct ClaudeSystemLine<'a> {
        subtype: WireText<'a> = "subtype",
        session: WireText<'a> = "session_id",
        version: WireText<'a> = "claude_code_version",
        model: WireText<'a> = "model",
        cwd: WireText<'a> = "cwd",
        tools: WireList<WireText<'a>> = "tools",
        mcp_servers: WireList<ClaudeMcpServer<'a>> = "mcp_servers",
        attempt: WireInt = "attempt",
        max_retries: WireInt = "max_retries",
        retry_delay: WireReal = "retry_delay_ms",
        error_status: WireInt = "error_status",
        error: WireText<'a> = "error",
        tool: WireText<'a> = "tool_name",
        call: WireText<'a> = "tool_use_id",
        message: WireText<'a> = "message",
    }
    pub(super) struct ClaudeMcpServer<'a> {
        name: WireText<'a> = "name",
        status: WireText<'a> = "status",
    }

    /// A question of the agent's to the program that runs it.
    pub(super) struct ClaudeControlLine<'a> {
        id: WireText<'a> = "request_id",
        request: ControlRequest<'a> = "request",
    }
    pub(super) struct ControlRequest<'a> {
        subtype: WireText<'a> = "subtype",
        tool: WireText<'a> = "tool_name",
        reason: WireText<'a> = "decision_reason",
    }

    /// Rest of the account's allowance.
    pub(super) struct ClaudeRateLimits<'a> {
        info: LimitInfo<'a> = "rate_limit_info",
    }
    pub(super) struct LimitInfo<'a> {
        status: WireText<'a> = "status",
        kind: WireText<'a> = "rateLimitType",
    }

    /// The agent's record of its end.
    pub(super) struct ClaudeEndRecord<'a> {
        subtype: WireText<'a> = "subtype",
        is_error: WireFlag = "is_error",
        result: WireText<'a> = "result",
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
    pub(super) struct ModelCounts {
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadInputTokens",
        cache_write: WireInt = "cacheCreationInputTokens",
        cost: WireReal = "costUSD",
    }

    /// A call that was not allowed.
    pub(super) struct ClaudeToolDenial<'a> {
        tool: WireText<'a> = "tool_name",
        call: WireText<'a> = "tool_use_id",
    }
}

impl ClaudeTokenCounts {
    /// Returns these amounts in the one model of all agents.
    pub(super) fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            input_tokens: self.input.count_or_zero(),
            output_tokens: self.output.count_or_zero(),
            cache_read_tokens: self.cache_read.count_or_zero(),
            cache_write_tokens: self.cache_write.count_or_zero(),
            ..UsageTotals::default()
        }
    }

    /// `earlier`, with every amount that is stated here instead of its own.
    pub(super) fn merge_over(&self, earlier: UsageTotals) -> UsageTotals {
        UsageTotals {
            input_tokens: self.input.as_count().unwrap_or(earlier.input_tokens),
            output_tokens: self.output.as_count().unwrap_or(earlier.output_tokens),
            cache_read_tokens: self.cache_read.as_count().unwrap_or(earlier.cache_read_tokens),
            cache_write_tokens: self.cache_write.as_count().unwrap_or(earlier.cache_write_tokens),
            ..earlier
        }
    }
}

impl ModelCounts {
    /// Returns these amounts in the one model of all agents.
    pub(super) fn to_totals(&self) -> UsageTotals {
        UsageTotals {
            input_tokens: self.input.count_or_zero(),
            output_tokens: self.output.count_or_zero(),
            cache_read_tokens: self.cache_read.count_or_zero(),
            cache_write_tokens: self.cache_write.count_or_zero(),
            cost_usd: self.cost.0,
            ..UsageTotals::default()
        }
    }
}

/// The content of a message: a text, or blocks.
#[derive(Debug, Default)]
pub(super) enum ClaudeContent<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Vec<ClaudeBlock<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for ClaudeContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClaudeContentVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ClaudeContentVisitor<'a> {
            type Value = ClaudeContent<'a>;
            missing!(bool number null map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or a list of blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ClaudeContent::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ClaudeContent::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(ClaudeContent::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(ClaudeContentVisitor(PhantomData))
    }
}
