//! From one HTTP request to its answer.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body as HttpBody;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::body::{LIMIT, decode};
use super::dialect::{Answer, Dialect, model_turns, shell_tool, since_prompt, write_call};
use super::log::{Body, Recorded, header_value};
use super::route::{Route, parse};
use super::script::{Counting, DONE, HELLO, MODEL, Reply, Script, Usage};
use super::server::{Run, Shared};
use super::sse;

/// Reads the request, writes it down, answers it.
pub(crate) async fn answer(shared: &Shared, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let route = parse(head.uri.path());
    let received = receive(body, &head.headers).await;
    let (body, size, problem) = match received {
        Ok(bytes) => {
            let size = bytes.len();
            (read(bytes), size, None)
        }
        Err(problem) => (Body::Empty, 0, Some(problem)),
    };
    let dialect = if head.method == Method::POST {
        route.as_ref().and_then(|route| Dialect::of_path(route.rest))
    } else {
        None
    };
    let recorded = Arc::new(Recorded {
        at: SystemTime::now(),
        method: head.method.to_string(),
        path,
        headers: headers(&head.headers),
        body,
        dialect,
    });
    let Some(route) = route else {
        shared.lock().strays.push(recorded, size);
        return problem_json(
            StatusCode::NOT_FOUND,
            "no scenario in the path; start it with /<scenario>~<run>",
        );
    };
    shared.run(&route.run, |run| {
        run.log.push(Arc::clone(&recorded), size);
        if dialect.is_some() {
            run.calls.send_modify(|calls| *calls += 1);
        }
    });
    if let Some((status, text)) = problem {
        return problem_json(status, &text);
    }
    match (dialect, &recorded.body) {
        (Some(dialect), Body::Json(request)) => model_call(shared, &route, dialect, request).await,
        (Some(_), _) => problem_json(StatusCode::BAD_REQUEST, "the body is not JSON"),
        (None, _) => other(&head.method, route.rest),
    }
}

/// The decoded body, or the status and text of what is wrong with it.
async fn receive(body: HttpBody, headers: &HeaderMap) -> Result<Vec<u8>, (StatusCode, String)> {
    let raw = axum::body::to_bytes(body, LIMIT).await.map_err(|error| {
        let text = format!("failed to read a body of at most {LIMIT} bytes: {error}");
        (StatusCode::PAYLOAD_TOO_LARGE, text)
    })?;
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    decode(raw.into(), encoding).map_err(|error| {
        let status = match error.kind() {
            io::ErrorKind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            io::ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        (status, format!("failed to decode the body: {error}"))
    })
}

fn read(bytes: Vec<u8>) -> Body {
    if bytes.is_empty() {
        return Body::Empty;
    }
    serde_json::from_slice(&bytes).map_or_else(|_| Body::Raw(bytes), Body::Json)
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let line = |(name, value): (&header::HeaderName, &HeaderValue)| {
        (name.to_string(), header_value(name.as_str(), value.as_bytes()))
    };
    headers.iter().map(line).collect()
}

/// What the script, or that of the nested agent whose conversation this is, replies to this request, and what the reply reports.
pub(crate) fn plan(script: &Script, dialect: Dialect, request: &Value) -> (Reply, Usage) {
    let script = script.of_conversation(|| dialect.said(request));
    let turns = dialect.turns(request);
    let step = match script.counting {
        Counting::SincePrompt => model_turns(since_prompt(&turns)),
        Counting::Conversation => model_turns(&turns),
    };
    (script.reply(step), script.usage)
}

async fn model_call(shared: &Shared, route: &Route<'_>, dialect: Dialect, request: &Value) -> Response {
    let Some(script) = shared.run(&route.run, |run| run.script(route.scenario)) else {
        let text = format!("no script for run {:?}; register one with ModelServer::script", route.run);
        return problem_json(StatusCode::NOT_FOUND, &text);
    };
    let (reply, usage) = plan(&script, dialect, request);
    let id = format!("scripted{:04}", shared.run(&route.run, Run::number));
    let answer = match reply {
        Reply::Text(text) => Answer::Text(text),
        Reply::Tool { command } => match shell_tool(&dialect.tools(request)) {
            Some(tool) => Answer::shell(id.clone(), tool, &command),
            // Titles and summaries are asked for without tools.
            None => Answer::Text(HELLO.to_owned()),
        },
        Reply::Write { path, text } => write_call(id.clone(), &dialect.tools(request), &path, &text)
            .unwrap_or_else(|| Answer::Text(HELLO.to_owned())),
        Reply::Call { tool, input } if offers(&dialect.tools(request), &tool) => {
            Answer::Call { id: id.clone(), tool, input }
        }
        Reply::Call { .. } => Answer::Text(HELLO.to_owned()),
        Reply::Error { status } => return scripted_error(dialect, status),
        Reply::Hang(silence) => {
            let mut stopping = shared.stopping.subscribe();
            tokio::select! {
                () = tokio::time::sleep(silence) => Answer::Text(DONE.to_owned()),
                _ = stopping.wait_for(|stopping| *stopping) => {
                    return problem_json(StatusCode::SERVICE_UNAVAILABLE, "the server stops");
                }
            }
        }
    };
    shared.run(&route.run, |run| run.totals.add(usage));
    if dialect.streams(route.rest, request) {
        return streamed(sse::encode(&dialect.events(request, &answer, &id, usage)));
    }
    json_response(StatusCode::OK, &dialect.whole(request, &answer, &id, usage))
}

/// Whether a tool is among the offered ones, by its own name or by that of its namespace before a dot.
fn offers(offered: &[&str], tool: &str) -> bool {
    offered.contains(&tool.split_once('.').map_or(tool, |(namespace, _)| namespace))
}

fn streamed(wire: String) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, wire).into_response()
}

fn scripted_error(dialect: Dialect, status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &dialect.error(status.as_u16()));
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Token counts, model lists, and the `HEAD` with which clients look whether anybody is there.
fn other(method: &Method, rest: &str) -> Response {
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
        return json_response(StatusCode::OK, &json!({"input_tokens": Usage::default().input}));
    }
    if *method == Method::POST && rest.ends_with(":countTokens") {
        return json_response(StatusCode::OK, &json!({"totalTokens": Usage::default().input}));
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
    use crate::model::Scenario;

    fn tool(command: &str) -> Reply {
        Reply::Tool { command: command.to_owned() }
    }

    #[test]
    fn a_script_goes_on_over_prompts_only_when_it_counts_the_conversation() {
        let script = Script::new([tool("one"), tool("two"), tool("three")]);
        let request = json!({"messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [{"type": "tool_result"}]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "b"},
        ]});
        assert_eq!(plan(&script, Dialect::Anthropic, &request).0, tool("one"));
        assert_eq!(plan(&script.over_conversation(), Dialect::Anthropic, &request).0, tool("three"));
    }

    #[test]
    fn every_dialect_reaches_the_second_step_after_a_tool_result() {
        let script = Scenario::Tool.script("id").unwrap();
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
        for (dialect, request) in
            [(Dialect::Anthropic, anthropic), (Dialect::Responses, responses), (Dialect::Chat, chat)]
        {
            assert_eq!(plan(&script, dialect, &request).0, Reply::Text(DONE.to_owned()), "{dialect:?}");
            assert_eq!(plan(&script, dialect, &json!({})).0, tool("id"), "{dialect:?}");
        }
    }
}
