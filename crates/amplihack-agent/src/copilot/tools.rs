//! Copilot's calls of tools, their results, and whether they were allowed.

use serde_json::value::RawValue;

use super::decode::CopilotStream;
use super::wire::Data;
use crate::decode::wire::Str;
use crate::event::{AgentEvent, Json, Permission, ToolCall, ToolResult};

impl CopilotStream {
    /// Tells a call, once: when it is asked for, and if that was not told, when it begins.
    pub(super) fn call(
        &mut self,
        id: Str<'_>,
        name: Str<'_>,
        arguments: Option<&RawValue>,
        parent: Option<&str>,
        out: &mut Vec<AgentEvent>,
    ) {
        let id = id.string();
        if self.calls.insert(id.clone()) {
            let input = arguments.map(Json::from).unwrap_or_default();
            let (name, parent) = (name.string(), parent.map(str::to_owned));
            out.push(AgentEvent::ToolCall(ToolCall { id, name, input, parent }));
        }
    }

    pub(super) fn tool(&mut self, kind: &str, data: Data<'_>, out: &mut Vec<AgentEvent>) {
        let parent = data.parent.0.as_deref();
        match kind {
            "execution_start" => self.call(data.call, data.tool, data.arguments, parent, out),
            "execution_complete" => {
                let id = data.call.string();
                let problem = data.error.message.own();
                if data.error.code.text() == "denied" {
                    out.push(AgentEvent::PermissionDecided(Permission {
                        id: id.clone(),
                        tool: data.tool.own(),
                        allowed: Some(false),
                        reason: problem.clone(),
                    }));
                }
                out.push(AgentEvent::ToolResult(ToolResult {
                    id,
                    is_error: data.success.0 == Some(false),
                    output: problem.unwrap_or_else(|| data.result.content.into_text()),
                    exit_code: data.shell.exit_code.0,
                    parent: parent.map(str::to_owned),
                }));
            }
            _ => {}
        }
    }
}

/// Questions and answers about permissions.
pub(super) fn permission(kind: &str, data: Data<'_>, out: &mut Vec<AgentEvent>) {
    let id = data.question.string();
    match kind {
        "requested" => out.push(AgentEvent::PermissionAsked(Permission {
            id,
            tool: data.asked.kind.own(),
            allowed: None,
            reason: data.asked.intention.own(),
        })),
        "completed" => {
            let decided = data.result.kind.own();
            out.push(AgentEvent::PermissionDecided(Permission {
                id,
                tool: None,
                allowed: decided.as_deref().map(|word| word.starts_with("approved")),
                reason: decided,
            }));
        }
        _ => {}
    }
}
