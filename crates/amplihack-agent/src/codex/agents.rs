//! Codex's nested agents: what its calls of `spawn_agent`, `wait` and their like tell of them.

use std::collections::BTreeMap;

use super::wire::{CodexItem, agent_states, text_list};
use crate::decode::wire::json_text;
use crate::event::{ActivityPhase, AgentEvent, AgentTask};

/// The nested agents that were told, by thread.
#[derive(Debug, Default)]
pub(super) struct NestedAgents(BTreeMap<String, NestedAgent>);

/// The call that started an agent, and its last phase.
#[derive(Debug)]
struct NestedAgent {
    call: String,
    phase: Option<ActivityPhase>,
}

impl NestedAgents {
    /// Tells which agents began with the call `item`, and which it found in another phase than before.
    pub(super) fn emit_tasks(&mut self, item: &CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        if item.kind.text() != "collab_tool_call" {
            return;
        }
        if item.tool.text() == "spawn_agent" {
            for thread in item.receivers.map(text_list).unwrap_or_default() {
                let call = item.id.text().to_owned();
                out.push(AgentEvent::Task(AgentTask {
                    prompt: item.prompt.and_then(json_text),
                    // Codex goes on, and waits when it wants to.
                    background: true,
                    ..AgentTask::new(call.clone(), ActivityPhase::Started)
                }));
                self.0.insert(thread, NestedAgent { call, phase: Some(ActivityPhase::Progress) });
            }
        }
        for (thread, state) in item.states.map(agent_states).unwrap_or_default() {
            let phase = match state.status.text() {
                "pending_init" | "running" => ActivityPhase::Progress,
                "completed" => ActivityPhase::Completed,
                "errored" | "not_found" => ActivityPhase::Failed,
                "shutdown" | "interrupted" => ActivityPhase::Cancelled,
                _ => ActivityPhase::Unknown,
            };
            let known = self
                .0
                .entry(thread)
                .or_insert_with_key(|thread| NestedAgent { call: thread.clone(), phase: None });
            if known.phase.replace(phase) != Some(phase) {
                out.push(AgentEvent::Task(AgentTask {
                    message: state.message.into_option(),
                    ..AgentTask::new(known.call.clone(), phase)
                }));
            }
        }
    }
}
