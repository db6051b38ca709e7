//! The decoder of Copilot's `--output-format json`.

use amplihack_config::agent_binary::AgentBinary;

use super::speech::CopilotThoughts;
use super::tasks::SubAgents;
use super::wire::{CopilotLine, CopilotUsageAccounts};
use crate::decode::lines::{self, AgentLineReader, warning_event};
use crate::decode::open_calls::OpenCalls;
use crate::event::{
    AgentEvent, AgentMcpServer, AgentSessionStarted, AgentSessionUpdate, AgentUsage, EndEvent, FailKind,
    RunEndSummary, RunOutcome, UsageTotals,
};

/// The decoder of Copilot's stream.
#[derive(Debug, Default)]
pub(crate) struct CopilotStream {
    /// Facts of the session before it is announced: no line has them all at once.
    pub(super) opening: CopilotSessionOpening,
    pub(super) session: Option<String>,
    pub(super) text: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) turns: u64,
    /// Calls that were told.
    pub(super) calls: OpenCalls,
    pub(super) agents: SubAgents,
    pub(super) thoughts: CopilotThoughts,
    /// Number of the last try and the status and the words that it failed with.
    pub(super) failed_try: Option<FailedTry>,
    aborted: bool,
    pub(super) failure: Option<(FailKind, String)>,
    end: Option<EndEvent>,
}

/// A call of the model that failed, and may be tried again.
#[derive(Debug, Clone)]
pub(super) struct FailedTry {
    /// Number of the try, from 0.
    pub(super) number: Option<u64>,
    pub(super) status: Option<i64>,
    pub(super) error: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct CopilotSessionOpening {
    told: bool,
    pub(super) version: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    mcp_servers: Vec<AgentMcpServer>,
}

impl CopilotSessionOpening {
    /// Keeps facts of a session that is not announced yet.
    pub(super) fn take_update(&mut self, update: &AgentSessionUpdate) {
        if self.told {
            return;
        }
        self.model = update.model.clone().or(self.model.take());
        self.cwd = update.cwd.clone().or(self.cwd.take());
        for server in &update.mcp_servers {
            match self.mcp_servers.iter_mut().find(|known| known.name == server.name) {
                Some(known) => known.status.clone_from(&server.status),
                None => self.mcp_servers.push(server.clone()),
            }
        }
    }
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
        let kind = line.kind.clone();
        let kind = kind.text();
        let before = out.len();
        self.read_kind(kind, line, text, out)?;
        // That the session began says nothing of this line.
        if out.len() == before {
            lines::emit_unread(text, out);
        }
        if self.opens_session(kind) {
            let started = self.take_opening();
            out.insert(before, AgentEvent::Started(started));
            // It says all that the line says.
            if matches!(kind, "session.start" | "session.resume" | "session.tools_updated") {
                out.truncate(before + 1);
            }
        }
        Ok(())
    }
}

impl CopilotStream {
    /// Reads a line of `kind`. Nothing is added for a line without a place.
    fn read_kind(
        &mut self,
        kind: &str,
        line: CopilotLine<'_>,
        text: &str,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), serde_json::Error> {
        let parent = self.agents.find_parent(line.data.parent.0.as_deref(), line.agent.0.as_deref());
        match kind.split_once('.') {
            Some(("session", kind)) => self.take_session_line(kind, text, out)?,
            Some(("assistant", "usage")) => self.emit_usage(text, out)?,
            Some(("assistant", kind)) => self.emit_assistant(kind, line.data, parent, out),
            Some(("model", kind)) => self.emit_model_call(kind, &line.data, parent, out),
            Some(("tool" | "external_tool", kind)) => self.emit_tool(kind, line.data, parent, out),
            Some(("permission", kind)) => super::tools::emit_permission(kind, line.data, out),
            Some(("user", "message")) => super::speech::emit_prompt(line.data, parent, out),
            Some(("subagent", kind)) => {
                self.agents.emit_task(kind, line.agent.0.as_deref(), text, out)?;
            }
            Some((family, kind)) => {
                super::activity::emit_activity(family, kind, parent, text, out)?;
            }
            None if kind == "abort" => {
                self.aborted = true;
                out.push(warning_event("abort", line.data.reason.into_string()));
            }
            None if kind == "result" => self.take_end_record(line, out),
            None => {}
        }
        Ok(())
    }

    fn run_summary(&self) -> RunEndSummary {
        RunEndSummary {
            text: self.text.clone(),
            stop_reason: self.stop_reason.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..RunEndSummary::default()
        }
    }

    /// Reports whether a line of `kind` is the first that shows a session with its facts: those before it prepare it.
    fn opens_session(&self, kind: &str) -> bool {
        let prepares = matches!(
            kind,
            "session.skills_loaded"
                | "session.custom_agents_updated"
                | "session.mcp_servers_loaded"
                | "session.mcp_server_status_changed"
                | "session.mcp_server_tools_loaded"
        );
        !self.opening.told && !prepares && !kind.is_empty()
    }

    fn take_opening(&mut self) -> AgentSessionStarted {
        let CopilotSessionOpening { version, model, cwd, mcp_servers, .. } =
            std::mem::take(&mut self.opening);
        self.opening.told = true;
        AgentSessionStarted {
            agent_session: self.session.clone(),
            version,
            model,
            cwd,
            mcp_servers,
            ..AgentSessionStarted::new(AgentBinary::Copilot)
        }
    }

    /// The record of the end. Its exit code is Copilot's own word: after an interruption it may be 0.
    fn take_end_record(&mut self, line: CopilotLine<'_>, out: &mut Vec<AgentEvent>) {
        let session = line.session.into_option();
        if self.session.is_none() && session.is_some() && self.opening.told {
            out.push(AgentEvent::SessionUpdated(AgentSessionUpdate {
                agent_session: session.clone(),
                ..AgentSessionUpdate::default()
            }));
        }
        self.session = session.or(self.session.take());
        let amounts =
            UsageTotals { premium_requests: line.usage.premium_requests.0, ..UsageTotals::default() };
        out.push(AgentEvent::Usage(AgentUsage::of_total(amounts)));
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
    accounts.sum_totals().map(AgentUsage::of_total)
}
