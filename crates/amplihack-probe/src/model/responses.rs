//! OpenAI Responses: what Codex speaks, and Copilot with `COPILOT_PROVIDER_WIRE_API=responses`.

use serde_json::{Value, json};

use super::dialect::{ModelAnswer, ModelMessageKind, OPAQUE, RequestText, content_texts, list_items};
use super::script::{ReplyUsage, ScriptedPart, ScriptedStop};
use super::sse::SseEvent;

/// The kind of each input item; an input that is a string is one prompt.
pub(crate) fn message_kinds(request: &Value) -> Vec<ModelMessageKind> {
    if request["input"].is_string() {
        return vec![ModelMessageKind::Prompt];
    }
    list_items(&request["input"])
        .iter()
        .map(|item| match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            ("message", Some("user")) => ModelMessageKind::Prompt,
            ("message", Some("assistant")) => ModelMessageKind::Model,
            (kind, _) if kind.ends_with("_output") => ModelMessageKind::ToolResult,
            (kind, _) if kind.ends_with("_call") => ModelMessageKind::Model,
            _ => ModelMessageKind::Other,
        })
        .collect()
}

/// Every text of the instructions and the input; tool outputs count as role `tool`.
pub(crate) fn request_texts(request: &Value) -> Vec<RequestText> {
    let mut said = content_texts("system", &request["instructions"]);
    if request["input"].is_string() {
        said.extend(content_texts("user", &request["input"]));
    }
    for item in list_items(&request["input"]) {
        said.extend(content_texts(item["role"].as_str().unwrap_or_default(), &item["content"]));
        said.extend(content_texts("tool", &item["output"]));
    }
    said
}

/// The finished response object.
pub(crate) fn whole_answer(request: &Value, answer: &ModelAnswer, id: &str, usage: ReplyUsage) -> Value {
    let mut response = opening_response(request, id);
    let input = usage.input + usage.cached;
    response["status"] = json!("completed");
    if answer.stop == Some(ScriptedStop::MaxTokens) {
        response["status"] = json!("incomplete");
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    response["output"] = output_items(answer, id).into();
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    });
    response
}

/// The response in the full set of stream events. Codex needs few of them, Copilot all.
pub(crate) fn stream_events(
    request: &Value,
    answer: &ModelAnswer,
    id: &str,
    usage: ReplyUsage,
) -> Vec<SseEvent> {
    let mut steps = vec![
        ("response.created", json!({"response": opening_response(request, id)})),
        ("response.in_progress", json!({"response": opening_response(request, id)})),
    ];
    for (index, item) in output_items(answer, id).into_iter().enumerate() {
        steps.extend(item_steps(index, &item));
        steps.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    let whole = json!({"response": whole_answer(request, answer, id, usage)});
    let is_cut = answer.stop == Some(ScriptedStop::MaxTokens);
    steps.push((if is_cut { "response.incomplete" } else { "response.completed" }, whole));
    let numbered = steps.into_iter().enumerate().map(|(number, (name, mut data))| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        SseEvent::Named(name, data)
    });
    numbered.collect()
}

/// The events before an item is whole.
fn item_steps(index: usize, item: &Value) -> Vec<(&'static str, Value)> {
    let place = |more: Value| {
        let mut data = json!({"item_id": item["id"], "output_index": index});
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    };
    let mut added = item.clone();
    added["status"] = json!("in_progress");
    let steps = match item["type"].as_str() {
        Some("message") => {
            added["content"] = json!([]);
            message_steps(&item["content"][0], place)
        }
        Some("reasoning") => {
            added["summary"] = json!([]);
            list_items(&item["summary"]).iter().flat_map(|part| summary_steps(part, place)).collect()
        }
        Some("function_call") => {
            added["arguments"] = json!("");
            let arguments = &item["arguments"];
            vec![
                ("response.function_call_arguments.delta", place(json!({"delta": arguments}))),
                ("response.function_call_arguments.done", place(json!({"arguments": arguments}))),
            ]
        }
        _ => Vec::new(),
    };
    let begin = ("response.output_item.added", json!({"output_index": index, "item": added}));
    std::iter::once(begin).chain(steps).collect()
}

fn message_steps(part: &Value, place: impl Fn(Value) -> Value) -> Vec<(&'static str, Value)> {
    let (kind, text) = match part.get("refusal") {
        Some(text) => (["response.refusal.delta", "response.refusal.done"], text),
        None => (["response.output_text.delta", "response.output_text.done"], &part["text"]),
    };
    let named = if part.get("refusal").is_some() { "refusal" } else { "text" };
    vec![
        ("response.content_part.added", place(json!({"content_index": 0, "part": output_part("")}))),
        (kind[0], place(json!({"content_index": 0, "delta": text}))),
        (kind[1], place(json!({"content_index": 0, named: text}))),
        ("response.content_part.done", place(json!({"content_index": 0, "part": part}))),
    ]
}

