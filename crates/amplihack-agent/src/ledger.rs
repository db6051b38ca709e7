//! Usage of a run, counted once.

use std::collections::{HashMap, VecDeque};

use crate::event::{AgentUsage, UsageTotals};

/// The most messages whose reports may still be replaced. Each agent and sub-agent writes one message at a time, and few of them are at
/// work at once; what an older message used is final.
const OPEN_MESSAGES: usize = 256;

/// Adds up what a run uses. A message that is reported again replaces its former report; the agent's own total
/// replaces the sum. Its size does not grow with the run.
#[derive(Debug, Clone, Default)]
pub struct UsageLedger {
    /// Reports that may be replaced, by message.
    messages: HashMap<String, UsageTotals>,
    /// Messages of these reports, the oldest first.
    order: VecDeque<String>,
    /// All else that was reported.
    settled: UsageTotals,
    stated: Option<UsageTotals>,
}

impl UsageLedger {
    /// Takes a report in.
    pub fn observe(&mut self, usage: &AgentUsage) {
        match (&usage.message, usage.total) {
            // Agents that run several turns in one process state a total each time; the last one holds, in each of its parts.
            (_, true) => {
                let earlier = self.stated.unwrap_or(usage.amounts);
                self.stated = Some(with_parts_of(usage.amounts, earlier));
            }
            (Some(message), false) => self.observe_message(message, usage.amounts),
            (None, false) => self.settled.add_amounts(&usage.amounts),
        }
    }

    fn observe_message(&mut self, message: &str, amounts: UsageTotals) {
        if let Some(known) = self.messages.get_mut(message) {
            *known = amounts;
            return;
        }
        if self.order.len() == OPEN_MESSAGES
            && let Some(oldest) = self.order.pop_front()
            && let Some(amounts) = self.messages.remove(&oldest)
        {
            self.settled.add_amounts(&amounts);
        }
        self.order.push_back(message.to_owned());
        self.messages.insert(message.to_owned(), amounts);
    }

    /// Returns the usage so far.
    pub fn totals(&self) -> UsageTotals {
        let mut sum = self.settled;
        // In the order of their coming: sums of fractions depend on it.
        for amounts in self.order.iter().filter_map(|message| self.messages.get(message)) {
            sum.add_amounts(amounts);
        }
        self.stated.map_or(sum, |stated| with_parts_of(stated, sum))
    }
}

/// `stated`, with the parts of `other` that it leaves out: an agent may count its money and leave its tokens out, or the other way round.
fn with_parts_of(stated: UsageTotals, other: UsageTotals) -> UsageTotals {
    UsageTotals {
        cost_usd: stated.cost_usd.or(other.cost_usd),
        premium_requests: stated.premium_requests.or(other.premium_requests),
        ..if stated.has_tokens() { stated } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::{OPEN_MESSAGES, UsageLedger};
    use crate::event::{AgentUsage, UsageTotals};

    fn usage(message: Option<&str>, input: u64, total: bool) -> AgentUsage {
        AgentUsage {
            message: message.map(str::to_owned),
            total,
            amounts: UsageTotals { input_tokens: input, ..UsageTotals::default() },
            ..AgentUsage::default()
        }
    }

    #[test]
    fn a_repeated_message_counts_once_and_the_stated_total_holds() {
        let mut ledger = UsageLedger::default();
        for (message, input) in [(Some("a"), 1), (Some("a"), 5), (Some("b"), 7), (None, 2), (None, 2)] {
            ledger.observe(&usage(message, input, false));
        }
        assert_eq!(ledger.totals().input_tokens, 16);
        ledger.observe(&AgentUsage {
            amounts: UsageTotals { cost_usd: Some(0.25), ..UsageTotals::default() },
            ..usage(None, 0, true)
        });
        assert_eq!((ledger.totals().input_tokens, ledger.totals().cost_usd), (16, Some(0.25)));
        ledger.observe(&usage(None, 40, true));
        assert_eq!((ledger.totals().input_tokens, ledger.totals().cost_usd), (40, Some(0.25)));
        let requests = UsageTotals { premium_requests: Some(2.0), ..UsageTotals::default() };
        ledger.observe(&AgentUsage { amounts: requests, ..usage(None, 0, true) });
        assert_eq!((ledger.totals().input_tokens, ledger.totals().premium_requests), (40, Some(2.0)));
    }

    #[test]
    fn a_long_run_needs_no_more_memory_than_a_short_one() {
        let mut ledger = UsageLedger::default();
        for number in 0..400_000_u64 {
            let message = format!("msg_{number:024x}");
            // Once for each block of the message, the last report with all of it.
            for input in [1, 3] {
                ledger.observe(&usage(Some(&message), input, false));
            }
        }
        assert_eq!(ledger.totals().input_tokens, 1_200_000);
        assert_eq!((ledger.messages.len(), ledger.order.len()), (OPEN_MESSAGES, OPEN_MESSAGES));
        // The messages of sub-agents that are at work at the same time.
        for _ in 0..2 {
            for agent in 0..200 {
                ledger.observe(&usage(Some(&format!("agent-{agent}")), 10, false));
            }
        }
        assert_eq!(ledger.totals().input_tokens, 1_202_000);
    }
}
