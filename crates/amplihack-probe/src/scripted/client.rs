//! The scripted agent's side of the Anthropic Messages API: one streamed request a turn, to this machine only.

use std::time::Duration;

use amplihack_config::env::Env;
use serde_json::{Value, json};
use ureq::http::Uri;

use crate::model::sse;

/// Longer than any scripted silence.
const DEADLINE: Duration = Duration::from_mins(10);
const MAX_ANSWER: u64 = 32 << 20;

/// A model on this machine.
#[derive(Debug)]
pub(crate) struct ScriptedModelClient {
    agent: ureq::Agent,
    url: String,
    key: String,
    model: String,
}

/// The reason why the model gave no message.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct ScriptedModelError {
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    text: String,
}

impl ScriptedModelError {
    fn new(status: Option<u16>, text: &impl ToString) -> Self {
        Self { status, text: text.to_string() }
    }
}

impl ScriptedModelClient {
    /// The model that the environment names. An error is what the agent complains about.
    pub(crate) fn new(env: &Env, model: &str) -> Result<Self, String> {
        let base = env.text("ANTHROPIC_BASE_URL").ok_or("ANTHROPIC_BASE_URL is not set")?;
        if !is_loopback(base) {
            return Err(format!(
                "ANTHROPIC_BASE_URL {base:?} is not on this machine; the scripted agent asks only http://127.0.0.1"
            ));
        }
        let key = env.text("ANTHROPIC_API_KEY").ok_or("ANTHROPIC_API_KEY is not set")?;
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(DEADLINE))
            .build()
            .into();
        let url = format!("{}/v1/messages", base.trim_end_matches('/'));
        Ok(Self { agent, url, key: key.to_owned(), model: model.to_owned() })
    }

    /// Sends the conversation and returns the model's message.
    pub(crate) fn request_message(&self, messages: &[Value]) -> Result<Value, ScriptedModelError> {
        let request = json!({
            "model": self.model,
            "max_tokens": 4096,
            "stream": true,
            "tools": [{
                "name": "Bash",
                "description": "Runs a shell command",
                "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
            }],
            "messages": messages,
        });
        let mut response = self
            .agent
            .post(&self.url)
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .send(request.to_string())
            .map_err(|error| ScriptedModelError::new(None, &format!("cannot reach {}: {error}", self.url)))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
        let body = body.map_err(|error| ScriptedModelError::new(Some(status), &error))?;
        if status != 200 {
            return Err(ScriptedModelError::new(Some(status), &format!("{status} {}", error_message(&body))));
        }
        assemble_message(&body)
            .ok_or_else(|| ScriptedModelError::new(Some(status), &"the stream ended before the message did"))
    }
}

/// The message in an error's body, as short as it can be had.
fn error_message(body: &str) -> String {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let message = value.as_ref().and_then(|value| value["error"]["message"].as_str());
    message.unwrap_or(body).to_owned()
}

/// Reports whether this base URL stays on the machine. Names that look like it (`http://127.0.0.1@elsewhere`) do not.
fn is_loopback(base: &str) -> bool {
    base.parse::<Uri>().is_ok_and(|uri| {
        uri.scheme_str() == Some("http") && matches!(uri.host(), Some("127.0.0.1" | "localhost" | "[::1]"))
    })
}

/// Puts a streamed message together; `None` unless it is whole.
fn assemble_message(wire: &str) -> Option<Value> {
    let mut message = None;
    for line in sse::data_lines(wire) {
        let event: Value = serde_json::from_str(line).ok()?;
        match event["type"].as_str()? {
            "message_start" => message = Some(event["message"].clone()),
            "content_block_start" => {
                message.as_mut()?["content"].as_array_mut()?.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let block = message.as_mut()?["content"].as_array_mut()?.last_mut()?;
                add_delta(block, &event["delta"])?;
            }
            "message_delta" => {
                let message = message.as_mut()?;
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"]["output_tokens"] = event["usage"]["output_tokens"].clone();
            }
            "message_stop" => return message,
            _ => {}
        }
    }
    None
}

/// Adds a delta to a block. Input arrives as parts of a JSON text: it stays a text until it parses.
fn add_delta(block: &mut Value, delta: &Value) -> Option<()> {
    if let Some(text) = delta["text"].as_str() {
        let whole = format!("{}{text}", block["text"].as_str()?);
        block["text"] = json!(whole);
    } else if let Some(part) = delta["partial_json"].as_str() {
        let whole = format!("{}{part}", block["input"].as_str().unwrap_or_default());
        block["input"] = serde_json::from_str(&whole).unwrap_or(Value::String(whole));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked() {
        for base in ["http://127.0.0.1:80/text~r", "http://localhost:1", "http://[::1]:8080/x"] {
            assert!(is_loopback(base), "{base}");
        }
        for base in [
            "https://127.0.0.1",
            "http://127.0.0.1@example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "127.0.0.1:80",
            "/v1",
            "",
        ] {
            assert!(!is_loopback(base), "{base}");
        }
        let env = Env::from_iter([("ANTHROPIC_BASE_URL", "http://10.0.0.1"), ("ANTHROPIC_API_KEY", "k")]);
        assert!(ScriptedModelClient::new(&env, "m").unwrap_err().contains("10.0.0.1"));
    }

    #[test]
    fn deltas_add_up_and_a_cut_stream_is_no_message() {
        let wire = [
            json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "it"}}),
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "'s"}}),
            json!({"type": "content_block_start", "content_block": {"type": "tool_use", "input": {}}}),
            json!({"type": "content_block_delta", "delta": {"partial_json": "{\"command\":"}}),
            json!({"type": "content_block_delta", "delta": {"partial_json": "\"id\"}"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]
        .map(|event| format!("data: {event}\n\n"));
        let message = assemble_message(&wire.concat()).unwrap();
        assert_eq!(message["content"][0]["text"], "it's");
        assert_eq!(message["content"][1]["input"], json!({"command": "id"}));
        assert_eq!(message["usage"], json!({"input_tokens": 1, "output_tokens": 2}));
        assert_eq!(assemble_message(&wire[..8].concat()), None);
    }
}
