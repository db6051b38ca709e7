//! Amp's stream of JSON as events.

use amplihack_config::agent_binary::AgentBinary;
use serde_json::value::RawValue;

use super::PROFILE;
use super::tools::AmpTools;
use super::wire::{
    AmpJson as WireJson, AmpRunSummary as WireSummary, AmpUsage as WireUsage, AssistantMessage, ContentBlock,
    ErrorResultMessage, PermissionDenial, StreamMessage, SystemMessage, ToolOutput, UserMessage,
};
use crate::decode::Decode;
use crate::decode::output::block_image;
use crate::event::{
    ActivityPhase, AgentEvent, AgentImage, AgentMcpServer, AgentModelCall, AgentPermission, AgentPrompt,
    AgentRawLine, AgentSessionStarted, AgentText, AgentUsage, EndEvent, EventJson, FailKind, RunEndSummary,
    RunOutcome, ToolCall, ToolResult, UsageTotals,
};

/// The decoder of `amp --execute --stream-json`.
#[derive(Debug, Default)]
pub struct AmpStream {
    started: bool,
    /// The last thing that the agent itself said.
    text: Option<String>,
    /// Reason for which the agent's own last answer stopped.
    stop_reason: Option<String>,
    tools: AmpTools,
    said: Option<EndEvent>,
    over: bool,
}

impl AmpStream {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a message in that was read already.
    pub fn take_message(&mut self, message: StreamMessage, out: &mut Vec<AgentEvent>) {
        let begins = matches!(&message, StreamMessage::System(system) if system.subtype == "init");
        if !self.started && !begins && !matches!(message, StreamMessage::Diagnostic(_)) {
            let session = message.session_id().map(str::to_owned);
            out.push(AgentEvent::Started(AgentSessionStarted {
                agent_session: session,
                ..AgentSessionStarted::new(AgentBinary::Amp)
            }));
            self.started = true;
        }
        match message {
            StreamMessage::System(system) if begins => self.begin_session(system, out),
            StreamMessage::System(system) => {
                out.push(raw_event(Some(system.subtype.clone()), &WireJson::from(&system.to_value())));
            }
            StreamMessage::Assistant(message) => self.emit_assistant(message, out),
            StreamMessage::User(message) => self.emit_user(message, out),
            StreamMessage::Result(message) => {
                self.emit_run_end(&message.summary, message.cost_usd(), out);
                let text = message.result.or_else(|| self.text.take());
                let end = EndEvent::of_success(self.run_summary(&message.summary, text));
                // The first end holds.
                let _ = self.said.get_or_insert(end);
            }
            StreamMessage::ErrorResult(message) => {
                self.emit_run_end(&message.summary, message.cost_usd(), out);
                let text = message.result.clone().or_else(|| self.text.take());
                let end = failure_end(&message, self.run_summary(&message.summary, text));
                // The first failure holds, and one after a success is the run's.
                if self.said.as_ref().is_none_or(EndEvent::is_success) {
                    self.said = Some(end);
                }
            }
            StreamMessage::Diagnostic(diagnostic) => {
                let text = Some(diagnostic.line);
                out.push(AgentEvent::Raw(AgentRawLine {
                    kind: Some(diagnostic.error.cause().to_owned()),
                    value: None,
                    text,
                }));
            }
            StreamMessage::Unknown(message) => out.push(raw_event(Some(message.kind), &message.raw)),
        }
    }

    fn begin_session(&mut self, system: SystemMessage, out: &mut Vec<AgentEvent>) {
        self.started = true;
        let servers = system.mcp_servers.into_iter();
        out.push(AgentEvent::Started(AgentSessionStarted {
            agent_session: system.session_id,
            cwd: system.cwd,
            tools: system.tools,
            mcp_servers: servers
                .map(|server| AgentMcpServer { status: server.status.as_str().to_owned(), name: server.name })
                .collect(),
            ..AgentSessionStarted::new(AgentBinary::Amp)
        }));
    }

