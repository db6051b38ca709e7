//! Claude Code's tasks: sub-agents, and commands that take long or run in the background.

use std::collections::VecDeque;

use super::wire::system::ClaudeSystemLine;
use super::wire::tool::ClaudeToolDetail;
use crate::decode::wire::WireText;
use crate::event::{ActivityPhase, AgentTask, ToolResult};

/// The most tasks that are remembered.
const MOST: usize = 256;

/// A task that was told.
#[derive(Debug)]
struct KnownTask {
    /// Claude's own name of it.
    task: String,
    /// The name that it has in events: the call that started it.
    id: String,
    /// Kind of the task, where a line said it.
    name: Option<String>,
    ended: bool,
}

/// The tasks of a run, the newest last.
#[derive(Debug, Default)]
pub(super) struct ClaudeTasks(VecDeque<KnownTask>);

impl ClaudeTasks {
    /// The task that a line is about.
    pub(super) fn read_line(&mut self, line: ClaudeSystemLine<'_>) -> AgentTask {
        let phase = match (line.subtype.text(), line.status.text()) {
            ("task_started", _) => ActivityPhase::Started,
            ("task_notification", "completed") => ActivityPhase::Completed,
            ("task_notification", "failed") => ActivityPhase::Failed,
            ("task_notification", _) => ActivityPhase::Cancelled,
            // Of a task that ended by an update, a notification follows.
            _ => ActivityPhase::Progress,
        };
        let parent =
            line.parent_task.0.as_deref().and_then(|task| self.find(task)).map(|known| known.id.clone());
        let kinds = [line.agent_type, line.workflow, line.task_type];
        let name = kinds.into_iter().find_map(WireText::into_option);
        let (id, name) = self.name_task(line.task.into_string(), line.call.into_option(), name, phase);
        let (description, patched) = (line.description.into_option(), line.patch.description.into_option());
        let (message, description) = match phase {
            ActivityPhase::Started => (None, description),
            // A description of the progress is what the task does now.
            _ => (line.summary.into_option().or(line.patch.error.into_option()).or(description), patched),
        };
        AgentTask {
            name,
            description,
            prompt: line.prompt.into_option(),
            message: message.filter(|message| !message.is_empty()),
            tokens: line.usage.tokens.as_count(),
            tool_calls: line.usage.tool_calls.as_count(),
            duration_ms: line.usage.duration.as_count(),
            background: line.background.0.or(line.patch.background.0).unwrap_or_default(),
            parent,
            ..AgentTask::new(id, phase)
        }
    }

    /// The end or the beginning of a sub-agent that nothing but the result of its call tells.
    pub(super) fn end_by_result(
        &mut self,
        result: &ToolResult,
        outcome: &ClaudeToolDetail<'_>,
    ) -> Option<AgentTask> {
        let known = self.0.iter_mut().rev().find(|known| known.id == result.id);
        let phase = match outcome.status.text() {
            "completed" if known.as_ref().is_none_or(|known| !known.ended) => ActivityPhase::Completed,
            "async_launched" | "remote_launched" if known.is_none() => ActivityPhase::Started,
            _ if result.is_error && known.as_ref().is_some_and(|known| !known.ended) => ActivityPhase::Failed,
            _ => return None,
        };
        if let Some(known) = known {
            known.ended = phase != ActivityPhase::Started;
        }
        Some(AgentTask {
            name: outcome.agent.0.as_deref().map(str::to_owned),
            model: outcome.model.0.as_deref().map(str::to_owned),
            tokens: outcome.tokens.as_count(),
            tool_calls: outcome.tool_calls.as_count(),
            duration_ms: outcome.duration.as_count(),
            background: phase == ActivityPhase::Started,
            ..AgentTask::new(result.id.as_str(), phase)
        })
    }

    fn find(&self, task: &str) -> Option<&KnownTask> {
        self.0.iter().rev().find(|known| known.task == task)
    }

    /// The name that the events of `task` have, and its kind; keeps both in mind.
    fn name_task(
        &mut self,
        task: String,
        call: Option<String>,
        name: Option<String>,
        phase: ActivityPhase,
    ) -> (String, Option<String>) {
        let ended = !matches!(phase, ActivityPhase::Started | ActivityPhase::Progress);
        if let Some(known) = self.0.iter_mut().rev().find(|known| known.task == task) {
            // One that is resumed begins anew; an update that comes late does not.
            known.ended = ended || (known.ended && phase != ActivityPhase::Started);
            known.id = call.unwrap_or_else(|| std::mem::take(&mut known.id));
            known.name = name.or(known.name.take());
            return (known.id.clone(), known.name.clone());
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        let id = call.unwrap_or_else(|| task.clone());
        self.0.push_back(KnownTask { task, id: id.clone(), name: name.clone(), ended });
        (id, name)
    }
}