fn summary_steps(part: &Value, place: impl Fn(Value) -> Value) -> Vec<(&'static str, Value)> {
    let empty = json!({"type": "summary_text", "text": ""});
    let text = &part["text"];
    vec![
        ("response.reasoning_summary_part.added", place(json!({"summary_index": 0, "part": empty}))),
        ("response.reasoning_summary_text.delta", place(json!({"summary_index": 0, "delta": text}))),
        ("response.reasoning_summary_text.done", place(json!({"summary_index": 0, "text": text}))),
        ("response.reasoning_summary_part.done", place(json!({"summary_index": 0, "part": part}))),
    ]
}

fn opening_response(request: &Value, id: &str) -> Value {
    json!({
        "id": format!("resp_{id}"),
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": request["model"],
        "output": [],
    })
}

fn output_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn output_items(answer: &ModelAnswer, id: &str) -> Vec<Value> {
    answer.numbered(id).map(|(id, part)| output_item(part, &id, answer.stop)).collect()
}

fn output_item(part: &ScriptedPart, id: &str, stop: Option<ScriptedStop>) -> Value {
    match part {
        ScriptedPart::Thinking(thought) => {
            let summary = json!([{"type": "summary_text", "text": thought}]);
            json!({"type": "reasoning", "id": format!("rs_{id}"), "summary": summary, "encrypted_content": OPAQUE})
        }
        ScriptedPart::Redacted => {
            json!({"type": "reasoning", "id": format!("rs_{id}"), "summary": [], "encrypted_content": OPAQUE})
        }
        ScriptedPart::Text(text) => {
            let refusal = json!({"type": "refusal", "refusal": text});
            let content = if stop == Some(ScriptedStop::Refusal) { refusal } else { output_part(text) };
            json!({
                "type": "message",
                "id": format!("msg_{id}"),
                "role": "assistant",
                "status": "completed",
                "content": [content],
            })
        }
        ScriptedPart::Search(query) => json!({
            "type": "web_search_call",
            "id": format!("ws_{id}"),
            "status": "completed",
            "action": {"type": "search", "query": query},
        }),
        ScriptedPart::Call { tool, input } => call_item(tool, input, id),
    }
}

fn call_item(tool: &str, input: &Value, id: &str) -> Value {
    let call = format!("call_{id}");
    // The built-in shell tool has an item of its own.
    if tool == "local_shell" {
        let action = json!({"type": "exec", "command": input["command"], "env": {}});
        return json!({
            "type": "local_shell_call", "id": format!("lsh_{id}"), "call_id": call, "status": "completed", "action": action,
        });
    }
    if let Value::String(text) = input {
        return json!({
            "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": call, "status": "completed", "name": tool, "input": text,
        });
    }
    let (namespace, name) = tool.split_once('.').map_or((None, tool), |(of, name)| (Some(of), name));
    let mut item = json!({
        "type": "function_call",
        "id": format!("fc_{id}"),
        "call_id": call,
        "name": name,
        "arguments": input.to_string(),
        "status": "completed",
    });
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelMessageKind::{Model, Other, Prompt, ToolResult};

    #[test]
    fn input_items_are_told_apart() {
        let request = json!({"input": [
            {"role": "developer", "content": "D"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "P"}]},
            {"type": "reasoning"},
            {"type": "function_call"},
            {"type": "function_call_output", "output": "R"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
        ]});
        assert_eq!(message_kinds(&request), [Other, Prompt, Other, Model, ToolResult, Model]);
        let said: Vec<_> =
            request_texts(&request).into_iter().map(|said| format!("{}={}", said.role, said.text)).collect();
        assert_eq!(said, ["developer=D", "user=P", "tool=R", "assistant=A"]);
        assert_eq!(message_kinds(&json!({"input": "P"})), [Prompt]);
    }

    #[test]
    fn deltas_add_up_and_numbers_run() {
        let call = ModelAnswer::shell_call("exec_command", "id");
        for answer in [ModelAnswer::text("hi"), call] {
            let events = stream_events(&json!({"model": "m"}), &answer, "7", ReplyUsage::default());
            let data: Vec<&Value> = events
                .iter()
                .map(|event| if let SseEvent::Named(_, data) = event { data } else { panic!() })
                .collect();
            for (number, data) in data.iter().enumerate() {
                assert_eq!(data["sequence_number"], number);
            }
            let last = data.last().unwrap();
            assert_eq!(last["type"], "response.completed");
            assert_eq!(last["response"]["output"][0], output_item(&answer.parts[0], "7", None));
            assert_eq!(last["response"]["usage"]["input_tokens"], 14, "OpenAI counts cached tokens as input");
            assert_eq!(last["response"]["usage"]["total_tokens"], 19);
            let whole = if answer.has_call() { json!("{\"cmd\":\"id\"}") } else { json!("hi") };
            assert!(data.iter().any(|data| data["delta"] == whole), "{data:?}");
        }
    }

    #[test]
    fn the_built_in_shell_gets_its_own_item() {
        let answer = ModelAnswer::shell_call("local_shell", "id");
        let whole = whole_answer(&json!({}), &answer, "7", ReplyUsage::default());
        assert_eq!(whole["output"][0]["action"]["command"], json!(["bash", "-lc", "id"]));
    }
}