    fn emit_assistant(&mut self, message: AssistantMessage, out: &mut Vec<AgentEvent>) {
        let (parent, payload) = (message.parent_tool_use_id, message.message);
        let id = payload.id;
        for block in payload.content {
            let said =
                |text| AgentText { message: id.clone(), parent: parent.clone(), ..AgentText::new(text) };
            match block {
                ContentBlock::Text(block) => {
                    if parent.is_none() {
                        self.text = Some(block.text.clone());
                    }
                    out.push(AgentEvent::Text(said(block.text)));
                }
                ContentBlock::Thinking(block) => {
                    let signature = block.extra.get("signature").and_then(|text| text.as_str());
                    out.push(AgentEvent::Thinking(AgentText {
                        signature: signature.map(str::to_owned),
                        ..said(block.thinking)
                    }));
                }
                ContentBlock::ToolUse(block) => {
                    let input = event_json(&block.input);
                    self.tools.emit_call(
                        ToolCall { parent: parent.clone(), ..ToolCall::new(block.id, block.name, input) },
                        out,
                    );
                }
                ContentBlock::Unknown(block) if block.kind == "redacted_thinking" => {
                    let data = block.raw.to_value()["data"].as_str().map(str::to_owned);
                    out.push(AgentEvent::Thinking(AgentText {
                        redacted: true,
                        signature: data,
                        ..said(String::new())
                    }));
                }
                other => out.push(raw_block_event(&other)),
            }
        }
        if let Some(usage) = payload.usage {
            let amounts = usage_totals(&usage, None);
            let model = payload.model.clone();
            out.push(AgentEvent::Usage(AgentUsage { message: id.clone(), model, total: false, amounts }));
        }
        // There is none in the middle of an answer.
        if let Some(stop_reason) = payload.stop_reason {
            if parent.is_none() {
                self.stop_reason = Some(stop_reason.clone());
            }
            out.push(AgentEvent::ModelCall(AgentModelCall {
                message: id,
                model: payload.model,
                stop_reason: Some(stop_reason),
                parent,
                ..AgentModelCall::new(ActivityPhase::Completed)
            }));
        }
    }

    /// Emits the results of tools, and what the user said.
    fn emit_user(&mut self, message: UserMessage, out: &mut Vec<AgentEvent>) {
        let parent = message.parent_tool_use_id;
        for block in message.message.content {
            match block {
                ContentBlock::ToolResult(block) => {
                    let (output, images) = tool_output_parts(block.content);
                    self.tools.emit_result(
                        ToolResult {
                            is_error: block.is_error,
                            images,
                            parent: parent.clone(),
                            ..ToolResult::new(block.tool_use_id, output)
                        },
                        out,
                    );
                }
                ContentBlock::Text(block) => out.push(AgentEvent::Prompt(AgentPrompt {
                    parent: parent.clone(),
                    ..AgentPrompt::new(block.text)
                })),
                other => out.push(raw_block_event(&other)),
            }
        }
    }

    fn run_summary(&self, wire: &WireSummary, text: Option<String>) -> RunEndSummary {
        RunEndSummary {
            text,
            stop_reason: self.stop_reason.clone(),
            turns: wire.num_turns,
            duration_ms: wire.duration_ms,
            ..RunEndSummary::default()
        }
    }

    /// Emits the denials and the totals that the last message carries.
    fn emit_run_end(&mut self, summary: &WireSummary, cost_usd: Option<f64>, out: &mut Vec<AgentEvent>) {
        self.over = true;
        for denial in &summary.permission_denials {
            out.push(AgentEvent::PermissionDecided(denied_permission(denial)));
        }
        if summary.usage.is_some() || cost_usd.is_some() {
            let amounts = usage_totals(&summary.usage.clone().unwrap_or_default(), cost_usd);
            out.push(AgentEvent::Usage(AgentUsage::of_total(amounts)));
        }
    }
}

