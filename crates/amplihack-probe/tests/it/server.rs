//! The server as any HTTP client sees it.

use std::io::Write;
use std::time::{Duration, Instant};

use amplihack_probe::model::{
    DONE, HELLO, ModelDialect, ModelScenario, ModelScript, ModelServer, ObservedDelivery, RecordedBody,
    ReplyUsage, RunUsageTotals, ScriptedReply,
};
use serde_json::{Value, json};

/// Posts bytes from a blocking thread: status, content type and body.
async fn post(url: String, headers: &[(&str, &str)], body: Vec<u8>) -> (u16, String, String) {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    tokio::task::spawn_blocking(move || {
        let mut request = agent().post(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut response = request.send(&body).unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status().as_u16(), kind, response.body_mut().read_to_string().unwrap())
    })
    .await
    .unwrap()
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into()
}

async fn ask(
    server: &ModelServer,
    scenario: ModelScenario,
    run: &str,
    path: &str,
    request: &Value,
) -> (u16, Value) {
    let url = server.base_url(scenario, run) + path;
    let (status, _, body) = post(url, &[], request.to_string().into_bytes()).await;
    (status, serde_json::from_str(&body).unwrap())
}

fn prompt(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

#[tokio::test]
async fn bodies_arrive_however_they_are_sent() {
    let server = ModelServer::start().await.unwrap();
    let text = "it's $HOME — 漢字 ".repeat(4000);
    let request = prompt(&text).to_string().into_bytes();
    let url = server.base_url(ModelScenario::Text, "r") + "/v1/messages?beta=true";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&request).unwrap();
    let zstd = zstd::encode_all(request.as_slice(), 1).unwrap();
    let sent = [("identity", request.clone()), ("gzip", gzip.finish().unwrap()), ("zstd", zstd)];
    for (encoding, body) in sent {
        assert_eq!(post(url.clone(), &[("content-encoding", encoding)], body).await.0, 200, "{encoding}");
    }
    let chunked = url.clone();
    let status = tokio::task::spawn_blocking(move || {
        let mut reader = request.as_slice();
        agent().post(chunked).send(ureq::SendBody::from_reader(&mut reader)).unwrap().status()
    });
    assert_eq!(status.await.unwrap(), 200);
    let requests = server.requests("r");
    assert_eq!(requests[3].first_header("transfer-encoding"), Some("chunked"));
    assert_eq!(server.prompts("r"), vec![text.clone(); 4]);
    assert_eq!(server.observed_delivery("r", &text), ObservedDelivery::Exact);
    assert_eq!(server.observed_delivery("other", &text), ObservedDelivery::Missing);
    assert!(requests.iter().all(|request| request.dialect == Some(ModelDialect::Anthropic)));
    assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_the_server_goes_on() {
    let server = ModelServer::start().await.unwrap();
    let url = server.base_url(ModelScenario::Text, "r") + "/v1/messages";
    let (status, _, body) = post(url.clone(), &[], vec![b' '; (32 << 20) + 1]).await;
    assert_eq!(status, 413, "{body}");
    assert_eq!(post(url.clone(), &[("content-encoding", "br")], b"{}".to_vec()).await.0, 415);
    assert_eq!(post(url.clone(), &[("content-encoding", "gzip")], b"{}".to_vec()).await.0, 400);
    assert_eq!(post(url, &[], b"{no json".to_vec()).await.0, 400);
    assert_eq!(ask(&server, ModelScenario::Text, "r", "/v1/messages", &prompt("p")).await.0, 200);
    assert_eq!(server.requests("r")[3].body, RecordedBody::Raw(b"{no json".to_vec()));
}

#[tokio::test]
async fn streams_say_what_whole_answers_say() {
    let server = ModelServer::start().await.unwrap();
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions"] {
        let request = json!({"model": "m", "stream": true, "input": "p", "messages": [
            {"role": "user", "content": "p"}]});
        let url = server.base_url(ModelScenario::Text, "r") + path;
        let (status, kind, body) = post(url, &[], request.to_string().into_bytes()).await;
        assert_eq!((status, kind.as_str()), (200, "text/event-stream"));
        assert!(body.contains(HELLO) && body.ends_with("\n\n"), "{body}");
        let mut whole = request.clone();
        whole["stream"] = json!(false);
        let (status, whole) = ask(&server, ModelScenario::Text, "r", path, &whole).await;
        assert_eq!(status, 200);
        assert!(whole.to_string().contains(HELLO), "{whole}");
    }
    let six = RunUsageTotals { replies: 6, input: 60, cached: 24, output: 30 };
    assert_eq!(server.usage("r"), six);
    assert_eq!(server.usage("other"), RunUsageTotals::default());
}

