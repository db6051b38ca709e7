//! Fields that are read from the lines of Claude Code's `stream-json`.

pub(super) mod result;
pub(super) mod system;
pub(super) mod tool;

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::wire::{WireFlag, WireInt, WireList, WireText, missing, record};
use crate::event::UsageTotals;
use tool::ClaudeToolDetail;

// Records of other agents, and of parts of this one, have fields of the same names: each is what one agent writes there.
record! {
    /// Any line.
    pub(super) struct ClaudeLine<'a> {
        kind: WireText<'a> = "type",
        message: ClaudeMessage<'a> = "message",
        event: Option<Box<ClaudeStreamEvent<'a>>> = "event",
        parent: WireText<'a> = "parent_tool_use_id",
        id: WireText<'a> = "uuid",
        outcome: Option<Box<ClaudeToolDetail<'a>>> = "tool_use_result",
        synthetic: WireFlag = "isSynthetic",
        origin: Option<ClaudeOrigin<'a>> = "origin",
        error: WireText<'a> = "error",
        error_status: WireInt = "api_error_status",
    }

    /// Author of a prompt that is not the user's, and of a record about such a prompt.
    pub(super) struct ClaudeOrigin<'a> {
        kind: WireText<'a> = "kind",
    }

    /// A message of the model, or of the user.
    pub(super) struct ClaudeMessage<'a> {
        id: WireText<'a> = "id",
        model: WireText<'a> = "model",
        content: ClaudeContent<'a> = "content",
        stop_reason: WireText<'a> = "stop_reason",
        usage: Option<ClaudeTokenCounts> = "usage",
    }

    /// A part of a message's content.
    pub(super) struct ClaudeBlock<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        thinking: WireText<'a> = "thinking",
        signature: WireText<'a> = "signature",
        data: WireText<'a> = "data",
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
        block: ClaudeBlockStart<'a> = "content_block",
        delta: ClaudeBlockDelta<'a> = "delta",
        usage: Option<ClaudeTokenCounts> = "usage",
        error: ClaudeStreamError<'a> = "error",
    }

    /// The beginning of a block.
    pub(super) struct ClaudeBlockStart<'a> {
        id: WireText<'a> = "id",
        name: WireText<'a> = "name",
    }

    /// An error in the midst of the model's stream.
    pub(super) struct ClaudeStreamError<'a> {
        kind: WireText<'a> = "type",
        message: WireText<'a> = "message",
    }

    /// The next part of a block.
    pub(super) struct ClaudeBlockDelta<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
        thinking: WireText<'a> = "thinking",
        signature: WireText<'a> = "signature",
        json: WireText<'a> = "partial_json",
        stop_reason: WireText<'a> = "stop_reason",
    }

    /// Tokens, as the model's API counts them.
    pub(super) struct ClaudeTokenCounts {
        input: WireInt = "input_tokens",
        output: WireInt = "output_tokens",
        cache_read: WireInt = "cache_read_input_tokens",
        cache_write: WireInt = "cache_creation_input_tokens",
        details: ClaudeOutputDetails = "output_tokens_details",
    }

    /// Parts of the tokens of an answer.
    pub(super) struct ClaudeOutputDetails {
        thinking: WireInt = "thinking_tokens",
    }

    /// The blocks of a line in their own text, for those that have no place.
    pub(super) struct ClaudeLineTexts<'a> {
        message: TextMessage<'a> = "message",
    }
    pub(super) struct TextMessage<'a> {
        content: WireList<&'a RawValue> = "content",
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
            reasoning_tokens: self.details.thinking.as_count(),
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
            reasoning_tokens: self.details.thinking.as_count().or(earlier.reasoning_tokens),
            ..earlier
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
