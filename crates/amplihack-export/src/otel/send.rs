//! Sends traces to a collector: OTLP over HTTP, as JSON.

use serde_json::Value;
use ureq::Agent;
use ureq::http::Uri;

use super::{OtelTraces, TraceCollector};
use crate::ExportError;

/// Sends `traces` to `collector`.
///
/// No redirect is followed and no proxy used: headers hold credentials.
pub fn send_traces(traces: &OtelTraces, collector: &TraceCollector) -> Result<(), ExportError> {
    let TraceCollector { url, headers, timeout } = collector;
    // An address may hold a password.
    let shown = url
        .parse::<Uri>()
        .ok()
        .and_then(|uri| Some(format!("{}://{}{}", uri.scheme()?, uri.host()?, uri.path())));
    let endpoint = shown.unwrap_or_else(|| "the endpoint".to_owned());
    let failed = |why: String| ExportError::Send { endpoint: endpoint.clone(), why };
    let body = serde_json::to_vec(traces).map_err(|error| failed(error.to_string()))?;
    let config = Agent::config_builder()
        .timeout_global(Some(*timeout))
        .max_redirects(0)
        .proxy(None)
        .http_status_as_error(false);
    let agent: Agent = config.build().into();
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(name, value.expose());
    }
    let mut answer = request.send(&body).map_err(|error| failed(error.to_string()))?;
    if !answer.status().is_success() {
        return Err(failed(format!("it answers {}", answer.status())));
    }
    let said = answer.body_mut().read_to_string().map_err(|error| failed(error.to_string()))?;
    match parse_refusal(&said) {
        Some((count, why)) => Err(ExportError::Refused { endpoint, count, why }),
        None => Ok(()),
    }
}

/// Number of spans that a collector refused although it took the request, and its reason.
fn parse_refusal(answer: &str) -> Option<(u64, String)> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let partial = answer.get("partialSuccess")?;
    // 64-bit numbers are strings; some write them as numbers.
    let count = &partial["rejectedSpans"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    Some((count, partial["errorMessage"].as_str().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use amplihack_config::env::Env;

    use super::*;
    use crate::clean::TextCleaner;
    use crate::otel::OtelSettings;
    use crate::testing::{claude_run, single_run_document};

    /// Sends to a collector that answers `answer`. Returns the result and what the collector was sent.
    fn sent(answer: &'static str) -> (Result<(), ExportError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://user:pass@{}/", listener.local_addr().unwrap());
        let collector = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut text = String::new();
            while !text.ends_with("\r\n\r\n") {
                reader.read_line(&mut text).unwrap();
            }
            let length = text
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap()];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            text + &String::from_utf8(body).unwrap()
        });
        let env = Env::empty()
            .with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .with_variable("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret");
        let settings = OtelSettings::from_env(&env).unwrap();
        let traces = crate::otel::document_traces(
            &single_run_document(claude_run(Vec::new())),
            TextCleaner::new(true),
            false,
            &settings,
        );
        let result = send_traces(&traces, &settings.collector.unwrap());
        (result, collector.join().unwrap())
    }

    #[test]
    fn a_collector_is_sent_json() {
        let (result, request) = sent("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
        result.unwrap();
        assert!(request.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{request}");
        assert!(
            request.contains("content-type: application/json\r\n") && request.contains("x-key: s3cret\r\n")
        );
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"], "invoke_agent claude");
    }

    #[test]
    fn a_collector_that_refuses_is_told_of_without_its_password() {
        let (result, _) = sent("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
        let error = result.unwrap_err().to_string();
        assert!(error.contains("401") && !error.contains("pass") && !error.contains("s3cret"), "{error}");
        let (result, _) =
            sent("HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
        assert!(result.unwrap_err().to_string().contains("307"));
        let partial = "HTTP/1.1 200 OK\r\ncontent-length: 62\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"full\"}}";
        assert_eq!(partial.split_once("\r\n\r\n").unwrap().1.len(), 62);
        assert!(sent(partial).0.unwrap_err().to_string().contains("refused 1 spans: full"));
    }

    #[test]
    fn an_address_that_is_none_is_an_error() {
        let settings = OtelSettings::without_collector();
        let traces = crate::otel::document_traces(
            &single_run_document(claude_run(Vec::new())),
            TextCleaner::new(true),
            false,
            &settings,
        );
        assert!(send_traces(&traces, &settings.collector_at("nonsense")).is_err());
    }

    #[test]
    fn a_collector_that_says_nothing_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let env = Env::empty()
            .with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .with_variable("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
        let settings = OtelSettings::from_env(&env).unwrap();
        let traces = crate::otel::document_traces(
            &single_run_document(claude_run(Vec::new())),
            TextCleaner::new(true),
            false,
            &settings,
        );
        // The system takes the connection, and nobody reads it.
        assert!(send_traces(&traces, &settings.collector.unwrap()).is_err());
    }
}
