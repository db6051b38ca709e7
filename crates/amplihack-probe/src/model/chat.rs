//! OpenAI Chat Completions: what Copilot speaks to a provider of one's own.

use serde_json::{Value, json};

use super::dialect::{Answer, Said, Turn, items, texts};
use super::script::Usage;
use super::sse::Event;

/// What each message is.
pub(crate) fn turns(request: &Value) -> Vec<Turn> {
    items(&request["messages"])
        .iter()
        .map(|message| match message["role"].as_str() {
            Some("user") => Turn::Prompt,
            Some("assistant") => Turn::Model,
            Some("tool" | "function") => Turn::ToolResult,
            _ => Turn::Other,
        })
        .collect()
}

/// Every text of the messages.
pub(crate) fn said(request: &Value) -> Vec<Said> {
    items(&request["messages"])
        .iter()
        .flat_map(|message| texts(message["role"].as_str().unwrap_or_default(), &message["content"]))
        .collect()
}

/// The whole completion.
pub(crate) fn whole(request: &Value, answer: &Answer, id: &str, usage: Usage) -> Value {
    let message = match answer {
        Answer::Text(text) => json!({"role": "assistant", "content": text}),
        Answer::Call { .. } => json!({"role": "assistant", "content": null, "tool_calls": [call(answer)]}),
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(answer)});
    object(request, id, "chat.completion", &[choice], tokens(usage))
}

/// The completion in chunks: role, content, finish reason, usage, end mark.
pub(crate) fn events(request: &Value, answer: &Answer, id: &str, usage: Usage) -> Vec<Event> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        Event::Data(object(request, id, "chat.completion.chunk", &[choice], Value::Null))
    };
    let said = match answer {
        Answer::Text(text) => json!({"content": text}),
        Answer::Call { .. } => {
            let mut call = call(answer);
            call["index"] = json!(0);
            json!({"tool_calls": [call]})
        }
    };
    vec![
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(said, Value::Null),
        chunk(json!({}), json!(finish_reason(answer))),
        Event::Data(object(request, id, "chat.completion.chunk", &[], tokens(usage))),
        Event::Done,
    ]
}

fn object(request: &Value, id: &str, kind: &str, choices: &[Value], usage: Value) -> Value {
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

fn tokens(usage: Usage) -> Value {
    let prompt = usage.input + usage.cached;
    json!({
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
    })
}

fn call(answer: &Answer) -> Value {
    let Answer::Call { id, tool, input } = answer else { return Value::Null };
    let function = json!({"name": tool, "arguments": input.to_string()});
    json!({"id": format!("call_{id}"), "type": "function", "function": function})
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer {
        Answer::Text(_) => "stop",
        Answer::Call { .. } => "tool_calls",
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
        assert_eq!(turns(&request), [Turn::Other, Turn::Prompt, Turn::Model, Turn::ToolResult]);
        let said: Vec<_> =
            said(&request).into_iter().map(|said| format!("{}={}", said.role, said.text)).collect();
        assert_eq!(said, ["system=S", "user=P", "tool=R"]);
    }

    #[test]
    fn chunks_carry_the_call_then_the_usage_then_the_end() {
        let answer = Answer::shell("1".to_owned(), "bash", "id");
        let request = json!({"model": "m"});
        let events = events(&request, &answer, "7", Usage::default());
        let Event::Data(said) = &events[1] else { panic!("{events:?}") };
        let mut called = said["choices"][0]["delta"]["tool_calls"][0].clone();
        assert_eq!(called.as_object_mut().unwrap().remove("index"), Some(json!(0)));
        let whole = whole(&request, &answer, "7", Usage::default());
        assert_eq!(whole["choices"][0]["message"]["tool_calls"][0], called);
        let Event::Data(last) = &events[3] else { panic!("{events:?}") };
        assert_eq!(last["usage"], whole["usage"]);
        assert_eq!(last["usage"]["prompt_tokens"], 14, "OpenAI counts cached tokens as input");
        assert_eq!(events[4], Event::Done);
        let Event::Data(finish) = &events[2] else { panic!("{events:?}") };
        assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    }
}
