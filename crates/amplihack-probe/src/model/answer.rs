//! From one HTTP request to its answer.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body as HttpBody;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::body::{LIMIT, decode_body};
use super::dialect::{
    ModelAnswer, ModelDialect, RequestText, model_turns, shell_tool, since_prompt, write_call,
};
use super::log::{RecordedBody, RecordedRequest, header_value};
use super::route::{ModelRoute, parse_route};
use super::script::{
    DONE, HELLO, MODEL, ModelScript, ReplyUsage, ScriptedPart, ScriptedReply, ScriptedStop, StepCounting,
};
use super::server::{ModelServerState, ServerRun};
use super::sse;

/// Reads the request, writes it down, answers it.
pub(crate) async fn answer_request(shared: &ModelServerState, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let route = parse_route(head.uri.path());
    let received = receive_body(body, &head.headers).await;
    let (body, size, problem) = match received {
        Ok(bytes) => {
            let size = bytes.len();
            (read(bytes), size, None)
        }
        Err(problem) => (RecordedBody::Empty, 0, Some(problem)),
    };
    let dialect = if head.method == Method::POST {
        route.as_ref().and_then(|route| ModelDialect::from_path(route.rest))
    } else {
        None
    };
    let recorded = Arc::new(RecordedRequest {
        at: SystemTime::now(),
        method: head.method.to_string(),
        path,
        headers: recorded_headers(&head.headers),
        body,
        dialect,
    });
    // Recorded too: an agent that calls an address of its own is found by what strays.
    let Some(route) = route else {
        shared.lock().strays.push(recorded, size);
        return problem_json(
            StatusCode::NOT_FOUND,
            "no scenario in the path; start it with /<scenario>~<run>",
        );
    };
    shared.with_run(&route.run, |run| {
        run.log.push(Arc::clone(&recorded), size);
        if dialect.is_some() {
            run.calls.send_modify(|calls| *calls += 1);
        }
    });
    // Only after the record: what an agent sent is evidence also where the answer is a refusal.
    if let Some((status, text)) = problem {
        return problem_json(status, &text);
    }
    match (dialect, &recorded.body) {
        (Some(dialect), RecordedBody::Json(request)) => model_call(shared, &route, dialect, request).await,
        (Some(_), _) => problem_json(StatusCode::BAD_REQUEST, "the body is not JSON"),
        (None, _) => answer_other(&head.method, route.rest),
    }
}

/// The decoded body, or the status and text of what is wrong with it.
async fn receive_body(body: HttpBody, headers: &HeaderMap) -> Result<Vec<u8>, (StatusCode, String)> {
    let raw = axum::body::to_bytes(body, LIMIT).await.map_err(|error| {
        let text = format!("failed to read a body of at most {LIMIT} bytes: {error}");
        (StatusCode::PAYLOAD_TOO_LARGE, text)
    })?;
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    decode_body(raw.into(), encoding).map_err(|error| {
        let status = match error.kind() {
            io::ErrorKind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            io::ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        (status, format!("failed to decode the body: {error}"))
    })
}

fn read(bytes: Vec<u8>) -> RecordedBody {
    if bytes.is_empty() {
        return RecordedBody::Empty;
    }
    serde_json::from_slice(&bytes).map_or_else(|_| RecordedBody::Raw(bytes), RecordedBody::Json)
}

fn recorded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), header_value(name.as_str(), value.as_bytes()))
    };
    headers.iter().map(line).collect()
}

