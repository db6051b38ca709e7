//! OpenAI Responses: what Codex speaks, and Copilot with `COPILOT_PROVIDER_WIRE_API=responses`.

use serde_json::{Value, json};

use super::dialect::{Answer, Said, Turn, items, texts};
use super::script::Usage;
use super::sse::Event;

/// What each input item is; an input that is a string is one prompt.
pub(crate) fn turns(request: &Value) -> Vec<Turn> {
    if request["input"].is_string() {
        return vec![Turn::Prompt];
    }
    items(&request["input"])
        .iter()
        .map(|item| match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            ("message", Some("user")) => Turn::Prompt,
            ("message", Some("assistant")) => Turn::Model,
            (kind, _) if kind.ends_with("_output") => Turn::ToolResult,
            (kind, _) if kind.ends_with("_call") => Turn::Model,
            _ => Turn::Other,
        })
        .collect()
}

/// Every text of the instructions and the input; tool outputs count as role `tool`.
pub(crate) fn said(request: &Value) -> Vec<Said> {
    let mut said = texts("system", &request["instructions"]);
    if request["input"].is_string() {
        said.extend(texts("user", &request["input"]));
    }
    for item in items(&request["input"]) {
        said.extend(texts(item["role"].as_str().unwrap_or_default(), &item["content"]));
        said.extend(texts("tool", &item["output"]));
    }
    said
}

/// The finished response object.
pub(crate) fn whole(request: &Value, answer: &Answer, id: &str, usage: Usage) -> Value {
    let mut response = opening(request, id);
    let input = usage.input + usage.cached;
    response["status"] = json!("completed");
    response["output"] = json!([item(answer)]);
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
pub(crate) fn events(request: &Value, answer: &Answer, id: &str, usage: Usage) -> Vec<Event> {
    let mut steps = vec![
        ("response.created", json!({"response": opening(request, id)})),
        ("response.in_progress", json!({"response": opening(request, id)})),
    ];
    match answer {
        Answer::Text(text) => steps.extend(text_steps(answer, text)),
        Answer::Call { .. } => steps.extend(call_steps(answer)),
    }
    steps.push(("response.output_item.done", json!({"output_index": 0, "item": item(answer)})));
    steps.push(("response.completed", json!({"response": whole(request, answer, id, usage)})));
    let numbered = steps.into_iter().enumerate().map(|(number, (name, mut data))| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        Event::Named(name, data)
    });
    numbered.collect()
}

fn text_steps(answer: &Answer, text: &str) -> Vec<(&'static str, Value)> {
    let mut added = item(answer);
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
        ("response.content_part.added", place(json!({"part": part("")}))),
        ("response.output_text.delta", place(json!({"delta": text}))),
        ("response.output_text.done", place(json!({"text": text}))),
        ("response.content_part.done", place(json!({"part": part(text)}))),
    ]
}

fn call_steps(answer: &Answer) -> Vec<(&'static str, Value)> {
    let whole = item(answer);
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

fn opening(request: &Value, id: &str) -> Value {
    json!({
        "id": format!("resp_{id}"),
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": request["model"],
        "output": [],
    })
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn item(answer: &Answer) -> Value {
    match answer {
        Answer::Text(text) => json!({
            "type": "message",
            "id": "msg_scripted",
            "role": "assistant",
            "status": "completed",
            "content": [part(text)],
        }),
        // The built-in shell tool has an item of its own.
        Answer::Call { id, tool, input } if tool == "local_shell" => json!({
            "type": "local_shell_call",
            "id": format!("lsh_{id}"),
            "call_id": format!("call_{id}"),
            "status": "completed",
            "action": {"type": "exec", "command": input["command"], "env": {}},
        }),
        Answer::Call { id, tool, input } => {
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
    use Turn::{Model, Other, Prompt, ToolResult};

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
        assert_eq!(turns(&request), [Other, Prompt, Other, Model, ToolResult, Model]);
        let said: Vec<_> =
            said(&request).into_iter().map(|said| format!("{}={}", said.role, said.text)).collect();
        assert_eq!(said, ["developer=D", "user=P", "tool=R", "assistant=A"]);
        assert_eq!(turns(&json!({"input": "P"})), [Prompt]);
    }

    #[test]
    fn deltas_add_up_and_numbers_run() {
        let call = Answer::shell("7".to_owned(), "exec_command", "id");
        for answer in [Answer::Text("hi".to_owned()), call] {
            let events = events(&json!({"model": "m"}), &answer, "7", Usage::default());
            let data: Vec<&Value> = events
                .iter()
                .map(|event| if let Event::Named(_, data) = event { data } else { panic!() })
                .collect();
            for (number, data) in data.iter().enumerate() {
                assert_eq!(data["sequence_number"], number);
            }
            let last = data.last().unwrap();
            assert_eq!(last["type"], "response.completed");
            assert_eq!(last["response"]["output"][0], item(&answer));
            assert_eq!(last["response"]["usage"]["input_tokens"], 14, "OpenAI counts cached tokens as input");
            assert_eq!(last["response"]["usage"]["total_tokens"], 19);
            let whole = match &answer {
                Answer::Text(text) => json!(text),
                Answer::Call { .. } => json!("{\"cmd\":\"id\"}"),
            };
            assert!(data.iter().any(|data| data["delta"] == whole), "{data:?}");
        }
    }

    #[test]
    fn the_built_in_shell_gets_its_own_item() {
        let answer = Answer::shell("7".to_owned(), "local_shell", "id");
        let whole = whole(&json!({}), &answer, "7", Usage::default());
        assert_eq!(whole["output"][0]["action"]["command"], json!(["bash", "-lc", "id"]));
    }
}
