//! Anthropic Messages: what Claude Code speaks, and Copilot with an Anthropic provider.

use serde_json::{Value, json};

use super::dialect::{FOUND, ModelAnswer, ModelMessageKind, OPAQUE, RequestText, content_texts, list_items};
use super::script::{ReplyUsage, ScriptedPart, ScriptedStop};
use super::sse::SseEvent;

/// The kind of each message. A message with any tool result is one; Claude Code's reminders have the role `system`.
pub(crate) fn message_kinds(request: &Value) -> Vec<ModelMessageKind> {
    list_items(&request["messages"])
        .iter()
        .map(|message| match message["role"].as_str() {
            Some("assistant") => ModelMessageKind::Model,
            Some("user")
                if list_items(&message["content"]).iter().any(|block| block["type"] == "tool_result") =>
            {
                ModelMessageKind::ToolResult
            }
            Some("user") => ModelMessageKind::Prompt,
            _ => ModelMessageKind::Other,
        })
        .collect()
}

/// Every text of the system prompt and the messages; tool results count as role `tool`.
pub(crate) fn request_texts(request: &Value) -> Vec<RequestText> {
    let mut said = content_texts("system", &request["system"]);
    for message in list_items(&request["messages"]) {
        said.extend(content_texts(message["role"].as_str().unwrap_or_default(), &message["content"]));
        for block in list_items(&message["content"]).iter().filter(|block| block["type"] == "tool_result") {
            said.extend(content_texts("tool", &block["content"]));
        }
    }
    said
}

/// The whole message.
pub(crate) fn whole_answer(request: &Value, answer: &ModelAnswer, id: &str, usage: ReplyUsage) -> Value {
    let mut message = opening_message(request, id, usage);
    message["content"] = content_blocks(answer, id).into();
    message["stop_reason"] = json!(stop_reason(answer));
    message["usage"]["output_tokens"] = json!(usage.output);
    message
}

/// The message in the full set of stream events.
pub(crate) fn stream_events(
    request: &Value,
    answer: &ModelAnswer,
    id: &str,
    usage: ReplyUsage,
) -> Vec<SseEvent> {
    let mut events = vec![("message_start", json!({"message": opening_message(request, id, usage)}))];
    for (index, block) in content_blocks(answer, id).into_iter().enumerate() {
        let (start, deltas) = streamed_block(block);
        events.push(("content_block_start", json!({"index": index, "content_block": start})));
        let delta = |delta| ("content_block_delta", json!({"index": index, "delta": delta}));
        events.extend(deltas.into_iter().map(delta));
        events.push(("content_block_stop", json!({"index": index})));
    }
    let ending = json!({"stop_reason": stop_reason(answer), "stop_sequence": null});
    events.push(("message_delta", json!({"delta": ending, "usage": {"output_tokens": usage.output}})));
    events.push(("message_stop", json!({})));
    let named = events.into_iter().map(|(name, mut data)| {
        data["type"] = json!(name);
        SseEvent::Named(name, data)
    });
    named.collect()
}

/// A block as it begins, and the deltas that make it whole.
fn streamed_block(mut block: Value) -> (Value, Vec<Value>) {
    let deltas = match block["type"].as_str() {
        Some("text") => vec![json!({"type": "text_delta", "text": block["text"].take()})],
        Some("thinking") => vec![
            json!({"type": "thinking_delta", "thinking": block["thinking"].take()}),
            json!({"type": "signature_delta", "signature": block["signature"].take()}),
        ],
        Some("tool_use" | "server_tool_use") => {
            let input = std::mem::replace(&mut block["input"], json!({}));
            vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})]
        }
        _ => Vec::new(),
    };
    for (_, value) in block.as_object_mut().into_iter().flatten().filter(|(_, value)| value.is_null()) {
        *value = json!("");
    }
    (block, deltas)
}

/// The message as it begins: no content, and output tokens not counted yet.
fn opening_message(request: &Value, id: &str, usage: ReplyUsage) -> Value {
    json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": 0,
        },
    })
}

/// The blocks of the message. A search that the server makes has two: the call, and what it found.
fn content_blocks(answer: &ModelAnswer, id: &str) -> Vec<Value> {
    let blocks = |(id, part): (String, &ScriptedPart)| match part {
        ScriptedPart::Thinking(thought) => {
            vec![json!({"type": "thinking", "thinking": thought, "signature": OPAQUE})]
        }
        ScriptedPart::Redacted => vec![json!({"type": "redacted_thinking", "data": OPAQUE})],
        ScriptedPart::Text(text) => vec![json!({"type": "text", "text": text})],
        ScriptedPart::Search(query) => {
            let id = format!("srvtoolu_{id}");
            let found = json!([{
                "type": "web_search_result",
                "url": FOUND,
                "title": "Found",
                "encrypted_content": OPAQUE,
                "page_age": null,
            }]);
            vec![
                json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}),
                json!({"type": "web_search_tool_result", "tool_use_id": id, "content": found}),
            ]
        }
        ScriptedPart::Call { tool, input } => {
            vec![json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": tool, "input": input})]
        }
    };
    answer.numbered(id).flat_map(blocks).collect()
}

fn stop_reason(answer: &ModelAnswer) -> &'static str {
    match answer.stop {
        Some(ScriptedStop::MaxTokens) => "max_tokens",
        Some(ScriptedStop::Refusal) => "refusal",
        None if answer.has_call() => "tool_use",
        None => "end_turn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> ModelAnswer {
        ModelAnswer::shell_call("Bash", "id")
    }

    #[test]
    fn reminders_are_no_step_and_a_tool_result_is_no_prompt() {
        let request = json!({"messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [{"type": "tool_result"}, {"type": "text", "text": "note"}]},
            {"role": "system", "content": "reminder"},
        ]});
        assert_eq!(
            message_kinds(&request),
            [
                ModelMessageKind::Prompt,
                ModelMessageKind::Model,
                ModelMessageKind::ToolResult,
                ModelMessageKind::Other
            ]
        );
    }

    #[test]
    fn every_text_keeps_its_role() {
        let request = json!({"system": [{"type": "text", "text": "S"}], "messages": [
            {"role": "user", "content": "P"},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "R"}]}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "R2"}]},
        ]});
        let said: Vec<_> = request_texts(&request).into_iter().map(|said| (said.role, said.text)).collect();
        let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        assert_eq!(said, [pair("system", "S"), pair("user", "P"), pair("tool", "R"), pair("tool", "R2")]);
    }

    #[test]
    fn the_stream_adds_up_to_the_whole() {
        let request = json!({"model": "m"});
        let names = |events: &[SseEvent]| -> Vec<&str> {
            let name = |event: &SseEvent| if let SseEvent::Named(name, _) = event { *name } else { "" };
            events.iter().map(name).collect()
        };
        let events = stream_events(&request, &call(), "7", ReplyUsage::default());
        let whole = whole_answer(&request, &call(), "7", ReplyUsage::default());
        assert_eq!(
            names(&events),
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        let SseEvent::Named(_, delta) = &events[2] else { panic!("{events:?}") };
        let input: Value = serde_json::from_str(delta["delta"]["partial_json"].as_str().unwrap()).unwrap();
        assert_eq!(whole["content"][0]["input"], input);
        assert_eq!(whole["stop_reason"], "tool_use");
        assert_eq!(whole["usage"]["cache_read_input_tokens"], 4);
        assert_eq!(whole["usage"]["output_tokens"], 5);
    }
}
