//! Amp's stream of JSON: its messages as types, read in one pass and given back unchanged.
//!
//! Nothing is lost and nothing is changed: texts are never trimmed, keys of which nothing is known are in `extra`, known keys with a `null`
//! or a value of another type come back where they were, messages and blocks of unknown types are kept whole. Every `to_value` gives the wire
//! form; the order of keys is not part of it.

mod block;
mod json;
mod kept;
mod result;
mod scan;
mod system;
mod turn;
mod usage;

use serde_json::Value;

pub use block::{
    ContentBlock, TextContent, ThinkingContent, ToolOutput, ToolResultContent, ToolUseContent, UnknownContent,
};
pub use json::Json;
pub use result::{ErrorResultMessage, PermissionDenial, ResultMessage, Summary};
pub use system::{McpServerStatus, McpStatus, SystemMessage};
pub use turn::{AssistantMessage, AssistantPayload, UserMessage, UserPayload};
pub use usage::Usage;

use crate::framer::BOM;
use kept::Kept;
use scan::{Cursor, Fault};

/// One line of the stream.
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
    Diagnostic(Diagnostic),
    /// A message of a type that is not known here, whole.
    Unknown(UnknownMessage),
}

/// A message of a type that is not known here.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownMessage {
    /// Its `type`.
    pub kind: String,
    /// All of it.
    pub raw: Json,
}

/// A line that is no message: noise on standard output, a cut line, JSON of another shape.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What is wrong with it.
    pub error: WireError,
    /// The line, its first 4 KiB, invalid UTF-8 replaced.
    pub line: String,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is not JSON.
    #[error("the line is not JSON: byte {at} should begin {expected}")]
    NotJson {
        /// What was expected.
        expected: &'static str,
        /// Index of the byte.
        at: usize,
    },
    /// It is JSON and no object.
    #[error("the line is JSON and no object")]
    NotAnObject,
    /// It has no `type`.
    #[error("the message has no \"type\"")]
    NoType,
    /// Its `type` is no string.
    #[error("the message's \"type\" is no string")]
    TypeNotAString,
    /// A field holds what it must not.
    #[error("the message's {0}")]
    Field(&'static str),
    /// The line is longer than the reader takes. Made by readers of lines.
    #[error("the line has more than {limit} bytes")]
    TooLong {
        /// How many are taken.
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

/// Why reading a message stopped.
enum Refused {
    Fault(Fault),
    Field(&'static str),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Fault> for WireError {
    fn from(fault: Fault) -> Self {
        Self::NotJson { expected: fault.expected, at: fault.at }
    }
}

impl From<Refused> for WireError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Fault(fault) => fault.into(),
            Refused::Field(what) => Self::Field(what),
        }
    }
}

/// A session's id: a string that names one. What absent ids become elsewhere is kept and does not count.
fn session(kept: &mut Kept, cursor: &mut Cursor<'_>) -> Result<Option<String>, Fault> {
    let id = kept.text("session_id", cursor)?;
    if id.as_deref().is_some_and(|id| matches!(id, "" | "nil" | "null" | "undefined")) {
        kept.keep("session_id", id.into());
        return Ok(None);
    }
    Ok(id)
}

impl Diagnostic {
    /// A diagnostic about `line`, of which the first 4 KiB are kept.
    pub fn new(error: WireError, line: &[u8]) -> Self {
        let head = line.get(..4096).unwrap_or(line);
        Self { error, line: String::from_utf8_lossy(head).into_owned() }
    }
}

impl StreamMessage {
    /// Reads one line, without its line break. Invalid UTF-8 is replaced, a byte order mark passed over. Of keys that come twice the
    /// last one counts, as in JavaScript.
    pub fn from_line(line: &[u8]) -> Result<Self, WireError> {
        let line = line.strip_prefix(BOM).unwrap_or(line);
        match simdutf8::basic::from_utf8(line) {
            Ok(text) => read(text),
            Err(_) => read(&String::from_utf8_lossy(line)),
        }
    }

    /// Reads one line; what is no message is a [`StreamMessage::Diagnostic`].
    pub fn from_line_lossy(line: &[u8]) -> Self {
        Self::from_line(line).unwrap_or_else(|error| Self::Diagnostic(Diagnostic::new(error, line)))
    }

    /// Reads a message that is a tree already.
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

    /// Whether it ends the run.
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
            let mut rest = Cursor::new(text);
            rest.skip()?;
            rest.end()?;
        }
        Err(error)
    })
}

fn read_to_fault(text: &str) -> Result<StreamMessage, WireError> {
    let mut cursor = Cursor::new(text);
    if cursor.peek() != b'{' {
        cursor.skip()?;
        cursor.end()?;
        return Err(WireError::NotAnObject);
    }
    let message = cursor.typed(|cursor, kind| {
        Ok(match kind {
            Some("system") => StreamMessage::System(SystemMessage::read(cursor)?),
            Some("assistant") => StreamMessage::Assistant(AssistantMessage::read(cursor)?),
            Some("user") => StreamMessage::User(UserMessage::read(cursor)?),
            Some("result") => result::read(cursor)?,
            Some(kind) => StreamMessage::Unknown(UnknownMessage {
                raw: block::whole(cursor, kind)?,
                kind: if amplihack_utils::sabotage::active("amp-wire-unknown") {
                    String::new()
                } else {
                    kind.to_owned()
                },
            }),
            None => {
                let mut typed = false;
                cursor.object(|cursor, key| {
                    typed |= key == "type";
                    cursor.skip().map(drop)
                })?;
                return Err(if typed { WireError::TypeNotAString } else { WireError::NoType });
            }
        })
    });
    // What is no message and no JSON either is no JSON.
    match message {
        Err(error @ (WireError::TypeNotAString | WireError::NoType)) => {
            cursor.end().map_err(WireError::from).and(Err(error))
        }
        Err(error) => Err(error),
        Ok(message) => cursor.end().map(|()| message).map_err(WireError::from),
    }
}

#[cfg(test)]
mod tests;
