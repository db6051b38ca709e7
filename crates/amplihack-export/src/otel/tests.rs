//! Traces: their shape as OTLP's JSON, their tree, and what must not be in them.

use amplihack_agent::event::{
    ActivityPhase, AgentModelCall, AgentPlan, AgentText, EventJson, ToolCall, ToolResult,
};
use amplihack_agent::{AgentBinary, AgentEvent};
use serde_json::{Value, json};

use super::{OtelSettings, document_traces};
use crate::clean::TextCleaner;
use crate::model::ExportDocument;
use crate::testing::{
    HOSTILE, claude_run, hostile_document, numbered_event, recorded_run, single_run_document,
};

/// The messages of `opentelemetry/proto/trace/v1/trace.proto` that are written, as JSON: no other names, ids of their length in hexadecimal,
/// 64-bit numbers as strings, enumerations as numbers.
fn schema() -> Value {
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let list = |of: &str| json!({ "type": "array", "items": { "$ref": format!("#/$defs/{of}") } });
    let hex =
        |digits: usize| json!({ "type": "string", "pattern": format!("^(?!0+$)[0-9a-f]{{{digits}}}$") });
    let fixed64 = json!({ "type": "string", "pattern": "^[0-9]{1,20}$" });
    let attributes = list("attribute");
    json!({
        "$ref": "#/$defs/request",
        "$defs": {
            "request": object(json!({ "resourceSpans": list("resourceSpans") }), &["resourceSpans"]),
            "resourceSpans": object(json!({
                "resource": object(json!({ "attributes": attributes }), &["attributes"]),
                "scopeSpans": list("scopeSpans"),
            }), &["resource", "scopeSpans"]),
            "scopeSpans": object(json!({
                "scope": object(json!({ "name": { "type": "string" }, "version": { "type": "string" } }), &["name"]),
                "spans": list("span"),
                "schemaUrl": { "type": "string", "pattern": "^https://opentelemetry.io/schemas/[0-9.]+$" },
            }), &["scope", "spans"]),
            "span": object(json!({
                "traceId": hex(32),
                "spanId": hex(16),
                "parentSpanId": hex(16),
                "name": { "type": "string", "minLength": 1 },
                "kind": { "type": "integer", "minimum": 1, "maximum": 5 },
                "startTimeUnixNano": fixed64,
                "endTimeUnixNano": fixed64,
                "attributes": attributes,
                "events": list("event"),
                "status": object(json!({ "code": { "type": "integer", "minimum": 0, "maximum": 2 }, "message": { "type": "string" } }), &[]),
            }), &["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"]),
            "event": object(json!({ "timeUnixNano": fixed64, "name": { "type": "string" }, "attributes": attributes }), &["timeUnixNano", "name"]),
            "attribute": object(json!({
                "key": { "type": "string", "pattern": "^[a-z_]+(\\.[a-z_]+)+$" },
                "value": { "oneOf": [
                    object(json!({ "stringValue": { "type": "string" } }), &["stringValue"]),
                    object(json!({ "intValue": { "type": "string", "pattern": "^-?[0-9]+$" } }), &["intValue"]),
                    object(json!({ "arrayValue": object(json!({ "values": {
                        "type": "array",
                        "items": object(json!({ "stringValue": { "type": "string" } }), &["stringValue"]),
                    } }), &["values"]) }), &["arrayValue"]),
                    object(json!({ "doubleValue": { "type": "number" } }), &["doubleValue"]),
                ] },
            }), &["key", "value"]),
        },
    })
}

fn exported(document: &ExportDocument, content: bool) -> Value {
    serde_json::to_value(document_traces(
        document,
        TextCleaner::new(true),
        content,
        &OtelSettings::without_collector(),
    ))
    .unwrap()
}

