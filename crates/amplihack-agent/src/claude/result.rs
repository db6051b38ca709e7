//! What Claude Code's own record of its end says: why it ended, what it used, what it was denied.

use super::decode::ClaudeStream;
use super::wire::Record;
use crate::decode::fail;
use crate::decode::lines::NO_REASON;
use crate::decode::wire::Str;
use crate::event::{AgentEvent, EndEvent, Permission, RunOutcome, Summary, Totals, Usage};

impl ClaudeStream {
    /// Tells denials and the total. The end is kept, since only the exit shows whether it was so.
    ///
    /// A process that is given several prompts makes a record after each; the last one holds.
    pub(super) fn record(&mut self, record: Record<'_>, out: &mut Vec<AgentEvent>) {
        let amounts = self.total(&record);
        let Record { subtype, is_error, result, errors, reason, api_status, session, .. } = record;
        for denial in record.denials.0 {
            let id = denial.call.string();
            if self.denied.insert(id.clone()) {
                out.push(AgentEvent::PermissionDecided(Permission {
                    id,
                    tool: denial.tool.own(),
                    allowed: Some(false),
                    reason: None,
                }));
            }
        }
        out.push(AgentEvent::Usage(Usage { total: true, amounts, ..Usage::default() }));
        let result = result.own();
        let errors: Vec<String> = errors.0.into_iter().filter_map(Str::own).collect();
        let message = match (&result, errors.is_empty()) {
            (_, false) => errors.join("\n"),
            (Some(result), true) => result.clone(),
            (None, true) if subtype.text().is_empty() => NO_REASON.to_owned(),
            (None, true) => subtype.text().to_owned(),
        };
        let summary = Summary {
            text: result.or_else(|| self.text.clone()),
            agent_session: session.own().or_else(|| self.session.clone()),
            turns: record.turns.counted(),
            duration_ms: record.duration.counted(),
            exit: None,
        };
        let (subtype, reason) = (subtype.text(), reason.text());
        let interrupted = std::mem::take(&mut self.interrupted);
        self.end =
            Some(if subtype.starts_with("error_max_turns") || subtype.starts_with("error_max_budget") {
                EndEvent::of(RunOutcome::Budget, message, summary)
            } else if reason.starts_with("aborted")
                || (interrupted && subtype.starts_with("error_during_execution"))
            {
                EndEvent::of(
                    RunOutcome::Interrupted,
                    format!("the agent was interrupted: {message}"),
                    summary,
                )
            } else if subtype == "success" && is_error.0 != Some(true) {
                EndEvent::success(summary)
            } else {
                EndEvent::of_failure(fail::kind(api_status.0, &message), message, summary)
            });
    }

    /// What this process used. `modelUsage` counts every model, sub-agents too, but after a resume what earlier processes
    /// used as well; `usage` leaves out what a budget has stopped.
    fn total(&mut self, record: &Record<'_>) -> Totals {
        let sum = |models: &[super::wire::ModelCounts]| {
            let mut sum = Totals::default();
            for model in models {
                sum.add(&model.totals());
            }
            sum
        };
        match (&record.models_since, &record.models, &record.usage) {
            (Some(models), _, _) => self.used.add(&sum(&models.0)),
            (None, Some(models), _) if !models.0.is_empty() => self.used = sum(&models.0),
            (None, _, Some(counts)) => {
                self.used.add(&counts.totals());
                self.used.cost_usd = record.cost.0;
            }
            (None, _, None) => self.used.cost_usd = record.cost.0.or(self.used.cost_usd),
        }
        self.used
    }
}
