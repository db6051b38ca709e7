//! Claude Code's own record of its end: why it ended, what it used, what it was denied.

use super::decode::ClaudeStream;
use super::wire::ClaudeEndRecord;
use crate::decode::fail;
use crate::decode::lines::NO_REASON;
use crate::decode::wire::WireText;
use crate::event::{
    AgentEvent, AgentPermission, AgentUsage, EndEvent, FailKind, RunEndSummary, RunOutcome, UsageTotals,
};

/// The reason of a run in which the agent asked no model.
const NO_MODEL: &str = "the agent answered by itself and asked no model";

impl ClaudeStream {
    /// Tells denials and the total. The end is kept, since only the exit shows whether it was so.
    ///
    /// A process that is given several prompts makes a record after each; the last one holds.
    pub(super) fn take_end_record(&mut self, record: ClaudeEndRecord<'_>, out: &mut Vec<AgentEvent>) {
        let amounts = self.process_total(&record);
        let ClaudeEndRecord { subtype, is_error, result, errors, reason, api_status, session, .. } = record;
        for denial in record.denials.0 {
            let id = denial.call.into_string();
            if self.denied.insert(id.clone()) {
                out.push(AgentEvent::PermissionDecided(AgentPermission {
                    id,
                    tool: denial.tool.into_option(),
                    allowed: Some(false),
                    reason: None,
                }));
            }
        }
        out.push(AgentEvent::Usage(AgentUsage { total: true, amounts, ..AgentUsage::default() }));
        let result = result.into_option();
        let errors: Vec<String> = errors.0.into_iter().filter_map(WireText::into_option).collect();
        let message = match (&result, errors.is_empty()) {
            (_, false) => errors.join("\n"),
            (Some(result), true) => result.clone(),
            (None, true) if subtype.text().is_empty() => NO_REASON.to_owned(),
            (None, true) => subtype.text().to_owned(),
        };
        let summary = RunEndSummary {
            text: result.or_else(|| self.text.clone()),
            agent_session: session.into_option().or_else(|| self.session.clone()),
            turns: record.turns.as_count(),
            duration_ms: record.duration.as_count(),
            ..RunEndSummary::default()
        };
        let (subtype, reason) = (subtype.text(), reason.text());
        let interrupted = std::mem::take(&mut self.interrupted);
        self.end =
            Some(if subtype.starts_with("error_max_turns") || subtype.starts_with("error_max_budget") {
                EndEvent::with_outcome(RunOutcome::Budget, message, summary)
            } else if reason.starts_with("aborted")
                || (interrupted && subtype.starts_with("error_during_execution"))
            {
                EndEvent::with_outcome(
                    RunOutcome::Interrupted,
                    format!("the agent was interrupted: {message}"),
                    summary,
                )
            } else if subtype == "success" && is_error.0 != Some(true) && summary.turns == Some(0) {
                // A command of its own, or a hook that stopped the prompt: it answered without its model.
                EndEvent::of_failure(FailKind::NoResult, NO_MODEL, summary)
            } else if subtype == "success" && is_error.0 != Some(true) {
                EndEvent::of_success(summary)
            } else {
                EndEvent::of_failure(fail::classify_failure(api_status.0, &message), message, summary)
            });
    }

    /// Sums up the usage of this process. `modelUsage` counts every model, sub-agents too, but after a resume what earlier processes
    /// used as well; `usage` leaves out what a budget has stopped.
    fn process_total(&mut self, record: &ClaudeEndRecord<'_>) -> UsageTotals {
        let sum = |models: &[super::wire::ModelCounts]| {
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
