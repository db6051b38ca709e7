//! Fields that are read from the lines of Copilot's `--output-format json`, and from its file of usage.

use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, WireValues, record, whole_input};
use crate::event::UsageTotals;

record! {
    /// Any line.
    pub(super) struct CopilotLine<'a> {
        kind: WireText<'a> = "type",
        data: CopilotLineData<'a> = "data",
        session: WireText<'a> = "sessionId",
        exit_code: WireInt = "exitCode",
        usage: ResultUsage = "usage",
    }

    /// Data of a line; each type of line has some of these.
    pub(super) struct CopilotLineData<'a> {
        message_id: WireText<'a> = "messageId",
        content: WireText<'a> = "content",
        delta: WireText<'a> = "deltaContent",
        requests: WireList<CopilotCallRequest<'a>> = "toolRequests",
        reasoning: WireText<'a> = "reasoningText",
        parent: WireText<'a> = "parentToolCallId",
        call: WireText<'a> = "toolCallId",
        tool: WireText<'a> = "toolName",
        arguments: Option<&'a RawValue> = "arguments",
        success: WireFlag = "success",
        result: CopilotAnswer<'a> = "result",
        error: CopilotProblem<'a> = "error",
        shell: CopilotShellResult = "shellExecution",
        question: WireText<'a> = "requestId",
        asked: CopilotPermissionRequest<'a> = "permissionRequest",
        error_type: WireText<'a> = "errorType",
        message: WireText<'a> = "message",
        error_message: WireText<'a> = "errorMessage",
        status: WireInt = "statusCode",
        reason: WireText<'a> = "reason",
        model: WireText<'a> = "model",
        servers: WireList<CopilotMcpServer<'a>> = "servers",
        session: WireText<'a> = "sessionId",
        version: WireText<'a> = "copilotVersion",
        selected_model: WireText<'a> = "selectedModel",
        context: CopilotSessionContext<'a> = "context",
        api_call: WireText<'a> = "apiCallId",
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadTokens",
        cache_write: WireInt = "cacheWriteTokens",
        cost: WireReal = "cost",
        models: Option<WireValues<CopilotModelUsage>> = "modelMetrics",
        accounts: CopilotUsageAccounts = "accountingSnapshot",
    }

    /// A call that a message asks for.
    pub(super) struct CopilotCallRequest<'a> {
        call: WireText<'a> = "toolCallId",
        name: WireText<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
    }
    /// Answer of a tool, or a decision.
    pub(super) struct CopilotAnswer<'a> {
        content: WireToolOutput<'a> = "content",
        kind: WireText<'a> = "kind",
    }
    pub(super) struct CopilotProblem<'a> {
        message: WireText<'a> = "message",
        code: WireText<'a> = "code",
    }
    pub(super) struct CopilotShellResult {
        exit_code: WireInt = "exitCode",
    }
    pub(super) struct CopilotPermissionRequest<'a> {
        kind: WireText<'a> = "kind",
        intention: WireText<'a> = "intention",
    }
    pub(super) struct CopilotMcpServer<'a> {
        name: WireText<'a> = "name",
        status: WireText<'a> = "status",
    }
    pub(super) struct CopilotSessionContext<'a> {
        cwd: WireText<'a> = "cwd",
    }

    /// The usage in the record of the end, which counts no tokens.
    pub(super) struct ResultUsage {
        premium_requests: WireReal = "premiumRequests",
        duration: WireInt = "sessionDurationMs",
    }

    /// The accounts of a session: the file of usage, or a part of its last event.
    pub(super) struct CopilotUsageAccounts {
        premium_requests: WireReal = "totalPremiumRequestCost",
        models: Option<WireValues<CopilotModelUsage>> = "modelMetrics",
    }
    pub(super) struct CopilotModelUsage {
        usage: CopilotTokenCounts = "usage",
    }

    /// Tokens; what was read from and written to the cache is part of the input, whatever the model's own API says.
    pub(super) struct CopilotTokenCounts {
        input: WireInt = "inputTokens",
        output: WireInt = "outputTokens",
        cache_read: WireInt = "cacheReadTokens",
        cache_write: WireInt = "cacheWriteTokens",
    }
}

impl CopilotTokenCounts {
    /// Returns these amounts in the one model of all agents.
    pub(super) fn to_totals(&self) -> UsageTotals {
        whole_input(self.input, self.output, self.cache_read, self.cache_write)
    }
}

impl CopilotLineData<'_> {
    /// The tokens of one call of a model.
    pub(super) fn call_counts(&self) -> CopilotTokenCounts {
        CopilotTokenCounts {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        }
    }
}

impl CopilotUsageAccounts {
    /// The sum over all models, if these are accounts at all.
    pub(super) fn sum_totals(&self) -> Option<UsageTotals> {
        let mut sum = UsageTotals { premium_requests: self.premium_requests.0, ..UsageTotals::default() };
        for model in &self.models.as_ref()?.0 {
            sum.add_amounts(&model.usage.to_totals());
        }
        Some(sum)
    }
}
