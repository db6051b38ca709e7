//! The streams of the real CLIs, decoded: what was done, what it used, and how it ended.

use std::ffi::OsString;

use amplihack_agent::decode::new_decoder;
use amplihack_agent::event::{EndEvent, FailKind, UsageTotals};
use amplihack_agent::framer::{Framer, StreamFrame};
use amplihack_agent::ledger::UsageLedger;
use amplihack_agent::{
    AgentBinary, AgentCommand, AgentEvent, AgentRunOptions, Installed, PermissionLevel, RunMode,
    agent_profile,
};
use amplihack_config::prompt_delivery::PromptDelivery;
use amplihack_probe::model::{DONE, ModelScript, ScriptedReply};
use amplihack_sys::ProcessExit;
use amplihack_testkit::procs::{self, Process};
use amplihack_testkit::{Output, Run};
use rustix::process::Signal;

use crate::world::{World, real};

/// A headless run of `agent` itself, as the builder writes it, that streams what it does.
fn run(world: &World, agent: AgentBinary) -> Run {
    run_with(world, agent, false)
}

fn run_with(world: &World, agent: AgentBinary, live_usage: bool) -> Run {
    let (words, stdin) = stream_command(world, agent, "go", live_usage);
    let mut command = world.sandbox.command(&words[0]);
    command.args(&words[1..]);
    Run::new(command).stdin(stdin)
}

/// The command line of a headless run of `agent` itself, as the builder writes it, that streams what it does, and its stdin.
pub(crate) fn stream_command(
    world: &World,
    agent: AgentBinary,
    prompt: &str,
    live_usage: bool,
) -> (Vec<OsString>, Vec<u8>) {
    let program = real(agent).unwrap();
    let installed = Installed { path: program.clone(), ..Installed::from_agent(agent) };
    let file = (agent == AgentBinary::Copilot).then(|| world.sandbox.root().join("usage.json").into());
    let options = AgentRunOptions {
        permissions: Some(PermissionLevel::Full),
        stream: true,
        usage_file: file,
        live_usage,
        ..AgentRunOptions::default()
    };
    let work = world.sandbox.work();
    let delivered = AgentCommand::new(&installed, RunMode::Headless, Some(prompt), &options, &work)
        .deliver(PromptDelivery::Stdin)
        .unwrap();
    let words = delivered.command.get_args().map(OsString::from);
    let words = std::iter::once(program.into()).chain(words).collect();
    (words, delivered.stdin_payload.unwrap())
}

/// A run's output, decoded; the end is the last event.
fn events(agent: AgentBinary, output: &Output) -> Vec<AgentEvent> {
    let (mut framer, mut decoder, mut events) = (Framer::default(), new_decoder(agent), Vec::new());
    let mut take = |frame: StreamFrame<'_>| {
        let StreamFrame::Line(line) = frame else { panic!("{frame:?}") };
        decoder.decode_line(line, &mut events);
    };
    framer.push(&output.stdout, &mut take);
    framer.finish(&mut take);
    let exit = output.signal.map(ProcessExit::Signal).or(output.code.map(ProcessExit::Code));
    events.push(AgentEvent::End(decoder.finish(exit)));
    events
}

fn end(events: &[AgentEvent]) -> &EndEvent {
    let [.., AgentEvent::End(end)] = events else { panic!("{events:#?}") };
    let ends = events.iter().filter(|event| matches!(event, AgentEvent::End(_))).count();
    assert_eq!(ends, 1, "{events:#?}");
    end
}

/// What the ledger makes of the events, and of the file that Copilot counts in.
fn totals(world: &World, agent: AgentBinary, events: &[AgentEvent]) -> UsageTotals {
    let mut ledger = UsageLedger::default();
    for event in events {
        if let AgentEvent::Usage(usage) = event {
            ledger.observe(usage);
        }
    }
    if let Ok(file) = std::fs::read(world.sandbox.root().join("usage.json")) {
        ledger.observe(&agent_profile(agent).counts.usage_file.unwrap()(&file).unwrap());
    }
    ledger.totals()
}

