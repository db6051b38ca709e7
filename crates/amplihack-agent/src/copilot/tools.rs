//! Copilot's calls of tools, their results, and whether they were allowed.

use serde_json::value::RawValue;

use super::decode::CopilotStream;
use super::wire::CopilotLineData;
use crate::decode::wire::WireText;
use crate::event::{AgentEvent, AgentPermission, EventJson, ToolCall, ToolResult};

impl CopilotStream {
    /// Tells a call, once: when it is asked for, and if that was not told, when it begins.
    pub(super) fn emit_call(
        &mut self,
        id: WireText<'_>,
        name: WireText<'_>,
        arguments: Option<&RawValue>,
        parent: Option<&str>,
        out: &mut Vec<AgentEvent>,
    ) {
        let id = id.into_string();
        if self.calls.insert(id.clone()) {
            let input = arguments.map(EventJson::from).unwrap_or_default();
            let (name, parent) = (name.into_string(), parent.map(str::to_owned));
            out.push(AgentEvent::ToolCall(ToolCall { parent, ..ToolCall::new(id, name, input) }));
        }
    }

    pub(super) fn emit_tool(&mut self, kind: &str, data: CopilotLineData<'_>, out: &mut Vec<AgentEvent>) {
        let parent = data.parent.0.as_deref();
        match kind {
            "execution_start" => self.emit_call(data.call, data.tool, data.arguments, parent, out),
            "execution_complete" => {
                let id = data.call.into_string();
                let problem = data.error.message.into_option();
                if data.error.code.text() == "denied" {
                    out.push(AgentEvent::PermissionDecided(AgentPermission {
                        id: id.clone(),
                        tool: data.tool.into_option(),
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
                    ..ToolResult::default()
                }));
            }
            _ => {}
        }
    }
}

/// Questions and answers about permissions.
pub(super) fn emit_permission(kind: &str, data: CopilotLineData<'_>, out: &mut Vec<AgentEvent>) {
    let id = data.question.into_string();
    match kind {
        "requested" => out.push(AgentEvent::PermissionAsked(AgentPermission {
            id,
            tool: data.asked.kind.into_option(),
            allowed: None,
            reason: data.asked.intention.into_option(),
        })),
        "completed" => {
            let decided = data.result.kind.into_option();
            out.push(AgentEvent::PermissionDecided(AgentPermission {
                id,
                tool: None,
                allowed: decided.as_deref().map(|word| word.starts_with("approved")),
                reason: decided,
            }));
        }
        _ => {}
    }
}
