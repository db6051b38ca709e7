//! Copilot's lines about its session: what it has, what changes, what it counts.

use super::decode::CopilotStream;
use super::wire::{CopilotMcpServer, CopilotSession, CopilotUsageAccounts, CopilotUsageLine, line_data};
use crate::decode::fail;
use crate::decode::lines::warning_event;
use crate::decode::wire::WireText;
use crate::event::{
    ActivityPhase, AgentCompaction, AgentEvent, AgentMcpServer, AgentSessionUpdate, AgentUsage,
};

/// Lines that say no more than that something changed, or whose facts no consumer of all agents needs: told by their names.
const NOTICES: &[&str] = &[
    "context_cleared",
    "extensions_loaded",
    "handoff",
    "managed_settings_enforced",
    "managed_settings_resolved",
    "memory_changed",
    "model_deselected",
    "mode_notice_delivered",
    "permissions_changed",
    "plan_changed",
    "remote_steerable_changed",
    "request_body_compression_disabled",
    "session_limits_changed",
    "snapshot_rewind",
    "todos_changed",
    "workspace_file_changed",
];

impl CopilotStream {
    /// Reads a line `session.KIND`.
    pub(super) fn take_session_line(
        &mut self,
        kind: &str,
        text: &str,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), serde_json::Error> {
        // By far the most frequent line, and an empty one.
        if kind == "background_tasks_changed" {
            out.push(update_event(kind, AgentSessionUpdate::default()));
            return Ok(());
        }
        let data: CopilotSession<'_> = line_data(text)?;
        match kind {
            "start" | "resume" => self.take_start(data, out),
            "error" => {
                let message = data.message.into_string();
                let words = format!("{} {message}", data.error_type.text());
                self.failure = Some((fail::classify_failure(data.status_code.0, &words), message.clone()));
                out.push(warning_event("error", message));
            }
            "warning" => {
                let kind = data.warning_type.0.as_deref().unwrap_or("warning");
                out.push(warning_event(kind, data.message.into_string()));
            }
            "compaction_start" | "compaction_complete" | "truncation" => {
                out.push(AgentEvent::Compaction(compaction(kind, data)));
            }
            "quota_observation" => out.push(AgentEvent::RateLimit(data.quota.into_limit())),
            "shutdown" | "usage_checkpoint" => {
                let accounts =
                    CopilotUsageAccounts { models: data.models, ..CopilotUsageAccounts::default() };
                let amounts = accounts.sum_totals().or_else(|| data.accounts.sum_totals());
                match amounts {
                    Some(amounts) => out.push(AgentEvent::Usage(AgentUsage::of_total(amounts))),
                    None => out.push(update_event(kind, AgentSessionUpdate::default())),
                }
            }
            _ => {
                if let Some(update) = read_update(kind, data) {
                    self.opening.take_update(&update);
                    out.push(update_event(kind, update));
                }
            }
        }
        Ok(())
    }

    fn take_start(&mut self, data: CopilotSession<'_>, out: &mut Vec<AgentEvent>) {
        self.session = data.session.into_option().or(self.session.take());
        let update = AgentSessionUpdate {
            agent_session: self.session.clone(),
            model: data.selected_model.into_option(),
            cwd: data.context.cwd.into_option(),
            ..AgentSessionUpdate::default()
        };
        self.opening.version = data.version.into_option();
        self.opening.take_update(&update);
        out.push(update_event("start", update));
    }

    /// Tells what a call of a model used, and what is left of the account's quotas.
    pub(super) fn emit_usage(
        &mut self,
        text: &str,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), serde_json::Error> {
        let data: CopilotUsageLine<'_> = line_data(text)?;
        let amounts = data.to_totals();
        if data.parent.0.is_none() && data.stop_reason.0.is_some() {
            self.stop_reason = data.stop_reason.into_option();
        }
        out.push(AgentEvent::Usage(AgentUsage {
            message: data.api_call.into_option(),
            model: data.model.into_option(),
            amounts,
            total: false,
        }));
        let limits = data.quotas.0.into_iter().map(|(name, quota)| quota.to_limit(name));
        out.extend(limits.map(AgentEvent::RateLimit));
        Ok(())
    }
}

/// An update; one without any facts of ours is told by its name.
pub(super) fn update_event(kind: &str, update: AgentSessionUpdate) -> AgentEvent {
    AgentEvent::SessionUpdated(if update == AgentSessionUpdate::default() {
        AgentSessionUpdate { reason: Some(kind.to_owned()), ..update }
    } else {
        update
    })
}

