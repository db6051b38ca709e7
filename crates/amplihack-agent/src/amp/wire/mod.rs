//! Amp's stream of JSON: its messages as types, read in one pass and given back unchanged.
//!
//! Nothing is lost and nothing is changed: texts are never trimmed, keys of which nothing is known are in `extra`, known keys with a `null`
//! or a value of another type come back where they were, messages and blocks of unknown types are kept whole. Every `to_value` gives the wire
//! form; the order of keys is not part of it.

mod block;
mod json;
mod result;
mod scan;
mod system;
mod turn;
mod untyped_fields;
mod usage;

use serde_json::Value;

pub use block::{
    ContentBlock, TextContent, ThinkingContent, ToolOutput, ToolResultContent, ToolUseContent, UnknownContent,
};
pub use json::AmpJson;
pub use result::{AmpRunSummary, ErrorResultMessage, PermissionDenial, ResultMessage};
pub use system::{McpServerStatus, McpStatus, SystemMessage};
pub use turn::{AssistantMessage, AssistantPayload, UserMessage, UserPayload};
pub use usage::AmpUsage;

use crate::framer::BOM;
use scan::{JsonCursor, ScanFault};
use untyped_fields::UntypedFields;

/// Message on one line of the stream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamMessage {
    /// The session begins, or another notice of the CLI.
    System(SystemMessage),
    /// The agent.
    Assistant(AssistantMessage),
    /// Results of tools, and the user.
    User(UserMessage),
    /// The run succeeded. The last message.
    Result(ResultMessage),
    /// The run failed. The last message.
    ErrorResult(ErrorResultMessage),
    /// A line that is no message. Never made by [`StreamMessage::from_line`], which refuses such a line.
    Diagnostic(LineDiagnostic),
    /// A message of a type that is not known here, whole.
    Unknown(UnknownMessage),
}

/// A message of a type that is not known here.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownMessage {
    /// Value of `type`.
    pub kind: String,
    /// All of it.
    pub raw: AmpJson,
}

/// A line that is no message: noise on standard output, a cut line, JSON of another shape.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineDiagnostic {
    /// Fault of the line.
    pub error: WireError,
    /// The line, its first 4 KiB, invalid UTF-8 replaced.
    pub line: String,
}

/// Reason why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The line is not JSON.
    #[error("the line is not JSON: byte {at} should begin {expected}")]
    NotJson {
        /// Description of what was expected.
        expected: &'static str,
        /// Index of the byte.
        at: usize,
    },
    /// The line is JSON and no object.
    #[error("the line is JSON and no object")]
    NotAnObject,
    /// The message has no `type`.
    #[error("the message has no \"type\"")]
    NoType,
    /// The message's `type` is no string.
    #[error("the message's \"type\" is no string")]
    TypeNotAString,
    /// A field holds what it must not.
    #[error("the message's {0}")]
    Field(&'static str),
    /// The line is longer than the reader takes. Made by readers of lines.
    #[error("the line has more than {limit} bytes")]
    TooLong {
        /// Largest number of bytes that is taken.
        limit: u64,
    },
}

impl WireError {
    /// `parse_error` for what is not JSON or too long, `invalid_message` for the rest.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotJson { .. } | Self::TooLong { .. } => "parse_error",
            _ => "invalid_message",
        }
    }

    /// A stable name of the cause.
    pub fn cause(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "not_json",
            Self::TooLong { .. } => "line_too_long",
            Self::NotAnObject => "not_an_object",
            Self::NoType => "missing_type_field",
            Self::TypeNotAString => "invalid_type_field",
            Self::Field(_) => "invalid_field",
        }
    }
}

