//! Kinds of failures: their names, and what becomes one of them.

use std::io;

use amp_sdk::{Error, ErrorKind};
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use crate::fake::{Fake, INIT, RESULT, block_on};

/// The names, written out: programs decide by them, so that a changed one breaks programs.
const NAMES: [(ErrorKind, &str); 20] = [
    (ErrorKind::CliNotFound, "cli_not_found"),
    (ErrorKind::AuthError, "auth_error"),
    (ErrorKind::CommandFailed, "command_failed"),
    (ErrorKind::CommandTimeout, "command_timeout"),
    (ErrorKind::CommandExecutionFailed, "command_execution_failed"),
    (ErrorKind::StreamStartFailed, "stream_start_failed"),
    (ErrorKind::TransportError, "transport_error"),
    (ErrorKind::TransportExit, "transport_exit"),
    (ErrorKind::ParseError, "parse_error"),
    (ErrorKind::InvalidMessage, "invalid_message"),
    (ErrorKind::InvalidConfiguration, "invalid_configuration"),
    (ErrorKind::ConfigInvalid, "config_invalid"),
    (ErrorKind::ExecutionFailed, "execution_failed"),
    (ErrorKind::NoResult, "no_result"),
    (ErrorKind::RunDeadlineExceeded, "run_deadline_exceeded"),
    (ErrorKind::StreamTimeout, "stream_timeout"),
    (ErrorKind::TaskTimeout, "task_timeout"),
    (ErrorKind::TaskExit, "task_exit"),
    (ErrorKind::UnsupportedCapability, "unsupported_capability"),
    (ErrorKind::Unknown, "unknown"),
];

#[test]
fn names_of_kinds_do_not_change() {
    assert_eq!(ErrorKind::ALL, NAMES.map(|(kind, _)| kind), "a kind has no row here");
    for (kind, name) in NAMES {
        assert_eq!((kind.as_str(), kind.to_string().as_str()), (name, name));
        assert_eq!(ErrorKind::from_code(name), kind);
    }
}

#[test]
fn every_code_becomes_an_error_of_its_kind_with_its_text() {
    for (kind, name) in NAMES {
        for code in [name.to_owned(), name.replace('_', "-"), name.to_uppercase(), format!(" {name} ")] {
            let error = Error::from_code(&code, "what happened");
            assert_eq!((error.kind(), error.error_kind()), (name, kind), "{code}: {error:?}");
            assert!(error.to_string().contains("what happened"), "{code}: {error}");
        }
    }
    // Nothing is said that the code and the text do not say.
    assert_eq!(Error::from_code("task_timeout", "no answer in 5 s").to_string(), "no answer in 5 s");
    assert_eq!(Error::from_code("command_timeout", "x").exit_code(), Some(124));
    assert_eq!(Error::from_code("stream_timeout", "x").exit_kind(), ExitKind::Budget);
    for foreign in ["quota", "", "task_timeouts"] {
        let error = Error::from_code(foreign, "no more");
        assert_eq!((error.kind(), error.to_string().as_str()), ("unknown", "no more"), "{foreign}");
    }
}

#[test]
fn foreign_failures_are_sorted_in() {
    let json = serde_json::from_str::<u8>("x").unwrap_err();
    let ours = Error::from_code("no_result", "x");
    for (error, kind) in [
        (Error::normalize(ours), "no_result"),
        (Error::normalize(json), "parse_error"),
        (Error::normalize(io::Error::from(io::ErrorKind::NotFound)), "cli_not_found"),
        (Error::normalize(io::Error::from(io::ErrorKind::BrokenPipe)), "transport_error"),
        (Error::normalize("odd"), "unknown"),
    ] {
        assert_eq!(error.kind(), kind, "{error:?}");
    }
}

#[test]
fn a_timeout_of_a_helper_is_a_task_timeout() {
    let late = Error::normalize(io::Error::new(io::ErrorKind::TimedOut, "the helper is late"));
    assert_eq!((late.kind(), late.to_string().as_str()), ("task_timeout", "the helper is late"));
    assert_eq!(late.exit_kind(), ExitKind::Budget);
}

#[test]
fn a_signal_that_ended_the_cli_is_named() {
    for (body, signal, said) in [
        (format!("{INIT}; kill -9 $$"), 9, "the CLI was ended by signal 9 and said nothing"),
        (
            format!("{INIT}; echo 'half a word' >&2; kill -9 $$"),
            9,
            "half a word (the CLI was ended by signal 9)",
        ),
        ("kill -11 $$".to_owned(), 11, "the CLI was ended by signal 11 and said nothing"),
    ] {
        let fake = Fake::new(&body);
        let error = block_on(amp_sdk::run("x", fake.options())).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), ("transport_exit", said));
        let end = error.end().unwrap();
        assert_eq!((end.exit_code(), end.signal()), (Some(128 + signal), Some(signal)));
    }
    let fake = Fake::new("exit 137");
    let error = block_on(amp_sdk::run("x", fake.options())).unwrap_err();
    assert_eq!(error.to_string(), "the CLI exited with 137 and said nothing");
    assert_eq!(error.end().unwrap().signal(), None);
}

#[test]
fn an_answer_carries_what_was_odd_about_its_end() {
    for (body, warning) in [
        (format!("cat >/dev/null; {RESULT}; exit 9"), "exit code 9 after the result"),
        (format!("cat >/dev/null; {RESULT}; kill -9 $$"), "signal 9 after the result"),
    ] {
        let fake = Fake::new(&body);
        assert_eq!(block_on(amp_sdk::run("x", fake.options())).unwrap(), "ok");
        let answer = block_on(amp_sdk::run_to_answer("x", fake.options())).unwrap();
        assert_eq!((answer.text.as_str(), answer.warnings), ("ok", vec![warning.to_owned()]));
        assert_eq!(answer.result.session_id.as_deref(), Some("T-1"));
        let blocking = amp_sdk::blocking::run_to_answer("x", fake.options()).unwrap();
        assert_eq!((blocking.warnings.len(), blocking.end), (1, answer.end));
    }
    let whole = Fake::new(&format!("cat >/dev/null; {RESULT}"));
    let answer = block_on(amp_sdk::run_to_answer("x", whole.options())).unwrap();
    assert!(answer.warnings.is_empty() && answer.end.exit_code() == Some(0), "{answer:?}");
    // It answers without having read what it was asked.
    let error = block_on(amp_sdk::run_to_answer("x", Fake::new(RESULT).options())).unwrap_err();
    let end = error.end().unwrap();
    assert_eq!(
        (error.kind(), end.run.name(), end.run.unread_prompt),
        ("execution_failed", "prompt_unread", Some(1))
    );
}
