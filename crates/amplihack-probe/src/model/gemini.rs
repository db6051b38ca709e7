//! Gemini's `generateContent`: what Gemini CLI speaks.

use serde_json::{Value, json};

use super::dialect::{FOUND, ModelAnswer, ModelMessageKind, RequestText, content_texts, list_items};
use super::script::{ReplyUsage, ScriptedPart, ScriptedStop};
use super::sse::SseEvent;

/// The names of the tools that a request declares.
pub(crate) fn declared_tools(request: &Value) -> Vec<&str> {
    let declared =
        list_items(&request["tools"]).iter().flat_map(|tool| list_items(&tool["functionDeclarations"]));
    declared.filter_map(|function| function["name"].as_str()).collect()
}

/// The kind of each message. A tool's answer is a part of a message of the user.
pub(crate) fn message_kinds(request: &Value) -> Vec<ModelMessageKind> {
    list_items(&request["contents"])
        .iter()
        .map(|content| match content["role"].as_str() {
            Some("model") => ModelMessageKind::Model,
            Some("user") if function_responses(content).next().is_some() => ModelMessageKind::ToolResult,
            Some("user") => ModelMessageKind::Prompt,
            _ => ModelMessageKind::Other,
        })
        .collect()
}

/// Every text of the system instruction and the messages; a tool's answers count as role `tool`.
pub(crate) fn request_texts(request: &Value) -> Vec<RequestText> {
    let mut said = content_texts("system", &request["systemInstruction"]["parts"]);
    for content in list_items(&request["contents"]) {
        said.extend(content_texts(content["role"].as_str().unwrap_or_default(), &content["parts"]));
        for answer in function_responses(content) {
            let texts = answer.as_object().into_iter().flat_map(|fields| fields.values());
            said.extend(
                texts
                    .filter_map(Value::as_str)
                    .map(|text| RequestText { role: "tool".to_owned(), text: text.to_owned() }),
            );
        }
    }
    said
}

fn function_responses(content: &Value) -> impl Iterator<Item = &Value> {
    list_items(&content["parts"])
        .iter()
        .map(|part| &part["functionResponse"]["response"])
        .filter(|answer| !answer.is_null())
}

/// The whole answer. Where the request wants JSON by a schema, which is how the CLI chooses among models, it is an object.
pub(crate) fn whole_answer(request: &Value, answer: &ModelAnswer, id: &str, usage: ReplyUsage) -> Value {
    let settings = &request["generationConfig"];
    let schema = !settings["responseJsonSchema"].is_null() || !settings["responseSchema"].is_null();
    let parts: Vec<Value> = if schema && !answer.has_call() {
        let choice = json!({
            "reasoning": "scripted", "model_choice": "flash", "complexity_reasoning": "scripted", "complexity_score": 1,
        });
        vec![json!({"text": choice.to_string()})]
    } else {
        answer.parts.iter().filter_map(content_part).collect()
    };
    let finish = match answer.stop {
        Some(ScriptedStop::MaxTokens) => "MAX_TOKENS",
        Some(ScriptedStop::Refusal) => "SAFETY",
        None => "STOP",
    };
    let mut candidate =
        json!({"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0});
    let searched = answer.parts.iter().find_map(|part| match part {
        ScriptedPart::Search(query) => Some(query),
        _ => None,
    });
    if let Some(query) = searched {
        let found = json!([{"web": {"uri": FOUND, "title": "Found"}}]);
        candidate["groundingMetadata"] = json!({"webSearchQueries": [query], "groundingChunks": found});
    }
    let prompt = usage.input + usage.cached;
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": usage.cached,
            "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": prompt + usage.output,
        },
        "modelVersion": super::MODEL,
        "responseId": format!("resp-{id}"),
    })
}

/// A part of the answer; a search is told beside them.
fn content_part(part: &ScriptedPart) -> Option<Value> {
    match part {
        ScriptedPart::Thinking(thought) => Some(json!({"text": thought, "thought": true})),
        ScriptedPart::Text(text) => Some(json!({"text": text})),
        ScriptedPart::Call { tool, input } => Some(json!({"functionCall": {"name": tool, "args": input}})),
        ScriptedPart::Redacted | ScriptedPart::Search(_) => None,
    }
}

/// The answer as a stream: one event.
pub(crate) fn stream_events(
    request: &Value,
    answer: &ModelAnswer,
    id: &str,
    usage: ReplyUsage,
) -> Vec<SseEvent> {
    vec![SseEvent::Data(whole_answer(request, answer, id, usage))]
}

/// The body of an HTTP error.
pub(crate) fn error_body(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": word}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Value {
        json!({
            "systemInstruction": {"role": "user", "parts": [{"text": "S"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "P"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": "R"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "glob"}, {"name": "run_shell_command"}]}],
        })
    }

    #[test]
    fn an_answer_of_a_tool_is_no_prompt_and_every_text_keeps_its_role() {
        let request = request();
        assert_eq!(
            message_kinds(&request),
            [ModelMessageKind::Prompt, ModelMessageKind::Model, ModelMessageKind::ToolResult]
        );
        assert_eq!(declared_tools(&request), ["glob", "run_shell_command"]);
        let said: Vec<_> =
            request_texts(&request).into_iter().map(|said| format!("{}={}", said.role, said.text)).collect();
        assert_eq!(said, ["system=S", "user=P", "tool=R"]);
    }

    #[test]
    fn a_call_and_its_usage_are_one_event_and_a_schema_gets_an_object() {
        let answer = ModelAnswer::shell_call("run_shell_command", "id");
        let [SseEvent::Data(event)] = &stream_events(&request(), &answer, "7", ReplyUsage::default())[..]
        else {
            panic!("one event")
        };
        assert_eq!(event["candidates"][0]["content"]["parts"][0]["functionCall"]["args"]["command"], "id");
        assert_eq!(event["usageMetadata"]["promptTokenCount"], 14, "Gemini counts cached tokens as input");
        let asked = json!({"generationConfig": {"responseJsonSchema": {}}});
        let whole = whole_answer(&asked, &ModelAnswer::text("t"), "7", ReplyUsage::default());
        let text = whole["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap()["model_choice"], "flash");
    }
}
