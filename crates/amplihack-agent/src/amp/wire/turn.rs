//! Messages of the agent and of the user.

use serde_json::{Map, Value};

use super::MessageReadError;
use super::block::{ContentBlock, read_blocks};
use super::read_session_id;
use super::scan::{JsonCursor, ScanFault};
use super::untyped_fields::{UntypedFields, put_filled, put_value, read_unknown_field};
use super::usage::AmpUsage;

/// `assistant`: what the agent says and which tools it calls.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// The call of the subagent that says this.
    pub parent_tool_use_id: Option<String>,
    /// The message.
    pub message: AssistantPayload,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AssistantPayload {
    /// Id of the message; usage is counted once an id.
    pub id: Option<String>,
    /// `assistant`
    pub role: String,
    /// The model.
    pub model: Option<String>,
    /// Text, thinking and tool calls, in order.
    pub content: Vec<ContentBlock>,
    /// `end_turn`, `tool_use`, `max_tokens`, …; none in the middle of an answer.
    pub stop_reason: Option<String>,
    /// Sequence that stopped the answer.
    pub stop_sequence: Option<String>,
    /// Tokens of the message.
    pub usage: Option<AmpUsage>,
    /// Further keys, such as `type`.
    pub extra: Map<String, Value>,
    content_is_text: bool,
    kept: UntypedFields,
}

/// `user`: results of tools, and what the user said.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UserMessage {
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// The call of the subagent that this is said to.
    pub parent_tool_use_id: Option<String>,
    /// The message.
    pub message: UserPayload,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
}

/// A message to the model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UserPayload {
    /// `user`
    pub role: String,
    /// Results of tools and text, in order.
    pub content: Vec<ContentBlock>,
    /// Further keys.
    pub extra: Map<String, Value>,
    content_is_text: bool,
    kept: UntypedFields,
}

/// Content as blocks, and whether it came as one text. `null`, an empty list and anything else is kept.
fn read_content(
    kept: &mut UntypedFields,
    cursor: &mut JsonCursor<'_>,
) -> Result<(Vec<ContentBlock>, bool), ScanFault> {
    let from = cursor.position();
    match cursor.peek() {
        b'"' => return Ok((vec![ContentBlock::from_text(cursor.read_string()?)], true)),
        b'[' => {
            let blocks = read_blocks(cursor, false)?;
            if !blocks.is_empty() {
                return Ok((blocks, false));
            }
            cursor.move_to(from);
        }
        _ => {}
    }
    kept.keep_next("content", cursor)?;
    Ok((Vec::new(), false))
}

fn put_content(map: &mut Map<String, Value>, content: &[ContentBlock], is_text: bool) {
    match content {
        [] => {}
        [ContentBlock::Text(text)] if is_text => {
            map.insert("content".to_owned(), text.text.clone().into());
        }
        blocks => {
            map.insert("content".to_owned(), blocks.iter().map(ContentBlock::to_value).collect());
        }
    }
}

/// Reading and writing of a message around a payload: both kinds have the same keys.
macro_rules! around {
    ($message:ident, $payload:ident, $kind:literal) => {
        impl $message {
            /// The wire form, unchanged.
            pub fn to_value(&self) -> Value {
                let mut map = self.kept.start_map(&self.extra);
                map.insert("type".to_owned(), $kind.into());
                put_value(&mut map, "session_id", self.session_id.clone());
                put_value(&mut map, "parent_tool_use_id", self.parent_tool_use_id.clone());
                let said = self.message != $payload::default();
                put_value(&mut map, "message", said.then(|| self.message.to_value()));
                Value::Object(map)
            }

            pub(super) fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, MessageReadError> {
                let mut message = Self::default();
                cursor.read_object(|cursor, key| {
                    let kept = &mut message.kept;
                    match key.as_ref() {
                        "type" => cursor.own_type($kind)?,
                        "session_id" => message.session_id = read_session_id(kept, cursor)?,
                        "parent_tool_use_id" => {
                            message.parent_tool_use_id = kept.read_text("parent_tool_use_id", cursor)?;
                        }
                        "message" if cursor.peek() == b'{' => {
                            message.message = $payload::read(cursor)?;
                            if message.message == $payload::default() {
                                kept.keep_value("message", Value::Object(Map::new()));
                            }
                        }
                        // Absent, as in other languages. Anything else would pass for a message that says nothing.
                        "message" if cursor.peek() == b'n' => {
                            message.message = $payload::default();
                            kept.keep_next("message", cursor)?;
                        }
                        "message" => return Err(MessageReadError::Field("\"message\" is no object")),
                        _ => read_unknown_field(&mut message.extra, key, cursor)?,
                    }
                    Ok::<_, MessageReadError>(())
                })?;
                Ok(message)
            }
        }
    };
}

around!(AssistantMessage, AssistantPayload, "assistant");
around!(UserMessage, UserPayload, "user");

impl AssistantPayload {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        put_value(&mut map, "id", self.id.clone());
        put_filled(&mut map, "role", &self.role);
        put_value(&mut map, "model", self.model.clone());
        put_content(&mut map, &self.content, self.content_is_text);
        put_value(&mut map, "stop_reason", self.stop_reason.clone());
        put_value(&mut map, "stop_sequence", self.stop_sequence.clone());
        put_value(&mut map, "usage", self.usage.as_ref().map(AmpUsage::to_value));
        Value::Object(map)
    }

    fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, MessageReadError> {
        let mut payload = Self::default();
        cursor.read_object(|cursor, key| {
            let kept = &mut payload.kept;
            match key.as_ref() {
                "id" => payload.id = kept.read_text("id", cursor)?,
                "role" => payload.role = kept.read_filled("role", cursor)?,
                "model" => payload.model = kept.read_text("model", cursor)?,
                "content" => (payload.content, payload.content_is_text) = read_content(kept, cursor)?,
                "stop_reason" => payload.stop_reason = kept.read_text("stop_reason", cursor)?,
                "stop_sequence" => payload.stop_sequence = kept.read_text("stop_sequence", cursor)?,
                "usage" if cursor.peek() == b'{' => payload.usage = Some(AmpUsage::read(cursor)?),
                "usage" => {
                    payload.usage = None;
                    kept.keep_next("usage", cursor)?;
                }
                _ => read_unknown_field(&mut payload.extra, key, cursor)?,
            }
            Ok::<_, MessageReadError>(())
        })?;
        Ok(payload)
    }
}

impl UserPayload {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        put_filled(&mut map, "role", &self.role);
        put_content(&mut map, &self.content, self.content_is_text);
        Value::Object(map)
    }

    fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, ScanFault> {
        let mut payload = Self::default();
        cursor.read_object(|cursor, key| {
            let kept = &mut payload.kept;
            match key.as_ref() {
                "role" => payload.role = kept.read_filled("role", cursor)?,
                "content" => (payload.content, payload.content_is_text) = read_content(kept, cursor)?,
                _ => read_unknown_field(&mut payload.extra, key, cursor)?,
            }
            Ok::<_, ScanFault>(())
        })?;
        Ok(payload)
    }
}
