//! Claude Code's tools: their calls, and what their results tell.

use std::fmt::Write as _;

use super::decode::{ClaudeMessageContext, ClaudeStream};
use super::wire::ClaudeBlock;
use super::wire::tool::{ClaudeHunk, ClaudeToolDetail};
use crate::decode::open_calls::OpenCall;
use crate::decode::plan::plan_entries;
use crate::decode::tools::{describe_call, settle_exit};
use crate::decode::wire::WireInt;
use crate::event::{
    AgentEvent, AgentFileChange, AgentPlan, AgentToolKind, EventJson, FileChangeKind, ToolCall, ToolResult,
};

/// Kinds of Claude's tools, and of those that the model's provider runs.
const KINDS: &[(&str, AgentToolKind)] = &[
    ("Bash", AgentToolKind::Execute),
    ("Read", AgentToolKind::Read),
    ("Edit", AgentToolKind::Edit),
    ("Write", AgentToolKind::Write),
    ("Grep", AgentToolKind::Search),
    ("Glob", AgentToolKind::Search),
    ("mcp__*", AgentToolKind::Mcp),
    ("MultiEdit", AgentToolKind::Edit),
    ("NotebookEdit", AgentToolKind::Edit),
    ("NotebookRead", AgentToolKind::Read),
    ("LS", AgentToolKind::Read),
    ("PowerShell", AgentToolKind::Execute),
    ("BashOutput", AgentToolKind::Execute),
    ("KillShell", AgentToolKind::Execute),
    ("KillBash", AgentToolKind::Execute),
    ("Monitor", AgentToolKind::Execute),
    ("WebFetch", AgentToolKind::Fetch),
    ("WebSearch", AgentToolKind::Search),
    ("ToolSearch", AgentToolKind::Search),
    ("Agent", AgentToolKind::Agent),
    ("Task", AgentToolKind::Agent),
    ("TaskOutput", AgentToolKind::Agent),
    ("TaskStop", AgentToolKind::Agent),
    ("SendMessage", AgentToolKind::Agent),
    ("ListAgents", AgentToolKind::Agent),
    ("Workflow", AgentToolKind::Agent),
    ("TodoWrite", AgentToolKind::Plan),
    ("TaskCreate", AgentToolKind::Plan),
    ("TaskUpdate", AgentToolKind::Plan),
    ("TaskGet", AgentToolKind::Plan),
    ("TaskList", AgentToolKind::Plan),
    ("EnterPlanMode", AgentToolKind::Plan),
    ("ExitPlanMode", AgentToolKind::Plan),
    ("ListMcpResourcesTool", AgentToolKind::Mcp),
    ("ReadMcpResourceTool", AgentToolKind::Mcp),
    ("ReadMcpResourceDirTool", AgentToolKind::Mcp),
    ("web_search", AgentToolKind::Search),
    ("web_fetch", AgentToolKind::Fetch),
    ("bash_code_execution", AgentToolKind::Execute),
    ("code_execution", AgentToolKind::Execute),
];

/// Beginning of the output of a command that failed.
const EXIT_CODE: &str = "Exit code ";

impl ClaudeStream {
    pub(super) fn emit_call(
        &mut self,
        block: ClaudeBlock<'_>,
        place: ClaudeMessageContext<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        let input = block.input.map(EventJson::from).unwrap_or_default();
        let mut call = ToolCall {
            parent: place.parent(),
            ..ToolCall::new(block.id.into_string(), block.name.into_string(), input)
        };
        describe_call(&mut call, KINDS);
        self.open.remember(&call);
        let plan = (call.name == "TodoWrite").then(|| AgentPlan {
            entries: plan_entries(call.input.text()),
            call: Some(call.id.clone()),
            parent: place.parent(),
        });
        out.push(AgentEvent::ToolCall(call));
        out.extend(plan.map(AgentEvent::Plan));
    }

    /// Tells a result, and what the agent tells of the `outcome` beside it.
    pub(super) fn emit_result(
        &mut self,
        block: ClaudeBlock<'_>,
        outcome: Option<Box<ClaudeToolDetail<'_>>>,
        place: ClaudeMessageContext<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        let id = block.call.into_string();
        let call = self.open.take(&id);
        let (output, images) = block.content.into_parts();
        let mut result = ToolResult {
            is_error: block.is_error.0.unwrap_or_default(),
            images,
            parent: place.parent(),
            ..ToolResult::new(id, output)
        };
        let outcome = outcome.unwrap_or_default();
        if call.as_ref().is_none_or(|call| call.kind == AgentToolKind::Execute) {
            let code = command_exit(&result, &outcome);
            settle_exit(&mut result, code);
        }
        let task = call.as_ref().filter(|call| call.kind == AgentToolKind::Agent);
        let task = task.and_then(|_| self.tasks.end_by_result(&result, &outcome));
        let plan = call.as_ref().filter(|call| call.kind == AgentToolKind::Plan);
        let plan = plan.and_then(|call| self.plan.take_outcome(&call.name, &outcome));
        let plan =
            plan.map(|entries| AgentPlan { entries, call: Some(result.id.clone()), parent: place.parent() });
        if let Some(call) = call.filter(|_| !result.is_error) {
            result.changes.extend(file_change(call, *outcome));
        }
        out.push(AgentEvent::ToolResult(result));
        out.extend(task.map(AgentEvent::Task));
        out.extend(plan.map(AgentEvent::Plan));
    }
}

/// The exit code of the command that ended with `result`, as far as Claude shows it: a failure begins with it, and a success is told
/// without a meaning of its code and without a task in the background.
fn command_exit(result: &ToolResult, outcome: &ClaudeToolDetail<'_>) -> Option<i64> {
    if result.is_error {
        let digits = result.output.strip_prefix(EXIT_CODE)?;
        return digits.split(|symbol: char| !symbol.is_ascii_digit() && symbol != '-').next()?.parse().ok();
    }
    let ended =
        outcome.interrupted.0 == Some(false) && outcome.background.0.is_none() && outcome.meaning.0.is_none();
    ended.then_some(0)
}

/// The change that a call of a tool for files made.
fn file_change(call: OpenCall, outcome: ClaudeToolDetail<'_>) -> Option<AgentFileChange> {
    let unknown = call.change_kind()?;
    // An edit that waits for a person has changed nothing.
    if outcome.staged.0 == Some(true) {
        return None;
    }
    let kind = match outcome.kind.text() {
        "create" => FileChangeKind::Add,
        "update" => FileChangeKind::Update,
        _ => unknown,
    };
    let named = call.locations.into_iter().next().map(|location| location.path);
    let path = outcome.path.into_option().or(named)?;
    let diff = outcome.patch.0.iter().fold(String::new(), push_hunk);
    Some(AgentFileChange {
        diff: Some(diff).filter(|diff| !diff.is_empty()),
        ..AgentFileChange::new(path, kind)
    })
}

fn push_hunk(mut diff: String, hunk: &ClaudeHunk<'_>) -> String {
    let [old, old_lines, new, new_lines] =
        [hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines].map(WireInt::count_or_zero);
    // Writing to a text cannot fail.
    let _ = writeln!(diff, "@@ -{old},{old_lines} +{new},{new_lines} @@");
    for line in &hunk.lines.0 {
        diff.push_str(line.text());
        diff.push('\n');
    }
    diff
}
