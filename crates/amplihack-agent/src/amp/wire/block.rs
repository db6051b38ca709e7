//! Blocks of content: text, thinking, tool calls and their results.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json::AmpJson;
use super::scan::{JsonCursor, ScanFault};
use super::untyped_fields::{UntypedFields, put_filled, put_value, read_unknown_field};

/// Block of a message's content.
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
    kept: UntypedFields,
}

/// Thinking text of the agent.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ThinkingContent {
    /// The text, never trimmed.
    pub thinking: String,
    /// Further keys, such as `signature`.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
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
    pub input: AmpJson,
    /// Further keys.
    pub extra: Map<String, Value>,
    has_input: bool,
    kept: UntypedFields,
}

/// Result of a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The id of the call.
    pub tool_use_id: String,
    /// The output.
    pub content: ToolOutput,
    /// Set if the tool failed. Absent counts as false.
    pub is_error: bool,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
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
    Other(AmpJson),
}

/// A block of a type that is not known here.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownContent {
    /// Value of `type`; empty if there is none.
    pub kind: String,
    /// All of it.
    pub raw: AmpJson,
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
    pub fn from_text(text: impl Into<String>) -> Self {
        let mut block = TextContent { text: text.into(), ..TextContent::default() };
        if block.text.is_empty() {
            block.kept.keep_value("text", "".into());
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
                let mut map = block.kept.start_map(&block.extra);
                put_filled(&mut map, "text", &block.text);
                map
            }
            Self::Thinking(block) => {
                let mut map = block.kept.start_map(&block.extra);
                put_filled(&mut map, "thinking", &block.thinking);
                map
            }
            Self::ToolUse(block) => {
                let mut map = block.kept.start_map(&block.extra);
                put_filled(&mut map, "id", &block.id);
                put_filled(&mut map, "name", &block.name);
                put_value(&mut map, "input", block.has_input.then(|| block.input.to_value()));
                map
            }
            Self::ToolResult(block) => {
                let mut map = block.kept.start_map(&block.extra);
                put_filled(&mut map, "tool_use_id", &block.tool_use_id);
                put_value(&mut map, "is_error", block.is_error.then_some(true));
                let content = match &block.content {
                    ToolOutput::None => None,
                    ToolOutput::Text(text) => Some(text.clone().into()),
                    ToolOutput::Blocks(blocks) => Some(blocks.iter().map(Self::to_value).collect()),
                    ToolOutput::Other(json) => Some(json.to_value()),
                };
                put_value(&mut map, "content", content);
                map
            }
            Self::Unknown(unknown) => return unknown.raw.to_value(),
        };
        map.insert("type".to_owned(), self.kind().into());
        Value::Object(map)
    }
}

/// Reads a list of blocks. `nested`: within a tool's output, where tool blocks are kept whole.
pub(super) fn read_blocks(cursor: &mut JsonCursor<'_>, nested: bool) -> Result<Vec<ContentBlock>, ScanFault> {
    let mut blocks = Vec::new();
    cursor.read_array(|cursor| {
        blocks.push(read_block(cursor, nested)?);
        Ok::<_, ScanFault>(())
    })?;
    Ok(blocks)
}

fn read_block(cursor: &mut JsonCursor<'_>, nested: bool) -> Result<ContentBlock, ScanFault> {
    if cursor.peek() != b'{' {
        let raw = AmpJson::from_scan(cursor.skip_value()?);
        return Ok(ContentBlock::Unknown(UnknownContent { kind: String::new(), raw }));
    }
    cursor.read_typed(|cursor, kind| match kind {
        Some("text") => read_text_block(cursor).map(ContentBlock::Text),
        Some("thinking") if !nested && !amplihack_sys::sabotage::is_active("amp-wire-thinking") => {
            read_thinking_block(cursor).map(ContentBlock::Thinking)
        }
        Some("tool_use") if !nested && !amplihack_sys::sabotage::is_active("amp-wire-tool-use") => {
            tool_use(cursor).map(ContentBlock::ToolUse)
        }
        Some("tool_result") if !nested && !amplihack_sys::sabotage::is_active("amp-wire-tool-result") => {
            tool_result(cursor).map(ContentBlock::ToolResult)
        }
        other => {
            let kind = other.unwrap_or_default().to_owned();
            Ok(ContentBlock::Unknown(UnknownContent { raw: read_whole(cursor, &kind)?, kind }))
        }
    })
}

/// The whole object that comes, of a type that is not read further.
pub(super) fn read_whole(cursor: &mut JsonCursor<'_>, kind: &str) -> Result<AmpJson, ScanFault> {
    cursor.peek();
    let from = cursor.position();
    cursor.read_object(
        |cursor, key| if key == "type" { cursor.own_type(kind) } else { cursor.skip_value().map(drop) },
    )?;
    Ok(AmpJson::from_scan(cursor.text_since(from)))
}

fn read_text_block(cursor: &mut JsonCursor<'_>) -> Result<TextContent, ScanFault> {
    let mut block = TextContent::default();
    cursor.read_object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("text")?,
            "text" if amplihack_sys::sabotage::is_active("amp-wire-text") => {
                block.kept.read_filled("text", cursor)?.trim().clone_into(&mut block.text);
            }
            "text" => block.text = block.kept.read_filled("text", cursor)?,
            _ => read_unknown_field(&mut block.extra, key, cursor)?,
        }
        Ok::<_, ScanFault>(())
    })?;
    Ok(block)
}

fn read_thinking_block(cursor: &mut JsonCursor<'_>) -> Result<ThinkingContent, ScanFault> {
    let mut block = ThinkingContent::default();
    cursor.read_object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("thinking")?,
            "thinking" => block.thinking = block.kept.read_filled("thinking", cursor)?,
            _ => read_unknown_field(&mut block.extra, key, cursor)?,
        }
        Ok::<_, ScanFault>(())
    })?;
    Ok(block)
}

fn tool_use(cursor: &mut JsonCursor<'_>) -> Result<ToolUseContent, ScanFault> {
    let mut block = ToolUseContent::default();
    cursor.read_object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("tool_use")?,
            "id" => block.id = block.kept.read_filled("id", cursor)?,
            "name" => block.name = block.kept.read_filled("name", cursor)?,
            "input" => (block.input, block.has_input) = (AmpJson::from_scan(cursor.skip_value()?), true),
            _ => read_unknown_field(&mut block.extra, key, cursor)?,
        }
        Ok::<_, ScanFault>(())
    })?;
    Ok(block)
}

fn tool_result(cursor: &mut JsonCursor<'_>) -> Result<ToolResultContent, ScanFault> {
    let mut block = ToolResultContent::default();
    cursor.read_object(|cursor, key| {
        match key.as_ref() {
            "type" => cursor.own_type("tool_result")?,
            "tool_use_id" => block.tool_use_id = block.kept.read_filled("tool_use_id", cursor)?,
            "is_error" => block.is_error = block.kept.read_flag("is_error", cursor)?,
            "content" => {
                block.content = match cursor.peek() {
                    b'"' => ToolOutput::Text(cursor.read_string()?.into_owned()),
                    b'[' => ToolOutput::Blocks(read_blocks(cursor, true)?),
                    b'n' => {
                        block.kept.keep_next("content", cursor)?;
                        ToolOutput::None
                    }
                    _ => ToolOutput::Other(AmpJson::from_scan(cursor.skip_value()?)),
                }
            }
            _ => read_unknown_field(&mut block.extra, key, cursor)?,
        }
        Ok::<_, ScanFault>(())
    })?;
    Ok(block)
}
