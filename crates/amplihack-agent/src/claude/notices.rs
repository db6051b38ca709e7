//! Claude Code's lines beside the conversation: limits, tries, hooks, tools that still run, and notices.

use jiff::Timestamp;

use super::system::update_event;
use super::wire::system::{ClaudeRateLimits, ClaudeSystemLine};
use crate::decode::lines::warning_event;
use crate::decode::wire::{WireInt, WireReal, WireText};
use crate::event::{
    ActivityPhase, AgentEvent, AgentHookRun, AgentModelCall, AgentRateLimit, AgentRetry, ToolOutputDelta,
};

/// Kind of a warning that nobody has to heed.
const NOTICE: &str = "notice";

/// Tells the state of one of the account's limits.
pub(super) fn emit_limits(line: ClaudeRateLimits<'_>, out: &mut Vec<AgentEvent>) {
    let info = line.info;
    if info.status.text().is_empty() {
        return;
    }
    out.push(AgentEvent::RateLimit(AgentRateLimit {
        status: info.status.into_string(),
        limit: info.kind.into_option(),
        resets_at: info.resets_at.0.and_then(|seconds| Timestamp::from_second(seconds).ok()),
        utilization: info.utilization.0,
    }));
}

/// Tells a line of a type of its own that is not about the conversation.
pub(super) fn emit_notice(line: ClaudeSystemLine<'_>, out: &mut Vec<AgentEvent>) {
    if let Some(update) = update_event(&line) {
        out.push(AgentEvent::SessionUpdated(update));
    } else if line.kind.text() == "tool_progress" {
        emit_progress(line, out);
    } else {
        out.extend(notice_event(line));
    }
}

/// The event of a line that is not about the session.
pub(super) fn notice_event(line: ClaudeSystemLine<'_>) -> Option<AgentEvent> {
    let word = line.word();
    Some(match word {
        "api_retry" | "control_request_progress"
            if word == "api_retry" || line.status.text() == "api_retry" =>
        {
            AgentEvent::Retry(retry(
                line.error,
                line.attempt,
                line.max_retries,
                line.retry_delay,
                line.error_status,
            ))
        }
        "hook_started" | "hook_progress" | "hook_response" => AgentEvent::Hook(hook_run(line)),
        // Tokens of a thought that is being thought: only an estimate, of which the message's own counts are the truth.
        "thinking_tokens" => AgentEvent::ModelCall(AgentModelCall::new(ActivityPhase::Progress)),
        "informational" if line.level.text() == "warning" => {
            warning_event("warning", line.content.into_string())
        }
        "informational" | "local_command_output" => warning_event(NOTICE, line.content.into_string()),
        "notification" => warning_event(NOTICE, line.text.into_string()),
        "tool_use_summary" => warning_event(NOTICE, line.summary.into_string()),
        "prompt_suggestion" => warning_event(NOTICE, line.suggestion.into_string()),
        "model_refusal_no_fallback" => {
            let texts = [line.explanation, line.content].map(WireText::into_string);
            let text = texts.into_iter().find(|text| !text.is_empty());
            warning_event("refusal", text.unwrap_or_else(|| "the model refused the request".to_owned()))
        }
        "mirror_error" | "plugin_install" | "auth_status" => warning_event(word, line.error.text()),
        "session_writes_lost" => {
            warning_event(word, format!("the session was not saved whole: {}", line.error_code.text()))
        }
        _ => return None,
    })
}

/// A tool still runs. The model's calls of a sub-agent that runs may be tried again meanwhile.
fn emit_progress(line: ClaudeSystemLine<'_>, out: &mut Vec<AgentEvent>) {
    if let Some(again) = line.subagent_retry {
        let (attempt, most) = (again.attempt, again.max_retries);
        out.push(AgentEvent::Retry(retry(again.error, attempt, most, again.retry_delay, again.error_status)));
    }
    out.push(AgentEvent::ToolOutput(ToolOutputDelta {
        id: line.call.into_string(),
        duration_ms: line.elapsed.0.and_then(|seconds| millis(seconds * 1000.0)),
        parent: line.parent.into_option(),
        ..ToolOutputDelta::default()
    }));
}

fn retry(
    error: WireText<'_>,
    attempt: WireInt,
    most: WireInt,
    delay: WireReal,
    status: WireInt,
) -> AgentRetry {
    AgentRetry {
        reason: error.into_option().unwrap_or_else(|| "no reason given".to_owned()),
        attempt: attempt.as_count(),
        max_attempts: most.as_count(),
        delay_ms: delay.0.and_then(millis),
        status: status.0,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range")]
fn millis(millis: f64) -> Option<u64> {
    (0.0..=9e15).contains(&millis).then_some(millis.round() as u64)
}

fn hook_run(line: ClaudeSystemLine<'_>) -> AgentHookRun {
    let phase = match (line.subtype.text(), line.outcome.text()) {
        ("hook_started", _) => ActivityPhase::Started,
        ("hook_progress", _) => ActivityPhase::Progress,
        (_, "error") => ActivityPhase::Failed,
        (_, "cancelled") => ActivityPhase::Cancelled,
        _ => ActivityPhase::Completed,
    };
    let output = [line.output, line.stderr].map(WireText::into_string);
    AgentHookRun {
        id: line.hook.into_option(),
        event: line.hook_event.into_string(),
        name: line.hook_name.into_option(),
        phase,
        output: output.into_iter().find(|text| !text.is_empty()),
        exit_code: line.exit_code.0,
    }
}
