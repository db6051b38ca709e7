//! The runner's answer: JSON on stdout, believed only together with how the runner ended.

use amplihack_session::{CapturedOutput, ProcessExit};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::error::BridgeError;

/// The most that is read of an answer.
pub(super) const LIMIT: usize = 10 << 20;
/// Number of characters that are shown of an answer that cannot be read.
const SHOWN: usize = 500;
/// Number of lines of stderr that are shown.
const LINES: usize = 5;

/// The result of a recipe as the external runner reports it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunnerResponse {
    /// The recipe's name; that of the request if the runner tells none.
    pub recipe_name: String,
    /// True if the recipe succeeded. Never with an exit code other than 0.
    pub success: bool,
    /// The recipe's steps in the runner's order.
    pub steps: Vec<RunnerStep>,
    /// The context at its end.
    pub context: Map<String, Value>,
    /// The runner's exit code.
    pub exit_code: i32,
}

/// The result of a step as the external runner reports it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunnerStep {
    /// The id of the step; `unknown` if the runner reports none.
    pub id: String,
    /// The status with which the step ended.
    pub status: RunnerStepStatus,
    /// The output of the step; as JSON where it is not text.
    pub output: String,
    /// The step's error, if the runner reports one.
    pub error: Option<String>,
    /// Duration of the step in seconds, if the runner reports it.
    pub duration: Option<f64>,
    /// Warnings from the launch of the step's agent.
    pub warnings: Vec<String>,
}

/// The status with which a step of the external runner ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunnerStepStatus {
    /// The step succeeded.
    Completed,
    /// The step's condition did not hold.
    Skipped,
    /// The step failed, or ended in a way that is not known here.
    Failed,
    /// The step succeeded with an output that is not what was asked for.
    Degraded,
    /// The step did not begin.
    Pending,
    /// The step did not end.
    Running,
}

/// The answer as it is written. What is there and null is told from what is not there.
#[derive(Deserialize)]
struct RunnerResponseWire {
    #[serde(default, deserialize_with = "deserialize_present")]
    recipe_name: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    success: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    step_results: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    context: Option<Value>,
}

fn deserialize_present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Interprets the `stdout` of a runner that ended with `exit` as its answer for `recipe`.
///
/// A runner that was killed has said nothing. Success with an exit code other than 0 is none. A failure that the runner tells of
/// is an answer, whatever the code; without an answer the code is an error.
pub fn interpret_response(
    exit: ProcessExit,
    stdout: &CapturedOutput,
    stderr: &[u8],
    recipe: &str,
) -> Result<RunnerResponse, BridgeError> {
    let exit_code = match exit {
        ProcessExit::Signal(signal) if amplihack_sys::sabotage::is_active("copilot-response-signal") => {
            128 + signal
        }
        ProcessExit::Signal(signal) => {
            return Err(BridgeError::Signalled {
                signal,
                name: amplihack_recipe::signal::signal_name(signal),
            });
        }
        ProcessExit::Code(code) => code,
    };
    let answer = if stdout.dropped > 0 {
        Err(BridgeError::TooLarge { limit: LIMIT })
    } else {
        parse_response(&stdout.bytes, recipe, exit_code)
    };
    match answer {
        Ok(response) if response.success && exit_code != 0 => {
            Err(BridgeError::Contradiction { code: exit_code })
        }
        Err(_) if exit_code != 0 && !amplihack_sys::sabotage::is_active("copilot-response-failed") => {
            Err(BridgeError::Failed { code: exit_code, said: last_stderr_lines(stderr) })
        }
        answer => answer,
    }
}

