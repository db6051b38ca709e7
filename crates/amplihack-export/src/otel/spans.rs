//! The spans of an export: a run of an agent, the calls of its model, its tools.

use std::collections::{HashMap, HashSet};

use amplihack_agent::event::{ToolCall, ToolResult};
use amplihack_agent::{AgentEvent, agent_profile};
use amplihack_session::{ProcessExit, RunEnd};
use jiff::Timestamp;

use super::calls::{ModelCall, model_calls};
use super::conventions::{
    AGENT, AGENT_VERSION, CONVERSATION, DECISION, ERROR_TYPE, EXIT_CODE, FINISH_REASONS, OPERATION,
    OUTPUT_MESSAGES, PLAN, PROVIDER, REQUEST_MODEL, RESPONSE_ID, RESPONSE_MODEL, RULE, SCHEMA, SESSION, TOOL,
    TOOL_ARGUMENTS, TOOL_CALL, TOOL_RESULT, TURN, TURNS, WARNING, WARNING_KIND, WARNING_MESSAGE, WORKFLOW,
    usage_attributes,
};
use super::settings::OtelSettings;
use super::wire::{
    OtelAttribute, OtelId, OtelResource, OtelScope, OtelSpan, OtelSpanEvent, OtelSpanKind, OtelSpanStatus,
    OtelTraces, ResourceSpans, ScopeSpans, UnixNanos, otel_attribute,
};
use crate::clean::TextCleaner;
use crate::model::{ExportDocument, ExportedRun, UnattendedRun, warning_of};

/// `document` as traces of the service that `settings` tell of. What was said, asked for and given back is in them only with `content`.
pub fn document_traces(
    document: &ExportDocument,
    cleaner: TextCleaner,
    content: bool,
    settings: &OtelSettings,
) -> OtelTraces {
    let trace = OtelId::from_name(&document.id);
    let mut spans = Vec::new();
    let root = document.unattended.as_ref().map(|unattended| {
        let root = workflow_span(document, unattended, trace, cleaner);
        let id = root.id;
        spans.push(root);
        id
    });
    for run in &document.runs {
        let turn = document.unattended.as_ref().and_then(|unattended| {
            unattended.turns.iter().find(|turn| turn.launches.contains(&run.id)).map(|turn| turn.number)
        });
        let mut writer =
            SpanWriter { run, cleaner, content, trace, own: span_id(run, "run"), spans: Vec::new() };
        writer.write_agent(root, turn);
        writer.write_model_calls();
        writer.write_tools();
        writer.write_plans();
        spans.append(&mut writer.spans);
    }
    let attributes =
        settings.resource.iter().map(|(name, value)| otel_attribute(name.clone(), value.as_str()));
    let resource = OtelResource { attributes: attributes.collect() };
    let scope = OtelScope { name: "amplihack", version: env!("CARGO_PKG_VERSION") };
    OtelTraces {
        resource_spans: vec![ResourceSpans {
            resource,
            scope_spans: vec![ScopeSpans { scope, spans, schema_url: SCHEMA }],
        }],
    }
}

fn span_id(run: &ExportedRun, what: &str) -> OtelId<8> {
    OtelId::from_name(&format!("{}/{what}", run.id))
}

fn workflow_span(
    document: &ExportDocument,
    run: &UnattendedRun,
    trace: OtelId<16>,
    cleaner: TextCleaner,
) -> OtelSpan {
    let mut attributes = vec![
        otel_attribute(OPERATION, "invoke_workflow"),
        otel_attribute(WORKFLOW, "amplihack auto"),
        otel_attribute(SESSION, document.id.as_str()),
        otel_attribute(TURNS, run.turns.len() as u64),
    ];
    attributes.extend(usage_attributes(&run.usage));
    let last = document.runs.iter().map(ExportedRun::last_seen).max().unwrap_or(run.began);
    let status = match run.state.as_str() {
        "verified" | "claimed" | "running" => OtelSpanStatus::default(),
        state => {
            attributes.push(otel_attribute(ERROR_TYPE, state));
            OtelSpanStatus::with_error(
                cleaner.without_secrets(run.reason.as_deref().unwrap_or_default()).into_owned(),
            )
        }
    };
    OtelSpan {
        trace,
        id: OtelId::from_name(&format!("{}/workflow", document.id)),
        parent: None,
        name: "invoke_workflow amplihack auto".to_owned(),
        kind: OtelSpanKind::Internal,
        start_time_unix_nano: UnixNanos(run.began),
        end_time_unix_nano: UnixNanos(run.ended.unwrap_or(last).max(run.began)),
        attributes,
        events: Vec::new(),
        status,
    }
}

