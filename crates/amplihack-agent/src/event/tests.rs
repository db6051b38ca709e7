//! The JSON form of events is a contract with other programs.

use serde_json::json;

use super::{
    AgentEvent, AgentSessionStarted, AgentText, AgentUsage, EndEvent, Envelope, EventJson, FailKind,
    RunEndSummary, ToolCall, UsageTotals,
};
use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::ProcessExit;

fn all() -> Vec<AgentEvent> {
    vec![
        AgentEvent::Started(AgentSessionStarted {
            agent_session: Some("s".into()),
            ..AgentSessionStarted::new(AgentBinary::Codex)
        }),
        AgentEvent::Text(AgentText { text: " a\u{2028}\n".into(), ..AgentText::default() }),
        AgentEvent::ToolCall(ToolCall::new(
            "1",
            "Bash",
            EventJson::from(&json!({"command": "ls", "n": 1e3})),
        )),
        AgentEvent::Usage(AgentUsage {
            total: true,
            amounts: UsageTotals { input_tokens: 3, cost_usd: Some(0.5), ..UsageTotals::default() },
            ..AgentUsage::default()
        }),
        AgentEvent::End(EndEvent::of_success(RunEndSummary {
            exit: Some(ProcessExit::Code(0)),
            ..RunEndSummary::default()
        })),
        AgentEvent::End(EndEvent::bare_failure(FailKind::NoResult, "nothing")),
    ]
}

#[test]
fn events_have_this_json() {
    let lines: Vec<String> = all().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let expected = [
        r#"{"type":"started","agent":"codex","agent_session":"s"}"#,
        "{\"type\":\"text\",\"text\":\" a\u{2028}\\n\"}",
        r#"{"type":"tool_call","id":"1","name":"Bash","input":{"command":"ls","n":1000.0}}"#,
        r#"{"type":"usage","total":true,"input_tokens":3,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":0.5}"#,
        r#"{"type":"end","end":"success","exit":{"code":0}}"#,
        r#"{"type":"end","end":"no_result","kind":"no_result","message":"nothing"}"#,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_was_written_is_read_back() {
    for (seq, event) in (0..).zip(all()) {
        for raw in [None, Some(b"{}".as_slice().into()), Some(b"\xff\n".as_slice().into())] {
            let envelope = Envelope { seq, at: jiff::Timestamp::UNIX_EPOCH, raw, event: event.clone() };
            let text = serde_json::to_string(&envelope).unwrap();
            assert_eq!(serde_json::from_str::<Envelope>(&text).unwrap(), envelope, "{text}");
        }
    }
}

#[test]
fn only_a_record_of_success_and_code_0_is_success() {
    let done = || Some(EndEvent::of_success(RunEndSummary::default()));
    let kind = |end: &EndEvent| end.kind;
    let table = [
        (done(), Some(ProcessExit::Code(0)), None),
        (done(), None, None),
        (done(), Some(ProcessExit::Code(1)), Some(FailKind::ExitAfterSuccess)),
        (done(), Some(ProcessExit::Signal(9)), Some(FailKind::ExitAfterSuccess)),
        (None, Some(ProcessExit::Code(0)), Some(FailKind::NoResult)),
        (None, None, Some(FailKind::NoResult)),
        (None, Some(ProcessExit::Code(3)), Some(FailKind::Exit)),
        (
            Some(EndEvent::bare_failure(FailKind::Auth, "no")),
            Some(ProcessExit::Code(0)),
            Some(FailKind::Auth),
        ),
    ];
    for (said, exit, expected) in table {
        let end = EndEvent::settle_record(said, exit);
        assert_eq!((end.is_success(), kind(&end)), (expected.is_none(), expected), "{end:?}");
        assert_eq!(end.summary.exit, exit);
    }
}

#[test]
fn a_key_that_an_agent_wrote_twice_is_there_once() {
    for (text, expected) in [
        (r#"{"b":1,"a":{"x":1,"x":2},"b":3}"#, r#"{"a":{"x":2},"b":3}"#),
        (r#"{"a":"\ud83e","a":1}"#, r#"{"a":1}"#),
        (r#"{"b":1.50,"a":2}"#, r#"{"b":1.50,"a":2}"#),
    ] {
        let raw = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(EventJson::from(&*raw).text(), expected);
    }
}