fn parse_response(stdout: &[u8], recipe: &str, exit_code: i32) -> Result<RunnerResponse, BridgeError> {
    let bad = |what: &str| BridgeError::BadResponse { what: what.to_owned() };
    let stdout = stdout.trim_ascii();
    let stdout = if stdout.is_empty() && amplihack_sys::sabotage::is_active("copilot-response-empty") {
        &b"{\"success\":true}"[..]
    } else {
        stdout
    };
    if stdout.is_empty() {
        return Err(BridgeError::Empty);
    }
    let malformed = |why: serde_json::Error| BridgeError::Malformed {
        why: why.to_string(),
        start: String::from_utf8_lossy(stdout).chars().take(SHOWN).collect(),
    };
    // Parsed to its end first: only whole JSON is "no object", everything else is malformed.
    if stdout.first() != Some(&b'{') {
        serde_json::from_slice::<IgnoredAny>(stdout).map_err(malformed)?;
        return Err(bad("it is no object"));
    }
    let wire: Result<RunnerResponseWire, _> = serde_json::from_slice(stdout);
    let wire = match wire {
        Err(_) if amplihack_sys::sabotage::is_active("copilot-response-malformed") => {
            serde_json::from_str("{\"success\":true}").map_err(malformed)?
        }
        wire => wire.map_err(malformed)?,
    };
    let success = match wire.success {
        None => false,
        Some(Value::Bool(success)) => success,
        Some(_) => return Err(bad("'success' is no boolean")),
    };
    let results = match wire.step_results {
        None => Vec::new(),
        Some(Value::Array(_)) if amplihack_sys::sabotage::is_active("copilot-response-steps") => Vec::new(),
        Some(Value::Array(results)) => results,
        Some(_) => return Err(bad("'step_results' is no list")),
    };
    let steps = results.into_iter().enumerate().map(|(index, result)| match result {
        Value::Object(result) => Ok(parse_runner_step(result)),
        _ => Err(bad(&format!("'step_results[{index}]' is no object"))),
    });
    let steps = steps.collect::<Result<_, _>>()?;
    let context = match wire.context {
        None => Map::new(),
        Some(Value::Object(context)) => context,
        Some(_) => return Err(bad("'context' is no object")),
    };
    let recipe_name = match wire.recipe_name {
        Some(Value::String(name)) if !name.is_empty() => name,
        _ => recipe.to_owned(),
    };
    Ok(RunnerResponse { recipe_name, success, steps, context, exit_code })
}

