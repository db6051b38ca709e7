//! Amp's tools: their calls, and what their results tell.

use crate::decode::open_calls::OpenCalls;
use crate::decode::plan::plan_entries;
use crate::decode::tools::{describe_call, settle_exit};
use crate::decode::wire::{WireInt, WireText, record};
use crate::event::{ActivityPhase, AgentEvent, AgentPlan, AgentTask, AgentToolKind, ToolCall, ToolResult};

/// Kinds of Amp's tools.
const KINDS: &[(&str, AgentToolKind)] = &[
    ("Bash", AgentToolKind::Execute),
    ("shell_command", AgentToolKind::Execute),
    ("Read", AgentToolKind::Read),
    ("look_at", AgentToolKind::Read),
    ("list_directory", AgentToolKind::Read),
    ("edit_file", AgentToolKind::Edit),
    ("create_file", AgentToolKind::Write),
    ("undo_edit", AgentToolKind::Edit),
    ("format_file", AgentToolKind::Edit),
    ("apply_patch", AgentToolKind::Edit),
    ("delete_file", AgentToolKind::Delete),
    ("Grep", AgentToolKind::Search),
    ("glob", AgentToolKind::Search),
    ("Glob", AgentToolKind::Search),
    ("finder", AgentToolKind::Search),
    ("web_search", AgentToolKind::Search),
    ("read_web_page", AgentToolKind::Fetch),
    ("todo_write", AgentToolKind::Plan),
    ("todo_read", AgentToolKind::Plan),
    ("Task", AgentToolKind::Agent),
    ("oracle", AgentToolKind::Agent),
    ("librarian", AgentToolKind::Agent),
    ("handoff", AgentToolKind::Agent),
    ("mcp__*", AgentToolKind::Mcp),
];

record! {
    struct AmpTaskInput<'a> {
        description: WireText<'a> = "description",
        prompt: WireText<'a> = "prompt",
        task: WireText<'a> = "task",
    }
    /// Output of a command that is an object.
    struct AmpCommandOutput {
        exit_code: WireInt = "exitCode",
    }
}

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct AmpTools(OpenCalls);

impl AmpTools {
    /// Tells a call; the plan or the sub-agent that it is about, too.
    pub(super) fn emit_call(&mut self, mut call: ToolCall, out: &mut Vec<AgentEvent>) {
        describe_call(&mut call, KINDS);
        self.0.remember(&call);
        let more = match call.kind {
            AgentToolKind::Plan => {
                let entries = plan_entries(call.input.text());
                let (id, parent) = (Some(call.id.clone()), call.parent.clone());
                Some(AgentPlan { entries, call: id, parent })
                    .filter(|plan| !plan.entries.is_empty())
                    .map(AgentEvent::Plan)
            }
            AgentToolKind::Agent => Some(AgentEvent::Task(started_task(&call))),
            _ => None,
        };
        out.push(AgentEvent::ToolCall(call));
        out.extend(more);
    }

    /// Tells a result; the end of the sub-agent that it is of, too.
    pub(super) fn emit_result(&mut self, mut result: ToolResult, out: &mut Vec<AgentEvent>) {
        let Some(call) = self.0.take(&result.id) else {
            out.push(AgentEvent::ToolResult(result));
            return;
        };
        if !result.is_error {
            result.changes.extend(call.file_changes());
        }
        if call.kind == AgentToolKind::Execute {
            let code = command_exit(&result.output);
            settle_exit(&mut result, code);
        }
        let phase = if result.is_error { ActivityPhase::Failed } else { ActivityPhase::Completed };
        let task = (call.kind == AgentToolKind::Agent).then(|| AgentTask {
            name: Some(call.name),
            message: Some(result.output.clone()),
            parent: result.parent.clone(),
            ..AgentTask::new(result.id.as_str(), phase)
        });
        out.push(AgentEvent::ToolResult(result));
        out.extend(task.map(AgentEvent::Task));
    }
}

fn started_task(call: &ToolCall) -> AgentTask {
    let input: AmpTaskInput<'_> = serde_json::from_str(call.input.text()).unwrap_or_default();
    AgentTask {
        name: Some(call.name.clone()),
        description: input.description.into_option(),
        prompt: input.prompt.into_option().or(input.task.into_option()),
        parent: call.parent.clone(),
        ..AgentTask::new(call.id.as_str(), ActivityPhase::Started)
    }
}