fn spans(traces: &Value) -> &Vec<Value> {
    traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    span["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key).map(|one| &one["value"])
}

/// Every recorded stream.
fn all() -> Vec<ExportDocument> {
    let agents = [
        (AgentBinary::Claude, "claude-2.1.332.jsonl"),
        (AgentBinary::Claude, "claude-2.1.332-partial.jsonl"),
        (AgentBinary::Claude, "claude-2.1.332-denied.jsonl"),
        (AgentBinary::Claude, "claude-2.1.332-429.jsonl"),
        (AgentBinary::Claude, "claude-2.1.332-interrupted-tool.jsonl"),
        (AgentBinary::Codex, "codex-0.171.0.jsonl"),
        (AgentBinary::Codex, "codex-0.171.0-401.jsonl"),
        (AgentBinary::Copilot, "copilot-1.0.102.jsonl"),
        (AgentBinary::Copilot, "copilot-1.0.102-denied.jsonl"),
    ];
    agents
        .into_iter()
        .map(|(agent, name)| single_run_document(recorded_run(agent, name)))
        .chain([hostile_document()])
        .collect()
}

#[test]
fn traces_have_the_shape_of_otlp() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for document in all() {
        for content in [false, true] {
            let traces = exported(&document, content);
            let wrong: Vec<String> = validator
                .iter_errors(&traces)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert_eq!(wrong, [""; 0], "{}", document.id);
        }
    }
}

/// The check above can fail.
#[test]
fn a_wrong_shape_is_found() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let right = exported(&all()[0], true);
    assert!(validator.is_valid(&right));
    let wrong = [
        ("/traceId", json!("00000000000000000000000000000000")),
        ("/spanId", json!("ABCDEF0123456789")),
        ("/kind", json!("SPAN_KIND_CLIENT")),
        ("/startTimeUnixNano", json!(1_800_000_000)),
        ("/status/code", json!("STATUS_CODE_ERROR")),
        ("/attributes/0/value", json!({ "intValue": 1 })),
        ("/attributes/0/key", json!("Upper")),
    ];
    for (place, value) in wrong {
        let mut traces = right.clone();
        traces["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["status"]["code"] = json!(2);
        assert!(validator.is_valid(&traces));
        *traces.pointer_mut(&format!("/resourceSpans/0/scopeSpans/0/spans/0{place}")).unwrap() = value;
        assert!(!validator.is_valid(&traces), "{place}");
    }
}

#[test]
fn spans_are_one_tree_in_time() {
    for document in all() {
        let traces = exported(&document, false);
        let spans = spans(&traces);
        let mut ids: Vec<&Value> = spans.iter().map(|span| &span["spanId"]).collect();
        let roots = spans.iter().filter(|span| span["parentSpanId"].is_null()).count();
        assert_eq!(roots, 1, "{}", document.id);
        for span in spans {
            assert_eq!(span["traceId"], spans[0]["traceId"]);
            let parent = &span["parentSpanId"];
            assert!(parent.is_null() || (ids.contains(&parent) && *parent != span["spanId"]), "{span}");
            let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
            assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
        }
        ids.sort_by_key(ToString::to_string);
        ids.dedup();
        assert_eq!(ids.len(), spans.len(), "ids are unique");
    }
}

#[test]
fn the_trace_of_a_run_of_claude() {
    let traces = exported(&all()[0], false);
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&traces).unwrap().replace(env!("CARGO_PKG_VERSION"), "VERSION")
    );
}

#[test]
fn what_was_said_is_left_out_unless_asked_for() {
    let plain = exported(&hostile_document(), false).to_string();
    let full = exported(&hostile_document(), true).to_string();
    // The last two stand in places that are no content: names of tools, models.
    for place in ["arguments", "result\"", "output.messages", "warning.message"] {
        assert!(!plain.contains(place), "{place}");
        assert!(full.contains(place), "{place}");
    }
    let said = exported(&all()[0], false).to_string();
    assert!(!said.contains("FAKE-DONE") && !said.contains("hello-from-tool"), "{said}");
    let said = exported(&all()[0], true).to_string();
    assert!(said.contains("FAKE-DONE") && said.contains("hello-from-tool"), "{said}");
    assert!(HOSTILE.len() > 3);
}