fn parse_runner_step(mut result: Map<String, Value>) -> RunnerStep {
    let mut text = |key: &str| match result.remove(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    };
    let id = text("step_id").unwrap_or_else(|| "unknown".to_owned());
    let status = match text("status").unwrap_or_default().to_lowercase().as_str() {
        "completed" => RunnerStepStatus::Completed,
        "skipped" => RunnerStepStatus::Skipped,
        "degraded" => RunnerStepStatus::Degraded,
        "pending" => RunnerStepStatus::Pending,
        "running" => RunnerStepStatus::Running,
        _ => RunnerStepStatus::Failed,
    };
    let (output, error) =
        (text("output").unwrap_or_default(), text("error").filter(|error| !error.is_empty()));
    let warnings = match result.remove("warnings") {
        Some(Value::Array(warnings)) => {
            warnings.into_iter().filter_map(|warning| warning.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    RunnerStep {
        id,
        status,
        output,
        error,
        duration: result.get("duration").and_then(Value::as_f64),
        warnings,
    }
}

/// The last lines of stderr that say something: progress and heartbeats only if there is nothing else.
fn last_stderr_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let told: Vec<&str> = lines.iter().copied().filter(|line| !is_progress(line.trim())).collect();
    let lines = if told.is_empty() { lines } else { told };
    if lines.is_empty() {
        return "it said nothing on stderr".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn is_progress(line: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["▶", "✓", "⊘", "✗", "[agent]", "::heartbeat::"];
    if BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) {
        return true;
    }
    let Ok(Value::Object(event)) = serde_json::from_str(line) else { return false };
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    ["step_transition", "heartbeat"].contains(&text("type")) || text("transition").starts_with("step_")
}

#[cfg(test)]
mod tests {
    use amplihack_sys::error::ErrorExplanation;

    use super::*;

    /// How a runner ended and what it printed, and what that is: an answer's success, or an error of this kind.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        name: String,
        #[serde(default)]
        stdout: String,
        #[serde(default)]
        stderr: String,
        #[serde(default)]
        exit: i32,
        signal: Option<i32>,
        success: Option<bool>,
        error: Option<String>,
        /// A part of the error's text.
        says: Option<String>,
    }

    fn captured(bytes: &[u8]) -> CapturedOutput {
        CapturedOutput { bytes: bytes.to_vec(), dropped: 0 }
    }

    #[test]
    fn the_vectors_hold() {
        for line in include_str!("../../tests/cases/runner_response.jsonl").lines() {
            let case: Case = serde_json::from_str(line).unwrap();
            let name = &case.name;
            let exit = case.signal.map_or(ProcessExit::Code(case.exit), ProcessExit::Signal);
            let found = interpret_response(
                exit,
                &captured(case.stdout.as_bytes()),
                case.stderr.as_bytes(),
                "test-recipe",
            );
            match (found, case.success, case.error) {
                (Ok(response), Some(success), None) => {
                    assert_eq!(response.success, success, "{name}");
                    assert_eq!(response.recipe_name, "test-recipe", "{name}");
                    assert_eq!(response.exit_code, case.exit, "{name}");
                }
                (Err(found), None, Some(kind)) => {
                    assert_eq!(found.kind(), kind, "{name}: {found}");
                    let text = found.to_string();
                    assert!(text.contains(&case.says.unwrap_or_default()), "{name}: {text}");
                }
                (found, ..) => panic!("{name}: {found:?}"),
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_and_answers_without_end_are_errors() {
        let found = interpret_response(ProcessExit::Code(0), &captured(&[0xff, 0xfe]), b"", "r").unwrap_err();
        assert_eq!(found.kind(), "runner_output_malformed");
        let cut = CapturedOutput { bytes: b"{\"success\": true".to_vec(), dropped: 1 };
        assert_eq!(
            interpret_response(ProcessExit::Code(0), &cut, b"", "r").unwrap_err().kind(),
            "runner_output_too_large"
        );
        let deep = "[".repeat(100_000);
        let found =
            interpret_response(ProcessExit::Code(0), &captured(deep.as_bytes()), b"", "r").unwrap_err();
        assert_eq!(found.kind(), "runner_output_malformed");
        let deep = format!("{{\"success\": true, \"context\": {{\"a\": {deep}");
        let found =
            interpret_response(ProcessExit::Code(0), &captured(deep.as_bytes()), b"", "r").unwrap_err();
        assert_eq!(found.kind(), "runner_output_malformed");
    }

    #[test]
    fn steps_are_read_with_what_is_there() {
        let stdout = r#"{"recipe_name": "own", "success": true, "context": {"n": 1}, "step_results": [
            {"step_id": "a", "status": "COMPLETED", "output": "x", "error": "", "duration": 0.5},
            {"status": "exploded", "output": {"k": [1]}, "error": null, "warnings": ["runs without a guard", 7]}]}"#;
        let response =
            interpret_response(ProcessExit::Code(0), &captured(stdout.as_bytes()), b"", "r").unwrap();
        assert_eq!(response.recipe_name, "own");
        assert_eq!(response.context["n"], 1);
        let [first, second] = &response.steps[..] else { panic!("{response:?}") };
        let expected = RunnerStep {
            id: "a".into(),
            status: RunnerStepStatus::Completed,
            output: "x".into(),
            error: None,
            duration: Some(0.5),
            warnings: Vec::new(),
        };
        assert_eq!(*first, expected);
        let expected = RunnerStep {
            id: "unknown".into(),
            status: RunnerStepStatus::Failed,
            output: "{\"k\":[1]}".into(),
            error: None,
            duration: None,
            warnings: vec!["runs without a guard".into()],
        };
        assert_eq!(*second, expected);
    }

    #[test]
    fn progress_is_no_last_word_unless_there_is_nothing_else() {
        let progress =
            "▶ a\n  ✓ a (0.1s)\n{\"type\":\"heartbeat\"}\n{\"transition\":\"step_done\"}\n[agent] x\n";
        assert_eq!(last_stderr_lines(progress.as_bytes()).lines().count(), 5);
        assert_eq!(last_stderr_lines(format!("cause\n{progress}\n").as_bytes()), "cause");
        assert_eq!(last_stderr_lines(b"\n \n"), "it said nothing on stderr");
    }
}
