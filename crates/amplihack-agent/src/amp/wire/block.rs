//! Blocks of content: text, thinking, tool calls and their results.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json::Json;
use super::kept::{Kept, put, put_filled, unknown};
use super::scan::{Cursor, Fault};

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// `text`
    Text(TextContent),
    /// `thinking`, only in streams that were asked for it.
    Thinking(ThinkingContent),
    /// `tool_use`
    ToolUse(ToolUseContent),
    /// `tool_result`
    ToolResult(ToolResultContent),
    /// Any other type, whole.
    Unknown(UnknownContent),
}

/// Text of the agent or the user, byte for byte.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextContent {
    /// The text, never trimmed.
    pub text: String,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// What the agent thought.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ThinkingContent {
    /// The text, never trimmed.
    pub thinking: String,
    /// Further keys, such as `signature`.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolUseContent {
    /// The call's id, named by its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments; `null` if there are none.
    pub input: Json,
    /// Further keys.
    pub extra: Map<String, Value>,
    has_input: bool,
    kept: Kept,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The id of the call.
    pub tool_use_id: String,
    /// The output.
    pub content: ToolOutput,
    /// Whether the tool failed. Absent counts as false.
    pub is_error: bool,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// The output of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub enum ToolOutput {
    /// None was given.
    #[default]
    None,
    /// Text, byte for byte.
    Text(String),
    /// Blocks: text and, as [`ContentBlock::Unknown`], images and the like.
    Blocks(Vec<ContentBlock>),
    /// Anything else.
    Other(Json),
}

/// A block of a type that is not known here.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownContent {
    /// Its `type`; empty if it has none.
    pub kind: String,
    /// All of it.
    pub raw: Json,
}

impl ToolOutput {
    /// The text: itself, or that of its text blocks joined by line breaks, or the JSON of anything else.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => {
                let texts: Vec<&str> = blocks
                    .iter()
                    .filter_map(|block| match block {
                        ContentBlock::Text(text) => Some(text.text.as_str()),
                        _ => None,
                    })
                    .collect();
                Cow::Owned(texts.join("\n"))
            }
            Self::Other(json) => Cow::Borrowed(json.get()),
        }
    }
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        let mut block = TextContent { text: text.into(), ..TextContent::default() };
        if block.text.is_empty() {
            block.kept.keep("text", "".into());
        }
        Self::Text(block)
    }

    /// The value of `type`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Thinking(_) => "thinking",
            Self::ToolUse(_) => "tool_use",
            Self::ToolResult(_) => "tool_result",
            Self::Unknown(unknown) => &unknown.kind,
        }
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = match self {
            Self::Text(block) => {
                let mut map = block.kept.start(&block.extra);
                put_filled(&mut map, "text", &block.text);
                map
            }
            Self::Thinking(block) => {
                let mut map = block.kept.start(&block.extra);
                put_filled(&mut map, "thinking", &block.thinking);
                map
            }
            Self::ToolUse(block) => {
                let mut map = block.kept.start(&block.extra);
                put_filled(&mut map, "id", &block.id);
                put_filled(&mut map, "name", &block.name);
                put(&mut map, "input", block.has_input.then(|| block.input.to_value()));
                map
            }
            Self::ToolResult(block) => {
                let mut map = block.kept.start(&block.extra);
                put_filled(&mut map, "tool_use_id", &block.tool_use_id);
                put(&mut map, "is_error", block.is_error.then_some(true));
                let content = match &block.content {
                    ToolOutput::None => None,
                    ToolOutput::Text(text) => Some(text.clone().into()),
                    ToolOutput::Blocks(blocks) => Some(blocks.iter().map(Self::to_value).collect()),
                    ToolOutput::Other(json) => Some(json.to_value()),
                };
                put(&mut map, "content", content);
                map
            }
            Self::Unknown(unknown) => return unknown.raw.to_value(),
        };
        map.insert("type".to_owned(), self.kind().into());
        Value::Object(map)
    }
}

/// Reads a list of blocks. `nested`: within a tool's output, where tool blocks are kept whole.
pub(super) fn blocks(cursor: &mut Cursor<'_>, nested: bool) -> Result<Vec<ContentBlock>, Fault> {
    let mut blocks = Vec::new();
    cursor.array(|cursor| {
        blocks.push(block(cursor, nested)?);
        Ok::<_, Fault>(())
    })?;
    Ok(blocks)
}

