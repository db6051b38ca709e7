//! Ends of the CLI: the shared cases, each with a fake CLI of its own.

use std::time::{Duration, Instant};

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{Error, Options, StreamMessage, blocking};
use serde_json::Value;

use crate::fake::{Fake, block_on, cases, drain};
use crate::runs::nothing_left;

/// The fake CLI and the options of a row.
fn arrange(row: &Value) -> (Fake, Options, String) {
    let body = row["fake_cli"].as_str().unwrap_or_default();
    let script = if body.starts_with("cwd=") || body == "chmod 000" { "exit 0" } else { body };
    let fake = Fake::new(script);
    let mut options = fake.options();
    if let Some(cwd) = body.strip_prefix("cwd=") {
        options.cwd = Some(cwd.into());
    }
    if body == "chmod 000" {
        std::fs::set_permissions(fake.path("amp"), std::os::unix::fs::PermissionsExt::from_mode(0o000))
            .unwrap();
    }
    if row["fake_cli"].is_null() {
        std::fs::remove_file(fake.path("amp")).unwrap();
        options.cli_path = None;
        options.base_env = Some(fake.env().with_variable("PATH", fake.path("home")));
    }
    let with = row.get("with").unwrap_or(&row["expect"]["with"]);
    if let Some(deadline) = with["run_deadline_ms"].as_u64() {
        options.run_deadline_ms = Some(deadline);
    }
    if let Some(idle) = with["stream_timeout_ms"].as_u64() {
        options.stream_timeout_ms = idle;
    }
    let bytes = usize::try_from(with["prompt_bytes"].as_u64().unwrap_or(5)).unwrap();
    let bytes = if row["id"].as_str().unwrap().contains("big_prompt") { bytes.max(2_000_000) } else { bytes };
    (fake, options, "p".repeat(bytes))
}

#[test]
fn every_end_has_the_kind_of_the_cases() {
    let rows = cases("error_cases.jsonl");
    assert!(rows.len() >= 20, "only {} cases", rows.len());
    for row in &rows {
        let id = row["id"].as_str().unwrap();
        if id == "thousand_runs" {
            continue;
        }
        let (fake, mut options, prompt) = arrange(row);
        options.strict = row["options"]["strict"] == true || row["expect"]["strict"] == true;
        let expected = &row["expect"];
        let started = Instant::now();
        let mut stream = amp_sdk::execute(prompt.as_str(), options.clone());
        let (messages, error) = block_on(async { drain(&mut stream).await });
        let took = started.elapsed();
        if expected["ok"] == true {
            assert!(error.is_none(), "{id}: {error:?}");
            assert!(messages.last().is_some_and(StreamMessage::is_final), "{id}: {messages:?}");
        }
        if let Some(limit) = expected["returns_within_ms"].as_u64() {
            assert!(took < Duration::from_millis(limit), "{id}: {took:?}");
        }
        if let Some(kinds) = expected["messages"].as_array() {
            let found: Vec<&str> = messages.iter().map(StreamMessage::kind).collect();
            assert_eq!(found, kinds.iter().map(|kind| kind.as_str().unwrap()).collect::<Vec<_>>(), "{id}");
        }
        if expected.get("warning").is_some() {
            assert!(!stream.warnings().is_empty(), "{id}");
        }
        if let Some(bytes) = expected["stderr_tail_bytes"].as_u64() {
            let tail = stream.stderr().unwrap();
            assert_eq!((tail.text.len() as u64, tail.truncated), (bytes, true), "{id}");
        }
        if let Some(kind) = expected["kind"].as_str() {
            check(id, kind, expected, error, &prompt, options);
        }
        nothing_left(&fake);
    }
}

/// The error of the stream, or of a run where the stream ends in an error result.
fn check(id: &str, kind: &str, expected: &Value, error: Option<Error>, prompt: &str, options: Options) {
    let error = error.unwrap_or_else(|| block_on(amp_sdk::run(prompt, options)).unwrap_err());
    assert_eq!(error.kind(), kind, "{id}: {error:?}");
    if let Some(code) = expected["exit_code"].as_i64() {
        assert_eq!(error.exit_code().map(i64::from), Some(code), "{id}");
    }
    if let Some(stderr) = expected["stderr"].as_str() {
        assert_eq!(error.stderr().trim(), stderr, "{id}");
        assert!(error.to_string().contains(stderr), "{id}: {error}");
    }
    if let Some(message) = expected["message"].as_str() {
        assert!(error.to_string().contains(message), "{id}: {error}");
    }
}

#[test]
fn texts_of_errors_say_what_to_do() {
    let said = |body: &str, options: fn(Options) -> Options| {
        let fake = Fake::new(body);
        let error = block_on(amp_sdk::run("x", options(fake.options()))).unwrap_err();
        format!("{}: {error}", error.kind())
    };
    let texts = [
        said("echo 'Please log in' >&2; exit 1", |options| options),
        said("echo 'Error: Network timeout' >&2; exit 1", |options| options),
        said("exit 0", |options| options),
        said("sleep 60", |options| options.with_startup_timeout_ms(100)),
        said("echo '{\"type\":\"x\"}'; sleep 60", |options| options.with_stream_timeout_ms(200)),
        said("sleep 60", |options| options.with_run_deadline_ms(100)),
        said("echo noise; sleep 60", |options| options.with_strict(true)),
        said("echo '{}'; sleep 60", |options| options.with_strict(true)),
        said("exit 0", |options| options.with_cwd("/nowhere")),
        said("exit 0", |options| options.with_cli_path("/nowhere/amp")),
        said("exit 0", |options| options.with_output_schema(true)),
        said("echo '{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}'", |options| {
            options
        }),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

/// Without a key Amp asks a person to log in, on stdout, and waits for ever.
#[test]
fn a_request_to_log_in_is_an_authentication_error() {
    let reply = FakeReply::new().text("No API key found. Starting login flow...\nvisit https://x.example\n");
    let fake = FakeAmp::new().with_run(reply.pause(Duration::from_mins(10))).build().unwrap();
    for strict in [false, true] {
        let options = fake.options().with_strict(strict).with_linger_timeout_ms(100);
        let error = blocking::run("Anything", options).unwrap_err();
        assert_eq!(error.kind(), "auth_error", "{error}");
        assert!(error.to_string().contains("AMP_API_KEY"), "{error}");
    }
}
