//! The decoder of Copilot's `--output-format json`.

use std::collections::BTreeSet;

use super::tools::emit_permission;
use super::wire::{CopilotLine, CopilotLineData, CopilotUsageAccounts};
use crate::decode::fail;
use crate::decode::lines::{self, AgentLineReader, warning_event};
use crate::decode::wire::WireText;
use crate::event::{
    AgentEvent, AgentMcpServer, AgentSessionStarted, AgentText, AgentUsage, EndEvent, FailKind,
    RunEndSummary, RunOutcome, UsageTotals,
};
use amplihack_config::agent_binary::AgentBinary;

/// The decoder of Copilot's stream.
#[derive(Debug, Default)]
pub(crate) struct CopilotStream {
    /// Facts of the session before it is announced: no line has them all at once.
    opening: CopilotSessionOpening,
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
struct CopilotSessionOpening {
    told: bool,
    version: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    mcp_servers: Vec<AgentMcpServer>,
}

impl crate::Decode for CopilotStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// An abort holds whatever the record after it says; so does an error, if no record came.
    fn recorded_end(&mut self) -> Option<EndEvent> {
        if let (false, Some(end)) = (self.aborted, &self.end) {
            return Some(end.clone());
        }
        let summary = self.end.as_ref().map_or_else(|| self.run_summary(), |end| end.summary.clone());
        if self.aborted {
            return Some(EndEvent::with_outcome(
                RunOutcome::Interrupted,
                "the agent was interrupted".to_owned(),
                summary,
            ));
        }
        let (kind, message) = self.failure.clone()?;
        Some(EndEvent::of_failure(kind, message, summary))
    }
}

impl AgentLineReader for CopilotStream {
    fn read_json(&mut self, text: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: CopilotLine<'_> = serde_json::from_str(text)?;
        let kind = line.kind.text();
        if !kind.starts_with("session.") && !kind.is_empty() {
            self.emit_started(out);
        }
        let opened = out.len();
        match kind.split_once('.') {
            Some(("session", kind)) => self.take_session_line(kind, line.data, out),
            Some(("assistant", kind)) => self.emit_assistant(kind, line.data, out),
            Some(("tool", kind)) => self.emit_tool(kind, line.data, out),
            Some(("permission", kind)) => emit_permission(kind, line.data, out),
            Some(("model", "call_failure")) => {
                let message = format!(
                    "{}: {}",
                    line.data.status.0.map_or_else(|| "no status".to_owned(), |status| status.to_string()),
                    line.data.error_message.text()
                );
                out.push(warning_event("error", message));
            }
            None if kind == "abort" => {
                self.aborted = true;
                out.push(warning_event("abort", line.data.reason.into_string()));
            }
            None if kind == "result" => self.take_end_record(line, out),
            _ => {}
        }
        // That the session began says nothing of this line.
        if out.len() == opened {
            lines::emit_unread(text, out);
        }
        Ok(())
    }
}

impl CopilotStream {
    fn run_summary(&self) -> RunEndSummary {
        RunEndSummary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..RunEndSummary::default()
        }
    }

    /// Tells that the session began, once.
    fn emit_started(&mut self, out: &mut Vec<AgentEvent>) {
        if std::mem::replace(&mut self.opening.told, true) {
            return;
        }
        let CopilotSessionOpening { version, model, cwd, mcp_servers, .. } =
            std::mem::take(&mut self.opening);
        self.opening.told = true;
        out.push(AgentEvent::Started(AgentSessionStarted {
            agent_session: self.session.clone(),
            version,
            model,
            cwd,
            mcp_servers,
            ..AgentSessionStarted::new(AgentBinary::Copilot)
        }));
    }

    fn take_session_line(&mut self, kind: &str, data: CopilotLineData<'_>, out: &mut Vec<AgentEvent>) {
        match kind {
            "start" | "resume" => {
                self.session = data.session.into_option();
                self.opening.version = data.version.into_option();
                self.opening.model = data.selected_model.into_option();
                self.opening.cwd = data.context.cwd.into_option();
            }
            "mcp_servers_loaded" => {
                let server = |server: super::wire::CopilotMcpServer<'_>| AgentMcpServer {
                    name: server.name.into_string(),
                    status: server.status.into_string(),
                };
                self.opening.mcp_servers = data.servers.0.into_iter().map(server).collect();
            }
            "tools_updated" => {
                self.opening.model = data.model.into_option().or(self.opening.model.take());
                self.emit_started(out);
            }
            "error" => {
                self.emit_started(out);
                let message = data.message.into_string();
                let words = format!("{} {message}", data.error_type.text());
                self.failure = Some((fail::classify_failure(data.status.0, &words), message.clone()));
                out.push(warning_event("error", message));
            }
            "warning" => out.push(warning_event("warning", data.message.into_string())),
            "shutdown" => {
                let accounts =
                    CopilotUsageAccounts { models: data.models, ..CopilotUsageAccounts::default() };
                let amounts = accounts.sum_totals().or_else(|| data.accounts.sum_totals());
                out.extend(amounts.map(|amounts| {
                    AgentEvent::Usage(AgentUsage { total: true, amounts, ..AgentUsage::default() })
                }));
            }
            _ => {}
        }
    }

    fn emit_assistant(&mut self, kind: &str, data: CopilotLineData<'_>, out: &mut Vec<AgentEvent>) {
        let (message, parent) = (data.message_id.0.as_deref().map(str::to_owned), data.parent.0.as_deref());
        let text = |text: WireText<'_>, delta: bool| AgentText {
            text: text.into_string(),
            delta,
            message: message.clone(),
            parent: parent.map(str::to_owned),
            ..AgentText::default()
        };
        match kind {
            "turn_start" => {
                self.turns += 1;
                self.thought = false;
            }
            "turn_retry" => out.push(warning_event("retry", data.reason.into_string())),
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
                    // A sub-agent's text is not the answer of the run.
                    if parent.is_none() {
                        self.text = Some(text.text.clone());
                    }
                    out.push(AgentEvent::Text(text));
                }
                for request in data.requests.0 {
                    self.emit_call(request.call, request.name, request.arguments, parent, out);
                }
            }
            "usage" => out.push(AgentEvent::Usage(AgentUsage {
                message: data.api_call.0.as_deref().map(str::to_owned),
                amounts: UsageTotals { premium_requests: data.cost.0, ..data.call_counts().to_totals() },
                model: data.model.into_option(),
                total: false,
            })),
            _ => {}
        }
    }

    /// The record of the end. Its exit code is Copilot's own word: after an interruption it may be 0.
    fn take_end_record(&mut self, line: CopilotLine<'_>, out: &mut Vec<AgentEvent>) {
        self.session = line.session.into_option().or(self.session.take());
        let amounts =
            UsageTotals { premium_requests: line.usage.premium_requests.0, ..UsageTotals::default() };
        out.push(AgentEvent::Usage(AgentUsage { total: true, amounts, ..AgentUsage::default() }));
        let summary = RunEndSummary { duration_ms: line.usage.duration.as_count(), ..self.run_summary() };
        self.end = Some(match (line.exit_code.0, self.failure.take()) {
            (Some(0), _) => EndEvent::of_success(summary),
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
pub(crate) fn usage_file(file: &[u8]) -> Option<AgentUsage> {
    let accounts: CopilotUsageAccounts = serde_json::from_slice(file).ok()?;
    Some(AgentUsage { total: true, amounts: accounts.sum_totals()?, ..AgentUsage::default() })
}