fn block(cursor: &mut Cursor<'_>, nested: bool) -> Result<ContentBlock, Fault> {
    if cursor.peek() != b'{' {
        let raw = Json::from_scan(cursor.skip()?);
        return Ok(ContentBlock::Unknown(UnknownContent { kind: String::new(), raw }));
    }
    cursor.typed(|cursor, kind| match kind {
        Some("text") => text(cursor).map(ContentBlock::Text),
        Some("thinking") if !nested && !amplihack_utils::sabotage::active("amp-wire-thinking") => {
            thinking(cursor).map(ContentBlock::Thinking)
        }
        Some("tool_use") if !nested && !amplihack_utils::sabotage::active("amp-wire-tool-use") => {
            tool_use(cursor).map(ContentBlock::ToolUse)
        }
        Some("tool_result") if !nested && !amplihack_utils::sabotage::active("amp-wire-tool-result") => {
            tool_result(cursor).map(ContentBlock::ToolResult)
        }
        other => {
            let kind = other.unwrap_or_default().to_owned();
            Ok(ContentBlock::Unknown(UnknownContent { raw: whole(cursor, &kind)?, kind }))
        }
    })
}

/// The whole object that comes, of a type that is not read further.
pub(super) fn whole(cursor: &mut Cursor<'_>, kind: &str) -> Result<Json, Fault> {
    cursor.peek();
    let from = cursor.at();
    cursor
        .object(|cursor, key| if key == "type" { cursor.own_type(kind) } else { cursor.skip().map(drop) })?;
    Ok(Json::from_scan(cursor.since(from)))
}

fn text(cursor: &mut Cursor<'_>) -> Result<TextContent, Fault> {
    let mut block = TextContent::default();
    cursor.object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("text")?,
            "text" if amplihack_utils::sabotage::active("amp-wire-text") => {
                block.kept.filled("text", cursor)?.trim().clone_into(&mut block.text);
            }
            "text" => block.text = block.kept.filled("text", cursor)?,
            _ => unknown(&mut block.extra, key, cursor)?,
        }
        Ok::<_, Fault>(())
    })?;
    Ok(block)
}

fn thinking(cursor: &mut Cursor<'_>) -> Result<ThinkingContent, Fault> {
    let mut block = ThinkingContent::default();
    cursor.object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("thinking")?,
            "thinking" => block.thinking = block.kept.filled("thinking", cursor)?,
            _ => unknown(&mut block.extra, key, cursor)?,
        }
        Ok::<_, Fault>(())
    })?;
    Ok(block)
}

fn tool_use(cursor: &mut Cursor<'_>) -> Result<ToolUseContent, Fault> {
    let mut block = ToolUseContent::default();
    cursor.object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("tool_use")?,
            "id" => block.id = block.kept.filled("id", cursor)?,
            "name" => block.name = block.kept.filled("name", cursor)?,
            "input" => (block.input, block.has_input) = (Json::from_scan(cursor.skip()?), true),
            _ => unknown(&mut block.extra, key, cursor)?,
        }
        Ok::<_, Fault>(())
    })?;
    Ok(block)
}

fn tool_result(cursor: &mut Cursor<'_>) -> Result<ToolResultContent, Fault> {
    let mut block = ToolResultContent::default();
    cursor.object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("tool_result")?,
            "tool_use_id" => block.tool_use_id = block.kept.filled("tool_use_id", cursor)?,
            "is_error" => block.is_error = block.kept.flag("is_error", cursor)?,
            "content" => {
                block.content = match cursor.peek() {
                    b'"' => ToolOutput::Text(cursor.string()?.into_owned()),
                    b'[' => ToolOutput::Blocks(blocks(cursor, true)?),
                    b'n' => {
                        block.kept.odd("content", cursor)?;
                        ToolOutput::None
                    }
                    _ => ToolOutput::Other(Json::from_scan(cursor.skip()?)),
                }
            }
            _ => unknown(&mut block.extra, key, cursor)?,
        }
        Ok::<_, Fault>(())
    })?;
    Ok(block)
}