impl Decode for AmpStream {
    fn decode_line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if !self.started && PROFILE.asks_for_login(line) {
            // It waits for a person, who is not there.
            self.over = true;
            // The first end holds.
            let _ = self.said.get_or_insert(EndEvent::bare_failure(FailKind::Auth, PROFILE.login_reason()));
        }
        let (before, started) = (out.len(), self.started);
        match StreamMessage::from_line(line) {
            Ok(message) => {
                let placed = matches!(message, StreamMessage::System(_));
                self.take_message(message, out);
                // A message without anything that an event has a place for, but perhaps the beginning of a session.
                if !placed && out.len() == before + usize::from(self.started != started) {
                    out.push(raw_line_event(line, None));
                }
            }
            Err(error) if error.kind() == "parse_error" => {
                let text = Some(String::from_utf8_lossy(line).into_owned());
                out.push(AgentEvent::Raw(AgentRawLine {
                    kind: Some(error.cause().to_owned()),
                    value: None,
                    text,
                }));
            }
            Err(error) => out.push(raw_line_event(line, Some(error.cause().to_owned()))),
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        self.said.take()
    }
}

/// A line as a value, or else as text.
fn raw_line_event(line: &[u8], kind: Option<String>) -> AgentEvent {
    let text = String::from_utf8_lossy(line);
    let value = RawValue::from_string(text.trim().to_owned()).ok().map(EventJson::from);
    let text = value.is_none().then(|| text.into_owned());
    AgentEvent::Raw(AgentRawLine { kind, value, text })
}

/// Text as it came; blocks joined by newlines, those that are no text as their JSON; and images.
fn tool_output_parts(content: ToolOutput) -> (String, Vec<AgentImage>) {
    let mut images = Vec::new();
    let text = match content {
        ToolOutput::None => String::new(),
        ToolOutput::Text(text) => text,
        ToolOutput::Blocks(blocks) => {
            let texts: Vec<String> = blocks
                .into_iter()
                .filter_map(|block| match block {
                    ContentBlock::Text(text) => Some(text.text),
                    other => {
                        let json = text_of(&other);
                        match block_image(json.get()) {
                            Some(image) => {
                                images.push(image);
                                None
                            }
                            None => Some(json.to_string()),
                        }
                    }
                })
                .collect();
            texts.join("\n")
        }
        ToolOutput::Other(json) => json.get().to_owned(),
    };
    (text, images)
}

fn event_json(wire: &WireJson) -> EventJson {
    RawValue::from_string(wire.get().to_owned())
        .map_or_else(|_| EventJson::from(&wire.to_value()), EventJson::from)
}

fn raw_event(kind: Option<String>, value: &WireJson) -> AgentEvent {
    AgentEvent::Raw(AgentRawLine {
        kind: kind.filter(|kind| !kind.is_empty()),
        value: Some(event_json(value)),
        text: None,
    })
}

/// A block that no event has a place for.
fn raw_block_event(block: &ContentBlock) -> AgentEvent {
    raw_event(Some(block.kind().to_owned()), &text_of(block))
}

/// The JSON of a block: its own where it is known.
fn text_of(block: &ContentBlock) -> WireJson {
    match block {
        ContentBlock::Unknown(unknown) => unknown.raw.clone(),
        known => WireJson::from(&known.to_value()),
    }
}

fn usage_totals(usage: &WireUsage, cost_usd: Option<f64>) -> UsageTotals {
    UsageTotals {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_input_tokens,
        cache_write_tokens: usage.cache_creation_input_tokens,
        cost_usd,
        ..UsageTotals::default()
    }
}

/// `Bash: rm -rf /`, or an object with `tool_name`.
fn denied_permission(denial: &PermissionDenial) -> AgentPermission {
    let tool = match denial {
        PermissionDenial::Text(text) => text.split_once(": ").map(|(tool, _)| tool.to_owned()),
        PermissionDenial::Other(json) => {
            json.to_value().get("tool_name").and_then(|name| name.as_str().map(str::to_owned))
        }
    };
    AgentPermission {
        tool,
        allowed: Some(false),
        reason: Some(denial.to_string()),
        ..AgentPermission::default()
    }
}

/// Words of services about failures that have a name.
const CAUSES: &[(FailKind, &[&str])] = &[
    (
        FailKind::Auth,
        &[
            "not authenticated",
            "authentication required",
            "please log in",
            "please login",
            "requires login",
            "invalid api key",
        ],
    ),
    (FailKind::RateLimit, &["rate limit", "rate_limit", "too many requests", "overloaded"]),
    (
        FailKind::Quota,
        &["quota", "out of credits", "insufficient credit", "insufficient balance", "insufficient_quota"],
    ),
    (FailKind::ContextLength, &["context length", "context window", "prompt is too long", "context_length"]),
];

