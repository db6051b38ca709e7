//! A budget that several runs of a process share.

use std::cell::RefCell;
use std::collections::BTreeMap;

use amplihack_agent::event::UsageTotals;

use super::RunBudget;

/// The least part of a budget in dollars that is worth a turn.
const LEAST_SHARE: f64 = 0.01;

/// Budget that several runs use together, and the usage of each of them.
#[derive(Debug)]
pub struct SharedBudget {
    budget: RunBudget,
    runs: RefCell<BTreeMap<String, BudgetShare>>,
    /// Runs that may be under way at once.
    at_once: usize,
    closed: RefCell<Option<String>>,
}

#[derive(Debug, Default)]
struct BudgetShare {
    used: UsageTotals,
    /// The dollars up to which it was given leave.
    share: Option<f64>,
    ended: bool,
}

impl SharedBudget {
    /// Nothing used of `budget` by runs of which at most `at_once` are under way.
    pub fn new(budget: RunBudget, at_once: usize) -> Self {
        Self { budget, runs: RefCell::default(), at_once: at_once.max(1), closed: RefCell::default() }
    }

    /// Takes in what the run `id` has used by now, and tells which bound all runs together have reached.
    pub fn record_usage(&self, id: &str, used: &UsageTotals) -> Option<String> {
        self.change_share(id, |run| run.used = *used);
        self.spent_bound()
    }

    /// Takes in the usage of the run `id` between turns, when too little for a turn is no different from nothing.
    pub fn record_turn_end(&self, id: &str, used: &UsageTotals) -> Option<String> {
        self.change_share(id, |run| (run.used, run.share) = (*used, None));
        self.spent_bound().or_else(|| {
            let most = self.budget.usd?;
            let left = self.unshared_dollars()?;
            (left < most * LEAST_SHARE)
                .then(|| format!("${left:.4} of the ${most:.4} of all runs are left, too little for a turn"))
        })
    }

    /// The bound that all runs together have reached, in words.
    pub fn spent_bound(&self) -> Option<String> {
        if let Some(reason) = &*self.closed.borrow() {
            return Some(reason.clone());
        }
        let reason = self.budget.reached_bound(&self.total_usage())?;
        Some(format!("{reason} by all runs together"))
    }

    /// Nothing more is begun, for this reason: what was used cannot be told.
    pub fn close_budget(&self, reason: String) {
        self.closed.borrow_mut().get_or_insert(reason);
    }

    /// Usage of all runs together.
    pub fn total_usage(&self) -> UsageTotals {
        let mut sum = UsageTotals::default();
        for run in self.runs.borrow().values() {
            sum.add_amounts(&run.used);
        }
        sum
    }

    /// The dollars that the run `id`, which has used `used`, may use in its next turn: its share of what no other run was given.
    pub fn give_share(&self, id: &str, used: &UsageTotals) -> Option<f64> {
        self.change_share(id, |run| (run.used, run.share) = (*used, None));
        let left = self.unshared_dollars()?;
        let runs = self.runs.borrow();
        let shared = runs.values().filter(|run| !run.ended && run.share.is_some()).count();
        drop(runs);
        let open = self.at_once.saturating_sub(shared).max(1);
        #[expect(clippy::cast_precision_loss, reason = "nobody starts so many runs at once")]
        let share = left / open as f64;
        self.change_share(id, |run| run.share = Some(run.used.cost_usd.unwrap_or_default() + share));
        Some(share)
    }

    /// The run `id` has ended: what it was given and did not use is there for others.
    pub fn end_run(&self, id: &str, used: &UsageTotals) {
        self.change_share(id, |run| *run = BudgetShare { used: *used, share: None, ended: true });
    }

    /// The dollars that are neither used nor given to a run.
    fn unshared_dollars(&self) -> Option<f64> {
        let most = self.budget.usd?;
        let taken = |run: &BudgetShare| {
            let used = run.used.cost_usd.unwrap_or_default();
            run.share.map_or(used, |share| share.max(used))
        };
        Some((most - self.runs.borrow().values().map(taken).sum::<f64>()).max(0.0))
    }

    fn change_share(&self, id: &str, change: impl FnOnce(&mut BudgetShare)) {
        change(self.runs.borrow_mut().entry(id.to_owned()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::count_tokens;

    fn used(tokens: u64, cost: f64) -> UsageTotals {
        UsageTotals { input_tokens: tokens, cost_usd: Some(cost), ..UsageTotals::default() }
    }

    #[test]
    fn runs_use_one_budget_up_together() {
        let shared = SharedBudget::new(RunBudget { tokens: Some(100), usd: None }, 2);
        assert_eq!(shared.record_usage("a", &used(60, 0.0)), None);
        assert_eq!(shared.record_usage("b", &used(39, 0.0)), None);
        // What a run reports again replaces what it reported before.
        assert_eq!(shared.record_usage("b", &used(39, 0.0)), None);
        let reason = shared.record_usage("b", &used(41, 0.0)).unwrap();
        assert!(reason.contains("101 of 100 tokens"), "{reason}");
        assert_eq!((shared.spent_bound(), count_tokens(&shared.total_usage())), (Some(reason), 101));
    }

    #[test]
    fn shares_never_add_up_to_more_than_the_budget() {
        let shared = SharedBudget::new(RunBudget { tokens: None, usd: Some(10.0) }, 2);
        assert_eq!(shared.give_share("a", &used(0, 0.0)), Some(5.0));
        assert_eq!(shared.give_share("b", &used(0, 0.0)), Some(5.0));
        // The share of one that ended is there for the other.
        shared.end_run("b", &used(1, 1.0));
        assert_eq!(shared.give_share("a", &used(1, 5.0)), Some(2.0));
        assert_eq!(shared.give_share("c", &used(0, 0.0)), Some(2.0));
        assert_eq!(shared.record_turn_end("a", &used(1, 6.0)), None);
        shared.end_run("c", &used(1, 1.95));
        assert!(shared.record_turn_end("a", &used(1, 7.0)).unwrap().contains("too little"));
    }
}
