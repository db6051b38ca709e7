//! The decoder of Copilot's `--output-format json`.

use std::collections::BTreeSet;

use super::tools::permission;
use super::wire::{Accounts, Data, Line};
use crate::decode::fail;
use crate::decode::lines::{self, JsonLines, warning};
use crate::decode::wire::Str;
use crate::event::{
    AgentEvent, EndEvent, FailKind, McpServer, RunOutcome, Started, Summary, Text, Totals, Usage,
};
use amplihack_utils::agent_binary::AgentBinary;

/// The decoder of Copilot's stream.
#[derive(Debug, Default)]
pub(crate) struct CopilotStream {
    /// What is known of the session before it is told: nothing says it all at once.
    opening: Opening,
    session: Option<String>,
    text: Option<String>,
    turns: u64,
    /// Calls that were told.
    pub(super) calls: BTreeSet<String>,
    /// The turn's thinking was told.
    thought: bool,
    aborted: bool,
    failure: Option<(FailKind, String)>,
    end: Option<EndEvent>,
}

#[derive(Debug, Default)]
struct Opening {
    told: bool,
    version: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    mcp_servers: Vec<McpServer>,
}

impl crate::Decode for CopilotStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// An abort holds whatever the record after it says; so does an error, if no record came.
    fn said(&mut self) -> Option<EndEvent> {
        if let (false, Some(end)) = (self.aborted, &self.end) {
            return Some(end.clone());
        }
        let summary = self.end.as_ref().map_or_else(|| self.summary(), |end| end.summary.clone());
        if self.aborted {
            return Some(EndEvent::of(
                RunOutcome::Interrupted,
                "the agent was interrupted".to_owned(),
                summary,
            ));
        }
        let (kind, message) = self.failure.clone()?;
        Some(EndEvent::of_failure(kind, message, summary))
    }
}

impl JsonLines for CopilotStream {
    fn json(&mut self, text: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: Line<'_> = serde_json::from_str(text)?;
        let kind = line.kind.text();
        if !kind.starts_with("session.") && !kind.is_empty() {
            self.open(out);
        }
        let opened = out.len();
        match kind.split_once('.') {
            Some(("session", kind)) => self.session(kind, line.data, out),
            Some(("assistant", kind)) => self.assistant(kind, line.data, out),
            Some(("tool", kind)) => self.tool(kind, line.data, out),
            Some(("permission", kind)) => permission(kind, line.data, out),
            Some(("model", "call_failure")) => {
                let message = format!(
                    "{}: {}",
                    line.data.status.0.map_or_else(|| "no status".to_owned(), |status| status.to_string()),
                    line.data.error_message.text()
                );
                out.push(warning("error", message));
            }
            None if kind == "abort" => {
                self.aborted = true;
                out.push(warning("abort", line.data.reason.string()));
            }
            None if kind == "result" => self.record(line, out),
            _ => {}
        }
        // That the session began says nothing of this line.
        if out.len() == opened {
            lines::unread(text, out);
        }
        Ok(())
    }
}

