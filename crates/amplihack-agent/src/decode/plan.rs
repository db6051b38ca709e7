//! Plans, as agents write them.

use super::wire::{WireFlag, WireList, WireText, record};
use crate::event::{AgentPlanEntry, AgentPlanStatus};

record! {
    struct WirePlan<'a> {
        todos: WireList<WirePlanEntry<'a>> = "todos",
        items: WireList<WirePlanEntry<'a>> = "items",
        plan: WireList<WirePlanEntry<'a>> = "plan",
    }
    /// A task of a plan.
    pub(crate) struct WirePlanEntry<'a> {
        id: WireText<'a> = "id",
        content: WireText<'a> = "content",
        text: WireText<'a> = "text",
        step: WireText<'a> = "step",
        description: WireText<'a> = "description",
        title: WireText<'a> = "title",
        status: WireText<'a> = "status",
        completed: WireFlag = "completed",
    }
}

/// The tasks of the plan in `json`, an object with a list `todos`, `items` or `plan`. Nothing for other JSON.
pub(crate) fn plan_entries(json: &str) -> Vec<AgentPlanEntry> {
    let WirePlan { todos, items, plan } = serde_json::from_str(json).unwrap_or_default();
    let list = [todos, items, plan].into_iter().find(|list| !list.0.is_empty());
    list.into_iter().flat_map(|list| list.0).map(plan_entry).collect()
}

/// The task that `entry` is.
pub(crate) fn plan_entry(entry: WirePlanEntry<'_>) -> AgentPlanEntry {
    let texts = [entry.content, entry.text, entry.step, entry.title, entry.description];
    AgentPlanEntry {
        id: entry.id.into_option(),
        text: texts.into_iter().find_map(WireText::into_option).unwrap_or_default(),
        status: if entry.completed.0 == Some(true) {
            AgentPlanStatus::Completed
        } else {
            plan_status(entry.status.text())
        },
    }
}

/// State of a task, by an agent's word for it.
pub(crate) fn plan_status(word: &str) -> AgentPlanStatus {
    match word {
        "in_progress" | "in-progress" | "inProgress" => AgentPlanStatus::InProgress,
        "completed" | "done" => AgentPlanStatus::Completed,
        "cancelled" | "canceled" | "deleted" => AgentPlanStatus::Cancelled,
        _ => AgentPlanStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_of_every_agent_are_read() {
        let entry = |id: Option<&str>, text: &str, status| AgentPlanEntry {
            id: id.map(str::to_owned),
            text: text.to_owned(),
            status,
        };
        for (json, expected) in [
            (
                r#"{"todos":[{"content":"a","status":"completed","activeForm":"A"},{"id":"2","content":"b","status":"in-progress"}]}"#,
                vec![
                    entry(None, "a", AgentPlanStatus::Completed),
                    entry(Some("2"), "b", AgentPlanStatus::InProgress),
                ],
            ),
            (
                r#"{"items":[{"text":"a","completed":true},{"text":"b","completed":false}]}"#,
                vec![
                    entry(None, "a", AgentPlanStatus::Completed),
                    entry(None, "b", AgentPlanStatus::Pending),
                ],
            ),
            (
                r#"{"plan":[{"step":"a","status":"in_progress"}]}"#,
                vec![entry(None, "a", AgentPlanStatus::InProgress)],
            ),
            (
                r#"{"todos":[{"description":"a","status":"cancelled"}]}"#,
                vec![entry(None, "a", AgentPlanStatus::Cancelled)],
            ),
            ("null", vec![]),
            (r#"{"todos":"none"}"#, vec![]),
        ] {
            assert_eq!(plan_entries(json), expected, "{json}");
        }
    }
}