/// Plans the reply to this request, by the script or by that of the nested agent whose conversation this is, and the usage it reports.
///
/// `known` are the tools that the run was ever offered: an agent that takes some away must not move the steps behind them.
pub(crate) fn plan_reply(
    script: &ModelScript,
    dialect: ModelDialect,
    request: &Value,
    known: &BTreeSet<String>,
) -> (ScriptedReply, ReplyUsage) {
    let script = script.for_conversation(|| dialect.request_texts(request));
    let turns = dialect.message_kinds(request);
    let step = match script.counting {
        StepCounting::SincePrompt => model_turns(since_prompt(&turns)),
        StepCounting::Conversation => model_turns(&turns),
    };
    if !script.skips {
        return (script.reply_at(step), script.usage);
    }
    let offered = dialect.tool_names(request);
    let can_be_said = |reply: &&ScriptedReply| match reply {
        ScriptedReply::Call { tool, .. } => is_offered(&offered, tool) || known.contains(listed_name(tool)),
        _ => true,
    };
    let replies = script.replies.iter().filter(can_be_said).cloned();
    (ModelScript::new(replies).reply_at(step), script.usage)
}

async fn model_call(
    shared: &ModelServerState,
    route: &ModelRoute<'_>,
    dialect: ModelDialect,
    request: &Value,
) -> Response {
    let Some(script) = shared.with_run(&route.run, |run| run.script_for(route.scenario)) else {
        let text = format!("no script for run {:?}; register one with ModelServer::script", route.run);
        return problem_json(StatusCode::NOT_FOUND, &text);
    };
    let known = shared.with_run(&route.run, |run| run.record_offer(&dialect.tool_names(request)));
    let (reply, mut usage) = plan_reply(&script, dialect, request, &known);
    let mut headers = Vec::new();
    let id = format!("scripted{:04}", shared.with_run(&route.run, ServerRun::next_number));
    let offered = dialect.tool_names(request);
    let answer = match reply {
        ScriptedReply::Text(text) => ModelAnswer::text(text),
        // Titles and summaries are asked for without tools.
        ScriptedReply::Tool { command } => shell_tool(&offered)
            .map_or_else(|| ModelAnswer::text(HELLO), |tool| ModelAnswer::shell_call(tool, &command)),
        ScriptedReply::Write { path, text } => {
            write_call(&offered, &path, &text).unwrap_or_else(|| ModelAnswer::text(HELLO))
        }
        ScriptedReply::Call { tool, input } if is_offered(&offered, &tool) => {
            ModelAnswer::call(tool, fill_placeholders(input, &dialect.request_texts(request)))
        }
        ScriptedReply::Call { .. } => ModelAnswer::text(HELLO),
        ScriptedReply::Message(message) => {
            if let Some(status) = message.fails
                && shared.with_run(&route.run, |run| run.fail_once(&message))
            {
                return with_headers(scripted_error(dialect, status), &message.headers);
            }
            usage = message.usage.unwrap_or(usage);
            headers = message.headers;
            fill_message(message.parts, message.stop, dialect, request)
        }
        ScriptedReply::Error { status } => return scripted_error(dialect, status),
        ScriptedReply::Hang(silence) => {
            let mut stopping = shared.stopping.subscribe();
            tokio::select! {
                () = tokio::time::sleep(silence) => ModelAnswer::text(DONE),
                _ = stopping.wait_for(|stopping| *stopping) => {
                    return problem_json(StatusCode::SERVICE_UNAVAILABLE, "the server stops");
                }
            }
        }
    };
    shared.with_run(&route.run, |run| {
        run.totals.add_usage(usage);
        for part in &answer.parts {
            if let ScriptedPart::Call { tool, .. } = part {
                run.called.insert(tool.clone());
            }
        }
    });
    let response = if dialect.wants_stream(route.rest, request) {
        stream_response(sse::encode_events(&dialect.stream_events(request, &answer, &id, usage)))
    } else {
        json_response(StatusCode::OK, &dialect.whole_answer(request, &answer, &id, usage))
    };
    with_headers(response, &headers)
}

