//! Data of Copilot's lines about its session.

use super::usage::{CopilotModelUsage, CopilotQuota, CopilotUsageAccounts};
use crate::decode::wire::{WireFlag, WireInt, WireList, WireText, WireValues, record};

record! {
    /// Data of a line `session.*`; each type of line has some of these.
    pub(in super::super) struct CopilotSession<'a> {
        session: WireText<'a> = "sessionId",
        version: WireText<'a> = "copilotVersion",
        selected_model: WireText<'a> = "selectedModel",
        context: CopilotSessionContext<'a> = "context",
        cwd: WireText<'a> = "cwd",
        model: WireText<'a> = "model",
        new_model: WireText<'a> = "newModel",
        chosen_model: WireText<'a> = "chosenModel",
        cause: WireText<'a> = "cause",
        new_mode: WireText<'a> = "newMode",
        mode: WireText<'a> = "mode",
        title: WireText<'a> = "title",
        servers: WireList<CopilotMcpServer<'a>> = "servers",
        server: WireText<'a> = "serverName",
        status: WireText<'a> = "status",
        skills: WireList<CopilotSkill<'a>> = "skills",
        agents: WireList<CopilotNamed<'a>> = "agents",
        info_type: WireText<'a> = "infoType",
        warning_type: WireText<'a> = "warningType",
        error_type: WireText<'a> = "errorType",
        status_code: WireInt = "statusCode",
        message: WireText<'a> = "message",
        reason: WireText<'a> = "reason",
        summary: WireText<'a> = "summary",
        path: WireText<'a> = "path",
        tokens: WireInt = "currentTokens",
        conversation_tokens: WireInt = "conversationTokens",
        token_limit: WireInt = "tokenLimit",
        trigger: WireText<'a> = "trigger",
        success: WireFlag = "success",
        error: WireText<'a> = "error",
        summary_content: WireText<'a> = "summaryContent",
        tokens_before: WireInt = "preCompactionTokens",
        tokens_after: WireInt = "postCompactionTokens",
        truncated_from: WireInt = "preTruncationTokensInMessages",
        truncated_to: WireInt = "postTruncationTokensInMessages",
        models: Option<WireValues<CopilotModelUsage>> = "modelMetrics",
        accounts: CopilotUsageAccounts = "accountingSnapshot",
        quota: CopilotQuota<'a> = "observation",
    }

    pub(in super::super) struct CopilotMcpServer<'a> {
        name: WireText<'a> = "name",
        status: WireText<'a> = "status",
    }
    pub(in super::super) struct CopilotSessionContext<'a> {
        cwd: WireText<'a> = "cwd",
    }
    pub(in super::super) struct CopilotSkill<'a> {
        name: WireText<'a> = "name",
        command: WireText<'a> = "commandName",
        enabled: WireFlag = "enabled",
    }
    pub(in super::super) struct CopilotNamed<'a> {
        name: WireText<'a> = "name",
    }
}