#[tokio::test]
async fn errors_come_in_the_clients_dialect_and_report_no_usage() {
    let server = ModelServer::start().await.unwrap();
    for status in [400, 401, 429, 500, 529] {
        let (code, body) =
            ask(&server, ModelScenario::Error(status), "r", "/v1/messages", &prompt("p")).await;
        assert_eq!((code, &body["type"]), (status, &json!("error")));
        let (code, body) =
            ask(&server, ModelScenario::Error(status), "r", "/v1/responses", &prompt("p")).await;
        assert_eq!(code, status);
        assert!(body["type"].is_null() && body["error"]["message"].is_string(), "{body}");
    }
    assert_eq!(server.usage("r"), RunUsageTotals::default());
    assert_eq!(server.requests("r").len(), 10);
}

#[tokio::test]
async fn scripts_belong_to_their_run() {
    let server = ModelServer::start().await.unwrap();
    let tools = json!([{"name": "Bash"}]);
    let first = json!({"tools": tools, "messages": [{"role": "user", "content": "p"}]});
    let second = json!({"tools": tools, "messages": [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"role": "user", "content": [{"type": "tool_result"}]},
    ]});
    let usage = ReplyUsage { input: 1, cached: 2, output: 3, reasoning: 0 };
    let replies = [ScriptedReply::Tool { command: "id".to_owned() }, ScriptedReply::Text("end".to_owned())];
    server.set_script("a", ModelScript::new(replies).with_usage(usage));
    server.set_command("b", "whoami");
    let path = "/v1/messages";
    let (_, answer) = ask(&server, ModelScenario::Script, "a", path, &first).await;
    assert_eq!(answer["content"][0]["input"]["command"], "id");
    let (_, answer) = ask(&server, ModelScenario::Script, "a", path, &second).await;
    assert_eq!(answer["content"][0]["text"], "end");
    assert_eq!(server.usage("a"), RunUsageTotals { replies: 2, input: 2, cached: 4, output: 6 });
    let (_, answer) = ask(&server, ModelScenario::Tool, "b", path, &first).await;
    assert_eq!(answer["content"][0]["input"]["command"], "whoami");
    let (_, answer) = ask(&server, ModelScenario::Tool, "b", path, &second).await;
    assert_eq!(answer["content"][0]["text"], DONE);
    assert_eq!(ask(&server, ModelScenario::Script, "b", path, &first).await.0, 404);
    // A request for a title offers no tools and gets text.
    let (_, answer) = ask(&server, ModelScenario::Loop, "b", path, &prompt("title?")).await;
    assert_eq!(answer["content"][0]["text"], HELLO);
}

#[tokio::test]
async fn lists_counts_heads_and_strays() {
    let server = ModelServer::start().await.unwrap();
    let base = server.base_url(ModelScenario::Text, "r");
    let stray = format!("http://{}/v1/messages", server.address());
    let count = ask(&server, ModelScenario::Text, "r", "/v1/messages/count_tokens", &prompt("p")).await;
    assert_eq!(count, (200, json!({"input_tokens": 10})));
    let answers = tokio::task::spawn_blocking(move || {
        let get = |path: &str| agent().get(base.clone() + path).call().unwrap().status().as_u16();
        let head = agent().head(base.clone()).call().unwrap().status().as_u16();
        let list =
            agent().get(base.clone() + "/v1/models").call().unwrap().body_mut().read_to_string().unwrap();
        (head, get("/v1/models/fake-model"), get("/nothing"), list)
    });
    let (head, model, nothing, list) = answers.await.unwrap();
    assert_eq!((head, model, nothing), (200, 200, 404));
    assert!(list.contains("\"fake-model\""), "{list}");
    assert!(server.requests("r").iter().all(|request| request.dialect.is_none()));
    assert_eq!(post(stray, &[("x-api-key", "sk-live")], b"{}".to_vec()).await.0, 404);
    assert_eq!(server.stray_requests()[0].first_header("x-api-key"), Some("<redacted>"));
}

#[tokio::test]
async fn a_stop_ends_silence_and_frees_the_port() {
    let server = ModelServer::start().await.unwrap();
    let address = server.address();
    let url = server.base_url(ModelScenario::Hang(600), "r") + "/v1/messages";
    let asked = tokio::spawn(async move { post(url, &[], prompt("p").to_string().into_bytes()).await.0 });
    assert!(server.wait_for_calls("r", 1).await);
    let begin = Instant::now();
    server.stop().await;
    assert_eq!(asked.await.unwrap(), 503);
    assert!(begin.elapsed() < Duration::from_mins(1));
    std::net::TcpListener::bind(address).unwrap();
}

#[tokio::test]
async fn dropping_the_server_stops_it() {
    let server = ModelServer::start().await.unwrap();
    let address = server.address();
    drop(server);
    let deadline = Instant::now() + Duration::from_secs(5);
    while std::net::TcpListener::bind(address).is_err() {
        assert!(Instant::now() < deadline, "the port is still taken");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn silence_ends_by_itself() {
    let server = ModelServer::start().await.unwrap();
    let begin = Instant::now();
    let (status, answer) = ask(&server, ModelScenario::Hang(1), "r", "/v1/messages", &prompt("p")).await;
    assert_eq!((status, &answer["content"][0]["text"]), (200, &json!(DONE)));
    assert!(begin.elapsed() >= Duration::from_secs(1));
}