/// Error that stopped the reading of a message.
enum MessageReadError {
    Fault(ScanFault),
    Field(&'static str),
}

impl From<ScanFault> for MessageReadError {
    fn from(fault: ScanFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<ScanFault> for WireError {
    fn from(fault: ScanFault) -> Self {
        Self::NotJson { expected: fault.expected, at: fault.at }
    }
}

impl From<MessageReadError> for WireError {
    fn from(refused: MessageReadError) -> Self {
        match refused {
            MessageReadError::Fault(fault) => fault.into(),
            MessageReadError::Field(what) => Self::Field(what),
        }
    }
}

/// A session's id: a string that names one. What absent ids become elsewhere is kept and does not count.
fn read_session_id(
    kept: &mut UntypedFields,
    cursor: &mut JsonCursor<'_>,
) -> Result<Option<String>, ScanFault> {
    let id = kept.read_text("session_id", cursor)?;
    if id.as_deref().is_some_and(|id| matches!(id, "" | "nil" | "null" | "undefined")) {
        kept.keep_value("session_id", id.into());
        return Ok(None);
    }
    Ok(id)
}

impl LineDiagnostic {
    /// A diagnostic about `line`, of which the first 4 KiB are kept.
    pub fn new(error: WireError, line: &[u8]) -> Self {
        let head = line.get(..4096).unwrap_or(line);
        Self { error, line: String::from_utf8_lossy(head).into_owned() }
    }
}

impl StreamMessage {
    /// Reads one line, without its line break. Invalid UTF-8 is replaced, a byte order mark passed over. Of keys that come twice the
    /// last one counts, as in JavaScript.
    ///
    /// # Errors
    /// [`WireError`] if the line is not JSON, is no object, has no `type` that is a string, or a field holds what it must not.
    pub fn from_line(line: &[u8]) -> Result<Self, WireError> {
        let line = line.strip_prefix(BOM).unwrap_or(line);
        match simdutf8::basic::from_utf8(line) {
            Ok(text) => read(text),
            Err(_) => read(&String::from_utf8_lossy(line)),
        }
    }

    /// Reads one line; what is no message is a [`StreamMessage::Diagnostic`].
    pub fn from_line_lossy(line: &[u8]) -> Self {
        Self::from_line(line).unwrap_or_else(|error| Self::Diagnostic(LineDiagnostic::new(error, line)))
    }

    /// Reads a message that is a tree already.
    ///
    /// # Errors
    /// [`WireError`] if the value is no object, has no `type` that is a string, or a field holds what it must not.
    pub fn from_value(value: &Value) -> Result<Self, WireError> {
        read(&value.to_string())
    }

    /// The value of `type`; `diagnostic` for what is no message.
    pub fn kind(&self) -> &str {
        match self {
            Self::System(_) => "system",
            Self::Assistant(_) => "assistant",
            Self::User(_) => "user",
            Self::Result(_) | Self::ErrorResult(_) => "result",
            Self::Diagnostic(_) => "diagnostic",
            Self::Unknown(message) => &message.kind,
        }
    }

    /// Reports whether the message ends the run.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Result(_) | Self::ErrorResult(_))
    }

    /// The thread that it belongs to, where it says so.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::System(message) => message.session_id.as_deref(),
            Self::Assistant(message) => message.session_id.as_deref(),
            Self::User(message) => message.session_id.as_deref(),
            Self::Result(message) => message.session_id.as_deref(),
            Self::ErrorResult(message) => message.session_id.as_deref(),
            Self::Diagnostic(_) | Self::Unknown(_) => None,
        }
    }

    /// The wire form, unchanged; a diagnostic's line as a string.
    pub fn to_value(&self) -> Value {
        match self {
            Self::System(message) => message.to_value(),
            Self::Assistant(message) => message.to_value(),
            Self::User(message) => message.to_value(),
            Self::Result(message) => message.to_value(),
            Self::ErrorResult(message) => message.to_value(),
            Self::Diagnostic(diagnostic) => diagnostic.line.clone().into(),
            Self::Unknown(message) => message.raw.to_value(),
        }
    }
}

fn read(text: &str) -> Result<StreamMessage, WireError> {
    read_to_fault(text).or_else(|error| {
        if matches!(error, WireError::Field(_)) {
            // What comes after the field was not looked at, and decides what the line is.
            let mut rest = JsonCursor::new(text);
            rest.skip_value()?;
            rest.expect_end()?;
        }
        Err(error)
    })
}

fn read_to_fault(text: &str) -> Result<StreamMessage, WireError> {
    let mut cursor = JsonCursor::new(text);
    if cursor.peek() != b'{' {
        cursor.skip_value()?;
        cursor.expect_end()?;
        return Err(WireError::NotAnObject);
    }
    let message = cursor.read_typed(|cursor, kind| {
        Ok(match kind {
            Some("system") => StreamMessage::System(SystemMessage::read(cursor)?),
            Some("assistant") => StreamMessage::Assistant(AssistantMessage::read(cursor)?),
            Some("user") => StreamMessage::User(UserMessage::read(cursor)?),
            Some("result") => result::read(cursor)?,
            Some(kind) => StreamMessage::Unknown(UnknownMessage {
                raw: block::read_whole(cursor, kind)?,
                kind: if amplihack_sys::sabotage::is_active("amp-wire-unknown") {
                    String::new()
                } else {
                    kind.to_owned()
                },
            }),
            None => {
                let mut typed = false;
                cursor.read_object(|cursor, key| {
                    typed |= key == "type";
                    cursor.skip_value().map(drop)
                })?;
                return Err(if typed { WireError::TypeNotAString } else { WireError::NoType });
            }
        })
    });
    // What is no message and no JSON either is no JSON.
    match message {
        Err(error @ (WireError::TypeNotAString | WireError::NoType)) => {
            cursor.expect_end().map_err(WireError::from).and(Err(error))
        }
        Err(error) => Err(error),
        Ok(message) => cursor.expect_end().map(|()| message).map_err(WireError::from),
    }
}

#[cfg(test)]
mod tests;