/// The answer of these parts, without calls where no tool is offered; [`HELLO`] where nothing is left.
fn fill_message(
    parts: Vec<ScriptedPart>,
    stop: Option<ScriptedStop>,
    dialect: ModelDialect,
    request: &Value,
) -> ModelAnswer {
    let has_tools = !dialect.tool_names(request).is_empty();
    let said = dialect.request_texts(request);
    let filled = parts.into_iter().filter_map(|part| match part {
        // Titles and summaries are asked for without tools.
        ScriptedPart::Call { .. } if !has_tools => None,
        ScriptedPart::Call { tool, input } => {
            Some(ScriptedPart::Call { tool, input: fill_placeholders(input, &said) })
        }
        other => Some(other),
    });
    let parts: Vec<ScriptedPart> = filled.collect();
    if parts.is_empty() { ModelAnswer::text(HELLO) } else { ModelAnswer { parts, stop } }
}

/// `response` with `headers`; one that HTTP does not take is left out.
fn with_headers(mut response: Response, headers: &[(String, String)]) -> Response {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The beginning of a text of an input that stands for a number.
const NUMBER: &str = "$after:";
/// The beginning of a text of an input that stands for a word.
const WORD: &str = "$word-after:";

/// `input` with each text `$after:WORDS` replaced by the number that a tool last told behind these words, and `$word-after:WORDS` by the
/// word.
fn fill_placeholders(input: Value, said: &[RequestText]) -> Value {
    match input {
        Value::String(text) => match (text.strip_prefix(NUMBER), text.strip_prefix(WORD)) {
            (Some(words), _) => value_after(words, said, |word| word.parse::<u64>().ok().map(Value::from)),
            (_, Some(words)) => value_after(words, said, |word| Some(word.into())),
            _ => Value::String(text),
        },
        Value::Array(values) => values.into_iter().map(|value| fill_placeholders(value, said)).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(name, value)| (name, fill_placeholders(value, said))).collect()
        }
        other => other,
    }
}

/// The value that `read` makes of the word that a tool last told behind `words`; nothing where no tool did.
fn value_after(words: &str, said: &[RequestText], read: fn(&str) -> Option<Value>) -> Value {
    let told = said.iter().rev().filter(|said| said.role == "tool");
    told.filter_map(|said| said.text.rsplit_once(words))
        .find_map(|(_, rest)| {
            let word = rest.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next()?;
            Some(word).filter(|word| !word.is_empty()).and_then(read)
        })
        .unwrap_or_default()
}

/// Reports whether a tool is among the offered ones, by its own name or by that of its namespace before a dot.
fn is_offered(offered: &[&str], tool: &str) -> bool {
    offered.contains(&listed_name(tool))
}

/// The name under which a request lists a tool: its own, or that of its namespace before a dot.
fn listed_name(tool: &str) -> &str {
    tool.split_once('.').map_or(tool, |(namespace, _)| namespace)
}

fn stream_response(wire: String) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, wire).into_response()
}

fn scripted_error(dialect: ModelDialect, status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &dialect.error_body(status.as_u16()));
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Token counts, model lists, and the `HEAD` with which clients look whether anybody is there.
fn answer_other(method: &Method, rest: &str) -> Response {
    let model = json!({
        "id": MODEL,
        "object": "model",
        "created": 1,
        "owned_by": "scripted",
        "type": "model",
        "display_name": MODEL,
        "created_at": "2026-01-01T00:00:00Z",
    });
    if *method == Method::POST && rest.ends_with("/count_tokens") {
        return json_response(StatusCode::OK, &json!({"input_tokens": ReplyUsage::default().input}));
    }
    if *method == Method::POST && rest.ends_with(":countTokens") {
        return json_response(StatusCode::OK, &json!({"totalTokens": ReplyUsage::default().input}));
    }
    if *method == Method::HEAD {
        return StatusCode::OK.into_response();
    }
    if *method == Method::GET && rest.ends_with("/models") {
        // `models` is what Codex reads, `data` everybody else.
        let list = json!({"object": "list", "data": [model], "models": [], "has_more": false});
        return json_response(StatusCode::OK, &list);
    }
    if *method == Method::GET && rest.contains("/models/") {
        return json_response(StatusCode::OK, &model);
    }
    problem_json(
        StatusCode::NOT_FOUND,
        "not a model call; the scripted server answers messages, responses, chat/completions, count_tokens and models",
    )
}