/// The exit code in the output of a command, if it is an object that has one.
fn command_exit(output: &str) -> Option<i64> {
    // Another output may be long, and is not read again.
    let is_object = output.starts_with('{') && output.contains("\"exitCode\"");
    is_object.then(|| serde_json::from_str::<AmpCommandOutput>(output).ok()?.exit_code.0)?
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::decode::Decode as _;

    fn told(said: &[Value]) -> Vec<Value> {
        let (mut stream, mut out) = (super::super::AmpStream::new(), Vec::new());
        for line in said {
            stream.decode_line(line.to_string().as_bytes(), &mut out);
        }
        out.iter().skip(1).map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    fn call(name: &str, input: &Value) -> Value {
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": name, "input": input}]}})
    }

    fn result(content: &Value, is_error: bool) -> Value {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error}]}})
    }

    #[test]
    fn calls_have_kinds_commands_queries_and_files() {
        for (name, input, expected) in [
            ("Bash", json!({"cmd": "ls"}), json!(["execute", "ls", null, null])),
            (
                "Read",
                json!({"path": "/a", "read_range": [3, 9]}),
                json!(["read", null, null, [{"path": "/a", "line": 3}]]),
            ),
            ("edit_file", json!({"path": "/a"}), json!(["edit", null, null, [{"path": "/a"}]])),
            ("create_file", json!({"path": "/a"}), json!(["write", null, null, [{"path": "/a"}]])),
            ("Grep", json!({"pattern": "p"}), json!(["search", null, "p", null])),
            ("glob", json!({"filePattern": "*"}), json!(["search", null, "*", null])),
            ("web_search", json!({"objective": "o"}), json!(["search", null, "o", null])),
            ("read_web_page", json!({"objective": "o", "url": "u"}), json!(["fetch", null, "u", null])),
            ("oracle", json!({"task": "p"}), json!(["agent", null, null, null])),
            ("mcp__s__t", json!({}), json!(["mcp", null, null, null])),
            ("mermaid", json!({}), json!(["other", null, null, null])),
        ] {
            let found = &told(&[call(name, &input)])[0];
            let found = json!([found["kind"], found["command"], found["query"], found["locations"]]);
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn results_tell_exit_codes_changes_and_images() {
        for (name, content, is_error, expected) in [
            ("Bash", json!("{\"output\":\"o\",\"exitCode\":3}"), false, json!([true, 3, null, null])),
            ("Bash", json!("{\"output\":\"o\",\"exitCode\":0}"), false, json!([null, 0, null, null])),
            ("Bash", json!("o"), false, json!([null, null, null, null])),
            ("Read", json!("{\"exitCode\":3}"), false, json!([null, null, null, null])),
            ("edit_file", json!("o"), false, json!([null, null, [{"path": "/a", "kind": "update"}], null])),
            ("edit_file", json!("o"), true, json!([true, null, null, null])),
            ("create_file", json!("o"), false, json!([null, null, [{"path": "/a", "kind": "write"}], null])),
            (
                "Read",
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]),
                false,
                json!([null, null, null, [{"media_type": "image/png", "data": "AA=="}]]),
            ),
        ] {
            let found = &told(&[call(name, &json!({"path": "/a"})), result(&content, is_error)])[1];
            let found = json!([found["is_error"], found["exit_code"], found["changes"], found["images"]]);
            assert_eq!(found, expected, "{name} {content}");
        }
    }

    #[test]
    fn plans_and_sub_agents_are_told() {
        let todos = json!({"todos": [{"id": "1", "content": "a", "status": "in-progress"}]});
        let entries = json!([{"id": "1", "text": "a", "status": "in_progress"}]);
        assert_eq!(
            told(&[call("todo_write", &todos)])[1],
            json!({"type": "plan", "call": "t", "entries": entries})
        );
        let input = json!({"description": "d", "prompt": "p"});
        let found = told(&[call("Task", &input), result(&json!("done"), false)]);
        assert_eq!(
            [&found[1], &found[3]],
            [
                &json!({"type": "task", "id": "t", "phase": "started", "name": "Task", "description": "d", "prompt": "p"}),
                &json!({"type": "task", "id": "t", "phase": "completed", "name": "Task", "message": "done"}),
            ]
        );
    }

    #[test]
    fn stop_reasons_thoughts_and_prompts_are_told() {
        let found = told(&[
            json!({"type": "user", "message": {"content": [{"type": "text", "text": "do it"}]}}),
            json!({"type": "assistant", "message": {"id": "m", "stop_reason": "end_turn", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "z"}]}}),
        ]);
        assert_eq!(
            found,
            [
                json!({"type": "prompt", "text": "do it"}),
                json!({"type": "thinking", "text": "hm", "message": "m", "signature": "s"}),
                json!({"type": "thinking", "text": "", "message": "m", "signature": "z", "redacted": true}),
                json!({"type": "model_call", "phase": "completed", "message": "m", "stop_reason": "end_turn"}),
            ]
        );
    }
}
