//! Copilot's calls of tools, their results, and whether they were allowed.

use serde_json::value::RawValue;

use super::decode::CopilotStream;
use super::wire::{CopilotAnswer, CopilotBinary, CopilotFileEdit, CopilotLineData};
use crate::decode::diff::split_patch;
use crate::decode::tools::{describe_call, settle_exit};
use crate::decode::wire::WireText;
use crate::event::{
    AgentEvent, AgentFileChange, AgentImage, AgentPermission, AgentToolKind, EventJson, FileChangeKind,
    ToolCall, ToolOutputDelta, ToolResult,
};

/// Kinds of the tools, by name.
const KINDS: &[(&str, AgentToolKind)] = &[
    ("bash", AgentToolKind::Execute),
    ("read_bash", AgentToolKind::Execute),
    ("write_bash", AgentToolKind::Execute),
    ("stop_bash", AgentToolKind::Execute),
    ("list_bash", AgentToolKind::Execute),
    ("powershell", AgentToolKind::Execute),
    ("read_powershell", AgentToolKind::Execute),
    ("write_powershell", AgentToolKind::Execute),
    ("stop_powershell", AgentToolKind::Execute),
    ("list_powershell", AgentToolKind::Execute),
    ("view", AgentToolKind::Read),
    ("show_file", AgentToolKind::Read),
    ("create", AgentToolKind::Write),
    ("edit", AgentToolKind::Edit),
    ("apply_patch", AgentToolKind::Edit),
    ("str_replace_editor", AgentToolKind::Edit),
    ("grep", AgentToolKind::Search),
    ("rg", AgentToolKind::Search),
    ("glob", AgentToolKind::Search),
    ("lsp", AgentToolKind::Search),
    ("web_search", AgentToolKind::Search),
    ("tool_search_tool*", AgentToolKind::Search),
    ("session_store_sql", AgentToolKind::Search),
    ("web_fetch", AgentToolKind::Fetch),
    ("fetch_copilot_cli_documentation", AgentToolKind::Fetch),
    ("skill", AgentToolKind::Think),
    ("report_intent", AgentToolKind::Think),
    ("store_memory", AgentToolKind::Think),
    ("task", AgentToolKind::Agent),
    ("task_complete", AgentToolKind::Agent),
    ("read_agent", AgentToolKind::Agent),
    ("write_agent", AgentToolKind::Agent),
    ("stop_agent", AgentToolKind::Agent),
    ("list_agents", AgentToolKind::Agent),
    // Its database has the tables of the tasks.
    ("sql", AgentToolKind::Plan),
    ("update_todo", AgentToolKind::Plan),
    ("exit_plan_mode", AgentToolKind::Plan),
];

impl CopilotStream {
    /// Tells a call of a tool, which belongs to an MCP server or not, once: when it is asked for, and if that was not told, when it
    /// begins. Reports whether it did.
    pub(super) fn emit_call(
        &mut self,
        (id, name, mcp): (WireText<'_>, WireText<'_>, bool),
        arguments: Option<&RawValue>,
        parent: Option<&str>,
        out: &mut Vec<AgentEvent>,
    ) -> bool {
        if self.calls.find(id.text()).is_some() {
            return false;
        }
        let input = arguments.map(EventJson::from).unwrap_or_default();
        let mut call = ToolCall {
            kind: if mcp { AgentToolKind::Mcp } else { AgentToolKind::Other },
            parent: parent.map(str::to_owned),
            ..ToolCall::new(id.into_string(), name.into_string(), input)
        };
        describe_call(&mut call, KINDS);
        self.calls.remember(&call);
        out.push(AgentEvent::ToolCall(call));
        true
    }

