//! Prompt of a run: a text, or messages.

mod map;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The prompt of a run. It reaches the CLI on its standard input, byte for byte.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum AmpPrompt {
    /// A text.
    Text(String),
    /// Messages, one JSON line each, then the end of the input.
    Messages(Vec<UserInputMessage>),
}

/// A message of the user. Wire form: `{"type": "user", "message": {"role": "user", "content": [...]}, "request_id"?}`.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UserInputMessage {
    /// Parts of the message.
    pub content: Vec<InputContent>,
    /// A name by which a repeated message is known as the same, 1 to 256 characters.
    pub request_id: Option<String>,
    /// Further keys within `message`.
    pub message_extra: Map<String, Value>,
    /// Further keys.
    pub extra: Map<String, Value>,
}

/// A part of a message of the user.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum InputContent {
    /// Text.
    Text(String),
    /// The answer to a call of a tool.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// The answer.
        content: String,
        /// `true` if the tool failed.
        is_error: bool,
    },
    /// Any other part, whole, as the CLI takes it: an image, or a part that has further keys. Its `type` is a string.
    Other(Value),
}

/// Makes a message of a text.
///
/// ```
/// let message = amp_sdk::create_user_message("Summarize the last change.");
/// assert_eq!(message.to_value()["message"]["content"][0]["text"], "Summarize the last change.");
/// ```
pub fn create_user_message(text: impl Into<String>) -> UserInputMessage {
    let mut text = text.into();
    if amplihack_sys::sabotage::is_active("amp-create-message") {
        text.truncate(text.find('\n').unwrap_or(text.len()));
    }
    UserInputMessage { content: vec![InputContent::Text(text)], ..UserInputMessage::default() }
}

impl InputContent {
    /// An image: its type, such as `image/png`, and its bytes in base 64.
    pub fn from_image(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        let source = json!({"type": "base64", "media_type": media_type.into(), "data": data.into()});
        Self::Other(json!({"type": "image", "source": source}))
    }

    /// Reports whether the part has content.
    fn has_content(&self) -> bool {
        match self {
            Self::Text(text) => !text.trim().is_empty(),
            Self::ToolResult { .. } => true,
            Self::Other(part) => {
                part.get("text").and_then(Value::as_str).is_none_or(|text| !text.trim().is_empty())
            }
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::ToolResult { tool_use_id, content, is_error } => {
                json!({"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error})
            }
            Self::Other(part) => part.clone(),
        }
    }
}

impl UserInputMessage {
    /// Names the message, so that repeats are recognized.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The wire form.
    pub fn to_value(&self) -> Value {
        let mut map = self.extra.clone();
        let content: Vec<Value> = self.content.iter().map(InputContent::to_value).collect();
        map.insert("type".to_owned(), "user".into());
        let mut message = self.message_extra.clone();
        message.extend([("role".to_owned(), "user".into()), ("content".to_owned(), content.into())]);
        map.insert("message".to_owned(), message.into());
        if let Some(id) = &self.request_id {
            map.insert("request_id".to_owned(), id.clone().into());
        }
        Value::Object(map)
    }

    pub(crate) fn validate(&self, at: usize) -> Result<()> {
        if !self.content.iter().any(InputContent::has_content) {
            return Err(Error::EmptyPrompt);
        }
        for (part, content) in self.content.iter().enumerate() {
            if let InputContent::Other(value) = content {
                map::check_part(value, &format!("messages[{at}].message.content[{part}]"))?;
            }
        }
        match self.request_id.as_ref().map(|id| id.chars().count()) {
            Some(0 | 257..) => Err(Error::invalid_option(
                format!("messages[{at}].request_id"),
                "it has to have 1 to 256 characters",
            )),
            _ => Ok(()),
        }
    }

    /// The line that the CLI reads.
    pub(crate) fn to_line(&self) -> String {
        format!("{}\n", self.to_value())
    }
}

impl AmpPrompt {
    /// Reports whether messages are sent as a stream of JSON.
    pub(crate) const fn is_json(&self) -> bool {
        matches!(self, Self::Messages(_))
    }

    /// Number of messages, each of which the CLI answers with a result.
    pub(crate) const fn message_count(&self) -> usize {
        match self {
            Self::Text(_) => 1,
            Self::Messages(messages) => messages.len(),
        }
    }

    /// Refuses what says nothing.
    pub(crate) fn validate(&self) -> Result<()> {
        match self {
            Self::Text(text) if text.trim().is_empty() => Err(Error::EmptyPrompt),
            Self::Messages(messages) if messages.is_empty() => Err(Error::EmptyPrompt),
            Self::Text(_) => Ok(()),
            Self::Messages(messages) => {
                messages.iter().enumerate().try_for_each(|(at, message)| message.validate(at))
            }
        }
    }

    /// The bytes for the CLI's standard input.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) if amplihack_sys::sabotage::is_active("amp-prompt-text") => {
                text.trim_end().as_bytes().to_vec()
            }
            Self::Text(text) => text.into_bytes(),
            Self::Messages(messages) => {
                let few = if amplihack_sys::sabotage::is_active("amp-prompt-messages") {
                    1
                } else {
                    messages.len()
                };
                messages.iter().take(few).flat_map(|message| message.to_line().into_bytes()).collect()
            }
        }
    }
}

impl From<&str> for AmpPrompt {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AmpPrompt {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<UserInputMessage> for AmpPrompt {
    fn from(message: UserInputMessage) -> Self {
        Self::Messages(vec![message])
    }
}

impl From<Vec<UserInputMessage>> for AmpPrompt {
    fn from(messages: Vec<UserInputMessage>) -> Self {
        Self::Messages(messages)
    }
}

impl std::fmt::Debug for AmpPrompt {
    /// Never the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Messages(messages) => f.debug_tuple("Messages").field(messages).finish(),
        }
    }
}

impl std::fmt::Debug for UserInputMessage {
    /// Never the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserInputMessage").field("content", &self.content).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for InputContent {
    /// Never the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::ToolResult { content, .. } => write!(f, "ToolResult({} bytes)", content.len()),
            Self::Other(part) => write!(f, "Other({})", part.get("type").unwrap_or(&Value::Null)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lines_and_the_text_is_itself() {
        let messages = vec![create_user_message("a\nb"), create_user_message("c").with_request_id("r")];
        let bytes = String::from_utf8(AmpPrompt::from(messages).into_bytes()).unwrap();
        let lines: Vec<Value> = bytes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let user = |text| json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}});
        let mut named = user("c");
        named["request_id"] = "r".into();
        assert_eq!(lines, [user("a\nb"), named]);
        assert_eq!(AmpPrompt::from("--help\n  x \n").into_bytes(), b"--help\n  x \n");
    }

    #[test]
    fn nothing_said_is_refused_and_debug_is_silent() {
        for prompt in [AmpPrompt::from(""), " \n".into(), Vec::new().into(), create_user_message(" ").into()]
        {
            assert!(matches!(prompt.validate(), Err(Error::EmptyPrompt)), "{prompt:?}");
        }
        let named = create_user_message("x").with_request_id("r".repeat(257));
        assert_eq!(AmpPrompt::from(named).validate().unwrap_err().kind(), "invalid_configuration");
        let shown =
            format!("{:?} {:?}", AmpPrompt::from("hunter2"), AmpPrompt::from(create_user_message("hunter2")));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
