//! OpenAI Chat Completions: what Copilot speaks to a provider of one's own.

use serde_json::{Value, json};

use super::dialect::{ModelAnswer, ModelMessageKind, OPAQUE, RequestText, content_texts, list_items};
use super::script::{ReplyUsage, ScriptedPart, ScriptedStop};
use super::sse::SseEvent;

/// The kind of each message.
pub(crate) fn message_kinds(request: &Value) -> Vec<ModelMessageKind> {
    list_items(&request["messages"])
        .iter()
        .map(|message| match message["role"].as_str() {
            Some("user") => ModelMessageKind::Prompt,
            Some("assistant") => ModelMessageKind::Model,
            Some("tool" | "function") => ModelMessageKind::ToolResult,
            _ => ModelMessageKind::Other,
        })
        .collect()
}

/// Every text of the messages.
pub(crate) fn request_texts(request: &Value) -> Vec<RequestText> {
    list_items(&request["messages"])
        .iter()
        .flat_map(|message| content_texts(message["role"].as_str().unwrap_or_default(), &message["content"]))
        .collect()
}

/// The whole completion.
pub(crate) fn whole_answer(request: &Value, answer: &ModelAnswer, id: &str, usage: ReplyUsage) -> Value {
    let mut message = json!({"role": "assistant", "content": null});
    for said in message_fields(answer, id) {
        add_fields(&mut message, said);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(answer)});
    completion_object(request, id, "chat.completion", &[choice], usage_object(usage))
}

/// The completion in chunks: role, content, finish reason, usage, end mark.
pub(crate) fn stream_events(
    request: &Value,
    answer: &ModelAnswer,
    id: &str,
    usage: ReplyUsage,
) -> Vec<SseEvent> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        SseEvent::Data(completion_object(request, id, "chat.completion.chunk", &[choice], Value::Null))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(message_fields(answer, id).into_iter().map(|mut said| {
        for (place, call) in said["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
            call["index"] = json!(place);
        }
        chunk(said, Value::Null)
    }));
    events.push(chunk(json!({}), json!(finish_reason(answer))));
    let usage = completion_object(request, id, "chat.completion.chunk", &[], usage_object(usage));
    events.extend([SseEvent::Data(usage), SseEvent::Done]);
    events
}

/// The fields of the message, in the order in which they are streamed: thoughts, texts, calls.
fn message_fields(answer: &ModelAnswer, id: &str) -> Vec<Value> {
    let said = |(_, part): (String, &ScriptedPart)| match part {
        ScriptedPart::Thinking(thought) => Some(json!({"reasoning_text": thought})),
        ScriptedPart::Redacted => Some(json!({"reasoning_opaque": OPAQUE})),
        ScriptedPart::Text(text) => Some(json!({"content": text})),
        ScriptedPart::Search(_) | ScriptedPart::Call { .. } => None,
    };
    let call = |(id, part): (String, &ScriptedPart)| match part {
        ScriptedPart::Call { tool, input } => {
            let function = json!({"name": tool, "arguments": input.to_string()});
            Some(json!({"id": format!("call_{id}"), "type": "function", "function": function}))
        }
        _ => None,
    };
    let mut fields: Vec<Value> = answer.numbered(id).filter_map(said).collect();
    let calls: Vec<Value> = answer.numbered(id).filter_map(call).collect();
    if !calls.is_empty() {
        fields.push(json!({"tool_calls": calls}));
    }
    fields
}

fn add_fields(message: &mut Value, fields: Value) {
    if let (Some(message), Value::Object(fields)) = (message.as_object_mut(), fields) {
        message.extend(fields);
    }
}

fn completion_object(request: &Value, id: &str, kind: &str, choices: &[Value], usage: Value) -> Value {
    let mut object = json!({
        "id": format!("chatcmpl-{id}"),
        "object": kind,
        "created": 1,
        "model": request["model"],
        "choices": choices,
    });
    if !usage.is_null() {
        object["usage"] = usage;
    }
    object
}

fn usage_object(usage: ReplyUsage) -> Value {
    let prompt = usage.input + usage.cached;
    json!({
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": prompt + usage.output,
    })
}

fn finish_reason(answer: &ModelAnswer) -> &'static str {
    match answer.stop {
        Some(ScriptedStop::MaxTokens) => "length",
        Some(ScriptedStop::Refusal) => "content_filter",
        None if answer.has_call() => "tool_calls",
        None => "stop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let request = json!({"messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": [{"type": "text", "text": "P"}]},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "tool", "content": "R"},
        ]});
        assert_eq!(
            message_kinds(&request),
            [
                ModelMessageKind::Other,
                ModelMessageKind::Prompt,
                ModelMessageKind::Model,
                ModelMessageKind::ToolResult
            ]
        );
        let said: Vec<_> =
            request_texts(&request).into_iter().map(|said| format!("{}={}", said.role, said.text)).collect();
        assert_eq!(said, ["system=S", "user=P", "tool=R"]);
    }

    #[test]
    fn chunks_carry_the_call_then_the_usage_then_the_end() {
        let answer = ModelAnswer::shell_call("bash", "id");
        let request = json!({"model": "m"});
        let events = stream_events(&request, &answer, "7", ReplyUsage::default());
        let SseEvent::Data(said) = &events[1] else { panic!("{events:?}") };
        let mut called = said["choices"][0]["delta"]["tool_calls"][0].clone();
        assert_eq!(called.as_object_mut().unwrap().remove("index"), Some(json!(0)));
        let whole = whole_answer(&request, &answer, "7", ReplyUsage::default());
        assert_eq!(whole["choices"][0]["message"]["tool_calls"][0], called);
        let SseEvent::Data(last) = &events[3] else { panic!("{events:?}") };
        assert_eq!(last["usage"], whole["usage"]);
        assert_eq!(last["usage"]["prompt_tokens"], 14, "OpenAI counts cached tokens as input");
        assert_eq!(events[4], SseEvent::Done);
        let SseEvent::Data(finish) = &events[2] else { panic!("{events:?}") };
        assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    }
}