/// The parts of a message are those of the conventions' `gen-ai-output-messages.json`: arguments are an object, not its text.
#[test]
fn what_the_model_gave_is_a_message_with_parts() {
    let traces = exported(&all()[0], true);
    let messages: Vec<Value> = spans(&traces)
        .iter()
        .filter_map(|span| attribute(span, "gen_ai.output.messages"))
        .flat_map(|value| serde_json::from_str::<Vec<Value>>(value["stringValue"].as_str().unwrap()).unwrap())
        .collect();
    assert!(!messages.is_empty());
    let mut called = 0;
    for message in messages {
        assert_eq!(message["role"], "assistant");
        assert!(["stop", "tool_call"].contains(&message["finish_reason"].as_str().unwrap()), "{message}");
        for part in message["parts"].as_array().unwrap() {
            match part["type"].as_str().unwrap() {
                "text" | "reasoning" => assert!(part["content"].is_string(), "{part}"),
                "tool_call" => {
                    called += 1;
                    assert!(part["id"].is_string() && part["name"].is_string(), "{part}");
                    assert!(part["arguments"].is_object(), "{part}");
                }
                other => panic!("{other}"),
            }
        }
    }
    assert_eq!(called, 1);
}

/// The words of providers are those of the conventions, and a plan is a span from the call that wrote it on.
#[test]
fn a_stop_has_its_reason_and_a_plan_its_span() {
    let mut ended = AgentModelCall::new(ActivityPhase::Completed);
    ended.stop_reason = Some("max_tokens".to_owned());
    let plan: AgentPlan = serde_json::from_value(json!({
        "entries": [{ "text": "read", "status": "completed" }, { "text": "write", "status": "pending" }],
        "call": "c",
    }))
    .unwrap();
    let run = claude_run(vec![
        numbered_event(0, AgentEvent::ToolCall(ToolCall::new("c", "TodoWrite", EventJson::from(&json!({}))))),
        numbered_event(1, AgentEvent::Plan(plan)),
        numbered_event(2, AgentEvent::ToolResult(ToolResult::new("c", "ok"))),
        numbered_event(3, AgentEvent::Text(AgentText::new("cut"))),
        numbered_event(4, AgentEvent::ModelCall(ended)),
    ]);
    let traces = exported(&single_run_document(run), true);
    let named = |name: &str| spans(&traces).iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let reasons: Vec<&Value> = named("chat claude-opus")
        .iter()
        .map(|span| &attribute(span, "gen_ai.response.finish_reasons").unwrap()["arrayValue"]["values"][0])
        .collect();
    assert_eq!(reasons, [&json!({ "stringValue": "tool_call" }), &json!({ "stringValue": "length" })]);
    let [plan] = named("plan claude")[..] else { panic!("{traces}") };
    assert_eq!(attribute(plan, "gen_ai.operation.name"), Some(&json!({ "stringValue": "plan" })));
    assert_eq!(attribute(plan, "amplihack.plan"), Some(&json!({ "stringValue": "[x] read\n[ ] write" })));
    assert!(plan["startTimeUnixNano"].as_str() < plan["endTimeUnixNano"].as_str(), "{plan}");
}

#[test]
fn tokens_of_the_cache_are_input_and_failures_have_a_type() {
    let document = hostile_document();
    let traces = exported(&document, false);
    let agent = spans(&traces).iter().find(|span| span["name"] == "invoke_agent claude").unwrap();
    assert_eq!(attribute(agent, "error.type"), Some(&json!({ "stringValue": "agent" })));
    assert_eq!(agent["status"]["code"], 2);

    let mut run = recorded_run(AgentBinary::Claude, "claude-2.1.332.jsonl");
    run.record.usage.cache_read_tokens = 7;
    let input = run.record.usage.input_tokens;
    let traces = exported(&single_run_document(run), false);
    let agent = &spans(&traces)[0];
    assert_eq!(
        attribute(agent, "gen_ai.usage.input_tokens"),
        Some(&json!({ "intValue": (input + 7).to_string() }))
    );
    assert_eq!(attribute(agent, "gen_ai.usage.cache_read.input_tokens"), Some(&json!({ "intValue": "7" })));
}

#[test]
fn the_same_run_gives_the_same_trace() {
    assert_eq!(exported(&hostile_document(), true), exported(&hostile_document(), true));
}
