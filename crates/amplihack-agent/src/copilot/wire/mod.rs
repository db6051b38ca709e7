//! Fields that are read from the lines of Copilot's `--output-format json`, and from its file of usage.

mod activity;
mod session;
mod usage;

use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::output::WireToolOutput;
use crate::decode::wire::{WireFlag, WireInt, WireList, WireReal, WireText, missing, record};

pub(super) use activity::{CopilotActivity, text_or_json};
pub(super) use session::{CopilotMcpServer, CopilotSession};
pub(super) use usage::{CopilotUsageAccounts, CopilotUsageLine};

record! {
    /// Any line, with the data that most lines have; see [`line_data`] for others.
    pub(super) struct CopilotLine<'a> {
        kind: WireText<'a> = "type",
        data: CopilotLineData<'a> = "data",
        agent: WireText<'a> = "agentId",
        session: WireText<'a> = "sessionId",
        exit_code: WireInt = "exitCode",
        usage: ResultUsage = "usage",
    }

    /// Data of a line about words, calls of the model and of tools, and permissions.
    pub(super) struct CopilotLineData<'a> {
        message_id: WireText<'a> = "messageId",
        turn: WireText<'a> = "turnId",
        content: WireText<'a> = "content",
        delta: WireText<'a> = "deltaContent",
        requests: WireList<CopilotCallRequest<'a>> = "toolRequests",
        reasoning: WireText<'a> = "reasoningText",
        reasoning_id: WireText<'a> = "reasoningId",
        parent: WireText<'a> = "parentToolCallId",
        call: WireText<'a> = "toolCallId",
        tool: WireText<'a> = "toolName",
        mcp_server: WireText<'a> = "mcpServerName",
        arguments: Option<&'a RawValue> = "arguments",
        input_delta: WireText<'a> = "inputDelta",
        text: WireText<'a> = "text",
        stream: WireText<'a> = "stream",
        partial: WireText<'a> = "partialOutput",
        progress: WireText<'a> = "progressMessage",
        success: WireFlag = "success",
        result: CopilotAnswer<'a> = "result",
        error: CopilotProblem<'a> = "error",
        shell: CopilotShellResult = "shellExecution",
        file_edits: WireList<CopilotFileEdit<'a>> = "fileEdits",
        question: WireText<'a> = "requestId",
        asked: CopilotPermissionRequest<'a> = "permissionRequest",
        model: WireText<'a> = "model",
        outcome: WireText<'a> = "outcome",
        duration: WireReal = "durationMs",
        dispatch_duration: WireReal = "dispatchDurationMs",
        retry: WireInt = "retryAttempt",
        error_message: WireText<'a> = "errorMessage",
        status: WireInt = "statusCode",
        reason: WireText<'a> = "reason",
        source: WireText<'a> = "source",
        intent: WireText<'a> = "intent",
    }

    /// A call that a message asks for.
    pub(super) struct CopilotCallRequest<'a> {
        call: WireText<'a> = "toolCallId",
        name: WireText<'a> = "name",
        mcp_server: WireText<'a> = "mcpServerName",
        arguments: Option<&'a RawValue> = "arguments",
    }

    /// Answer of a tool, or a decision; of some lines a word.
    pub(super) struct CopilotAnswer<'a> {
        content: WireToolOutput<'a> = "content",
        detailed: WireText<'a> = "detailedContent",
        binaries: WireList<CopilotBinary<'a>> = "binaryResultsForLlm",
        kind: WireText<'a> = "kind",
    }
    pub(super) struct CopilotBinary<'a> {
        kind: WireText<'a> = "type",
        data: WireText<'a> = "data",
        media_type: WireText<'a> = "mimeType",
        asset: WireText<'a> = "assetId",
    }
    pub(super) struct CopilotProblem<'a> {
        message: WireText<'a> = "message",
        code: WireText<'a> = "code",
    }
    pub(super) struct CopilotShellResult {
        exit_code: WireInt = "exitCode",
    }
    pub(super) struct CopilotFileEdit<'a> {
        path: WireText<'a> = "path",
        kind: WireText<'a> = "kind",
    }
    pub(super) struct CopilotPermissionRequest<'a> {
        kind: WireText<'a> = "kind",
        intention: WireText<'a> = "intention",
    }

    /// The usage in the record of the end, which counts no tokens.
    pub(super) struct ResultUsage {
        premium_requests: WireReal = "premiumRequests",
        duration: WireInt = "sessionDurationMs",
    }
}

/// The data of `line`, read once more, for fields that [`CopilotLineData`] has not: most lines need none of them.
pub(super) fn line_data<'a, T: Deserialize<'a> + Default>(line: &'a str) -> Result<T, serde_json::Error> {
    serde_json::from_str::<DataOf<T>>(line).map(|line| line.0)
}

/// The field `data` of an object.
#[derive(Default)]
struct DataOf<T>(T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for DataOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DataOfVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for DataOfVisitor<T> {
            type Value = DataOf<T>;
            missing!(bool number text null list);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut data = T::default();
                while let Some(key) = map.next_key::<WireText<'de>>()? {
                    match key.text() {
                        "data" => data = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(DataOf(data))
            }
        }
        deserializer.deserialize_any(DataOfVisitor(PhantomData))
    }
}
