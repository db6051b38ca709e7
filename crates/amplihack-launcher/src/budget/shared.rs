//! One budget over several runs of a process.

use std::cell::RefCell;
use std::collections::BTreeMap;

use amplihack_agent::event::Totals;

use super::Budget;

/// The least part of a budget in dollars that is worth a turn.
const LEAST_SHARE: f64 = 0.01;

/// What several runs may use together, and what each of them has used.
#[derive(Debug)]
pub struct SharedBudget {
    budget: Budget,
    runs: RefCell<BTreeMap<String, Run>>,
    /// Runs that may be under way at once.
    at_once: usize,
    closed: RefCell<Option<String>>,
}

#[derive(Debug, Default)]
struct Run {
    used: Totals,
    /// The dollars up to which it was given leave.
    share: Option<f64>,
    ended: bool,
}

impl SharedBudget {
    /// Nothing used of `budget` by runs of which at most `at_once` are under way.
    pub fn new(budget: Budget, at_once: usize) -> Self {
        Self { budget, runs: RefCell::default(), at_once: at_once.max(1), closed: RefCell::default() }
    }

    /// Takes in what the run `id` has used by now, and tells which bound all runs together have reached.
    pub fn reached(&self, id: &str, used: &Totals) -> Option<String> {
        self.run(id, |run| run.used = *used);
        self.spent()
    }

    /// The same between turns, when too little for a turn is no different from nothing.
    pub fn ends(&self, id: &str, used: &Totals) -> Option<String> {
        self.run(id, |run| (run.used, run.share) = (*used, None));
        self.spent().or_else(|| {
            let most = self.budget.usd?;
            let left = self.unshared()?;
            (left < most * LEAST_SHARE)
                .then(|| format!("${left:.4} of the ${most:.4} of all runs are left, too little for a turn"))
        })
    }

    /// The bound that all runs together have reached, in words.
    pub fn spent(&self) -> Option<String> {
        if let Some(reason) = &*self.closed.borrow() {
            return Some(reason.clone());
        }
        let reason = self.budget.reached(&self.used())?;
        Some(format!("{reason} by all runs together"))
    }

    /// Nothing more is begun, for this reason: what was used cannot be told.
    pub fn close(&self, reason: String) {
        self.closed.borrow_mut().get_or_insert(reason);
    }

    /// What all runs have used.
    pub fn used(&self) -> Totals {
        let mut sum = Totals::default();
        for run in self.runs.borrow().values() {
            sum.add(&run.used);
        }
        sum
    }

    /// The dollars that the run `id`, which has used `used`, may use in its next turn: its share of what no other run was given.
    pub fn share(&self, id: &str, used: &Totals) -> Option<f64> {
        self.run(id, |run| (run.used, run.share) = (*used, None));
        let left = self.unshared()?;
        let runs = self.runs.borrow();
        let shared = runs.values().filter(|run| !run.ended && run.share.is_some()).count();
        drop(runs);
        let open = self.at_once.saturating_sub(shared).max(1);
        #[expect(clippy::cast_precision_loss, reason = "nobody starts so many runs at once")]
        let share = left / open as f64;
        self.run(id, |run| run.share = Some(run.used.cost_usd.unwrap_or_default() + share));
        Some(share)
    }

    /// The run `id` has ended: what it was given and did not use is there for others.
    pub fn ended(&self, id: &str, used: &Totals) {
        self.run(id, |run| *run = Run { used: *used, share: None, ended: true });
    }

    /// The dollars that are neither used nor given to a run.
    fn unshared(&self) -> Option<f64> {
        let most = self.budget.usd?;
        let taken = |run: &Run| {
            let used = run.used.cost_usd.unwrap_or_default();
            run.share.map_or(used, |share| share.max(used))
        };
        Some((most - self.runs.borrow().values().map(taken).sum::<f64>()).max(0.0))
    }

    fn run(&self, id: &str, change: impl FnOnce(&mut Run)) {
        change(self.runs.borrow_mut().entry(id.to_owned()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::tokens;

    fn used(tokens: u64, cost: f64) -> Totals {
        Totals { input_tokens: tokens, cost_usd: Some(cost), ..Totals::default() }
    }

    #[test]
    fn runs_use_one_budget_up_together() {
        let shared = SharedBudget::new(Budget { tokens: Some(100), usd: None }, 2);
        assert_eq!(shared.reached("a", &used(60, 0.0)), None);
        assert_eq!(shared.reached("b", &used(39, 0.0)), None);
        // What a run reports again replaces what it reported before.
        assert_eq!(shared.reached("b", &used(39, 0.0)), None);
        let reason = shared.reached("b", &used(41, 0.0)).unwrap();
        assert!(reason.contains("101 of 100 tokens"), "{reason}");
        assert_eq!((shared.spent(), tokens(&shared.used())), (Some(reason), 101));
    }

    #[test]
    fn shares_never_add_up_to_more_than_the_budget() {
        let shared = SharedBudget::new(Budget { tokens: None, usd: Some(10.0) }, 2);
        assert_eq!(shared.share("a", &used(0, 0.0)), Some(5.0));
        assert_eq!(shared.share("b", &used(0, 0.0)), Some(5.0));
        // The share of one that ended is there for the other.
        shared.ended("b", &used(1, 1.0));
        assert_eq!(shared.share("a", &used(1, 5.0)), Some(2.0));
        assert_eq!(shared.share("c", &used(0, 0.0)), Some(2.0));
        assert_eq!(shared.ends("a", &used(1, 6.0)), None);
        shared.ended("c", &used(1, 1.95));
        assert!(shared.ends("a", &used(1, 7.0)).unwrap().contains("too little"));
    }
}
