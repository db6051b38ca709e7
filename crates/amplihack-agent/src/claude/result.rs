//! Claude Code's own record of its end: why it ended, what it used, what it was denied.

use super::decode::ClaudeStream;
use super::wire::result::{ClaudeEndRecord, ModelCounts};
use crate::decode::lines::{NO_REASON, warning_event};
use crate::decode::{Decode as _, fail};
use crate::event::{
    AgentEvent, AgentPermission, AgentTurn, AgentUsage, EndEvent, EventJson, FailKind, RunEndSummary,
    RunOutcome, UsageTotals,
};

/// The reason of a run in which the agent asked no model.
const NO_MODEL: &str = "the agent answered by itself and asked no model";
/// Origin of a turn about a background task that ended.
const BACKGROUND: &str = "task-notification";

impl ClaudeStream {
    /// Tells denials and the total. The end is kept, since only the exit shows whether it was so.
    ///
    /// A process makes a record after each turn; see [`super::ends`].
    pub(super) fn take_end_record(&mut self, record: ClaudeEndRecord<'_>, out: &mut Vec<AgentEvent>) {
        let amounts = self.process_total(&record);
        let is_other = record.origin.as_ref().is_some_and(|origin| origin.kind.text() == BACKGROUND);
        let was_open = std::mem::replace(&mut self.turn_open, record.queued.count_or_zero() > 0);
        for denial in &record.denials.0 {
            let id = denial.call.text().to_owned();
            if self.denied.insert(id.clone()) {
                out.push(AgentEvent::PermissionDecided(AgentPermission {
                    id,
                    tool: denial.tool.0.as_deref().map(str::to_owned),
                    allowed: Some(false),
                    reason: None,
                }));
            }
        }
        out.push(AgentEvent::Usage(AgentUsage::of_total(amounts)));
        if was_open {
            out.push(AgentEvent::TurnEnded(AgentTurn::default()));
        }
        let end = self.read_end(record);
        if !is_other {
            self.ends.add_own(end);
        } else if let Some(reason) = self.ends.add_other(end) {
            out.push(warning_event("background_turn", format!("a turn after the answer failed: {reason}")));
        }
    }

    /// The end of the turn that `record` is about.
    fn read_end(&mut self, record: ClaudeEndRecord<'_>) -> EndEvent {
        let result = record.result.into_option();
        let errors: Vec<String> = record.errors.into_texts();
        let (subtype, reason) = (record.subtype.text(), record.reason.text());
        let message = match (&result, errors.is_empty()) {
            (_, false) => errors.join("\n"),
            (Some(result), true) => result.clone(),
            (None, true) if subtype.is_empty() => NO_REASON.to_owned(),
            (None, true) => subtype.to_owned(),
        };
        let summary = RunEndSummary {
            text: result.or_else(|| self.text.clone()),
            structured_output: record.structured.map(EventJson::from),
            stop_reason: record.stop_reason.into_option(),
            agent_session: record.session.into_option().or_else(|| self.session().map(str::to_owned)),
            turns: record.turns.as_count(),
            duration_ms: record.duration.as_count(),
            ..RunEndSummary::default()
        };
        let interrupted = std::mem::take(&mut self.interrupted);
        if subtype.starts_with("error_max_turns") || subtype.starts_with("error_max_budget") {
            EndEvent::with_outcome(RunOutcome::Budget, message, summary)
        } else if reason.starts_with("aborted")
            || (interrupted && subtype.starts_with("error_during_execution"))
        {
            let message = format!("the agent was interrupted: {message}");
            EndEvent::with_outcome(RunOutcome::Interrupted, message, summary)
        } else if subtype == "success" && record.is_error.0 != Some(true) && summary.turns == Some(0) {
            // A command of its own, or a hook that stopped the prompt: it answered without its model.
            EndEvent::of_failure(FailKind::NoResult, NO_MODEL, summary)
        } else if subtype == "success" && record.is_error.0 != Some(true) {
            EndEvent::of_success(summary)
        } else {
            EndEvent::of_failure(fail::classify_failure(record.api_status.0, &message), message, summary)
        }
    }

    /// Sums up the usage of this process. `modelUsage` counts every model, sub-agents too, but after a resume what earlier processes
    /// used as well; `usage` leaves out what a budget has stopped.
    fn process_total(&mut self, record: &ClaudeEndRecord<'_>) -> UsageTotals {
        let sum = |models: &[ModelCounts]| {
            let mut sum = UsageTotals::default();
            for model in models {
                sum.add_amounts(&model.to_totals());
            }
            sum
        };
        match (&record.models_since, &record.models, &record.usage) {
            (Some(models), _, _) => self.used.add_amounts(&sum(&models.0)),
            (None, Some(models), _) if !models.0.is_empty() => self.used = sum(&models.0),
            (None, _, Some(counts)) => {
                self.used.add_amounts(&counts.to_totals());
                self.used.cost_usd = record.cost.0;
            }
            (None, _, None) => self.used.cost_usd = record.cost.0.or(self.used.cost_usd),
        }
        self.used
    }
}