    /// Reads a line `tool.KIND` or `external_tool.KIND`.
    pub(super) fn emit_tool(
        &mut self,
        kind: &str,
        data: CopilotLineData<'_>,
        parent: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        let output = |id: WireText<'_>, text: WireText<'_>, parent| ToolOutputDelta {
            id: id.into_string(),
            text: text.into_string(),
            parent,
            ..ToolOutputDelta::default()
        };
        match kind {
            "execution_start" | "user_requested" | "requested" => {
                let id = data.call.0.clone();
                let call = (data.call, data.tool, data.mcp_server.0.is_some());
                if !self.emit_call(call, data.arguments, parent.as_deref(), out) {
                    // It runs, and has printed nothing yet.
                    let begun = output(WireText(id), WireText::default(), parent);
                    out.push(AgentEvent::ToolOutput(ToolOutputDelta { whole: true, ..begun }));
                }
            }
            "shell_output" => out.push(AgentEvent::ToolOutput(ToolOutputDelta {
                stream: data.stream.into_option(),
                ..output(data.call, data.text, parent)
            })),
            "execution_partial_result" => out.push(AgentEvent::ToolOutput(ToolOutputDelta {
                whole: true,
                ..output(data.call, data.partial, parent)
            })),
            "execution_progress" => {
                out.push(AgentEvent::ToolOutput(output(data.call, data.progress, parent)));
            }
            "execution_complete" => self.emit_result(data, parent, out),
            _ => {}
        }
    }

    fn emit_result(&mut self, data: CopilotLineData<'_>, parent: Option<String>, out: &mut Vec<AgentEvent>) {
        let open = self.calls.take(data.call.text());
        let id = data.call.into_string();
        let problem = data.error.message.into_option();
        if data.error.code.text() == "denied" {
            out.push(AgentEvent::PermissionDecided(AgentPermission {
                id: id.clone(),
                tool: data.tool.into_option().or_else(|| open.as_ref().map(|call| call.name.clone())),
                allowed: Some(false),
                reason: problem.clone(),
            }));
        }
        let CopilotAnswer { content, detailed, binaries, .. } = data.result;
        let (text, mut images) = content.into_parts();
        images.extend(binaries.0.into_iter().filter_map(image));
        let output = problem.unwrap_or(text);
        let shell = open.is_some_and(|call| call.kind == AgentToolKind::Execute);
        let code = data.shell.exit_code.0.or_else(|| read_exit_code(&output).filter(|_| shell));
        let mut result = ToolResult {
            is_error: data.success.0 == Some(false),
            changes: file_changes(data.file_edits.0, detailed.text()),
            images,
            parent,
            ..ToolResult::new(id, output)
        };
        settle_exit(&mut result, code);
        out.push(AgentEvent::ToolResult(result));
    }
}

/// The exit code in the last line of a shell's output: `<shellId: 0 completed with exit code 3>`.
fn read_exit_code(output: &str) -> Option<i64> {
    let last = output.trim_end().lines().next_back()?.strip_prefix("<shellId: ")?;
    let (_, code) = last.strip_suffix('>')?.split_once(" completed with exit code ")?;
    code.parse().ok()
}

/// The files that a call changed, with the hunks of the patch `git`. Tools that only read give one too, without changes in it.
fn file_changes(edits: Vec<CopilotFileEdit<'_>>, git: &str) -> Vec<AgentFileChange> {
    if edits.is_empty() {
        return Vec::new();
    }
    let mut hunks = split_patch(git);
    let change = |edit: CopilotFileEdit<'_>| {
        let path = edit.path.into_string();
        // Git's own form has no absolute paths.
        let named = path.trim_start_matches('/');
        let index = hunks.iter().position(|(file, _)| *file == named || path.ends_with(&format!("/{file}")));
        AgentFileChange {
            diff: index.map(|index| hunks.swap_remove(index).1.to_owned()),
            ..AgentFileChange::new(path, change_kind(edit.kind.text()))
        }
    };
    edits.into_iter().map(change).collect()
}

fn change_kind(word: &str) -> FileChangeKind {
    match word {
        "create" => FileChangeKind::Add,
        "edit" => FileChangeKind::Update,
        "delete" => FileChangeKind::Delete,
        _ => FileChangeKind::Other,
    }
}

fn image(binary: CopilotBinary<'_>) -> Option<AgentImage> {
    (binary.kind.text() == "image").then(|| AgentImage {
        media_type: binary.media_type.into_option(),
        data: binary.data.into_option(),
        uri: binary.asset.into_option(),
    })
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

#[cfg(test)]
mod tests {
    use super::read_exit_code;

    #[test]
    fn a_shell_tells_its_exit_code_last() {
        for (output, code) in [
            ("a\n<shellId: 0 completed with exit code 3>", Some(3)),
            ("<shellId: 12 completed with exit code -1>\n", Some(-1)),
            ("<shellId: 0 completed with exit code 3>\na", None),
            ("<command started in background with shellId: 0>", None),
            ("", None),
        ] {
            assert_eq!(read_exit_code(output), code, "{output}");
        }
    }
}
