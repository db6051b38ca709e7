//! The spans of an export: a run of an agent, the calls of its model, its tools.

use std::collections::{HashMap, HashSet};

use amplihack_agent::event::{ToolCall, ToolResult, Warning};
use amplihack_agent::{AgentEvent, profile};
use amplihack_session::{Exit, RunEnd};
use jiff::Timestamp;

use super::calls::{Call, calls};
use super::conventions::{
    AGENT, AGENT_VERSION, CONVERSATION, DECISION, ERROR_TYPE, EXIT_CODE, OPERATION, OUTPUT_MESSAGES,
    PROVIDER, REQUEST_MODEL, RESPONSE_ID, RESPONSE_MODEL, RULE, SCHEMA, SESSION, TOOL, TOOL_ARGUMENTS,
    TOOL_CALL, TOOL_RESULT, TURN, TURNS, WARNING, WARNING_KIND, WARNING_MESSAGE, WORKFLOW, usage,
};
use super::settings::Settings;
use super::wire::{
    Attribute, Event, Id, Kind, Nanos, Resource, ResourceSpans, Scope, ScopeSpans, Span, Status, Traces,
    attribute,
};
use crate::clean::Cleaner;
use crate::model::{Document, Run, Unattended};

/// `document` as traces of the service that `settings` tell of. What was said, asked for and given back is in them only with `content`.
pub fn traces(document: &Document, cleaner: Cleaner, content: bool, settings: &Settings) -> Traces {
    let trace = Id::of(&document.id);
    let mut spans = Vec::new();
    let root = document.unattended.as_ref().map(|unattended| {
        let root = workflow(document, unattended, trace, cleaner);
        let id = root.id;
        spans.push(root);
        id
    });
    for run in &document.runs {
        let turn = document.unattended.as_ref().and_then(|unattended| {
            unattended.turns.iter().find(|turn| turn.launches.contains(&run.id)).map(|turn| turn.number)
        });
        let mut writer = Writer { run, cleaner, content, trace, own: span_id(run, "run"), spans: Vec::new() };
        writer.agent(root, turn);
        writer.model();
        writer.tools();
        spans.append(&mut writer.spans);
    }
    let attributes = settings.resource.iter().map(|(name, value)| attribute(name.clone(), value.as_str()));
    let resource = Resource { attributes: attributes.collect() };
    let scope = Scope { name: "amplihack", version: env!("CARGO_PKG_VERSION") };
    Traces {
        resource_spans: vec![ResourceSpans {
            resource,
            scope_spans: vec![ScopeSpans { scope, spans, schema_url: SCHEMA }],
        }],
    }
}

fn span_id(run: &Run, what: &str) -> Id<8> {
    Id::of(&format!("{}/{what}", run.id))
}

fn workflow(document: &Document, run: &Unattended, trace: Id<16>, cleaner: Cleaner) -> Span {
    let mut attributes = vec![
        attribute(OPERATION, "invoke_workflow"),
        attribute(WORKFLOW, "amplihack auto"),
        attribute(SESSION, document.id.as_str()),
        attribute(TURNS, run.turns.len() as u64),
    ];
    attributes.extend(usage(&run.usage));
    let last = document.runs.iter().map(Run::last_seen).max().unwrap_or(run.began);
    let status = match run.state.as_str() {
        "verified" | "claimed" | "running" => Status::default(),
        state => {
            attributes.push(attribute(ERROR_TYPE, state));
            Status::error(cleaner.without_secrets(run.reason.as_deref().unwrap_or_default()).into_owned())
        }
    };
    Span {
        trace,
        id: Id::of(&format!("{}/workflow", document.id)),
        parent: None,
        name: "invoke_workflow amplihack auto".to_owned(),
        kind: Kind::Internal,
        start_time_unix_nano: Nanos(run.began),
        end_time_unix_nano: Nanos(run.ended.unwrap_or(last).max(run.began)),
        attributes,
        events: Vec::new(),
        status,
    }
}

/// Writes the spans of one run.
struct Writer<'a> {
    run: &'a Run,
    cleaner: Cleaner,
    content: bool,
    trace: Id<16>,
    /// The span of the run itself.
    own: Id<8>,
    spans: Vec<Span>,
}

