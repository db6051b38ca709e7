//! Copilot's sub-agents: which call of a tool started each, and how they go on.

use std::collections::BTreeMap;

use super::wire::{CopilotActivity, line_data};
use crate::event::{ActivityPhase, AgentEvent, AgentSessionUpdate, AgentTask};

/// The calls that started sub-agents, by the sub-agents' own names.
#[derive(Debug, Default)]
pub(super) struct SubAgents(BTreeMap<String, String>);

impl SubAgents {
    /// The call whose sub-agent a line is about: as the line says, `said`, or as is known of its `agent`.
    pub(super) fn find_parent(&mut self, said: Option<&str>, agent: Option<&str>) -> Option<String> {
        match (said, agent) {
            (Some(call), Some(agent)) => {
                if !self.0.contains_key(agent) {
                    self.0.insert(agent.to_owned(), call.to_owned());
                }
                Some(call.to_owned())
            }
            (Some(call), None) => Some(call.to_owned()),
            // Of an agent whose beginning was not told its own name: it is not the main one.
            (None, Some(agent)) => Some(self.0.get(agent).map_or(agent, String::as_str).to_owned()),
            (None, None) => None,
        }
    }

    /// Reads a line `subagent.KIND` of `agent`.
    pub(super) fn emit_task(
        &mut self,
        kind: &str,
        agent: Option<&str>,
        text: &str,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), serde_json::Error> {
        let data: CopilotActivity<'_> = line_data(text)?;
        let phase = match (kind, data.cancelled.0) {
            ("started", _) => ActivityPhase::Started,
            ("configured", _) => ActivityPhase::Progress,
            ("completed", Some(true)) => ActivityPhase::Cancelled,
            ("completed", _) => ActivityPhase::Completed,
            ("failed", _) => ActivityPhase::Failed,
            // Who answers next is a fact of the session, and no task.
            ("selected" | "deselected", _) => {
                let reason = format!("subagent.{kind} {}", data.agent_name.text());
                out.push(AgentEvent::SessionUpdated(AgentSessionUpdate {
                    reason: Some(reason.trim_end().to_owned()),
                    ..AgentSessionUpdate::default()
                }));
                return Ok(());
            }
            _ => return Ok(()),
        };
        if phase == ActivityPhase::Started
            && let (Some(agent), Some(call)) = (agent, data.call.0.as_deref())
        {
            self.0.insert(agent.to_owned(), call.to_owned());
        }
        let parent = data.parent_agent.0.as_deref().and_then(|agent| self.0.get(agent).cloned());
        let error = data.error_text();
        let id = data.call.into_option().or_else(|| self.find_parent(None, agent)).unwrap_or_default();
        out.push(AgentEvent::Task(AgentTask {
            name: data.agent_name.into_option(),
            description: data.description.into_option(),
            message: error,
            model: data.model.into_option(),
            tokens: data.tokens.as_count(),
            tool_calls: data.tool_calls.as_count(),
            duration_ms: super::speech::milliseconds(data.duration.0),
            background: data.execution_mode.text() == "background",
            parent,
            ..AgentTask::new(id, phase)
        }));
        Ok(())
    }
}
