//! What Claude Code tells about its session: its beginning, its retries, and who may do what.

use amplihack_utils::agent_binary::AgentBinary;

use super::decode::ClaudeStream;
use super::wire::{Control, Limits, Server, System};
use crate::decode::lines::warning;
use crate::decode::wire::Str;
use crate::event::{AgentEvent, McpServer, Permission, Started};

impl ClaudeStream {
    /// A line about the session.
    pub(super) fn system(&mut self, line: System<'_>, out: &mut Vec<AgentEvent>) {
        match line.subtype.text() {
            "init" => {
                let started = started(line);
                self.session.clone_from(&started.agent_session);
                out.push(AgentEvent::Started(started));
            }
            "api_retry" => out.push(warning("retry", retry(&line))),
            "permission_denied" => {
                let id = line.call.string();
                self.denied.insert(id.clone());
                out.push(AgentEvent::PermissionDecided(Permission {
                    id,
                    tool: line.tool.own(),
                    allowed: Some(false),
                    reason: line.message.own(),
                }));
            }
            _ => {}
        }
    }
}

fn started(line: System<'_>) -> Started {
    let server =
        |server: Server<'_>| McpServer { name: server.name.string(), status: server.status.string() };
    Started {
        agent: AgentBinary::Claude,
        agent_session: line.session.own(),
        version: line.version.own(),
        model: line.model.own(),
        cwd: line.cwd.own(),
        tools: line.tools.0.into_iter().filter_map(Str::own).collect(),
        mcp_servers: line.mcp_servers.0.into_iter().map(server).collect(),
    }
}

fn retry(line: &System<'_>) -> String {
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
pub(super) fn control(line: Control<'_>, out: &mut Vec<AgentEvent>) {
    if line.request.subtype.text() == "can_use_tool" {
        out.push(AgentEvent::PermissionAsked(Permission {
            id: line.id.string(),
            tool: line.request.tool.own(),
            allowed: None,
            reason: line.request.reason.own(),
        }));
    }
}

/// What is said of the account.
pub(super) fn limits(line: &Limits<'_>, out: &mut Vec<AgentEvent>) {
    let status = line.info.status.text();
    if !matches!(status, "" | "allowed") {
        out.push(warning("rate_limit", format!("{status}: {}", line.info.kind.text())));
    }
}
