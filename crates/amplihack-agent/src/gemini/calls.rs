//! Gemini's calls of tools, their results, and what becomes of plans and nested agents with them.

use super::decode::GeminiStream;
use super::wire::{GeminiCallWords, GeminiLine};
use crate::decode::open_calls::OpenCall;
use crate::decode::plan::plan_entries;
use crate::decode::tools::{describe_call, settle_exit};
use crate::event::{
    ActivityPhase, AgentEvent, AgentPlan, AgentTask, AgentToolKind, EventJson, ToolCall, ToolResult,
};

/// Kinds of the tools, by name.
const KINDS: &[(&str, AgentToolKind)] = &[
    ("run_shell_command", AgentToolKind::Execute),
    ("list_background_processes", AgentToolKind::Execute),
    ("read_background_output", AgentToolKind::Execute),
    ("read_file", AgentToolKind::Read),
    ("read_many_files", AgentToolKind::Read),
    ("list_directory", AgentToolKind::Read),
    ("get_internal_docs", AgentToolKind::Read),
    ("write_file", AgentToolKind::Write),
    (REPLACE, AgentToolKind::Edit),
    ("glob", AgentToolKind::Search),
    ("grep_search", AgentToolKind::Search),
    ("search_file_content", AgentToolKind::Search),
    ("google_web_search", AgentToolKind::Search),
    (FETCH, AgentToolKind::Fetch),
    ("save_memory", AgentToolKind::Think),
    ("update_topic", AgentToolKind::Think),
    ("activate_skill", AgentToolKind::Think),
    (TODOS, AgentToolKind::Plan),
    ("tracker_*", AgentToolKind::Plan),
    ("enter_plan_mode", AgentToolKind::Plan),
    ("exit_plan_mode", AgentToolKind::Plan),
    (AGENT, AgentToolKind::Agent),
    ("delegate_to_agent", AgentToolKind::Agent),
    ("complete_task", AgentToolKind::Agent),
    ("mcp_*", AgentToolKind::Mcp),
    ("read_mcp_resource", AgentToolKind::Mcp),
    ("list_mcp_resources", AgentToolKind::Mcp),
];
/// Name of the only argument, a text with the addresses in it.
const FETCH: &str = "web_fetch";
const REPLACE: &str = "replace";
const TODOS: &str = "write_todos";
const AGENT: &str = "invoke_agent";

impl GeminiStream {
    /// Tells a call.
    pub(super) fn emit_call(&mut self, line: GeminiLine<'_>, out: &mut Vec<AgentEvent>) {
        let json = line.parameters;
        let input = json.map(EventJson::from).unwrap_or_default();
        let mut call = ToolCall::new(line.call.into_string(), line.tool.into_string(), input);
        let words = || -> GeminiCallWords<'_> {
            json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default()
        };
        // A replacement of nothing writes a new file.
        if call.name == REPLACE && words().old.0.as_deref() == Some("") {
            call.kind = AgentToolKind::Write;
        }
        if call.name == FETCH {
            call.query = words().prompt.into_option();
        }
        describe_call(&mut call, KINDS);
        let task = matches!(call.name.as_str(), AGENT | "delegate_to_agent").then(|| {
            let words = words();
            AgentTask {
                name: words.agent.into_option(),
                prompt: words.prompt.into_option(),
                ..AgentTask::new(call.id.clone(), ActivityPhase::Started)
            }
        });
        if call.name == TODOS {
            let entries = plan_entries(call.input.text());
            self.plan = Some(AgentPlan { entries, call: Some(call.id.clone()), ..AgentPlan::default() });
        }
        self.open.remember(&call);
        out.push(AgentEvent::ToolCall(call));
        out.extend(task.map(AgentEvent::Task));
    }

    /// Tells a result, and the plan or the end of the nested agent that it stands for.
    pub(super) fn emit_result(&mut self, line: GeminiLine<'_>, out: &mut Vec<AgentEvent>) {
        let open = self.open.take(line.call.text());
        let (output, images) = line.output.into_parts();
        let output = if output.is_empty() { line.error.message.into_string() } else { output };
        let is_error = line.status.text() == "error";
        let error_kind = line.error.kind.into_option().filter(|_| is_error);
        let id = line.call.into_string();
        let mut result = ToolResult { is_error, error_kind, images, ..ToolResult::new(id, output) };
        let open_kind = open.as_ref().map_or(AgentToolKind::Other, |open| open.kind);
        if open_kind == AgentToolKind::Execute {
            settle_command(&mut result);
        }
        if !result.is_error {
            result.changes.extend(open.iter().flat_map(OpenCall::file_changes));
        }
        if let Some(plan) = self.plan.take_if(|plan| plan.call.as_deref() == Some(result.id.as_str()))
            && !result.is_error
        {
            out.push(AgentEvent::Plan(plan));
        }
        if matches!(open.as_ref().map(|open| open.name.as_str()), Some(AGENT | "delegate_to_agent")) {
            let phase = if result.is_error { ActivityPhase::Failed } else { ActivityPhase::Completed };
            out.push(AgentEvent::Task(AgentTask {
                message: Some(result.output.clone()).filter(|text| !text.is_empty()),
                ..AgentTask::new(result.id.clone(), phase)
            }));
        }
        out.push(AgentEvent::ToolResult(result));
    }
}

/// Reads how a command ended. Gemini calls every command that it could start a success, and tells its code only in words: instead
/// of an output that is empty, or, asked for more, behind it.
fn settle_command(result: &mut ToolResult) {
    let code = result.output.strip_prefix("Command exited with code: ").or_else(|| {
        let whole = result.output.strip_prefix("Output: ")?;
        whole.lines().rev().take(5).find_map(|line| line.strip_prefix("Exit Code: "))
    });
    let code = code.and_then(|code| code.trim_end().parse().ok());
    result.is_error |= result.output.starts_with("Command terminated by signal: ");
    settle_exit(result, code);
}

#[cfg(test)]
mod tests {
    use super::{ToolResult, settle_command};

    #[test]
    fn a_command_ends_as_its_output_says() {
        for (output, code, is_error) in [
            ("Command exited with code: 3", Some(3), true),
            ("Output: (empty)\nExit Code: 3\nProcess Group PGID: 7", Some(3), true),
            ("Output: a\nb\nProcess Group PGID: 7", None, false),
            ("Command terminated by signal: 9", None, true),
            ("out\nExit Code: 3", None, false),
            ("Command exited with code: many", None, false),
            ("", None, false),
        ] {
            let mut result = ToolResult::new("c", output);
            settle_command(&mut result);
            assert_eq!((result.exit_code, result.is_error), (code, is_error), "{output}");
        }
    }
}
