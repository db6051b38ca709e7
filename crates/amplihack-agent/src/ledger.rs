//! Usage of a run, counted once.

use std::collections::{BTreeMap, VecDeque};

use crate::event::{AgentUsage, UsageTotals};

/// Adds up what a run uses. A message that is reported again replaces its former report; the agent's own total
/// replaces the sum.
#[derive(Debug, Clone, Default)]
pub struct UsageLedger {
    messages: BTreeMap<String, UsageTotals>,
    /// Ids of the messages, the oldest first.
    order: VecDeque<String>,
    /// Messages without an id, and those whose reports are all in.
    settled: UsageTotals,
    stated: Option<UsageTotals>,
}

/// Messages that may still be reported again. Reports of one message come close together; a sub-agent's may be between them.
const OPEN_MESSAGES: usize = 4096;

impl UsageLedger {
    /// Takes a report in.
    pub fn observe(&mut self, usage: &AgentUsage) {
        match (&usage.message, usage.total) {
            // Agents that run several turns in one process state a total each time; the last one holds.
            (_, true) => self.stated = Some(usage.amounts),
            (Some(message), false) => {
                if self.messages.insert(message.clone(), usage.amounts).is_none() {
                    self.order.push_back(message.clone());
                }
                // The memory of a run is bounded, however many messages it has.
                if self.order.len() > OPEN_MESSAGES
                    && let Some(amounts) = self.order.pop_front().and_then(|old| self.messages.remove(&old))
                {
                    self.settled.add_amounts(&amounts);
                }
            }
            (None, false) => self.settled.add_amounts(&usage.amounts),
        }
    }

    /// Returns the usage so far.
    pub fn totals(&self) -> UsageTotals {
        let mut sum = self.settled;
        for amounts in self.messages.values() {
            sum.add_amounts(amounts);
        }
        match self.stated {
            // An agent may count its money and leave its tokens out, or the other way round.
            Some(stated) => UsageTotals {
                cost_usd: stated.cost_usd.or(sum.cost_usd),
                premium_requests: stated.premium_requests.or(sum.premium_requests),
                ..if stated.has_tokens() { stated } else { sum }
            },
            None => sum,
        }
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
    fn a_run_of_many_messages_keeps_few_of_them_and_counts_all() {
        let mut ledger = UsageLedger::default();
        let messages = 10 * OPEN_MESSAGES;
        for number in 0..messages {
            let id = format!("msg-{number}");
            for input in [1, 3] {
                ledger.observe(&usage(Some(&id), input, false));
            }
        }
        assert_eq!(ledger.totals().input_tokens, 3 * messages as u64);
        assert_eq!((ledger.messages.len(), ledger.order.len()), (OPEN_MESSAGES, OPEN_MESSAGES));
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
        assert_eq!(ledger.totals().input_tokens, 40);
    }
}
