//! Fields of Claude Code's lines about its session, its tasks, its hooks and its limits.

use serde_json::value::RawValue;

use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, record};

record! {
    /// A line of type `system`, and of the types that are like it.
    pub(in super::super) struct ClaudeSystemLine<'a> {
        kind: WireText<'a> = "type",
        subtype: WireText<'a> = "subtype",
        // Of the session.
        session: WireText<'a> = "session_id",
        version: WireText<'a> = "claude_code_version",
        model: WireText<'a> = "model",
        cwd: WireText<'a> = "cwd",
        mode: WireText<'a> = "permissionMode",
        tools: WireList<WireText<'a>> = "tools",
        mcp_servers: WireList<ClaudeMcpServer<'a>> = "mcp_servers",
        slash_commands: WireList<WireText<'a>> = "slash_commands",
        agents: WireList<WireText<'a>> = "agents",
        commands: WireList<ClaudeCommandName<'a>> = "commands",
        status: WireText<'a> = "status",
        state: WireText<'a> = "state",
        reason: WireText<'a> = "reason",
        trigger: WireText<'a> = "trigger",
        new_session: WireText<'a> = "new_conversation_id",
        is_authenticating: WireFlag = "isAuthenticating",
        // Of a compaction.
        compact: ClaudeCompaction<'a> = "compact_metadata",
        compact_result: WireText<'a> = "compact_result",
        compact_error: WireText<'a> = "compact_error",
        // Of another try.
        attempt: WireInt = "attempt",
        max_retries: WireInt = "max_retries",
        retry_delay: WireReal = "retry_delay_ms",
        error_status: WireInt = "error_status",
        error: WireText<'a> = "error",
        error_code: WireText<'a> = "error_code",
        // Of a refusal.
        scope: WireText<'a> = "scope",
        fallback_model: WireText<'a> = "fallback_model",
        explanation: WireText<'a> = "api_refusal_explanation",
        // Of a tool.
        tool: WireText<'a> = "tool_name",
        call: WireText<'a> = "tool_use_id",
        parent: WireText<'a> = "parent_tool_use_id",
        elapsed: WireReal = "elapsed_time_seconds",
        subagent_retry: Option<ClaudeSubagentRetry<'a>> = "subagent_retry",
        // Of a task.
        task: WireText<'a> = "task_id",
        parent_task: WireText<'a> = "parent_task_id",
        task_type: WireText<'a> = "task_type",
        agent_type: WireText<'a> = "subagent_type",
        workflow: WireText<'a> = "workflow_name",
        description: WireText<'a> = "description",
        prompt: WireText<'a> = "prompt",
        summary: WireText<'a> = "summary",
        background: WireFlag = "is_backgrounded",
        usage: ClaudeTaskCounts = "usage",
        patch: ClaudeTaskPatch<'a> = "patch",
        tasks: Option<WireList<&'a RawValue>> = "tasks",
        // Of a hook.
        hook: WireText<'a> = "hook_id",
        hook_name: WireText<'a> = "hook_name",
        hook_event: WireText<'a> = "hook_event",
        output: WireText<'a> = "output",
        stderr: WireText<'a> = "stderr",
        exit_code: WireInt = "exit_code",
        outcome: WireText<'a> = "outcome",
        // Of an MCP server's question.
        server: WireText<'a> = "mcp_server_name",
        elicitation: WireText<'a> = "elicitation_id",
        // Of a notice.
        message: WireText<'a> = "message",
        content: WireText<'a> = "content",
        text: WireText<'a> = "text",
        level: WireText<'a> = "level",
        name: WireText<'a> = "name",
        suggestion: WireText<'a> = "suggestion",
    }
    pub(in super::super) struct ClaudeMcpServer<'a> {
        name: WireText<'a> = "name",
        status: WireText<'a> = "status",
    }
    pub(in super::super) struct ClaudeCommandName<'a> {
        name: WireText<'a> = "name",
    }
    pub(in super::super) struct ClaudeCompaction<'a> {
        trigger: WireText<'a> = "trigger",
        before: WireInt = "pre_tokens",
        after: WireInt = "post_tokens",
    }
    pub(in super::super) struct ClaudeSubagentRetry<'a> {
        attempt: WireInt = "attempt",
        max_retries: WireInt = "max_retries",
        retry_delay: WireReal = "retry_delay_ms",
        error_status: WireInt = "error_status",
        error: WireText<'a> = "error_category",
    }
    pub(in super::super) struct ClaudeTaskCounts {
        tokens: WireInt = "total_tokens",
        tool_calls: WireInt = "tool_uses",
        duration: WireInt = "duration_ms",
    }
    pub(in super::super) struct ClaudeTaskPatch<'a> {
        error: WireText<'a> = "error",
        description: WireText<'a> = "description",
        background: WireFlag = "is_backgrounded",
    }

    /// A question of the agent's to the program that runs it, or its withdrawal.
    pub(in super::super) struct ClaudeControlLine<'a> {
        id: WireText<'a> = "request_id",
        request: ClaudeControlRequest<'a> = "request",
    }
    pub(in super::super) struct ClaudeControlRequest<'a> {
        subtype: WireText<'a> = "subtype",
        tool: WireText<'a> = "tool_name",
        reason: WireText<'a> = "decision_reason",
        input: ClaudeQuestions<'a> = "input",
        server: WireText<'a> = "mcp_server_name",
        message: WireText<'a> = "message",
        dialog: WireText<'a> = "dialog_kind",
    }
    pub(in super::super) struct ClaudeQuestions<'a> {
        questions: WireList<ClaudeQuestion<'a>> = "questions",
    }
    pub(in super::super) struct ClaudeQuestion<'a> {
        question: WireText<'a> = "question",
        options: WireList<ClaudeQuestionOption<'a>> = "options",
    }
    pub(in super::super) struct ClaudeQuestionOption<'a> {
        label: WireText<'a> = "label",
    }

    /// Rest of the account's allowance.
    pub(in super::super) struct ClaudeRateLimits<'a> {
        info: ClaudeLimitInfo<'a> = "rate_limit_info",
    }
    pub(in super::super) struct ClaudeLimitInfo<'a> {
        status: WireText<'a> = "status",
        kind: WireText<'a> = "rateLimitType",
        resets_at: WireInt = "resetsAt",
        utilization: WireReal = "utilization",
    }
}

impl ClaudeSystemLine<'_> {
    /// The line's subject: its type, or of a line `system` its subtype.
    pub(in super::super) fn word(&self) -> &str {
        if self.kind.text() == "system" { self.subtype.text() } else { self.kind.text() }
    }
}
