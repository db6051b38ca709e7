//! Every kind of line in the schema of Copilot 1.0.102 (`schemas/session-events.schema.json` of its package): typed, or with the reason
//! why it is not.

use amplihack_agent::AgentBinary;

use crate::{json_of, lines};

/// Kinds with the data that the schema requires of them, and the event that they become.
#[rustfmt::skip]
const TYPED: &[(&str, &str, &str)] = &[
    ("abort", r#"{"reason":"user_initiated"}"#, "warning"),
    ("agent.interrupted", r#"{"activity":"model_call","elapsedMs":1,"turn":1}"#, "session_updated"),
    ("assistant.idle", r"{}", "session_updated"),
    ("assistant.intent", r#"{"intent":"x"}"#, "session_updated"),
    ("assistant.message", r#"{"messageId":"x","content":"x"}"#, "text"),
    ("assistant.message_delta", r#"{"messageId":"x","deltaContent":"x"}"#, "text"),
    ("assistant.message_start", r#"{"messageId":"x"}"#, "model_call"),
    ("assistant.reasoning", r#"{"reasoningId":"x","content":"x"}"#, "thinking"),
    ("assistant.reasoning_delta", r#"{"reasoningId":"x","deltaContent":"x"}"#, "thinking"),
    ("assistant.server_tool_progress", r#"{"outputIndex":1,"kind":"x","status":"x"}"#, "model_call"),
    ("assistant.streaming_delta", r#"{"totalResponseSizeBytes":1}"#, "model_call"),
    ("assistant.tool_call_delta", r#"{"toolCallId":"x","inputDelta":"x"}"#, "tool_input"),
    ("assistant.turn_end", r#"{"turnId":"x"}"#, "turn_ended"),
    ("assistant.turn_retry", r#"{"turnId":"x"}"#, "retry"),
    ("assistant.turn_start", r#"{"turnId":"x"}"#, "turn_started"),
    ("assistant.usage", r#"{"model":"x"}"#, "usage"),
    ("auto_mode_switch.completed", r#"{"requestId":"x","response":"yes"}"#, "question"),
    ("auto_mode_switch.requested", r#"{"requestId":"x"}"#, "question"),
    ("capabilities.changed", r"{}", "session_updated"),
    ("command.completed", r#"{"requestId":"x"}"#, "session_updated"),
    ("command.execute", r#"{"requestId":"x","command":"x","commandName":"x","args":"x"}"#, "session_updated"),
    ("command.queued", r#"{"requestId":"x","command":"x"}"#, "session_updated"),
    ("commands.changed", r#"{"commands":[{"name":"x"}]}"#, "session_updated"),
    ("elicitation.completed", r#"{"requestId":"x"}"#, "question"),
    ("elicitation.requested", r#"{"requestId":"x","message":"x"}"#, "question"),
    ("exit_plan_mode.completed", r#"{"requestId":"x"}"#, "question"),
    ("exit_plan_mode.requested", r#"{"requestId":"x","summary":"x","planContent":"x","actions":["exit_only"],"recommendedAction":"exit_only"}"#, "question"),
    ("external_tool.requested", r#"{"requestId":"x","sessionId":"x","toolCallId":"x","toolName":"x"}"#, "tool_call"),
    ("hook.end", r#"{"hookInvocationId":"x","hookType":"x","success":true}"#, "hook"),
    ("hook.progress", r#"{"message":"x"}"#, "hook"),
    ("hook.start", r#"{"hookInvocationId":"x","hookType":"x"}"#, "hook"),
    ("mcp.headers_refresh_completed", r#"{"requestId":"x","outcome":"headers"}"#, "session_updated"),
    ("mcp.headers_refresh_required", r#"{"requestId":"x","serverName":"x","serverUrl":"x","reason":"startup"}"#, "session_updated"),
    ("mcp.oauth_completed", r#"{"requestId":"x","outcome":"token"}"#, "session_updated"),
    ("mcp.oauth_recovery_completed", r#"{"requestId":"x","serverName":"x","outcome":"succeeded"}"#, "session_updated"),
    ("mcp.oauth_required", r#"{"requestId":"x","serverName":"x","serverUrl":"x","reason":"initial"}"#, "session_updated"),
    ("mcp.prompts.list_changed", r#"{"serverName":"x"}"#, "session_updated"),
    ("mcp.resources.list_changed", r#"{"serverName":"x"}"#, "session_updated"),
    ("mcp.tools.list_changed", r#"{"serverName":"x"}"#, "session_updated"),
    ("model.call_failure", r#"{"source":"top_level"}"#, "model_call"),
    ("model.call_final_result", r#"{"model":"x","result":"success"}"#, "model_call"),
    ("model.call_finished", r#"{"turnId":"x","dispatchDurationMs":1,"outcome":"success","editClassifierVersion":1}"#, "model_call"),
    ("model.call_start", r#"{"turnId":"x"}"#, "model_call"),
    ("pending_messages.modified", r"{}", "session_updated"),
    ("permission.completed", r#"{"requestId":"x","result":{"kind":"approved"}}"#, "permission_decided"),
    ("permission.requested", r#"{"requestId":"x","permissionRequest":{"kind":"shell","fullCommandText":"x","intention":"x","commands":[],"possiblePaths":[],"possibleUrls":[],"hasWriteFileRedirection":true,"canOfferSessionApproval":true}}"#, "permission_asked"),
    ("session.auto_mode_resolved", r#"{"chosenModel":"x"}"#, "session_updated"),
    ("session.autopilot_stopped", r#"{"reason":"x"}"#, "session_updated"),
    ("session.background_tasks_changed", r"{}", "session_updated"),
    ("session.compaction_complete", r#"{"success":true}"#, "compaction"),
    ("session.compaction_start", r"{}", "compaction"),
    ("session.context_changed", r#"{"cwd":"x"}"#, "session_updated"),
    ("session.context_cleared", r#"{"messagesCleared":1}"#, "session_updated"),
    ("session.custom_agents_updated", r#"{"agents":[{"id":"x","name":"x","displayName":"x","description":"x","source":"x","tools":[],"userInvocable":true}],"warnings":["x"],"errors":["x"]}"#, "session_updated"),
    ("session.error", r#"{"errorType":"x","message":"x"}"#, "warning"),
    ("session.extensions_loaded", r#"{"extensions":[{"id":"x","name":"x","source":"project","status":"running"}]}"#, "session_updated"),
    ("session.handoff", r#"{"handoffTime":"x","sourceType":"remote"}"#, "session_updated"),
    ("session.idle", r"{}", "session_updated"),
    ("session.info", r#"{"infoType":"x","message":"x"}"#, "session_updated"),
    ("session.managed_settings_enforced", r#"{"action":"bypass_permissions_blocked","setting":"x","failClosed":true,"message":"x"}"#, "session_updated"),
    ("session.managed_settings_resolved", r#"{"source":"server","serverManaged":true,"deviceManaged":true,"failClosed":true,"bypassPermissionsDisabled":true,"managedKeys":["x"]}"#, "session_updated"),
    ("session.mcp_server_needs_reconnect", r#"{"serverName":"x"}"#, "session_updated"),
    ("session.mcp_server_removed", r#"{"serverName":"x"}"#, "session_updated"),
    ("session.mcp_server_status_changed", r#"{"serverName":"x","status":"connected"}"#, "session_updated"),
    ("session.mcp_server_tools_loaded", r#"{"serverName":"x","toolCount":1}"#, "session_updated"),
    ("session.mcp_servers_loaded", r#"{"servers":[{"name":"x","status":"connected"}]}"#, "session_updated"),
    ("session.memory_changed", r"{}", "session_updated"),
    ("session.mode_changed", r#"{"previousMode":"interactive","newMode":"interactive"}"#, "session_updated"),
    ("session.mode_notice_delivered", r#"{"mode":"interactive"}"#, "session_updated"),
    ("session.model_change", r#"{"newModel":"x"}"#, "session_updated"),
    ("session.model_deselected", r#"{"previousModel":"x","reason":"provider_withdrawn"}"#, "session_updated"),
    ("session.permissions_changed", r"{}", "session_updated"),
    ("session.plan_changed", r#"{"operation":"create"}"#, "session_updated"),
    ("session.quota_observation", r#"{"observation":{"provider":{"id":"x","label":"x","kind":"copilot"},"quotaId":"x","unit":"ai_credits","accessState":"allowed","capacityState":"available"}}"#, "rate_limit"),
    ("session.remote_steerable_changed", r#"{"remoteSteerable":true}"#, "session_updated"),
    ("session.request_body_compression_disabled", r"{}", "session_updated"),
    ("session.resume", r#"{"resumeTime":"x","eventCount":1}"#, "session_updated"),
    ("session.session_limits_changed", r#"{"sessionLimits":{}}"#, "session_updated"),
    ("session.shutdown", r#"{"shutdownType":"routine","totalApiDurationMs":1,"sessionStartTime":1,"codeChanges":{"linesAdded":1,"linesRemoved":1,"filesModified":[]},"modelMetrics":{}}"#, "usage"),
    ("session.skills_loaded", r#"{"skills":[{"name":"x","description":"x","source":"project","userInvocable":true,"enabled":true}]}"#, "session_updated"),
    ("session.snapshot_rewind", r#"{"upToEventId":"x","eventsRemoved":1}"#, "session_updated"),
    ("session.start", r#"{"sessionId":"x","version":1,"producer":"x","copilotVersion":"x","startTime":"x"}"#, "session_updated"),
    ("session.task_complete", r"{}", "session_updated"),
    ("session.title_changed", r#"{"title":"x"}"#, "session_updated"),
    ("session.todos_changed", r"{}", "session_updated"),
    ("session.tools_updated", r#"{"model":"x"}"#, "session_updated"),
    ("session.truncation", r#"{"tokenLimit":1,"preTruncationTokensInMessages":1,"preTruncationMessagesLength":1,"postTruncationTokensInMessages":1,"postTruncationMessagesLength":1,"tokensRemovedDuringTruncation":1,"messagesRemovedDuringTruncation":1,"performedBy":"x"}"#, "compaction"),
    ("session.usage_checkpoint", r#"{"totalNanoAiu":1}"#, "session_updated"),
    ("session.usage_info", r#"{"tokenLimit":1,"currentTokens":1,"messagesLength":1}"#, "session_updated"),
    ("session.warning", r#"{"warningType":"x","message":"x"}"#, "warning"),
    ("session.workspace_file_changed", r#"{"path":"x","operation":"create"}"#, "session_updated"),
    ("session_limits_exhausted.completed", r#"{"requestId":"x","response":{"action":"add"}}"#, "session_updated"),
    ("session_limits_exhausted.requested", r#"{"requestId":"x","usedAiCredits":1,"maxAiCredits":1}"#, "rate_limit"),
    ("skill.context_delivered", r#"{"content":"x","source":"x"}"#, "session_updated"),
    ("skill.context_delivered_ref", r#"{"contentId":"x","source":"x"}"#, "session_updated"),
    ("skill.invoked", r#"{"name":"x","path":"x","content":"x"}"#, "session_updated"),
    ("skill.invoked_ref", r#"{"name":"x","path":"x","contentId":"x","contentLength":1}"#, "session_updated"),
    ("subagent.completed", r#"{"toolCallId":"x","agentName":"x","agentDisplayName":"x"}"#, "task"),
    ("subagent.configured", r#"{"model":"x","multiTurn":true}"#, "task"),
    ("subagent.deselected", r"{}", "session_updated"),
    ("subagent.failed", r#"{"toolCallId":"x","agentName":"x","agentDisplayName":"x","error":"x"}"#, "task"),
    ("subagent.selected", r#"{"agentName":"x","agentDisplayName":"x","tools":["x"]}"#, "session_updated"),
    ("subagent.started", r#"{"toolCallId":"x","agentName":"x","agentDisplayName":"x","agentDescription":"x"}"#, "task"),
    ("system.message", r#"{"content":"x","role":"system"}"#, "prompt"),
    ("system.notification", r#"{"content":"x","kind":{"type":"agent_completed","agentId":"x","agentType":"x","status":"completed"}}"#, "prompt"),
    ("tool.execution_complete", r#"{"toolCallId":"x","success":true}"#, "tool_result"),
    ("tool.execution_partial_result", r#"{"toolCallId":"x","partialOutput":"x"}"#, "tool_output"),
    ("tool.execution_progress", r#"{"toolCallId":"x","progressMessage":"x"}"#, "tool_output"),
    ("tool.execution_start", r#"{"toolCallId":"x","toolName":"x"}"#, "tool_call"),
    ("tool.shell_output", r#"{"toolCallId":"x","text":"x","sequence":1}"#, "tool_output"),
    ("tool.user_requested", r#"{"toolCallId":"x","toolName":"x"}"#, "tool_call"),
    ("tool_search.activated", r#"{"strategy":"x","toolNames":["x"]}"#, "session_updated"),
    ("user.message", r#"{"content":"x"}"#, "prompt"),
    ("user_input.completed", r#"{"requestId":"x"}"#, "question"),
    ("user_input.requested", r#"{"requestId":"x","question":"x"}"#, "question"),
    ("workflow.run_settled", r#"{"runId":"x","status":"completed","consumedSubagents":1,"consumedNanoAiu":1,"elapsedMs":1}"#, "task"),
    ("workflow.run_started", r#"{"runId":"x","workflowName":"x","attempt":1}"#, "task"),
    ("workflow.run_updated", r#"{"runId":"x","revision":1}"#, "task"),
];

/// Kinds that stay as they are, with the reason.
const KEPT_WHOLE: &[(&str, &[&str])] = &[
    (
        "several models behind one name, in trial: what they say comes as the lines of one model too",
        &[
            "assistant.fusion_phase_activity",
            "assistant.fusion_phase_completed",
            "assistant.fusion_phase_failed",
            "assistant.fusion_phase_started",
            "session.fusion_change_checkpoint",
            "session.fusion_commit_started",
            "session.fusion_completed",
            "session.fusion_handoff",
            "session.fusion_resolved",
            "session.fusion_route_failed",
            "session.fusion_route_started",
        ],
    ),
    (
        "pages that extensions show in a window; a headless run has none",
        &[
            "session.canvas.closed",
            "session.canvas.opened",
            "session.canvas.recorded",
            "session.canvas.registry_changed",
            "session.canvas.removed",
            "session.canvas.unavailable",
            "session.extensions.attachments_pushed",
            "mcp_app.tool_call_complete",
            "ui.ephemeral_query",
        ],
    ),
    (
        "notes of how a decision came about; the decision has a line of its own",
        &[
            "human_response.recorded",
            "permission.assentDetected",
            "permission.carriedForward",
            "permission.contextualAuthorization",
            "permission.messageAuthorization",
            "permission.messageAuthorizationDegraded",
            "permission.messageAuthorizationRead",
            "sandbox.decision",
            "session.permission_recovery",
        ],
    ),
    (
        "a repetition of another line: `assistant.usage`, `tool.execution_complete`, `result`",
        &["session.usage_record", "external_tool.completed", "session.completion_receipt"],
    ),
    (
        "of Copilot alone, and no consumer of several agents has a use for it",
        &[
            "prompt_cache_break",
            "sampling.completed",
            "sampling.requested",
            "session.auto_tier_recommendation",
            "session.auto_tier_switch_failed",
            "session.autopilot_objective_changed",
            "session.binary_asset",
            "session.custom_notification",
            "session.indexed_search",
            "session.managed_plugin_progress",
            "session.schedule_cancelled",
            "session.schedule_created",
            "session.schedule_rearmed",
        ],
    ),
];

/// The events of one line of a session that has begun.
fn told(kind: &str, data: &str) -> Vec<serde_json::Value> {
    let begun = r#"{"type":"session.tools_updated","data":{"model":"m"}}"#;
    let line = format!(r#"{{"type":"{kind}","data":{data}}}"#);
    json_of(&lines(AgentBinary::Copilot, &[begun, &line], 0)).split_off(1)
}

#[test]
fn every_kind_has_a_type_or_a_reason() {
    for (kind, data, expected) in TYPED {
        let events = told(kind, data);
        assert!(events.iter().any(|event| event["type"] == *expected), "{kind}: {events:?}");
        for event in events {
            // A type alone says nothing.
            assert!(event["type"] != "raw" && event.as_object().unwrap().len() > 1, "{kind}: {event}");
        }
    }
    for (reason, kinds) in KEPT_WHOLE {
        for kind in *kinds {
            let events = told(kind, r#"{"n":1}"#);
            assert_eq!(events[0]["type"], "raw", "{kind}: {reason}");
            assert_eq!(events[0]["value"]["data"]["n"], 1);
        }
    }
    let kept: usize = KEPT_WHOLE.iter().map(|(_, kinds)| kinds.len()).sum();
    // As many as the schema has.
    assert_eq!(TYPED.len() + kept, 163);
}
