//! What is read of the lines of Copilot's `--output-format json`, and of its file of usage.

use serde_json::value::RawValue;

use crate::decode::output::Output;
use crate::decode::wire::{Flag, Int, List, Real, Str, Values, record, whole_input};
use crate::event::Totals;

record! {
    /// Any line.
    pub(super) struct Line<'a> {
        kind: Str<'a> = "type",
        data: Data<'a> = "data",
        session: Str<'a> = "sessionId",
        exit_code: Int = "exitCode",
        usage: ResultUsage = "usage",
    }

    /// What a line is about; each type of line has some of these.
    pub(super) struct Data<'a> {
        message_id: Str<'a> = "messageId",
        content: Str<'a> = "content",
        delta: Str<'a> = "deltaContent",
        requests: List<Request<'a>> = "toolRequests",
        reasoning: Str<'a> = "reasoningText",
        parent: Str<'a> = "parentToolCallId",
        call: Str<'a> = "toolCallId",
        tool: Str<'a> = "toolName",
        arguments: Option<&'a RawValue> = "arguments",
        success: Flag = "success",
        result: Answer<'a> = "result",
        error: Problem<'a> = "error",
        shell: Shell = "shellExecution",
        question: Str<'a> = "requestId",
        asked: Question<'a> = "permissionRequest",
        error_type: Str<'a> = "errorType",
        message: Str<'a> = "message",
        error_message: Str<'a> = "errorMessage",
        status: Int = "statusCode",
        reason: Str<'a> = "reason",
        model: Str<'a> = "model",
        servers: List<Server<'a>> = "servers",
        session: Str<'a> = "sessionId",
        version: Str<'a> = "copilotVersion",
        selected_model: Str<'a> = "selectedModel",
        context: Context<'a> = "context",
        api_call: Str<'a> = "apiCallId",
        input: Int = "inputTokens",
        output: Int = "outputTokens",
        cache_read: Int = "cacheReadTokens",
        cache_write: Int = "cacheWriteTokens",
        cost: Real = "cost",
        models: Option<Values<Model>> = "modelMetrics",
        accounts: Accounts = "accountingSnapshot",
    }

    /// A call that a message asks for.
    pub(super) struct Request<'a> {
        call: Str<'a> = "toolCallId",
        name: Str<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
    }
    /// What a tool gave back, or what was decided.
    pub(super) struct Answer<'a> {
        content: Output<'a> = "content",
        kind: Str<'a> = "kind",
    }
    pub(super) struct Problem<'a> {
        message: Str<'a> = "message",
        code: Str<'a> = "code",
    }
    pub(super) struct Shell {
        exit_code: Int = "exitCode",
    }
    pub(super) struct Question<'a> {
        kind: Str<'a> = "kind",
        intention: Str<'a> = "intention",
    }
    pub(super) struct Server<'a> {
        name: Str<'a> = "name",
        status: Str<'a> = "status",
    }
    pub(super) struct Context<'a> {
        cwd: Str<'a> = "cwd",
    }

    /// The usage in the record of the end, which counts no tokens.
    pub(super) struct ResultUsage {
        premium_requests: Real = "premiumRequests",
        duration: Int = "sessionDurationMs",
    }

    /// The accounts of a session: the file of usage, or a part of its last event.
    pub(super) struct Accounts {
        premium_requests: Real = "totalPremiumRequestCost",
        models: Option<Values<Model>> = "modelMetrics",
    }
    pub(super) struct Model {
        usage: Counts = "usage",
    }

    /// Tokens; what was read from and written to the cache is part of the input, whatever the model's own API says.
    pub(super) struct Counts {
        input: Int = "inputTokens",
        output: Int = "outputTokens",
        cache_read: Int = "cacheReadTokens",
        cache_write: Int = "cacheWriteTokens",
    }
}

impl Counts {
    /// The same amounts in the one model of all agents.
    pub(super) fn totals(&self) -> Totals {
        whole_input(self.input, self.output, self.cache_read, self.cache_write)
    }
}

impl Data<'_> {
    /// The tokens of one call of a model.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        }
    }
}

impl Accounts {
    /// The sum over all models, if these are accounts at all.
    pub(super) fn totals(&self) -> Option<Totals> {
        let mut sum = Totals { premium_requests: self.premium_requests.0, ..Totals::default() };
        for model in &self.models.as_ref()?.0 {
            sum.add(&model.usage.totals());
        }
        Some(sum)
    }
}