impl CopilotStream {
    fn summary(&self) -> Summary {
        Summary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..Summary::default()
        }
    }

    /// Tells that the session began, once.
    fn open(&mut self, out: &mut Vec<AgentEvent>) {
        if std::mem::replace(&mut self.opening.told, true) {
            return;
        }
        let Opening { version, model, cwd, mcp_servers, .. } = std::mem::take(&mut self.opening);
        self.opening.told = true;
        out.push(AgentEvent::Started(Started {
            agent_session: self.session.clone(),
            version,
            model,
            cwd,
            mcp_servers,
            ..Started::of(AgentBinary::Copilot)
        }));
    }

    fn session(&mut self, kind: &str, data: Data<'_>, out: &mut Vec<AgentEvent>) {
        match kind {
            "start" | "resume" => {
                self.session = data.session.own();
                self.opening.version = data.version.own();
                self.opening.model = data.selected_model.own();
                self.opening.cwd = data.context.cwd.own();
            }
            "mcp_servers_loaded" => {
                let server = |server: super::wire::Server<'_>| McpServer {
                    name: server.name.string(),
                    status: server.status.string(),
                };
                self.opening.mcp_servers = data.servers.0.into_iter().map(server).collect();
            }
            "tools_updated" => {
                self.opening.model = data.model.own().or(self.opening.model.take());
                self.open(out);
            }
            "error" => {
                self.open(out);
                let message = data.message.string();
                let words = format!("{} {message}", data.error_type.text());
                self.failure = Some((fail::kind(data.status.0, &words), message.clone()));
                out.push(warning("error", message));
            }
            "warning" => out.push(warning("warning", data.message.string())),
            "shutdown" => {
                let accounts = Accounts { models: data.models, ..Accounts::default() };
                let amounts = accounts.totals().or_else(|| data.accounts.totals());
                out.extend(
                    amounts
                        .map(|amounts| AgentEvent::Usage(Usage { total: true, amounts, ..Usage::default() })),
                );
            }
            _ => {}
        }
    }

    fn assistant(&mut self, kind: &str, data: Data<'_>, out: &mut Vec<AgentEvent>) {
        let (message, parent) = (data.message_id.0.as_deref().map(str::to_owned), data.parent.0.as_deref());
        let text = |text: Str<'_>, delta: bool| Text {
            text: text.string(),
            delta,
            message: message.clone(),
            parent: parent.map(str::to_owned),
        };
        match kind {
            "turn_start" => {
                self.turns += 1;
                self.thought = false;
            }
            "turn_retry" => out.push(warning("retry", data.reason.string())),
            "message_delta" => out.push(AgentEvent::Text(text(data.delta, true))),
            "reasoning_delta" => out.push(AgentEvent::Thinking(text(data.delta, true))),
            "reasoning" => {
                self.thought = true;
                out.push(AgentEvent::Thinking(text(data.content, false)));
            }
            "message" => {
                if !self.thought && !data.reasoning.text().is_empty() {
                    out.push(AgentEvent::Thinking(text(data.reasoning, false)));
                }
                if !data.content.text().is_empty() {
                    let text = text(data.content, false);
                    if parent.is_none() {
                        self.text = Some(text.text.clone());
                    }
                    out.push(AgentEvent::Text(text));
                }
                for request in data.requests.0 {
                    self.call(request.call, request.name, request.arguments, parent, out);
                }
            }
            "usage" => out.push(AgentEvent::Usage(Usage {
                message: data.api_call.0.as_deref().map(str::to_owned),
                amounts: Totals { premium_requests: data.cost.0, ..data.counts().totals() },
                model: data.model.own(),
                total: false,
            })),
            _ => {}
        }
    }

    /// The record of the end. Its exit code is Copilot's own word: after an interruption it may be 0.
    fn record(&mut self, line: Line<'_>, out: &mut Vec<AgentEvent>) {
        self.session = line.session.own().or(self.session.take());
        let amounts = Totals { premium_requests: line.usage.premium_requests.0, ..Totals::default() };
        out.push(AgentEvent::Usage(Usage { total: true, amounts, ..Usage::default() }));
        let summary = Summary { duration_ms: line.usage.duration.counted(), ..self.summary() };
        self.end = Some(match (line.exit_code.0, self.failure.take()) {
            (Some(0), _) => EndEvent::success(summary),
            (_, Some((kind, message))) => EndEvent::of_failure(kind, message, summary),
            (code, None) => {
                let code = code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
                let message = format!("the agent reported {code} and no error");
                EndEvent::of_failure(FailKind::Agent, message, summary)
            }
        });
    }
}

/// The total in a file of usage.
pub(crate) fn usage_file(file: &[u8]) -> Option<Usage> {
    let accounts: Accounts = serde_json::from_slice(file).ok()?;
    Some(Usage { total: true, amounts: accounts.totals()?, ..Usage::default() })
}
