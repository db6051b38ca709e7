//! Several records of the end in one run of Claude Code: they are joined, and none hides another.

use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{EndEvent, EventJson, FailKind};
use amplihack_agent::{AgentBinary, AgentEvent};
use serde_json::{Value, json};

use crate::{Decoded, lines};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","permissionMode":"default","tools":[],"mcp_servers":[]}"#;
const BUDGET: &str = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":9,"duration_ms":5999,"session_id":"s","result_index":0,"errors":["Reached maximum number of turns (8)"]}"#;
const NOTED: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"noted","origin":{"kind":"task-notification"},"num_turns":1,"duration_ms":3,"session_id":"s","result_index":1,"stop_reason":"end_turn"}"#;
const ANSWER: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"{\"answer\":42}","structured_output":{"answer":42},"num_turns":9,"duration_ms":5999,"session_id":"s","result_index":0,"stop_reason":"tool_use"}"#;
const NOTE_FAILED: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["x"],"origin":{"kind":"task-notification"},"num_turns":1,"duration_ms":3,"session_id":"s","result_index":1}"#;
const FAILED: &str =
    r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["x"],"num_turns":1}"#;
const HELP: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":0}"#;

fn end_of(said: &[&str]) -> EndEvent {
    lines(AgentBinary::Claude, said, 0).end
}

fn of_type(decoded: &Decoded, kind: &str) -> Vec<Value> {
    let values = decoded.events().map(|event| serde_json::to_value(event).unwrap());
    values.filter(|event| event["type"] == *kind).collect()
}

#[test]
fn a_turn_after_the_answer_does_not_hide_that_the_run_failed() {
    let end = end_of(&[INIT, BUDGET, INIT, NOTED]);
    assert_eq!((end.name(), end.outcome.code()), ("budget", 5));
    assert_eq!(end.message.as_deref(), Some("Reached maximum number of turns (8)"));
    assert_eq!((end.summary.turns, end.summary.duration_ms), (Some(10), Some(6002)));
}

#[test]
fn the_answer_is_that_of_the_users_own_turn() {
    let decoded = lines(AgentBinary::Claude, &[INIT, ANSWER, INIT, NOTED], 0);
    let summary = &decoded.end.summary;
    assert!(decoded.end.is_success());
    assert_eq!(summary.text.as_deref(), Some("{\"answer\":42}"));
    assert_eq!(summary.structured_output.as_ref().map(EventJson::to_value), Some(json!({"answer": 42})));
    assert_eq!((summary.turns, summary.duration_ms), (Some(10), Some(6002)));
    assert_eq!(summary.stop_reason.as_deref(), Some("tool_use"));
    assert_eq!(of_type(&decoded, "started").len(), 1);
    assert_eq!(of_type(&decoded, "turn_started").len(), 2);
    assert_eq!(of_type(&decoded, "turn_ended").len(), 2);
}

#[test]
fn a_failed_turn_after_the_answer_is_a_warning() {
    let decoded = lines(AgentBinary::Claude, &[INIT, ANSWER, INIT, NOTE_FAILED], 0);
    assert!(decoded.end.is_success(), "{:?}", decoded.end);
    assert_eq!(decoded.end.summary.text.as_deref(), Some("{\"answer\":42}"));
    let warnings = of_type(&decoded, "warning");
    assert_eq!(
        warnings,
        [
            json!({"type": "warning", "kind": "background_turn", "message": "a turn after the answer failed: x"})
        ]
    );
}

#[test]
fn a_record_of_a_background_task_alone_is_the_end() {
    assert_eq!(end_of(&[INIT, NOTED]).summary.text.as_deref(), Some("noted"));
    assert_eq!(end_of(&[INIT, NOTE_FAILED]).kind, Some(FailKind::Agent));
}

#[test]
fn of_several_prompts_the_last_answer_is_the_text_and_a_failure_holds() {
    let second = r#"{"type":"result","subtype":"success","is_error":false,"result":"two","num_turns":1}"#;
    for (said, name, text) in [
        (vec![ANSWER, second], "success", Some("two")),
        (vec![FAILED, second], "failed", Some("two")),
        (vec![BUDGET, second], "budget", Some("two")),
        (vec![ANSWER, FAILED], "failed", None),
        (vec![BUDGET, FAILED], "budget", None),
        // A command of its own is no answer, and takes none away.
        (vec![HELP, second], "success", Some("two")),
        (vec![second, HELP], "success", Some("two")),
        (vec![HELP], "no_result", Some("")),
    ] {
        let end = end_of(&said);
        assert_eq!((end.name(), end.summary.text.as_deref()), (name, text), "{said:?}");
    }
}

#[test]
fn money_and_tokens_are_those_of_the_process() {
    let record = |origin: &str, cost: f64, since: u64, all: u64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"r"{origin},"total_cost_usd":{cost},"modelUsage":{{"m":{{"inputTokens":{all},"costUSD":{cost}}}}},"model_usage_since_last_result":{{"m":{{"inputTokens":{since},"costUSD":0.25}}}}}}"#
        )
    };
    let noted = record(r#","origin":{"kind":"task-notification"}"#, 0.5, 5, 15);
    let totals = lines(AgentBinary::Claude, &[&record("", 0.25, 10, 10), &noted], 0).totals();
    assert_eq!((totals.input_tokens, totals.cost_usd), (15, Some(0.5)));
}

#[test]
fn a_second_beginning_tells_what_changed() {
    let other = r#"{"type":"system","subtype":"init","session_id":"s","model":"n","permissionMode":"plan","tools":[],"mcp_servers":[]}"#;
    let decoded = lines(AgentBinary::Claude, &[INIT, ANSWER, INIT, other, NOTED], 0);
    assert_eq!(of_type(&decoded, "started").len(), 1);
    assert_eq!(
        of_type(&decoded, "session_updated"),
        [
            json!({"type": "session_updated", "mode": "default"}),
            json!({"type": "session_updated", "model": "n", "mode": "plan"}),
        ]
    );
    assert!(!decoded.events().any(|event| matches!(event, AgentEvent::Raw(_))), "{decoded:?}");
}

#[test]
fn a_run_is_not_over_while_a_turn_goes_on() {
    let mut decoder = new_decoder(AgentBinary::Claude);
    let queued =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"r","queued_turn_count":1}"#;
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"t"}]}}"#;
    for (line, over) in [
        (INIT, false),
        (ANSWER, true),
        (INIT, false),
        (NOTED, true),
        (said, false),
        (queued, false),
        (ANSWER, true),
    ] {
        decoder.decode_line(line.as_bytes(), &mut Vec::new());
        assert_eq!(decoder.is_over(), over, "{line}");
    }
}

/// A later turn that was interrupted left no record: the answer before it does not make the run a success.
#[test]
fn an_interrupted_later_turn_is_the_end() {
    let lines = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":false,"result":"one","num_turns":1,"session_id":"s"}"#,
        "\n",
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        "\n",
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"s"}"#,
        "\n",
    );
    let decoded =
        crate::decode(AgentBinary::Claude, [lines.as_bytes()], Some(amplihack_sys::ProcessExit::Code(0)));
    assert_eq!(decoded.end.name(), "interrupted", "{:?}", decoded.end);
}
