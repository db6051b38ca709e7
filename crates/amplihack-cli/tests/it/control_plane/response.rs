//! What the runner answers, and each way in which it can fail to.

use super::runner::{SUCCESS, bridged, place, put};
use serde_json::Value;

/// The error of a runner that does this.
fn error(script: &str) -> Value {
    let sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.6", script);
    let output = bridged(&sandbox, &["-f", "json", "--progress", "none"]);
    assert_ne!(output.code, Some(0), "{output}");
    output.json()["error"].clone()
}

#[test]
fn json_on_stdout_is_the_answer() {
    let sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.6", SUCCESS);
    let answer = bridged(&sandbox, &["-f", "json"]).assert_code(0).json();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["step_results"][0]["step_id"], "a", "{answer}");
    assert_eq!(answer["step_results"][0]["output"], "done", "{answer}");
}

#[test]
fn a_bad_exit_code_is_an_explicit_error() {
    let error = error("echo no JSON; echo cause >&2; exit 3");
    assert_eq!(error["kind"], "runner_failed", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("exit code 3") && message.contains("cause"), "{error}");
}

#[test]
fn a_signal_is_named() {
    for (signal, name) in [("KILL", "SIGKILL"), ("TERM", "SIGTERM")] {
        let error = error(&format!("echo '{{\"success\": true}}'; kill -{signal} $$"));
        assert_eq!(error["kind"], "runner_signalled", "{error}");
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
    }
}

#[test]
fn an_empty_stdout_is_an_error() {
    assert_eq!(error("exit 0")["kind"], "runner_output_empty");
}

#[test]
fn a_malformed_stdout_is_an_error() {
    for stdout in ["INFO x", "{\"success\": true, \"step_results\": ["] {
        assert_eq!(error(&format!("echo '{stdout}'"))["kind"], "runner_output_malformed");
    }
}
