//! Data of Copilot's lines about sub-agents, hooks, questions and other activities.

use serde_json::value::RawValue;

use super::CopilotProblem;
use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, json_text, record};

record! {
    /// Data of a line about an activity; each type of line has some of these.
    pub(in super::super) struct CopilotActivity<'a> {
        // Sub-agents and workflows.
        call: WireText<'a> = "toolCallId",
        agent_name: WireText<'a> = "agentName",
        description: WireText<'a> = "agentDescription",
        model: WireText<'a> = "model",
        parent_agent: WireText<'a> = "parentId",
        execution_mode: WireText<'a> = "executionMode",
        tokens: WireInt = "totalTokens",
        tool_calls: WireInt = "totalToolCalls",
        duration: WireReal = "durationMs",
        cancelled: WireFlag = "cancelled",
        // A text, or an object with a message.
        error: Option<&'a RawValue> = "error",
        run: WireText<'a> = "runId",
        workflow: WireText<'a> = "workflowName",
        elapsed: WireReal = "elapsedMs",
        failure: WireText<'a> = "failureType",
        status: WireText<'a> = "status",
        // Hooks.
        hook: WireText<'a> = "hookInvocationId",
        hook_type: WireText<'a> = "hookType",
        success: WireFlag = "success",
        output: Option<&'a RawValue> = "output",
        // Questions.
        question: WireText<'a> = "requestId",
        text: WireText<'a> = "question",
        message: WireText<'a> = "message",
        choices: WireList<WireText<'a>> = "choices",
        actions: WireList<WireText<'a>> = "actions",
        asker: WireText<'a> = "elicitationSource",
        plan: WireText<'a> = "planContent",
        answer: WireText<'a> = "answer",
        action: WireText<'a> = "action",
        selected: WireText<'a> = "selectedAction",
        approved: WireFlag = "approved",
        response: WireText<'a> = "response",
        error_code: WireText<'a> = "errorCode",
        // Limits.
        used: WireReal = "usedAiCredits",
        most: WireReal = "maxAiCredits",
        // Notes.
        content: Option<&'a RawValue> = "content",
        role: WireText<'a> = "role",
        note: CopilotNote<'a> = "kind",
        name: WireText<'a> = "name",
        server: WireText<'a> = "serverName",
        outcome: WireText<'a> = "outcome",
        command: WireText<'a> = "command",
        commands: WireList<CopilotCommandName<'a>> = "commands",
        doing: WireText<'a> = "activity",
    }

    pub(in super::super) struct CopilotNote<'a> {
        kind: WireText<'a> = "type",
    }
    pub(in super::super) struct CopilotCommandName<'a> {
        name: WireText<'a> = "name",
    }
}

impl CopilotActivity<'_> {
    /// The error.
    pub(in super::super) fn error_text(&self) -> Option<String> {
        let json = self.error?;
        let message = || serde_json::from_str::<CopilotProblem<'_>>(json.get()).ok()?.message.into_option();
        json_text(json).or_else(message)
    }
}

/// The text that `json` is; of other values their JSON.
pub(in super::super) fn text_or_json(json: &RawValue) -> String {
    json_text(json).unwrap_or_else(|| json.get().to_owned())
}
