//! The decoder of `codex exec --json`.

use amplihack_config::agent_binary::AgentBinary;

use super::agents::NestedAgents;
use super::calls::{answer_result, described_call, is_search_begun};
use super::wire::{CodexItem, CodexLine};
use crate::decode::fail;
use crate::decode::lines::{self, AgentLineReader, warning_event};
use crate::decode::open_calls::OpenCalls;
use crate::decode::plan::plan_entry;
use crate::event::{
    AgentEvent, AgentPlan, AgentRetry, AgentSessionStarted, AgentText, AgentTurn, AgentUsage, EndEvent,
    FailKind, RunEndSummary, ToolInputDelta, ToolOutputDelta,
};

/// Beginning of Codex's message before another try; nothing has ended.
const RETRY: &str = "Reconnecting...";

/// Beginning of Codex's message about an answer that the provider cut off; the reason follows.
const CUT_OFF: &str = "Incomplete response returned, reason: ";

/// The decoder of Codex's stream.
#[derive(Debug, Default)]
pub(crate) struct CodexStream {
    session: Option<String>,
    text: Option<String>,
    turns: u64,
    open: OpenCalls,
    nested: NestedAgents,
    end: Option<EndEvent>,
}

impl crate::Decode for CodexStream {
    lines::kept!();

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn recorded_end(&mut self) -> Option<EndEvent> {
        self.end.clone()
    }
}

impl AgentLineReader for CodexStream {
    fn read_json(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), serde_json::Error> {
        let line: CodexLine<'_> = serde_json::from_str(line)?;
        match line.kind.text() {
            "thread.started" => {
                self.session = line.thread.into_option();
                let session = self.session.clone();
                out.push(AgentEvent::Started(AgentSessionStarted {
                    agent_session: session,
                    ..AgentSessionStarted::new(AgentBinary::Codex)
                }));
            }
            "turn.started" => {
                // A record of an end is about the turn before.
                self.end = None;
                out.push(AgentEvent::TurnStarted(AgentTurn::default()));
            }
            "turn.completed" => {
                let amounts = line.usage.map(|counts| counts.to_totals()).unwrap_or_default();
                out.push(AgentEvent::Usage(AgentUsage::of_total(amounts)));
                self.end_turn(out);
                self.end = Some(EndEvent::of_success(self.run_summary()));
            }
            "turn.failed" => {
                let message = line.error.message.into_string();
                // The same was an error of its own just before.
                if self.end.as_ref().and_then(|end| end.message.as_deref()) != Some(message.as_str()) {
                    out.push(warning_event("error", message.clone()));
                }
                self.end_turn(out);
                self.record_failure(message);
            }
            "error" => {
                let message = line.message.into_string();
                if let Some(retry) = read_retry(&message) {
                    out.push(AgentEvent::Retry(retry));
                } else {
                    out.push(warning_event("error", message.clone()));
                    self.record_failure(message);
                }
            }
            "item.started" => self.emit_begun(line.item, out),
            "item.updated" => emit_progress(line.item, out),
            "item.completed" => self.emit_done(line.item, out),
            _ => {}
        }
        Ok(())
    }
}

impl CodexStream {
    fn run_summary(&self) -> RunEndSummary {
        RunEndSummary {
            text: self.text.clone(),
            agent_session: self.session.clone(),
            turns: Some(self.turns),
            ..RunEndSummary::default()
        }
    }

    fn end_turn(&mut self, out: &mut Vec<AgentEvent>) {
        self.turns += 1;
        out.push(AgentEvent::TurnEnded(AgentTurn::default()));
    }

    fn record_failure(&mut self, message: String) {
        let kind: FailKind = fail::classify_failure(None, &message);
        let stop_reason = message.strip_prefix(CUT_OFF).map(str::to_owned);
        let summary = RunEndSummary { stop_reason, ..self.run_summary() };
        self.end = Some(EndEvent::of_failure(kind, message, summary));
    }