fn failure_end(result: &ErrorResultMessage, summary: RunEndSummary) -> EndEvent {
    let message = result.message();
    if result.subtype.contains("max_turns") || result.subtype.contains("budget") {
        return EndEvent::with_outcome(RunOutcome::Budget, message, summary);
    }
    let said = message.to_lowercase();
    let found = CAUSES.iter().find(|(_, words)| words.iter().any(|word| said.contains(word)));
    let kind = found.map_or(FailKind::Agent, |(kind, _)| *kind);
    EndEvent::of_failure(kind, message, summary)
}

#[cfg(test)]
mod tests {
    use amplihack_sys::ProcessExit;

    use super::*;

    fn events(lines: &str) -> (Vec<AgentEvent>, EndEvent) {
        let mut decoder = AmpStream::new();
        let mut out = Vec::new();
        lines.lines().for_each(|line| decoder.decode_line(line.as_bytes(), &mut out));
        (out, decoder.finish(Some(ProcessExit::Code(0))))
    }

    #[test]
    fn a_session_is_told_as_events() {
        let lines = include_str!("session.jsonl");
        let (events, end) = events(lines);
        insta::assert_snapshot!(serde_json::to_string_pretty(&(events, end)).unwrap());
    }

    #[test]
    fn a_message_that_no_event_has_a_place_for_is_kept_whole() {
        for line in [
            r#"{"type":"user","message":{"role":"user","cont=nt":[{"type":"text","text":"x"}]}}"#,
            r#"{"type":"assistant","mes":{"id":"m"}}"#,
            r#"{"type":"result","subtype":"success","result":"r"}"#,
        ] {
            let (events, _) = events(line);
            let [AgentEvent::Started(_), AgentEvent::Raw(raw)] = events.as_slice() else {
                panic!("{line}: {events:?}")
            };
            assert_eq!(raw.value.as_ref().map(EventJson::text), Some(line));
        }
    }

    #[test]
    fn ends_have_names() {
        for (line, name, kind) in [
            (r#"{"type":"result","subtype":"success","result":"r"}"#, "success", None),
            (r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#, "budget", None),
            (r#"{"type":"result","is_error":true,"error":"Please log in"}"#, "failed", Some(FailKind::Auth)),
            (
                r#"{"type":"result","is_error":true,"error":"429 Too Many Requests"}"#,
                "failed",
                Some(FailKind::RateLimit),
            ),
            (r#"{"type":"result","is_error":true,"error":"boom"}"#, "failed", Some(FailKind::Agent)),
            (r#"{"type":"system","subtype":"init"}"#, "no_result", Some(FailKind::NoResult)),
        ] {
            let (_, end) = events(line);
            assert_eq!(end.name(), name, "{line}");
            assert_eq!(end.kind, kind, "{line}");
        }
    }

    #[test]
    fn a_failure_after_an_answer_is_the_runs() {
        let lines = concat!(
            r#"{"type":"result","subtype":"success","result":"a"}"#,
            "\n",
            r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":"boom"}"#,
            "\n",
            r#"{"type":"result","subtype":"success","result":"c"}"#,
        );
        let (_, end) = events(lines);
        assert_eq!((end.name(), end.kind), ("failed", Some(FailKind::Agent)));
    }

    #[test]
    fn the_first_end_holds_and_a_bad_exit_spoils_it() {
        let mut decoder = AmpStream::new();
        let mut out = Vec::new();
        decoder.decode_line(br#"{"type":"result","subtype":"success","result":"a"}"#, &mut out);
        assert!(decoder.is_over());
        decoder.decode_line(br#"{"type":"result","subtype":"success","result":"b"}"#, &mut out);
        let end = decoder.finish(Some(ProcessExit::Code(3)));
        assert_eq!(end.kind, Some(FailKind::ExitAfterSuccess));
        assert_eq!(end.summary.text.as_deref(), Some("a"));
    }
}
