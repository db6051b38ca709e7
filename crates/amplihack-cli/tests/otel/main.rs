//! A build with the feature `otel`: traces at a collector, when a run ends and when they are asked for. It has a binary of its own, since
//! the other tests are of the build that is shipped.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use amplihack_testkit::{Output, Run, Sandbox, Script, workspace};
use serde_json::Value;

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_mins(1);
const PROMPT: &str = "Geheimwort";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// A collector on loopback that gives each request the same answer.
struct Collector {
    address: String,
    requests: Receiver<(String, Value)>,
}

impl Collector {
    fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = channel();
        thread::spawn(move || {
            // Ends with the test's process.
            for stream in listener.incoming() {
                let Some(request) = take(stream.unwrap(), answer) else { continue };
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request: its head, and its body.
    #[track_caller]
    fn next(&self) -> (String, Value) {
        self.requests.recv_timeout(PATIENCE).expect("the collector is sent something")
    }
}

/// `None` if the client went away.
fn take(mut stream: TcpStream, answer: &str) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    stream.write_all(answer.as_bytes()).ok()?;
    Some((lower, serde_json::from_slice(&body).ok()?))
}

/// A repository with a Claude Code that plays a recorded stream.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    let stream = workspace().join("crates/amplihack-agent/tests/transcripts/claude-2.1.332.jsonl");
    sandbox.script_for("claude", &Script::new().print(&std::fs::read_to_string(stream).unwrap()));
    sandbox
}

fn amplihack(sandbox: &Sandbox, args: &[&str]) -> Output {
    Run::new(sandbox.command(Path::new(env!("CARGO_BIN_EXE_amplihack")))).args(args).output()
}

/// A run whose events are printed.
fn run(sandbox: &Sandbox) -> Output {
    amplihack(sandbox, &["claude", "--prompt", PROMPT, "--output", "json"])
}

fn spans(traces: &Value) -> Vec<&str> {
    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    spans.iter().map(|span| span["name"].as_str().unwrap()).collect()
}

fn resource<'a>(traces: &'a Value, name: &str) -> &'a Value {
    let attributes = traces["resourceSpans"][0]["resource"]["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    &found.unwrap_or_else(|| panic!("{name}: {attributes:?}"))["value"]["stringValue"]
}

#[test]
fn a_run_sends_its_traces_when_it_ends_and_nothing_that_was_said() {
    let collector = Collector::answering(OK);
    let mut sandbox = sandbox();
    sandbox
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret")
        .set("OTEL_SERVICE_NAME", "night-shift")
        .set("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb");
    let output = run(&sandbox);
    output.assert_code(0).assert_stderr("");
    let (head, traces) = collector.next();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer s3cret\r\n"), "{head}");
    assert_eq!(
        (resource(&traces, "service.name"), resource(&traces, "team")),
        (&"night-shift".into(), &"a,b".into())
    );
    let spans = spans(&traces);
    assert!(spans.contains(&"invoke_agent claude") && spans.contains(&"execute_tool Bash"), "{spans:?}");
    let text = traces.to_string();
    for said in [PROMPT, "FAKE-DONE", "hello-from-tool"] {
        assert!(!text.contains(said), "{said}: {text}");
    }
    // Nothing of the credential is kept.
    let kept =
        amplihack(&sandbox, &["sessions", "export", "latest", "--otel", "--otel-content"]).stdout_text();
    assert!(kept.contains("FAKE-DONE") && !kept.contains("s3cret"), "{kept}");
}

#[test]
fn an_unattended_run_is_one_trace() {
    let collector = Collector::answering(OK);
    let mut sandbox = sandbox();
    let args = ["auto", "--agent", "claude", "--task", PROMPT, "--permissions", "edit", "--max-turns", "1"];
    let without = amplihack(&sandbox, &args);
    sandbox.set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{}/own/path", collector.url()));
    let with = amplihack(&sandbox, &args);
    assert_eq!(with.code, without.code, "{with}");
    let (head, traces) = collector.next();
    assert!(head.starts_with("post /own/path http/1.1\r\n"), "{head}");
    let spans = spans(&traces);
    assert!(
        spans.contains(&"invoke_workflow amplihack auto") && spans.contains(&"invoke_agent claude"),
        "{spans:?}"
    );
}

#[test]
fn a_collector_that_fails_changes_nothing_of_a_run() {
    let without = run(&sandbox());
    without.assert_code(0);
    let events = |output: &Output| output.json()["events"].as_array().map(Vec::len);
    let refusing = Collector::answering("HTTP/1.1 401 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, why) in [
        (refusing.address.clone(), "401"),
        (silent.local_addr().unwrap().to_string(), "timeout"),
        (nobody.to_string(), "refused"),
    ] {
        let mut sandbox = sandbox();
        sandbox
            .set("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://me:passw0rd@{address}"))
            .set("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret")
            .set("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
            .set("AMPLIHACK_LOG", "trace");
        let output = run(&sandbox);
        output
            .assert_code(0)
            .assert_stderr_has("warning: the run's traces are not sent")
            .assert_stderr_has(why);
        output.assert_nowhere("s3cret").assert_nowhere("passw0rd");
        assert_eq!(events(&output), events(&without));
    }
    let mut sandbox = sandbox();
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.url()).set("OTEL_EXPORTER_OTLP_HEADERS", "s3cret");
    let output = run(&sandbox);
    output
        .assert_code(0)
        .assert_stderr_has("OTEL_EXPORTER_OTLP_HEADERS cannot be read")
        .assert_nowhere("s3cret");
}

#[test]
fn traces_are_sent_when_they_are_asked_for() {
    let collector = Collector::answering(OK);
    let mut sandbox = sandbox();
    run(&sandbox).assert_code(0).assert_stderr("");
    let export = |sandbox: &Sandbox, args: &[&str]| {
        amplihack(sandbox, &[&["sessions", "export", "latest", "--otel"], args].concat())
    };
    export(&sandbox, &["--otel-endpoint", &collector.url()])
        .assert_code(0)
        .assert_stdout("")
        .assert_stderr("");
    let first = collector.next().1;
    export(&sandbox, &["--otel-send"]).assert_code(2).assert_stderr_has("OTEL_EXPORTER_OTLP_ENDPOINT");
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    export(&sandbox, &["--otel-send"]).assert_code(0).assert_stdout("").assert_stderr("");
    assert_eq!(collector.next().1, first, "the same run is the same trace");
    // That it failed is told by the exit code here, and only here.
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    export(&sandbox, &["--otel-send"])
        .assert_code(1)
        .assert_stderr_has("traces could not be sent to http://127.0.0.1");
    // Nothing that is not asked for is sent.
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).set("OTEL_SDK_DISABLED", "true");
    run(&sandbox).assert_code(0).assert_stderr("");
    amplihack(&sandbox, &["sessions", "list"]).assert_code(0).assert_stderr("");
    assert!(collector.requests.try_recv().is_err());
}