/// Writes the spans of one run.
struct SpanWriter<'a> {
    run: &'a ExportedRun,
    cleaner: TextCleaner,
    content: bool,
    trace: OtelId<16>,
    /// The span of the run itself.
    own: OtelId<8>,
    spans: Vec<OtelSpan>,
}

impl SpanWriter<'_> {
    /// A span without attributes.
    fn new_span(
        &self,
        id: OtelId<8>,
        parent: Option<OtelId<8>>,
        name: String,
        kind: OtelSpanKind,
        start: Timestamp,
        end: Timestamp,
    ) -> OtelSpan {
        OtelSpan {
            trace: self.trace,
            id,
            parent,
            name,
            kind,
            start_time_unix_nano: UnixNanos(start),
            end_time_unix_nano: UnixNanos(end.max(start)),
            attributes: Vec::new(),
            events: Vec::new(),
            status: OtelSpanStatus::default(),
        }
    }

    /// Attributes that every span of the run has.
    fn common_attributes(&self, operation: &'static str) -> Vec<OtelAttribute> {
        let record = &self.run.record;
        let mut attributes = vec![
            otel_attribute(OPERATION, operation),
            otel_attribute(PROVIDER, agent_profile(record.agent).provider),
            otel_attribute(AGENT, record.agent.name()),
        ];
        attributes.extend(
            record.agent_session.as_deref().map(|id| otel_attribute(CONVERSATION, self.clean_text(id))),
        );
        attributes
    }

    fn clean_text(&self, text: &str) -> String {
        self.cleaner.without_secrets(text).into_owned()
    }

    fn write_agent(&mut self, root: Option<OtelId<8>>, turn: Option<u32>) {
        let record = &self.run.record;
        let mut attributes = self.common_attributes("invoke_agent");
        attributes.push(otel_attribute(SESSION, self.run.id.as_str()));
        let version = self.run.started().and_then(|started| started.version.as_deref());
        attributes.extend(version.map(|version| otel_attribute(AGENT_VERSION, self.clean_text(version))));
        attributes.extend(
            record.model.as_deref().map(|model| otel_attribute(REQUEST_MODEL, self.clean_text(model))),
        );
        attributes.extend(turn.map(|turn| otel_attribute(TURN, u64::from(turn))));
        attributes.extend(usage_attributes(&record.usage));
        if let Some(ProcessExit::Code(code)) = record.end.as_ref().and_then(RunEnd::exit) {
            attributes.push(otel_attribute(EXIT_CODE, i64::from(code)));
        }
        let error = match &record.end {
            Some(end) if end.is_success() => None,
            Some(end) => {
                let kind = serde_json::to_value(end.event.kind).ok();
                Some(kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or(end.name().to_owned()))
            }
            None if record.is_running() => None,
            // Killed before it could record an end: without an error, the span would count as a success.
            None => Some(record.state_name().to_owned()),
        };
        let status = match &error {
            Some(_) => OtelSpanStatus::with_error(self.clean_text(
                record.end.as_ref().and_then(|end| end.event.message.as_deref()).unwrap_or_default(),
            )),
            None => OtelSpanStatus::default(),
        };
        attributes.extend(error.map(|error| otel_attribute(ERROR_TYPE, error)));
        let name = format!("invoke_agent {}", record.agent);
        let span = self.new_span(
            self.own,
            root,
            name,
            OtelSpanKind::Client,
            record.started_at,
            self.run.last_seen(),
        );
        self.spans.push(OtelSpan { attributes, events: self.warning_events(), status, ..span });
    }

    fn warning_events(&self) -> Vec<OtelSpanEvent> {
        let warnings =
            self.run.events.iter().filter_map(|event| {
                warning_of(&event.event).map(|(kind, message)| (event.at, kind, message))
            });
        warnings
            .map(|(at, kind, message)| {
                let mut attributes = vec![otel_attribute(WARNING_KIND, self.clean_text(kind))];
                if self.content {
                    attributes.push(otel_attribute(WARNING_MESSAGE, self.clean_text(&message)));
                }
                OtelSpanEvent { time_unix_nano: UnixNanos(at), name: WARNING, attributes }
            })
            .collect()
    }

    /// The span below which an event of the sub-agent of `call` stands.
    fn parent_span(&self, call: Option<&str>) -> OtelId<8> {
        call.map_or(self.own, |call| span_id(self.run, &format!("tool/{call}")))
    }

    fn write_model_calls(&mut self) {
        for call in model_calls(self.run, self.cleaner) {
            let ModelCall { seq, start, end, parent, message, model, used, .. } = call;
            let mut attributes = self.common_attributes("chat");
            let asked = self.run.record.model.as_deref();
            attributes.extend(asked.map(|model| otel_attribute(REQUEST_MODEL, self.clean_text(model))));
            attributes.extend(model.map(|model| otel_attribute(RESPONSE_MODEL, self.clean_text(model))));
            attributes.extend(message.map(|message| otel_attribute(RESPONSE_ID, self.clean_text(message))));
            attributes.extend(usage_attributes(&used));
            attributes.push(otel_attribute(FINISH_REASONS, vec![call.finish_reason().to_owned()]));
            if let Some(output) = call.output_message().filter(|_| self.content) {
                attributes.push(otel_attribute(OUTPUT_MESSAGES, output));
            }
            let name = asked
                .or(model)
                .map_or_else(|| "chat".to_owned(), |model| format!("chat {}", self.clean_text(model)));
            let (id, above) = (span_id(self.run, &format!("chat/{seq}")), self.parent_span(parent));
            let span = self.new_span(id, Some(above), name, OtelSpanKind::Client, start, end);
            self.spans.push(OtelSpan { attributes, ..span });
        }
    }

    /// Writes a span for each plan, from the call that wrote it on.
    fn write_plans(&mut self) {
        let mut begun = HashMap::new();
        for event in &self.run.events {
            match &event.event {
                AgentEvent::ToolCall(call) => {
                    begun.insert(call.id.as_str(), event.at);
                }
                AgentEvent::Plan(plan) => {
                    let start = plan.call.as_deref().and_then(|call| begun.get(call)).copied();
                    let mut attributes = self.common_attributes("plan");
                    if self.content {
                        attributes.push(otel_attribute(PLAN, self.clean_text(&plan.to_string())));
                    }
                    let name = format!("plan {}", self.run.record.agent);
                    let id = span_id(self.run, &format!("plan/{}", event.seq));
                    let above = Some(self.parent_span(plan.parent.as_deref()));
                    let start = start.unwrap_or(event.at);
                    let span = self.new_span(id, above, name, OtelSpanKind::Internal, start, event.at);
                    self.spans.push(OtelSpan { attributes, ..span });
                }
                _ => {}
            }
        }
    }

    fn write_tools(&mut self) {
        let run = self.run;
        let mut results: HashMap<&str, (Timestamp, &ToolResult)> = HashMap::new();
        for event in &run.events {
            if let AgentEvent::ToolResult(result) = &event.event {
                results.entry(&result.id).or_insert((event.at, result));
            }
        }
        let mut told = HashSet::new();
        for event in &run.events {
            // An id that comes again would be the same span again.
            if let AgentEvent::ToolCall(call) = &event.event
                && told.insert(call.id.as_str())
            {
                self.write_tool(event.at, call, results.get(call.id.as_str()).copied());
            }
        }
    }

    fn write_tool(&mut self, at: Timestamp, call: &ToolCall, result: Option<(Timestamp, &ToolResult)>) {
        let mut attributes = self.common_attributes("execute_tool");
        attributes.push(otel_attribute(TOOL, self.clean_text(&call.name)));
        attributes.push(otel_attribute(TOOL_CALL, self.clean_text(&call.id)));
        if let Some(entry) = self.run.verdict(&call.id) {
            attributes.push(otel_attribute(DECISION, entry.decision.to_string()));
            attributes.extend(entry.rule.as_deref().map(|rule| otel_attribute(RULE, rule)));
        }
        if self.content {
            attributes.push(otel_attribute(TOOL_ARGUMENTS, self.cleaner.clean_json(&call.input)));
        }
        let mut status = OtelSpanStatus::default();
        let mut end = self.run.last_seen();
        if let Some((given, result)) = result {
            end = given;
            attributes.extend(result.exit_code.map(|code| otel_attribute(EXIT_CODE, code)));
            if self.content {
                attributes.push(otel_attribute(TOOL_RESULT, self.clean_text(&result.output)));
            }
            if result.is_error {
                attributes.push(otel_attribute(ERROR_TYPE, "tool_error"));
                status = OtelSpanStatus::with_error(String::new());
            }
        }
        let name = format!("execute_tool {}", self.clean_text(&call.name));
        let (id, above) = (self.parent_span(Some(&call.id)), self.parent_span(call.parent.as_deref()));
        let span = self.new_span(id, Some(above), name, OtelSpanKind::Internal, at, end);
        self.spans.push(OtelSpan { attributes, status, ..span });
    }
}