/// The events that every agent tells, by name, each once in a row.
fn story(events: &[AgentEvent]) -> Vec<&'static str> {
    let name = |event: &AgentEvent| match event {
        AgentEvent::Started(_) => Some("started"),
        AgentEvent::Text(text) if !text.delta => Some("text"),
        AgentEvent::ToolCall(_) => Some("tool call"),
        AgentEvent::ToolResult(_) => Some("tool result"),
        AgentEvent::End(end) => Some(end.name()),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

fn streams(agent: AgentBinary) {
    let call = ScriptedReply::Tool { command: "echo hello-from-tool".to_owned() };
    World::with(agent, ModelScript::new([call, ScriptedReply::Text(DONE.to_owned())]), |world| {
        let output = run(world, agent).output();
        let events = events(agent, &output);
        assert_eq!(
            story(&events),
            ["started", "tool call", "tool result", "text", "success"],
            "{output}\n{events:#?}"
        );
        assert!(events.iter().any(|event| matches!(event, AgentEvent::Usage(_))), "{events:#?}");
        for event in &events {
            match event {
                AgentEvent::ToolCall(call) => {
                    let command = call.input.to_value()["command"].as_str().unwrap_or_default().to_owned();
                    assert!(command.contains("echo hello-from-tool"), "{call:?}");
                }
                AgentEvent::ToolResult(result) => {
                    assert!(result.output.contains("hello-from-tool") && !result.is_error, "{result:?}");
                }
                AgentEvent::Warning(warning) => assert_ne!(warning.kind, "not_json", "{warning:?}"),
                _ => {}
            }
        }
        let summary = &end(&events).summary;
        assert_eq!(summary.text.as_deref(), Some(DONE));
        assert!(summary.agent_session.as_ref().is_some_and(|session| session.len() == 36), "{summary:?}");
        let (found, sent) = (totals(world, agent, &events), world.server.usage("run"));
        assert_eq!(
            (found.input_tokens, found.cache_read_tokens, found.output_tokens, found.cache_write_tokens),
            (sent.input, sent.cached, sent.output, 0),
            "{agent}"
        );
        assert!(sent.replies >= 2 && sent.cached > 0);
    });
}

#[test]
fn claude_streams_what_it_does() {
    streams(AgentBinary::Claude);
}

#[test]
fn codex_streams_what_it_does() {
    streams(AgentBinary::Codex);
}

#[test]
fn copilot_streams_what_it_does() {
    streams(AgentBinary::Copilot);
}

#[test]
fn gemini_streams_what_it_does() {
    streams(AgentBinary::Gemini);
}

/// A run and the same session resumed, as amplihack keeps them: together they used what the model says, and each its part.
fn resumed(agent: AgentBinary) {
    World::with(agent, ModelScript::new([ScriptedReply::Text(DONE.to_owned())]), |world| {
        let flags = ["--permissions", "full", "--no-hooks", "--output", "json"];
        let first = world.run(&[&[agent.name(), "--prompt", "go"], &flags[..]].concat());
        first.assert_code(0);
        let used = world.server.usage("run");
        world.server.set_script("run", ModelScript::new([ScriptedReply::Text(DONE.to_owned())]));
        let second =
            world.run(&[&["sessions", "resume", "latest", "--prompt", "go on"], &flags[..]].concat());
        second.assert_code(0);
        let all = world.server.usage("run");
        let counts = |usage: &serde_json::Value| {
            ["input_tokens", "cache_read_tokens", "output_tokens"].map(|name| usage[name].as_u64().unwrap())
        };
        assert!(all.input > used.input, "{agent}: the resumed run used nothing");
        assert_eq!(counts(&first.json()["usage"]), [used.input, used.cached, used.output], "{agent}, first");
        let rest = [all.input - used.input, all.cached - used.cached, all.output - used.output];
        assert_eq!(counts(&second.json()["usage"]), rest, "{agent}, resumed");
        let cost = world.run(&["sessions", "cost", "--json"]).json();
        assert_eq!(counts(&cost["together"]), [all.input, all.cached, all.output], "{agent}, together");
    });
}

#[test]
fn claude_resumed_is_counted_once() {
    resumed(AgentBinary::Claude);
}

#[test]
fn codex_resumed_is_counted_once() {
    resumed(AgentBinary::Codex);
}

#[test]
fn copilot_resumed_is_counted_once() {
    resumed(AgentBinary::Copilot);
}

#[test]
fn gemini_resumed_is_counted_once() {
    resumed(AgentBinary::Gemini);
}

/// Claude states its output tokens while it works only where it is asked to: a message's own lines count none of them.
#[test]
fn claude_counts_while_it_works() {
    let agent = AgentBinary::Claude;
    let call = ScriptedReply::Tool { command: "echo hello-from-tool".to_owned() };
    World::with(agent, ModelScript::new([call, ScriptedReply::Text(DONE.to_owned())]), |world| {
        let output = run_with(world, agent, true).output();
        let events = events(agent, &output);
        let stated = |event: &AgentEvent| matches!(event, AgentEvent::Usage(usage) if usage.total);
        let before: Vec<AgentEvent> = events.into_iter().take_while(|event| !stated(event)).collect();
        let (found, sent) = (totals(world, agent, &before), world.server.usage("run"));
        assert_eq!(
            (found.input_tokens, found.cache_read_tokens, found.output_tokens),
            (sent.input, sent.cached, sent.output),
            "{output}"
        );
    });
}

/// The kind of failure for each answer of the model.
fn says_why(agent: AgentBinary, answers: &[(u16, FailKind)]) {
    World::with(agent, ModelScript::default(), |world| {
        for (status, expected) in answers {
            world.server.set_script("run", ModelScript::new([ScriptedReply::Error { status: *status }]));
            let output = run(world, agent).output();
            let events = events(agent, &output);
            let EndEvent { kind: Some(kind), message: Some(message), .. } = end(&events) else {
                panic!("{status}: {events:#?}")
            };
            assert_eq!(kind, expected, "{status}: {message}");
            assert!(!message.is_empty());
            assert_eq!(totals(world, agent, &events).output_tokens, 0);
        }
    });
}

#[test]
fn claude_says_why_it_failed() {
    let answers = [(401, FailKind::Auth), (429, FailKind::RateLimit), (500, FailKind::Agent)];
    says_why(AgentBinary::Claude, &answers);
}

#[test]
fn codex_says_why_it_failed() {
    let answers = [(401, FailKind::Auth), (429, FailKind::RateLimit), (500, FailKind::Agent)];
    says_why(AgentBinary::Codex, &answers);
}

#[test]
fn copilot_says_why_it_failed() {
    says_why(AgentBinary::Copilot, &[(401, FailKind::Auth), (400, FailKind::Agent)]);
}

/// After 429 and 500 it tries for more than a minute, whatever its settings say.
#[test]
fn gemini_says_why_it_failed() {
    says_why(AgentBinary::Gemini, &[(401, FailKind::Auth), (400, FailKind::Agent)]);
}

/// Copilot tries for 20 s after these.
#[test]
fn copilot_says_that_it_was_limited() {
    says_why(AgentBinary::Copilot, &[(429, FailKind::RateLimit)]);
}

#[test]
fn copilot_says_that_the_model_failed() {
    says_why(AgentBinary::Copilot, &[(500, FailKind::Agent)]);
}

/// The end of a run that is interrupted in the middle of a tool call.
fn interrupted(agent: AgentBinary, check: fn(&EndEvent)) {
    World::with(agent, ModelScript::default(), |world| {
        let marker = world.sandbox.write(world.sandbox.marker("slow"), "");
        let marker = marker.display().to_string();
        let command = format!("timeout 31 tail -f /dev/null '{marker}'");
        world.server.set_script("run", ModelScript::new([ScriptedReply::Tool { command }]));
        let mut running = run(world, agent).spawn();
        running.until("the tool call", |_| {
            let runs = |process: &Process| {
                process.argv[0] == "tail" && process.argv.iter().any(|arg| *arg == *marker)
            };
            procs::all().iter().any(runs)
        });
        running.until_stdout_has(&marker);
        running.signal(Signal::INT);
        let output = running.wait();
        let events = events(agent, &output);
        assert_eq!(story(&events)[..2], ["started", "tool call"], "{output}\n{events:#?}");
        check(end(&events));
    });
}

#[test]
fn claude_tells_that_it_was_interrupted() {
    interrupted(AgentBinary::Claude, |end| assert_eq!(end.name(), "interrupted", "{end:?}"));
}

/// It says nothing: who ended it has to know.
#[test]
fn codex_does_not_tell_that_it_was_interrupted() {
    interrupted(AgentBinary::Codex, |end| {
        assert!(end.kind == Some(FailKind::Exit), "{end:?}");
    });
}

#[test]
fn copilot_tells_that_it_was_interrupted() {
    interrupted(AgentBinary::Copilot, |end| assert_eq!(end.name(), "interrupted", "{end:?}"));
}

/// It ends with 0 and without a record: who ended it has to know.
#[test]
fn gemini_does_not_tell_that_it_was_interrupted() {
    interrupted(AgentBinary::Gemini, |end| assert_eq!(end.name(), "no_result", "{end:?}"));
}
