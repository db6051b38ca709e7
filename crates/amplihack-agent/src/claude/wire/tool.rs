//! Fields of what Claude Code tells about a tool's outcome beside the text that the model reads.

use crate::decode::wire::{WireFlag, WireInt, WireList, WireText, record};

record! {
    /// The outcome of any tool: each has fields of its own.
    pub(in super::super) struct ClaudeToolDetail<'a> {
        // Of an edit.
        kind: WireText<'a> = "type",
        path: WireText<'a> = "filePath",
        patch: WireList<ClaudeHunk<'a>> = "structuredPatch",
        staged: WireFlag = "staged",
        // Of a command.
        interrupted: WireFlag = "interrupted",
        background: WireText<'a> = "backgroundTaskId",
        meaning: WireText<'a> = "returnCodeInterpretation",
        // Of a sub-agent.
        status: WireText<'a> = "status",
        agent: WireText<'a> = "agentType",
        model: WireText<'a> = "resolvedModel",
        tokens: WireInt = "totalTokens",
        tool_calls: WireInt = "totalToolUseCount",
        duration: WireInt = "totalDurationMs",
        // Of the list of tasks.
        task: Option<ClaudePlanTask<'a>> = "task",
        tasks: Option<WireList<ClaudePlanTask<'a>>> = "tasks",
        task_id: WireText<'a> = "taskId",
        change: Option<ClaudePlanChange<'a>> = "statusChange",
    }

    /// A hunk of a patch.
    pub(in super::super) struct ClaudeHunk<'a> {
        old_start: WireInt = "oldStart",
        old_lines: WireInt = "oldLines",
        new_start: WireInt = "newStart",
        new_lines: WireInt = "newLines",
        lines: WireList<WireText<'a>> = "lines",
    }

    /// A task of the agent's list.
    pub(in super::super) struct ClaudePlanTask<'a> {
        id: WireText<'a> = "id",
        subject: WireText<'a> = "subject",
        status: WireText<'a> = "status",
    }
    pub(in super::super) struct ClaudePlanChange<'a> {
        to: WireText<'a> = "to",
    }
}
