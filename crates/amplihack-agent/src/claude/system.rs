//! Lines of Claude Code about its session: its beginning, its retries, and who may do what.

use amplihack_config::agent_binary::AgentBinary;

use super::decode::ClaudeStream;
use super::wire::{ClaudeControlLine, ClaudeMcpServer, ClaudeRateLimits, ClaudeSystemLine};
use crate::decode::lines::warning_event;
use crate::decode::wire::WireText;
use crate::event::{AgentEvent, AgentMcpServer, AgentPermission, AgentSessionStarted};

impl ClaudeStream {
    /// A line about the session.
    pub(super) fn emit_system(&mut self, line: ClaudeSystemLine<'_>, out: &mut Vec<AgentEvent>) {
        match line.subtype.text() {
            "init" => {
                let started = started_event(line);
                self.session.clone_from(&started.agent_session);
                out.push(AgentEvent::Started(started));
            }
            "api_retry" => out.push(warning_event("retry", retry_text(&line))),
            "permission_denied" => {
                let id = line.call.into_string();
                self.denied.insert(id.clone());
                out.push(AgentEvent::PermissionDecided(AgentPermission {
                    id,
                    tool: line.tool.into_option(),
                    allowed: Some(false),
                    reason: line.message.into_option(),
                }));
            }
            _ => {}
        }
    }
}

fn started_event(line: ClaudeSystemLine<'_>) -> AgentSessionStarted {
    let server = |server: ClaudeMcpServer<'_>| AgentMcpServer {
        name: server.name.into_string(),
        status: server.status.into_string(),
    };
    AgentSessionStarted {
        agent: AgentBinary::Claude,
        agent_session: line.session.into_option(),
        version: line.version.into_option(),
        model: line.model.into_option(),
        cwd: line.cwd.into_option(),
        tools: line.tools.0.into_iter().filter_map(WireText::into_option).collect(),
        mcp_servers: line.mcp_servers.0.into_iter().map(server).collect(),
    }
}

fn retry_text(line: &ClaudeSystemLine<'_>) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let status = line.error_status.0.map(|status| format!(", status {status}")).unwrap_or_default();
    let error = if line.error.text().is_empty() { "no reason given" } else { line.error.text() };
    let (attempt, most) = (number(line.attempt.0), number(line.max_retries.0));
    format!(
        "attempt {attempt} of {most} in {:.0} ms: {error}{status}",
        line.retry_delay.0.unwrap_or_default()
    )
}

/// A question of the agent's.
pub(super) fn emit_control(line: ClaudeControlLine<'_>, out: &mut Vec<AgentEvent>) {
    if line.request.subtype.text() == "can_use_tool" {
        out.push(AgentEvent::PermissionAsked(AgentPermission {
            id: line.id.into_string(),
            tool: line.request.tool.into_option(),
            allowed: None,
            reason: line.request.reason.into_option(),
        }));
    }
}

/// Emits a warning about the account's limits.
pub(super) fn emit_limits(line: &ClaudeRateLimits<'_>, out: &mut Vec<AgentEvent>) {
    let status = line.info.status.text();
    if !matches!(status, "" | "allowed") {
        out.push(warning_event("rate_limit", format!("{status}: {}", line.info.kind.text())));
    }
}
