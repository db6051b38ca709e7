//! What the agent and the user say.

use serde_json::{Map, Value};

use super::Refused;
use super::block::{ContentBlock, blocks};
use super::kept::{Kept, put, put_filled, unknown};
use super::scan::{Cursor, Fault};
use super::session;
use super::usage::Usage;

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
    kept: Kept,
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AssistantPayload {
    /// Its id; usage is counted once an id.
    pub id: Option<String>,
    /// `assistant`
    pub role: String,
    /// The model.
    pub model: Option<String>,
    /// Text, thinking and tool calls, in order.
    pub content: Vec<ContentBlock>,
    /// `end_turn`, `tool_use`, `max_tokens`, …; none in the middle of an answer.
    pub stop_reason: Option<String>,
    /// Which sequence stopped it.
    pub stop_sequence: Option<String>,
    /// Its tokens.
    pub usage: Option<Usage>,
    /// Further keys, such as `type`.
    pub extra: Map<String, Value>,
    content_is_text: bool,
    kept: Kept,
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
    kept: Kept,
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
    kept: Kept,
}

/// Content as blocks, and whether it came as one text. `null`, an empty list and anything else is kept.
fn content(kept: &mut Kept, cursor: &mut Cursor<'_>) -> Result<(Vec<ContentBlock>, bool), Fault> {
    let from = cursor.at();
    match cursor.peek() {
        b'"' => return Ok((vec![ContentBlock::text(cursor.string()?)], true)),
        b'[' => {
            let blocks = blocks(cursor, false)?;
            if !blocks.is_empty() {
                return Ok((blocks, false));
            }
            cursor.go(from);
        }
        _ => {}
    }
    kept.odd("content", cursor)?;
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
                let mut map = self.kept.start(&self.extra);
                map.insert("type".to_owned(), $kind.into());
                put(&mut map, "session_id", self.session_id.clone());
                put(&mut map, "parent_tool_use_id", self.parent_tool_use_id.clone());
                let said = self.message != $payload::default();
                put(&mut map, "message", said.then(|| self.message.to_value()));
                Value::Object(map)
            }

            pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Refused> {
                let mut message = Self::default();
                cursor.object(|cursor, key| {
                    let kept = &mut message.kept;
                    match key.as_ref() {
                        "type" => cursor.own_type($kind)?,
                        "session_id" => message.session_id = session(kept, cursor)?,
                        "parent_tool_use_id" => {
                            message.parent_tool_use_id = kept.text("parent_tool_use_id", cursor)?;
                        }
                        "message" if cursor.peek() == b'{' => {
                            message.message = $payload::read(cursor)?;
                            if message.message == $payload::default() {
                                kept.keep("message", Value::Object(Map::new()));
                            }
                        }
                        // Absent, as in other languages. Anything else would pass for a message that says nothing.
                        "message" if cursor.peek() == b'n' => {
                            message.message = $payload::default();
                            kept.odd("message", cursor)?;
                        }
                        "message" => return Err(Refused::Field("\"message\" is no object")),
                        _ => unknown(&mut message.extra, key, cursor)?,
                    }
                    Ok::<_, Refused>(())
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
        let mut map = self.kept.start(&self.extra);
        put(&mut map, "id", self.id.clone());
        put_filled(&mut map, "role", &self.role);
        put(&mut map, "model", self.model.clone());
        put_content(&mut map, &self.content, self.content_is_text);
        put(&mut map, "stop_reason", self.stop_reason.clone());
        put(&mut map, "stop_sequence", self.stop_sequence.clone());
        put(&mut map, "usage", self.usage.as_ref().map(Usage::to_value));
        Value::Object(map)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Refused> {
        let mut payload = Self::default();
        cursor.object(|cursor, key| {
            let kept = &mut payload.kept;
            match key.as_ref() {
                "id" => payload.id = kept.text("id", cursor)?,
                "role" => payload.role = kept.filled("role", cursor)?,
                "model" => payload.model = kept.text("model", cursor)?,
                "content" => (payload.content, payload.content_is_text) = content(kept, cursor)?,
                "stop_reason" => payload.stop_reason = kept.text("stop_reason", cursor)?,
                "stop_sequence" => payload.stop_sequence = kept.text("stop_sequence", cursor)?,
                "usage" if cursor.peek() == b'{' => payload.usage = Some(Usage::read(cursor)?),
                "usage" => {
                    payload.usage = None;
                    kept.odd("usage", cursor)?;
                }
                _ => unknown(&mut payload.extra, key, cursor)?,
            }
            Ok::<_, Refused>(())
        })?;
        Ok(payload)
    }
}

impl UserPayload {
    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        put_filled(&mut map, "role", &self.role);
        put_content(&mut map, &self.content, self.content_is_text);
        Value::Object(map)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let mut payload = Self::default();
        cursor.object(|cursor, key| {
            let kept = &mut payload.kept;
            match key.as_ref() {
                "role" => payload.role = kept.filled("role", cursor)?,
                "content" => (payload.content, payload.content_is_text) = content(kept, cursor)?,
                _ => unknown(&mut payload.extra, key, cursor)?,
            }
            Ok::<_, Fault>(())
        })?;
        Ok(payload)
    }
}
