//! Messages of the user given as maps, in the CLI's wire form.

use serde_json::{Map, Value};

use super::{AmpPrompt, InputContent, UserInputMessage};
use crate::error::{Error, Result};

impl TryFrom<Value> for AmpPrompt {
    type Error = Error;

    /// A string is a text, an object a message, a list messages; see [`UserInputMessage::try_from`].
    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(messages) => messages.try_into(),
            map => Ok(Self::Messages(vec![parse_message(map, "messages[0]")?])),
        }
    }
}

impl TryFrom<Vec<Value>> for AmpPrompt {
    type Error = Error;

    /// Messages; see [`UserInputMessage::try_from`].
    fn try_from(messages: Vec<Value>) -> Result<Self> {
        let numbered = messages.into_iter().enumerate();
        let read = numbered.map(|(at, map)| parse_message(map, &format!("messages[{at}]")));
        read.collect::<Result<_>>().map(Self::Messages)
    }
}

impl TryFrom<Value> for UserInputMessage {
    type Error = Error;

    /// Reads the wire form: `{"type": "user", "message": {"role": "user", "content": TEXT or [PART, …]}, "request_id"?}`. What is not known
    /// is kept. Anything else is `invalid_configuration` naming the place, without its value.
    ///
    /// ```
    /// use amp_sdk::{AmpPrompt, UserInputMessage};
    /// use serde_json::json;
    ///
    /// let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    /// let map = json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}});
    /// let message = UserInputMessage::try_from(map.clone())?;
    /// assert_eq!(message.to_value(), map);
    /// let prompt = AmpPrompt::try_from(vec![map])?;
    /// # Ok::<(), amp_sdk::Error>(())
    /// ```
    fn try_from(value: Value) -> Result<Self> {
        parse_message(value, "message")
    }
}

/// Refuses a value with a key that it must not have, or without one that it needs.
fn invalid_input<T>(place: &str, what: &str) -> Result<T> {
    Err(Error::invalid_option(place, what))
}

fn parse_message(value: Value, place: &str) -> Result<UserInputMessage> {
    let Value::Object(mut map) = value else {
        return invalid_input(place, "it is no object; give a user message");
    };
    take_user_word(&mut map, "type", &format!("{place}.type"))?;
    let request_id = match map.remove("request_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id),
        Some(_) => return invalid_input(&format!("{place}.request_id"), "it is no string"),
    };
    if amplihack_sys::sabotage::is_active("amp-prompt-maps") {
        map.clear();
    }
    let place = format!("{place}.message");
    let mut inner = match map.remove("message") {
        Some(Value::Object(inner)) => inner,
        Some(_) => {
            return invalid_input(&place, "it is no object; give {\"role\": \"user\", \"content\": …}");
        }
        None => return invalid_input(&place, "it is missing; give {\"role\": \"user\", \"content\": …}"),
    };
    take_user_word(&mut inner, "role", &format!("{place}.role"))?;
    let place = format!("{place}.content");
    let content = match inner.remove("content") {
        Some(Value::String(text)) => vec![InputContent::Text(text)],
        Some(Value::Array(parts)) => {
            let numbered = parts.into_iter().enumerate();
            numbered.map(|(at, value)| parse_part(value, &format!("{place}[{at}]"))).collect::<Result<_>>()?
        }
        Some(_) => return invalid_input(&place, "it is neither a text nor a list of parts"),
        None => return invalid_input(&place, "it is missing; give a text or a list of parts"),
    };
    Ok(UserInputMessage { content, request_id, message_extra: inner, extra: map })
}

/// Takes a key that is `user` out of `map`: nobody else's messages are input.
fn take_user_word(map: &mut Map<String, Value>, key: &str, place: &str) -> Result<()> {
    match map.remove(key) {
        Some(Value::String(word)) if word == "user" => Ok(()),
        None => invalid_input(place, "it is missing; give \"user\""),
        Some(_) => invalid_input(place, "it is not \"user\"; only messages of the user are input"),
    }
}

/// Checks that a value can be a part: an object with a type, and an image with a source.
pub(super) fn check_part<'a>(value: &'a Value, place: &str) -> Result<(&'a str, &'a Map<String, Value>)> {
    let Value::Object(map) = value else {
        return invalid_input(place, "it is no object; give a part with a \"type\"");
    };
    match map.get("type").and_then(Value::as_str) {
        None => invalid_input(&format!("{place}.type"), "it is missing or no string"),
        Some("image") => check_image(map, place).map(|()| ("image", map)),
        Some(kind) => Ok((kind, map)),
    }
}

/// A part in its typed form, if that form is all of it, else whole.
fn parse_part(value: Value, place: &str) -> Result<InputContent> {
    let (kind, map) = check_part(&value, place)?;
    let text = |key: &str| match map.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => invalid_input(&format!("{place}.{key}"), "it is no string"),
        None => invalid_input(&format!("{place}.{key}"), "it is missing"),
    };
    let typed = match kind {
        "text" => InputContent::Text(text("text")?),
        "tool_result" => {
            let tool_use_id = text("tool_use_id")?;
            match (map.get("content"), map.get("is_error")) {
                (Some(Value::String(content)), None | Some(Value::Bool(_))) => InputContent::ToolResult {
                    tool_use_id,
                    content: content.clone(),
                    is_error: map.get("is_error") == Some(&Value::Bool(true)),
                },
                _ => return Ok(InputContent::Other(value)),
            }
        }
        _ => return Ok(InputContent::Other(value)),
    };
    // What the typed form would lose or add keeps the part whole.
    Ok(if typed.to_value() == value || amplihack_sys::sabotage::is_active("amp-prompt-parts") {
        typed
    } else {
        InputContent::Other(value)
    })
}

/// An image names its source: in the message, or a file.
fn check_image(map: &Map<String, Value>, place: &str) -> Result<()> {
    let named = |map: &Map<String, Value>, key: &str| {
        map.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    match map.get("source") {
        Some(Value::Object(source)) if !named(source, "type") => {
            invalid_input(&format!("{place}.source.type"), "it is missing; give base64 or url")
        }
        Some(Value::Object(source))
            if source.get("type").and_then(Value::as_str) == Some("base64")
                && !(named(source, "media_type") && named(source, "data")) =>
        {
            invalid_input(&format!("{place}.source"), "a base64 source needs \"media_type\" and \"data\"")
        }
        Some(Value::Object(_)) => Ok(()),
        None if named(map, "source_path") => Ok(()),
        _ => invalid_input(
            &format!("{place}.source"),
            "it is missing or no object; give {\"type\": \"base64\", …}",
        ),
    }
}