    fn emit_begun(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        if item.kind.text() == "todo_list" {
            out.push(plan_event(item));
        } else if is_search_begun(&item) {
            // Told as a call when its words are known.
            out.push(AgentEvent::ToolInput(ToolInputDelta {
                id: item.id.into_string(),
                name: item.kind.into_option(),
                ..ToolInputDelta::default()
            }));
        } else if let Some(call) = described_call(&item) {
            self.open.remember(&call);
            out.push(AgentEvent::ToolCall(call));
        }
    }

    fn emit_done(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        match item.kind.text() {
            "agent_message" => {
                let text = item.text.into_string();
                self.text = Some(text.clone());
                let message = item.id.into_option();
                out.push(AgentEvent::Text(AgentText { text, message, ..AgentText::default() }));
            }
            "reasoning" => {
                let (text, message) = (item.text.into_string(), item.id.into_option());
                out.push(AgentEvent::Thinking(AgentText { text, message, ..AgentText::default() }));
            }
            "todo_list" => out.push(plan_event(item)),
            // Codex's own word for a warning.
            "error" => out.push(warning_event("error", item.message.into_string())),
            _ => self.emit_answer(item, out),
        }
    }

    /// The answer to a call; the call too, if it was not told before.
    fn emit_answer(&mut self, item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        let id = item.id.text();
        let told = self.open.take(id).is_some();
        let Some(call) = described_call(&item) else { return };
        if !told {
            out.push(AgentEvent::ToolCall(call));
        }
        self.nested.emit_tasks(&item, out);
        out.push(AgentEvent::ToolResult(answer_result(item)));
    }
}

/// Tells what an item has come to that still goes on.
fn emit_progress(item: CodexItem<'_>, out: &mut Vec<AgentEvent>) {
    match item.kind.text() {
        "todo_list" => out.push(plan_event(item)),
        "command_execution" => out.push(AgentEvent::ToolOutput(ToolOutputDelta {
            id: item.id.into_string(),
            text: item.output.into_string(),
            whole: true,
            ..ToolOutputDelta::default()
        })),
        _ => {}
    }
}

fn plan_event(item: CodexItem<'_>) -> AgentEvent {
    let entries = item.todos.0.into_iter().map(plan_entry).collect();
    AgentEvent::Plan(AgentPlan { entries, ..AgentPlan::default() })
}

/// The try that `message` is about: `Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)`.
fn read_retry(message: &str) -> Option<AgentRetry> {
    let rest = message.strip_prefix(RETRY)?.trim_start();
    let (numbers, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let (attempt, most) = numbers.split_once('/').unwrap_or_default();
    let (attempt, max_attempts) = (attempt.parse().ok(), most.parse().ok());
    let reason = if attempt.is_none() { rest } else { reason };
    let reason = reason.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(reason);
    let reason = if reason.is_empty() { message } else { reason };
    Some(AgentRetry {
        attempt,
        max_attempts,
        status: read_status(reason),
        reason: reason.to_owned(),
        ..AgentRetry::default()
    })
}

/// The HTTP status in `unexpected status 401 Unauthorized` or `last status: 429 Too Many Requests`.
fn read_status(reason: &str) -> Option<i64> {
    let (_, rest) = reason.split_once("status")?;
    let digits = rest.trim_start_matches([':', ' ']).get(..3)?;
    digits.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::read_retry;

    #[test]
    fn a_retry_is_counted_and_its_reason_kept() {
        for (message, expected) in [
            (
                "Reconnecting... 2/5 (unexpected status 401 Unauthorized: fake 401, url: http://h/)",
                (Some(2), Some(5), Some(401), "unexpected status 401 Unauthorized: fake 401, url: http://h/"),
            ),
            (
                "Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)",
                (Some(1), Some(1), Some(429), "exceeded retry limit, last status: 429 Too Many Requests"),
            ),
            ("Reconnecting... waiting for network", (None, None, None, "waiting for network")),
            ("Reconnecting... 3/5", (Some(3), Some(5), None, "Reconnecting... 3/5")),
            ("Reconnecting...", (None, None, None, "Reconnecting...")),
        ] {
            let retry = read_retry(message).unwrap();
            let found = (retry.attempt, retry.max_attempts, retry.status, retry.reason.as_str());
            assert_eq!(found, expected, "{message}");
        }
        assert_eq!(read_retry("unexpected status 401"), None);
    }
}