/// Facts in a line `session.KIND`, if they are some of ours.
fn read_update(kind: &str, data: CopilotSession<'_>) -> Option<AgentSessionUpdate> {
    let none = AgentSessionUpdate::default();
    // Lines about one server have no list: an update names only what changed.
    let server = |status: String| vec![AgentMcpServer::new(data.server.text(), status)];
    Some(match kind {
        "skills_loaded" => {
            let there = data.skills.0.into_iter().filter(|skill| skill.enabled.0 != Some(false));
            let commands = there.filter_map(|skill| skill.command.into_option().or(skill.name.into_option()));
            AgentSessionUpdate { commands: commands.collect(), ..none }
        }
        "custom_agents_updated" => {
            let agents = data.agents.0.into_iter().filter_map(|agent| agent.name.into_option());
            AgentSessionUpdate { agents: agents.collect(), ..none }
        }
        "mcp_servers_loaded" => {
            let server = |server: CopilotMcpServer<'_>| {
                AgentMcpServer::new(server.name.into_string(), server.status.into_string())
            };
            AgentSessionUpdate { mcp_servers: data.servers.0.into_iter().map(server).collect(), ..none }
        }
        "mcp_server_status_changed" => {
            AgentSessionUpdate { mcp_servers: server(data.status.into_string()), ..none }
        }
        "mcp_server_removed" => AgentSessionUpdate { mcp_servers: server("removed".to_owned()), ..none },
        "mcp_server_needs_reconnect" => {
            AgentSessionUpdate { mcp_servers: server("needs-reconnect".to_owned()), ..none }
        }
        "mcp_server_tools_loaded" => {
            AgentSessionUpdate { mcp_servers: server("tools-loaded".to_owned()), ..none }
        }
        "tools_updated" => AgentSessionUpdate { model: data.model.into_option(), ..none },
        "model_change" | "auto_mode_resolved" => AgentSessionUpdate {
            model: [data.new_model, data.chosen_model].into_iter().find_map(WireText::into_option),
            reason: data.cause.into_option(),
            ..none
        },
        "mode_changed" => AgentSessionUpdate { mode: data.new_mode.into_option(), ..none },
        "title_changed" => AgentSessionUpdate { title: data.title.into_option(), ..none },
        "context_changed" => AgentSessionUpdate { cwd: data.cwd.into_option(), ..none },
        "usage_info" => AgentSessionUpdate {
            context_tokens: data.tokens.as_count(),
            context_limit: data.token_limit.as_count(),
            ..none
        },
        "idle" => AgentSessionUpdate::with_status("idle"),
        "autopilot_stopped" | "task_complete" => AgentSessionUpdate {
            status: Some(kind.to_owned()),
            reason: [data.summary, data.reason].into_iter().find_map(WireText::into_option),
            ..none
        },
        // Its type is what the agent does now: `model_retry`, `cancellation`.
        "info" => AgentSessionUpdate {
            status: data.info_type.into_option(),
            reason: data.message.into_option(),
            ..none
        },
        _ if NOTICES.contains(&kind) => {
            let words = [data.mode, data.path, data.summary, data.reason];
            let words = words.into_iter().find_map(WireText::into_option);
            AgentSessionUpdate { reason: words.map(|words| format!("{kind}: {words}")), ..none }
        }
        _ => return None,
    })
}

fn compaction(kind: &str, data: CopilotSession<'_>) -> AgentCompaction {
    match kind {
        "compaction_start" => AgentCompaction {
            phase: ActivityPhase::Started,
            trigger: data.trigger.into_option(),
            tokens_before: data.tokens.as_count().or(data.conversation_tokens.as_count()),
            ..AgentCompaction::default()
        },
        "truncation" => AgentCompaction {
            phase: ActivityPhase::Completed,
            trigger: Some("truncation".to_owned()),
            tokens_before: data.truncated_from.as_count(),
            tokens_after: data.truncated_to.as_count(),
            ..AgentCompaction::default()
        },
        _ => AgentCompaction {
            phase: if data.success.0 == Some(false) {
                ActivityPhase::Failed
            } else {
                ActivityPhase::Completed
            },
            trigger: data.trigger.into_option(),
            tokens_before: data.tokens_before.as_count(),
            tokens_after: data.tokens_after.as_count(),
            message: [data.error, data.summary_content].into_iter().find_map(WireText::into_option),
            ..AgentCompaction::default()
        },
    }
}
