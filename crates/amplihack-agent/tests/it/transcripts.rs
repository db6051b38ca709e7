//! Recordings of the real CLIs: the sequence of events that their meaning says.

use std::fmt::Write as _;

use amplihack_agent::event::{AgentToolKind, FailKind, UsageTotals};
use amplihack_agent::{AgentBinary, AgentEvent, agent_profile};
use amplihack_sys::ProcessExit;

use crate::{Decoded, decode, lines, recording};

/// Recordings with the exit that was seen, the end's name, and what the scripted model had sent: replies of 10 tokens of input,
/// 4 from the cache, 3 to the cache and 5 of output each; the older ones had no cache.
const RECORDINGS: &[(&str, ProcessExit, &str, Model)] = &[
    ("claude-2.1.332", ProcessExit::Code(0), "success", Model::Plain(2)),
    ("claude-2.1.332-partial", ProcessExit::Code(0), "success", Model::Plain(2)),
    ("claude-2.1.332-streamin", ProcessExit::Code(0), "success", Model::Plain(2)),
    ("claude-2.1.332-resumed", ProcessExit::Code(0), "success", Model::Cached(2)),
    ("claude-2.1.332-denied", ProcessExit::Code(0), "success", Model::Cached(2)),
    ("claude-2.1.332-max-turns", ProcessExit::Code(1), "budget", Model::Cached(2)),
    ("claude-2.1.332-max-budget", ProcessExit::Code(1), "budget", Model::Cached(1)),
    ("claude-2.1.332-interrupted-tool", ProcessExit::Code(0), "interrupted", Model::Cached(1)),
    ("claude-2.1.332-interrupted-model", ProcessExit::Code(0), "interrupted", Model::Cached(0)),
    ("claude-2.1.332-401", ProcessExit::Code(1), "failed auth", Model::Cached(0)),
    ("claude-2.1.332-429", ProcessExit::Code(1), "failed rate_limit", Model::Cached(0)),
    ("codex-0.171.0", ProcessExit::Code(0), "success", Model::Plain(2)),
    // The total of the session, not of the run.
    ("codex-0.171.0-resumed", ProcessExit::Code(0), "success", Model::Cached(4)),
    // Codex says nothing of it; only who ended it knows.
    ("codex-0.171.0-interrupted-tool", ProcessExit::Code(1), "failed exit", Model::Cached(0)),
    ("codex-0.171.0-401", ProcessExit::Code(1), "failed auth", Model::Cached(0)),
    ("codex-0.171.0-429", ProcessExit::Code(1), "failed rate_limit", Model::Cached(0)),
    ("copilot-1.0.102", ProcessExit::Code(0), "success", Model::Silent),
    ("copilot-1.0.102-denied", ProcessExit::Code(0), "success", Model::Silent),
    ("copilot-1.0.102-interrupted-tool", ProcessExit::Code(0), "interrupted", Model::Silent),
    ("copilot-1.0.102-interrupted-model", ProcessExit::Signal(2), "interrupted", Model::Silent),
    ("copilot-1.0.102-401", ProcessExit::Code(1), "failed auth", Model::Silent),
    ("copilot-1.0.102-400", ProcessExit::Code(1), "failed agent", Model::Silent),
    ("gemini-0.61.0", ProcessExit::Code(0), "success", Model::Plain(3)),
    ("gemini-0.61.0-denied", ProcessExit::Code(0), "success", Model::Plain(3)),
    // It ends with 0, and says that it was a success.
    ("gemini-0.61.0-loop", ProcessExit::Code(0), "failed agent", Model::Plain(5)),
    ("gemini-0.61.0-401", ProcessExit::Code(145), "failed auth", Model::Plain(0)),
];

/// What the model had counted in so many replies.
#[derive(Clone, Copy)]
enum Model {
    Plain(u64),
    Cached(u64),
    /// The agent's stream does not tell.
    Silent,
}

fn agent(name: &str) -> AgentBinary {
    name.split('-').next().unwrap().parse().unwrap()
}

fn decoded(name: &str, exit: Option<ProcessExit>) -> Decoded {
    decode(agent(name), [recording(&format!("{name}.jsonl")).as_slice()], exit)
}

/// One line an event; the values of raw ones are left out.
fn report(decoded: &Decoded) -> String {
    let mut report = String::new();
    for (number, events) in decoded.lines.iter().enumerate() {
        for event in events {
            let mut value = serde_json::to_value(event).unwrap();
            if let AgentEvent::Raw(_) = event {
                value = serde_json::json!({"type": "raw", "kind": value["kind"]});
            }
            writeln!(report, "{:>2} {value}", number + 1).unwrap();
        }
    }
    let end = serde_json::to_value(&decoded.end).unwrap();
    writeln!(report, " . {end}\n . {}", serde_json::to_string(&decoded.totals()).unwrap()).unwrap();
    report
}

#[test]
fn recordings_become_events() {
    for (name, exit, ..) in RECORDINGS {
        insta::assert_snapshot!(*name, report(&decoded(name, Some(*exit))));
    }
}

