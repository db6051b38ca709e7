//! What is read of the lines of Claude Code's `stream-json`.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::output::Output;
use crate::decode::wire::{Flag, Int, List, Real, Str, Values, missing, record};
use crate::event::Totals;

// Records of other agents, and of parts of this one, have fields of the same names: each is what one agent writes there.
record! {
    /// Any line.
    pub(super) struct Line<'a> {
        kind: Str<'a> = "type",
        subtype: Str<'a> = "subtype",
        message: Message<'a> = "message",
        event: Stream<'a> = "event",
        parent: Str<'a> = "parent_tool_use_id",
    }

    /// A message of the model, or of the user.
    pub(super) struct Message<'a> {
        id: Str<'a> = "id",
        model: Str<'a> = "model",
        content: Content<'a> = "content",
        usage: Option<Counts> = "usage",
    }

    /// A part of a message's content.
    pub(super) struct Block<'a> {
        kind: Str<'a> = "type",
        text: Str<'a> = "text",
        thinking: Str<'a> = "thinking",
        id: Str<'a> = "id",
        name: Str<'a> = "name",
        input: Option<&'a RawValue> = "input",
        call: Str<'a> = "tool_use_id",
        content: Output<'a> = "content",
        is_error: Flag = "is_error",
    }

    /// An event of the model's own stream.
    pub(super) struct Stream<'a> {
        kind: Str<'a> = "type",
        message: Message<'a> = "message",
        delta: Delta<'a> = "delta",
        usage: Option<Counts> = "usage",
    }

    /// The next part of a block.
    pub(super) struct Delta<'a> {
        kind: Str<'a> = "type",
        text: Str<'a> = "text",
        thinking: Str<'a> = "thinking",
    }

    /// Tokens, as the model's API counts them.
    pub(super) struct Counts {
        input: Int = "input_tokens",
        output: Int = "output_tokens",
        cache_read: Int = "cache_read_input_tokens",
        cache_write: Int = "cache_creation_input_tokens",
    }

    /// The blocks of a line in their own text, for those that have no place.
    pub(super) struct Texts<'a> {
        message: TextMessage<'a> = "message",
    }
    pub(super) struct TextMessage<'a> {
        content: List<&'a RawValue> = "content",
    }

    /// A line of type `system`.
    pub(super) struct System<'a> {
        subtype: Str<'a> = "subtype",
        session: Str<'a> = "session_id",
        version: Str<'a> = "claude_code_version",
        model: Str<'a> = "model",
        cwd: Str<'a> = "cwd",
        tools: List<Str<'a>> = "tools",
        mcp_servers: List<Server<'a>> = "mcp_servers",
        attempt: Int = "attempt",
        max_retries: Int = "max_retries",
        retry_delay: Real = "retry_delay_ms",
        error_status: Int = "error_status",
        error: Str<'a> = "error",
        tool: Str<'a> = "tool_name",
        call: Str<'a> = "tool_use_id",
        message: Str<'a> = "message",
    }
    pub(super) struct Server<'a> {
        name: Str<'a> = "name",
        status: Str<'a> = "status",
    }

    /// A question of the agent's to the program that runs it.
    pub(super) struct Control<'a> {
        id: Str<'a> = "request_id",
        request: ControlRequest<'a> = "request",
    }
    pub(super) struct ControlRequest<'a> {
        subtype: Str<'a> = "subtype",
        tool: Str<'a> = "tool_name",
        reason: Str<'a> = "decision_reason",
    }

    /// How much of the account's allowance is left.
    pub(super) struct Limits<'a> {
        info: LimitInfo<'a> = "rate_limit_info",
    }
    pub(super) struct LimitInfo<'a> {
        status: Str<'a> = "status",
        kind: Str<'a> = "rateLimitType",
    }

    /// The agent's record of its end.
    pub(super) struct Record<'a> {
        subtype: Str<'a> = "subtype",
        is_error: Flag = "is_error",
        result: Str<'a> = "result",
        errors: List<Str<'a>> = "errors",
        reason: Str<'a> = "terminal_reason",
        api_status: Int = "api_error_status",
        session: Str<'a> = "session_id",
        turns: Int = "num_turns",
        duration: Int = "duration_ms",
        cost: Real = "total_cost_usd",
        usage: Option<Counts> = "usage",
        models: Option<Values<ModelCounts>> = "modelUsage",
        models_since: Option<Values<ModelCounts>> = "model_usage_since_last_result",
        denials: List<Denial<'a>> = "permission_denials",
    }

    /// What one model used.
    pub(super) struct ModelCounts {
        input: Int = "inputTokens",
        output: Int = "outputTokens",
        cache_read: Int = "cacheReadInputTokens",
        cache_write: Int = "cacheCreationInputTokens",
        cost: Real = "costUSD",
    }

    /// A call that was not allowed.
    pub(super) struct Denial<'a> {
        tool: Str<'a> = "tool_name",
        call: Str<'a> = "tool_use_id",
    }
}

impl Counts {
    /// The same amounts in the one model of all agents.
    pub(super) fn totals(&self) -> Totals {
        Totals {
            input_tokens: self.input.count(),
            output_tokens: self.output.count(),
            cache_read_tokens: self.cache_read.count(),
            cache_write_tokens: self.cache_write.count(),
            ..Totals::default()
        }
    }

    /// `earlier`, with every amount that is stated here instead of its own.
    pub(super) fn over(&self, earlier: Totals) -> Totals {
        Totals {
            input_tokens: self.input.counted().unwrap_or(earlier.input_tokens),
            output_tokens: self.output.counted().unwrap_or(earlier.output_tokens),
            cache_read_tokens: self.cache_read.counted().unwrap_or(earlier.cache_read_tokens),
            cache_write_tokens: self.cache_write.counted().unwrap_or(earlier.cache_write_tokens),
            ..earlier
        }
    }
}

impl ModelCounts {
    /// The same amounts in the one model of all agents.
    pub(super) fn totals(&self) -> Totals {
        Totals {
            input_tokens: self.input.count(),
            output_tokens: self.output.count(),
            cache_read_tokens: self.cache_read.count(),
            cache_write_tokens: self.cache_write.count(),
            cost_usd: self.cost.0,
            ..Totals::default()
        }
    }
}

/// The content of a message: a text, or blocks.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Contents<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Contents<'a> {
            type Value = Content<'a>;
            missing!(bool number null map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or a list of blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(Contents(PhantomData))
    }
}
