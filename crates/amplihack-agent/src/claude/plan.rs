//! The list of tasks that Claude Code keeps with tools for one task each.

use super::wire::tool::{ClaudePlanTask, ClaudeToolDetail};
use crate::decode::plan::plan_status;
use crate::event::{AgentPlanEntry, AgentPlanStatus};

/// The most tasks that are remembered; further ones are not told.
const MOST: usize = 1000;

/// The tasks, in the order of their making.
#[derive(Debug, Default)]
pub(super) struct ClaudeTaskList(Vec<AgentPlanEntry>);

impl ClaudeTaskList {
    /// Takes the outcome of a call of `tool` in, and returns the whole list if it is another now.
    pub(super) fn take_outcome(
        &mut self,
        tool: &str,
        outcome: &ClaudeToolDetail<'_>,
    ) -> Option<Vec<AgentPlanEntry>> {
        match tool {
            "TaskCreate" if self.0.len() < MOST => self.0.push(plan_entry(outcome.task.as_ref()?)),
            "TaskUpdate" => {
                let status = plan_status(outcome.change.as_ref()?.to.text());
                let id = outcome.task_id.0.as_deref();
                self.0.iter_mut().find(|entry| entry.id.as_deref() == id)?.status = status;
            }
            "TaskList" => {
                let listed: Vec<_> = outcome.tasks.as_ref()?.0.iter().take(MOST).map(plan_entry).collect();
                if listed == self.0 {
                    return None;
                }
                self.0 = listed;
            }
            _ => return None,
        }
        let there = |entry: &&AgentPlanEntry| entry.status != AgentPlanStatus::Cancelled;
        Some(self.0.iter().filter(there).cloned().collect())
    }
}

fn plan_entry(task: &ClaudePlanTask<'_>) -> AgentPlanEntry {
    AgentPlanEntry {
        id: task.id.0.as_deref().map(str::to_owned),
        text: task.subject.text().to_owned(),
        status: plan_status(task.status.text()),
    }
}
