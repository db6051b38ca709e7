//! Copilot's lines about hooks, questions, workflows and what is told to the model beside the user's words.

use super::speech::milliseconds;
use super::wire::{CopilotActivity, line_data, text_or_json};
use crate::decode::wire::WireText;
use crate::event::{
    ActivityPhase, AgentEvent, AgentHookRun, AgentMcpServer, AgentPrompt, AgentQuestion, AgentRateLimit,
    AgentSessionUpdate, AgentTask,
};

/// Reads a line `FAMILY.KIND`. Nothing is added for a line without a place.
pub(super) fn emit_activity(
    family: &str,
    kind: &str,
    parent: Option<String>,
    text: &str,
    out: &mut Vec<AgentEvent>,
) -> Result<(), serde_json::Error> {
    let data: CopilotActivity<'_> = line_data(text)?;
    out.extend(match (family, kind) {
        ("hook", _) => hook_run(kind, data).map(AgentEvent::Hook),
        ("user_input" | "elicitation" | "exit_plan_mode" | "auto_mode_switch", _) => {
            question(family, kind, data).map(AgentEvent::Question)
        }
        ("session_limits_exhausted", "requested") => Some(AgentEvent::RateLimit(credits_limit(&data))),
        ("workflow" | "factory", _) => workflow(kind, data, parent).map(AgentEvent::Task),
        ("system", "message" | "notification") => {
            let origin = [data.note.kind, data.role].into_iter().find_map(WireText::into_option);
            Some(AgentEvent::Prompt(AgentPrompt {
                text: data.content.map(text_or_json).unwrap_or_default(),
                origin: Some(origin.unwrap_or_else(|| family.to_owned())),
                parent,
                ..AgentPrompt::default()
            }))
        }
        _ => session_update(family, kind, data).map(AgentEvent::SessionUpdated),
    });
    Ok(())
}

fn hook_run(kind: &str, data: CopilotActivity<'_>) -> Option<AgentHookRun> {
    let phase = match (kind, data.success.0) {
        ("start", _) => ActivityPhase::Started,
        ("progress", _) => ActivityPhase::Progress,
        ("end", Some(false)) => ActivityPhase::Failed,
        ("end", _) => ActivityPhase::Completed,
        _ => return None,
    };
    let output = data.output.map(text_or_json).filter(|output| output != "null");
    Some(AgentHookRun {
        output: data.error_text().or(output).or(data.message.into_option()),
        id: data.hook.into_option(),
        event: data.hook_type.into_string(),
        phase,
        ..AgentHookRun::default()
    })
}

fn question(family: &str, kind: &str, data: CopilotActivity<'_>) -> Option<AgentQuestion> {
    let id = data.question.into_string();
    match kind {
        "requested" => {
            let texts = [data.text, data.plan, data.message, data.error_code];
            let choices = [data.choices.0, data.actions.0].into_iter().flatten();
            let mut choices: Vec<String> = choices.filter_map(WireText::into_option).collect();
            if family == "auto_mode_switch" {
                choices = ["yes", "yes_always", "no"].map(str::to_owned).to_vec();
            }
            Some(AgentQuestion {
                id,
                text: texts.into_iter().find_map(WireText::into_option),
                choices,
                source: data.asker.into_option(),
                ..AgentQuestion::default()
            })
        }
        "completed" => {
            let approved = data.approved.0.map(|yes| if yes { "approved" } else { "rejected" }.to_owned());
            let given = data.content.map(text_or_json);
            let words = [data.answer, data.selected, data.response].into_iter();
            let answer = words.chain([data.action]).find_map(WireText::into_option);
            // The form of an MCP server says more than that it was sent.
            let answer = if family == "elicitation" { given.or(answer) } else { answer };
            Some(AgentQuestion {
                id,
                answer: answer.or(approved),
                answered: true,
                ..AgentQuestion::default()
            })
        }
        _ => None,
    }
}

fn credits_limit(data: &CopilotActivity<'_>) -> AgentRateLimit {
    let part = data.used.0.zip(data.most.0).filter(|(_, most)| *most > 0.0).map(|(used, most)| used / most);
    AgentRateLimit {
        status: "exhausted".to_owned(),
        limit: Some("session_ai_credits".to_owned()),
        utilization: part.map(|part| part.clamp(0.0, 1.0)),
        ..AgentRateLimit::default()
    }
}

fn workflow(kind: &str, data: CopilotActivity<'_>, parent: Option<String>) -> Option<AgentTask> {
    let phase = match (kind, data.status.text()) {
        ("run_started", _) => ActivityPhase::Started,
        ("run_updated", _) | ("run_settled", "paused") => ActivityPhase::Progress,
        ("run_settled", "completed") => ActivityPhase::Completed,
        ("run_settled", "cancelled" | "halted") => ActivityPhase::Cancelled,
        ("run_settled", _) => ActivityPhase::Failed,
        _ => return None,
    };
    Some(AgentTask {
        name: data.workflow.into_option(),
        message: data.failure.into_option(),
        duration_ms: milliseconds(data.elapsed.0),
        parent,
        ..AgentTask::new(data.run.into_string(), phase)
    })
}

/// Facts of the session in a line.
fn session_update(family: &str, kind: &str, data: CopilotActivity<'_>) -> Option<AgentSessionUpdate> {
    let none = AgentSessionUpdate::default();
    let named = |words: &str| {
        let reason = format!("{family}.{kind}: {words}");
        AgentSessionUpdate { reason: Some(reason.trim_end_matches([':', ' ']).to_owned()), ..none.clone() }
    };
    Some(match (family, kind) {
        ("commands", "changed") => AgentSessionUpdate {
            commands: data.commands.0.into_iter().filter_map(|command| command.name.into_option()).collect(),
            ..named("")
        },
        ("agent", "interrupted") => AgentSessionUpdate {
            status: Some("interrupted".to_owned()),
            reason: data.doing.into_option(),
            ..none
        },
        ("mcp", "oauth_required") => AgentSessionUpdate {
            mcp_servers: vec![AgentMcpServer::new(data.server.into_string(), "needs-auth")],
            ..none
        },
        ("mcp", _) => named([data.server.text(), data.outcome.text()].join(" ").trim()),
        ("skill", "invoked" | "invoked_ref") => named(data.name.text()),
        ("command", "queued" | "execute" | "completed") => named(data.command.text()),
        ("capabilities", "changed")
        | ("pending_messages", "modified")
        | ("tool_search", "activated")
        | ("session_limits_exhausted", "completed")
        | ("skill", "context_delivered" | "context_delivered_ref") => named(""),
        _ => return None,
    })
}