fn problem_json(status: StatusCode, text: &str) -> Response {
    json_response(
        status,
        &json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}}),
    )
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelScenario;

    fn tool(command: &str) -> ScriptedReply {
        ScriptedReply::Tool { command: command.to_owned() }
    }

    fn none() -> BTreeSet<String> {
        BTreeSet::new()
    }

    #[test]
    fn a_script_goes_on_over_prompts_only_when_it_counts_the_conversation() {
        let script = ModelScript::new([tool("one"), tool("two"), tool("three")]);
        let request = json!({"messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [{"type": "tool_result"}]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "b"},
        ]});
        assert_eq!(plan_reply(&script, ModelDialect::Anthropic, &request, &none()).0, tool("one"));
        assert_eq!(
            plan_reply(&script.over_conversation(), ModelDialect::Anthropic, &request, &none()).0,
            tool("three")
        );
    }

    #[test]
    fn a_number_that_a_tool_told_stands_in_a_later_call() {
        let told = |text: &str| RequestText { role: "tool".to_owned(), text: text.to_owned() };
        let said = [told("running with session ID 7\n"), told("running with session ID 63155 | x")];
        let input = json!({"id": "$after:session ID ", "chars": "x", "none": ["$after:process "]});
        assert_eq!(fill_placeholders(input, &said), json!({"id": 63155, "chars": "x", "none": [null]}));
        let said = [told("Scheduled recurring job 23149009 (daily)")];
        let input = json!([
            "$word-after:recurring job ",
            "$after:recurring job ",
            "$word-after:job 23149009 (daily)"
        ]);
        assert_eq!(fill_placeholders(input, &said), json!(["23149009", 23_149_009, null]));
    }

    #[test]
    fn a_call_that_is_not_offered_is_passed_over_where_the_script_says_so() {
        let call = |tool: &str| ScriptedReply::Call { tool: tool.to_owned(), input: json!({}) };
        let script = ModelScript::new([call("Gone"), call("Read"), tool("one")]);
        let request = json!({"tools": [{"name": "Read"}], "messages": [{"role": "user", "content": "a"}]});
        assert_eq!(plan_reply(&script, ModelDialect::Anthropic, &request, &none()).0, call("Gone"));
        let script = script.with_skipping();
        assert_eq!(plan_reply(&script, ModelDialect::Anthropic, &request, &none()).0, call("Read"));
        let known = BTreeSet::from(["Gone".to_owned()]);
        assert_eq!(
            plan_reply(&script, ModelDialect::Anthropic, &request, &known).0,
            call("Gone"),
            "it was offered before"
        );
    }

    #[test]
    fn every_dialect_reaches_the_second_step_after_a_tool_result() {
        let script = ModelScenario::Tool.to_script("id").unwrap();
        let anthropic = json!({"messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [{"type": "tool_result"}]},
            {"role": "system", "content": "reminder"},
        ]});
        let responses = json!({"input": [
            {"role": "user", "content": "a"},
            {"type": "function_call"},
            {"type": "function_call_output"},
        ]});
        let chat = json!({"messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "tool_calls": []},
            {"role": "tool", "content": "r"},
        ]});
        for (dialect, request) in [
            (ModelDialect::Anthropic, anthropic),
            (ModelDialect::Responses, responses),
            (ModelDialect::Chat, chat),
        ] {
            assert_eq!(
                plan_reply(&script, dialect, &request, &none()).0,
                ScriptedReply::Text(DONE.to_owned()),
                "{dialect:?}"
            );
            assert_eq!(plan_reply(&script, dialect, &json!({}), &none()).0, tool("id"), "{dialect:?}");
        }
    }
}