#[test]
fn recordings_end_as_they_did() {
    for (name, exit, expected, _) in RECORDINGS {
        for exit in [Some(*exit), None] {
            let end = decoded(name, exit).end;
            let kind = serde_json::to_value(end.kind).unwrap();
            let found = format!("{} {}", end.name(), kind.as_str().unwrap_or_default());
            // Nobody knows the exit of a recording: then silence is no result.
            let expected = if exit.is_none() {
                expected.replace("failed exit", "no_result no_result")
            } else {
                (*expected).to_owned()
            };
            assert_eq!(found.trim_end(), expected, "{name}: {end:?}");
            assert_eq!(end.summary.exit, exit);
        }
    }
}

#[test]
fn totals_are_those_of_the_model() {
    for (name, exit, _, model) in RECORDINGS {
        let (replies, cached) = match model {
            Model::Plain(replies) => (*replies, 0),
            Model::Cached(replies) => (*replies, 1),
            Model::Silent => (0, 0),
        };
        let totals = decoded(name, Some(*exit)).totals();
        let expected = UsageTotals {
            input_tokens: 10 * replies,
            output_tokens: 5 * replies,
            cache_read_tokens: 4 * replies * cached,
            cache_write_tokens: 3 * replies * cached,
            cost_usd: totals.cost_usd,
            premium_requests: totals.premium_requests,
            reasoning_tokens: totals.reasoning_tokens,
        };
        assert_eq!(totals, expected, "{name}");
    }
}

#[test]
fn copilot_counts_its_tokens_in_a_file() {
    let read = agent_profile(AgentBinary::Copilot).counts.usage_file.unwrap();
    let usage = read(&recording("copilot-1.0.102-usage.json")).unwrap();
    let expected = UsageTotals {
        input_tokens: 26,
        output_tokens: 10,
        cache_read_tokens: 8,
        premium_requests: Some(0.0),
        ..UsageTotals::default()
    };
    assert!(usage.total);
    assert_eq!(usage.amounts, expected);
    for other in [&b"{}"[..], b"", b"[1]", b"{\"modelMetrics\":null}"] {
        assert_eq!(read(other), None);
    }
}

#[test]
fn every_agent_tells_the_same_story() {
    for name in ["claude-2.1.332", "codex-0.171.0", "copilot-1.0.102", "gemini-0.61.0"] {
        let names = decoded(name, Some(ProcessExit::Code(0))).names();
        // Claude counts every message, the others once.
        assert!(names.iter().any(|name| name == "usage"), "{name}");
        let story = ["started", "tool_call", "tool_result", "text"];
        let told: Vec<&str> = names.iter().map(String::as_str).filter(|name| story.contains(name)).collect();
        assert_eq!(told, story, "{name}");
    }
}

/// `exit 3`, as each agent told it when it ran the command.
const FAILED_COMMAND: [(AgentBinary, &[&str]); 4] = [
    (
        AgentBinary::Claude,
        &[
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"exit 3"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"Exit code 3","is_error":true}]}}"#,
        ],
    ),
    (
        AgentBinary::Codex,
        &[
            r#"{"type":"item.started","item":{"id":"c","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
            r#"{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"","exit_code":3,"status":"failed"}}"#,
        ],
    ),
    (
        AgentBinary::Copilot,
        &[
            r#"{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"bash","arguments":{"command":"exit 3"}}}"#,
            r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","shellExecution":{"exitCode":3},"success":true,"result":{"content":"\n<shellId: 0 completed with exit code 3>"}}}"#,
        ],
    ),
    (
        AgentBinary::Gemini,
        &[
            r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"c","parameters":{"command":"exit 3"}}"#,
            r#"{"type":"tool_result","tool_id":"c","status":"success","output":"Command exited with code: 3"}"#,
        ],
    ),
];

#[test]
fn the_same_failing_command_is_the_same_for_every_agent() {
    for (agent, stream) in FAILED_COMMAND {
        let decoded = lines(agent, stream, 0);
        let call = decoded.events().find_map(|event| match event {
            AgentEvent::ToolCall(call) => Some((call.kind, call.command.as_deref())),
            _ => None,
        });
        assert_eq!(call, Some((AgentToolKind::Execute, Some("exit 3"))), "{agent}");
        let result = decoded.events().find_map(|event| match event {
            AgentEvent::ToolResult(result) => Some((result.is_error, result.exit_code)),
            _ => None,
        });
        assert_eq!(result, Some((true, Some(3))), "{agent}");
    }
}

#[test]
fn a_recording_cut_short_is_no_success() {
    for (name, _, expected, _) in RECORDINGS {
        if *expected != "success" {
            continue;
        }
        let bytes = recording(&format!("{name}.jsonl"));
        let last = bytes.iter().rposition(|byte| *byte == b'\n').filter(|at| at + 1 < bytes.len());
        let last =
            last.unwrap_or_else(|| bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap());
        let end = decode(agent(name), [&bytes[..last]], Some(ProcessExit::Code(0))).end;
        assert!(end.kind == Some(FailKind::NoResult), "{name}: {end:?}");
        assert_eq!(end.summary.text.as_deref(), Some("FAKE-DONE"), "{name}");
    }
}
