//! OpenAI Responses: what Codex speaks, and Copilot with `COPILOT_PROVIDER_WIRE_API=responses`.

use serde_json::{Value, json};

use super::dialect::{ModelAnswer, ModelMessageKind, RequestText, content_texts, list_items};
use super::script::ReplyUsage;
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
    response["output"] = json!([output_item(answer)]);
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
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
    match answer {
        ModelAnswer::Text(text) => steps.extend(text_steps(answer, text)),
        ModelAnswer::Call { .. } => steps.extend(call_steps(answer)),
    }
    steps.push(("response.output_item.done", json!({"output_index": 0, "item": output_item(answer)})));
    steps.push(("response.completed", json!({"response": whole_answer(request, answer, id, usage)})));
    let numbered = steps.into_iter().enumerate().map(|(number, (name, mut data))| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        SseEvent::Named(name, data)
    });
    numbered.collect()
}

fn text_steps(answer: &ModelAnswer, text: &str) -> Vec<(&'static str, Value)> {
    let mut added = output_item(answer);
    added["content"] = json!([]);
    added["status"] = json!("in_progress");
    let place = |more: Value| {
        let mut data = json!({"item_id": added["id"], "output_index": 0, "content_index": 0});
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    };
    vec![
        ("response.output_item.added", json!({"output_index": 0, "item": added})),
        ("response.content_part.added", place(json!({"part": output_part("")}))),
        ("response.output_text.delta", place(json!({"delta": text}))),
        ("response.output_text.done", place(json!({"text": text}))),
        ("response.content_part.done", place(json!({"part": output_part(text)}))),
    ]
}

fn call_steps(answer: &ModelAnswer) -> Vec<(&'static str, Value)> {
    let whole = output_item(answer);
    let mut added = whole.clone();
    added["status"] = json!("in_progress");
    if whole["type"] == "local_shell_call" {
        return vec![("response.output_item.added", json!({"output_index": 0, "item": added}))];
    }
    added["arguments"] = json!("");
    let (id, arguments) = (&whole["id"], &whole["arguments"]);
    vec![
        ("response.output_item.added", json!({"output_index": 0, "item": added})),
        (
            "response.function_call_arguments.delta",
            json!({"item_id": id, "output_index": 0, "delta": arguments}),
        ),
        (
            "response.function_call_arguments.done",
            json!({"item_id": id, "output_index": 0, "arguments": arguments}),
        ),
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

fn output_item(answer: &ModelAnswer) -> Value {
    match answer {
        ModelAnswer::Text(text) => json!({
            "type": "message",
            "id": "msg_scripted",
            "role": "assistant",
            "status": "completed",
            "content": [output_part(text)],
        }),
        // The built-in shell tool has an item of its own.
        ModelAnswer::Call { id, tool, input } if tool == "local_shell" => json!({
            "type": "local_shell_call",
            "id": format!("lsh_{id}"),
            "call_id": format!("call_{id}"),
            "status": "completed",
            "action": {"type": "exec", "command": input["command"], "env": {}},
        }),
        ModelAnswer::Call { id, tool, input } => {
            let (namespace, name) =
                tool.split_once('.').map_or((None, tool.as_str()), |(of, name)| (Some(of), name));
            let mut call = json!({
                "type": "function_call",
                "id": format!("fc_{id}"),
                "call_id": format!("call_{id}"),
                "name": name,
                "arguments": input.to_string(),
                "status": "completed",
            });
            if let Some(namespace) = namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
    }
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
        let call = ModelAnswer::shell_call("7".to_owned(), "exec_command", "id");
        for answer in [ModelAnswer::Text("hi".to_owned()), call] {
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
            assert_eq!(last["response"]["output"][0], output_item(&answer));
            assert_eq!(last["response"]["usage"]["input_tokens"], 14, "OpenAI counts cached tokens as input");
            assert_eq!(last["response"]["usage"]["total_tokens"], 19);
            let whole = match &answer {
                ModelAnswer::Text(text) => json!(text),
                ModelAnswer::Call { .. } => json!("{\"cmd\":\"id\"}"),
            };
            assert!(data.iter().any(|data| data["delta"] == whole), "{data:?}");
        }
    }

    #[test]
    fn the_built_in_shell_gets_its_own_item() {
        let answer = ModelAnswer::shell_call("7".to_owned(), "local_shell", "id");
        let whole = whole_answer(&json!({}), &answer, "7", ReplyUsage::default());
        assert_eq!(whole["output"][0]["action"]["command"], json!(["bash", "-lc", "id"]));
    }
}