impl Writer<'_> {
    /// A span without attributes.
    fn span(
        &self,
        id: Id<8>,
        parent: Option<Id<8>>,
        name: String,
        kind: Kind,
        start: Timestamp,
        end: Timestamp,
    ) -> Span {
        Span {
            trace: self.trace,
            id,
            parent,
            name,
            kind,
            start_time_unix_nano: Nanos(start),
            end_time_unix_nano: Nanos(end.max(start)),
            attributes: Vec::new(),
            events: Vec::new(),
            status: Status::default(),
        }
    }

    /// What every span of the run says.
    fn common(&self, operation: &'static str) -> Vec<Attribute> {
        let record = &self.run.record;
        let mut attributes = vec![
            attribute(OPERATION, operation),
            attribute(PROVIDER, profile(record.agent).provider),
            attribute(AGENT, record.agent.name()),
        ];
        attributes.extend(record.agent_session.as_deref().map(|id| attribute(CONVERSATION, self.clean(id))));
        attributes
    }

    fn clean(&self, text: &str) -> String {
        self.cleaner.without_secrets(text).into_owned()
    }

    fn agent(&mut self, root: Option<Id<8>>, turn: Option<u32>) {
        let record = &self.run.record;
        let mut attributes = self.common("invoke_agent");
        attributes.push(attribute(SESSION, self.run.id.as_str()));
        let version = self.run.started().and_then(|started| started.version.as_deref());
        attributes.extend(version.map(|version| attribute(AGENT_VERSION, self.clean(version))));
        attributes.extend(record.model.as_deref().map(|model| attribute(REQUEST_MODEL, self.clean(model))));
        attributes.extend(turn.map(|turn| attribute(TURN, u64::from(turn))));
        attributes.extend(usage(&record.usage));
        if let Some(Exit::Code(code)) = record.end.as_ref().and_then(RunEnd::exit) {
            attributes.push(attribute(EXIT_CODE, i64::from(code)));
        }
        let error = match &record.end {
            Some(end) if end.is_success() => None,
            Some(end) => {
                let kind = serde_json::to_value(end.event.kind).ok();
                Some(kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or(end.name().to_owned()))
            }
            None if record.is_running() => None,
            None => Some(record.state().to_owned()),
        };
        let status =
            match &error {
                Some(_) => Status::error(self.clean(
                    record.end.as_ref().and_then(|end| end.event.message.as_deref()).unwrap_or_default(),
                )),
                None => Status::default(),
            };
        attributes.extend(error.map(|error| attribute(ERROR_TYPE, error)));
        let name = format!("invoke_agent {}", record.agent);
        let span = self.span(self.own, root, name, Kind::Client, record.started_at, self.run.last_seen());
        self.spans.push(Span { attributes, events: self.warnings(), status, ..span });
    }

    fn warnings(&self) -> Vec<Event> {
        let warnings = self.run.events.iter().filter_map(|event| match &event.event {
            AgentEvent::Warning(warning) => Some((event.at, warning)),
            _ => None,
        });
        warnings
            .map(|(at, Warning { kind, message })| {
                let mut attributes = vec![attribute(WARNING_KIND, self.clean(kind))];
                if self.content {
                    attributes.push(attribute(WARNING_MESSAGE, self.clean(message)));
                }
                Event { time_unix_nano: Nanos(at), name: WARNING, attributes }
            })
            .collect()
    }

    /// The span below which an event of the sub-agent of `call` stands.
    fn above(&self, call: Option<&str>) -> Id<8> {
        call.map_or(self.own, |call| span_id(self.run, &format!("tool/{call}")))
    }

    fn model(&mut self) {
        for call in calls(self.run, self.cleaner) {
            let Call { seq, start, end, parent, message, model, used, .. } = call;
            let mut attributes = self.common("chat");
            let asked = self.run.record.model.as_deref();
            attributes.extend(asked.map(|model| attribute(REQUEST_MODEL, self.clean(model))));
            attributes.extend(model.map(|model| attribute(RESPONSE_MODEL, self.clean(model))));
            attributes.extend(message.map(|message| attribute(RESPONSE_ID, self.clean(message))));
            attributes.extend(usage(&used));
            if let Some(output) = call.output().filter(|_| self.content) {
                attributes.push(attribute(OUTPUT_MESSAGES, output));
            }
            let name = asked
                .or(model)
                .map_or_else(|| "chat".to_owned(), |model| format!("chat {}", self.clean(model)));
            let (id, above) = (span_id(self.run, &format!("chat/{seq}")), self.above(parent));
            let span = self.span(id, Some(above), name, Kind::Client, start, end);
            self.spans.push(Span { attributes, ..span });
        }
    }

    fn tools(&mut self) {
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
                self.tool(event.at, call, results.get(call.id.as_str()).copied());
            }
        }
    }

    fn tool(&mut self, at: Timestamp, call: &ToolCall, result: Option<(Timestamp, &ToolResult)>) {
        let mut attributes = self.common("execute_tool");
        attributes.push(attribute(TOOL, self.clean(&call.name)));
        attributes.push(attribute(TOOL_CALL, self.clean(&call.id)));
        if let Some(entry) = self.run.verdict(&call.id) {
            attributes.push(attribute(DECISION, entry.decision.to_string()));
            attributes.extend(entry.rule.as_deref().map(|rule| attribute(RULE, rule)));
        }
        if self.content {
            attributes.push(attribute(TOOL_ARGUMENTS, self.cleaner.json(&call.input)));
        }
        let mut status = Status::default();
        let mut end = self.run.last_seen();
        if let Some((given, result)) = result {
            end = given;
            attributes.extend(result.exit_code.map(|code| attribute(EXIT_CODE, code)));
            if self.content {
                attributes.push(attribute(TOOL_RESULT, self.clean(&result.output)));
            }
            if result.is_error {
                attributes.push(attribute(ERROR_TYPE, "tool_error"));
                status = Status::error(String::new());
            }
        }
        let name = format!("execute_tool {}", self.clean(&call.name));
        let (id, above) = (self.above(Some(&call.id)), self.above(call.parent.as_deref()));
        let span = self.span(id, Some(above), name, Kind::Internal, at, end);
        self.spans.push(Span { attributes, status, ..span });
    }
}
