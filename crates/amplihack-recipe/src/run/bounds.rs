//! The limits on what all agents of a run use together, and on the duration of the run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::UsageTotals;
use amplihack_launcher::budget::{LaunchUsage, RunBudget, SharedBudget, TokenPrices, UsageMeter};

use crate::result::StepResult;

/// The bounds of one run, for all its steps, sub-recipes and groups.
#[derive(Debug)]
pub struct RecipeBounds {
    budget: RunBudget,
    shared: SharedBudget,
    prices: BTreeMap<AgentBinary, TokenPrices>,
    deadline: Option<Instant>,
    /// The bound that ended a step, or kept one from its beginning.
    ended: RefCell<Option<String>>,
}

impl RecipeBounds {
    /// Bounds of a run that begins now, or goes on after it has used `earlier`.
    pub fn new(
        budget: RunBudget,
        prices: BTreeMap<AgentBinary, TokenPrices>,
        deadline: Option<Duration>,
        earlier: &UsageTotals,
    ) -> Self {
        let shared = SharedBudget::new(budget, 1);
        shared.end_run("earlier", earlier);
        let deadline = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        Self { budget, shared, prices, deadline, ended: RefCell::default() }
    }

    /// Reports whether the usage of agents is to be watched.
    pub(super) const fn is_budget_set(&self) -> bool {
        self.budget.is_set()
    }

    /// The longest time that a step with the limit `own`, or with none, may take.
    pub(super) fn limit_timeout(&self, own: Option<Duration>) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        [own, left].into_iter().flatten().min()
    }

    /// The reason that no further step may begin, in words; for a step that asks an agent if `is_agent`.
    pub(super) fn forbidding_reason(&self, is_agent: bool) -> Option<String> {
        let late = self.is_late().then(|| "the deadline of the run has passed".to_owned());
        let reason = late.or_else(|| if is_agent { self.shared.spent_bound() } else { None })?;
        self.record_end(&reason);
        Some(reason)
    }

    /// Reports whether the deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// The bound that the run has reached, if the agent of `session` has used `used` by now.
    pub(super) fn reached_bound(&self, session: &str, used: &LaunchUsage) -> Option<String> {
        self.shared.record_usage(session, &self.price_use(used))
    }

    /// The agent of `session` has ended and used `used`, with its price.
    pub(super) fn record_use(&self, session: &str, used: &LaunchUsage) -> UsageTotals {
        let mut meter = UsageMeter::new(self.prices.clone());
        meter.add_usage(used);
        if let Some(reason) = self.budget.unknown_cost(&meter) {
            self.shared.close_budget(reason);
        }
        let totals = meter.totals();
        self.shared.end_run(session, &totals);
        totals
    }

    /// The dollars that are left, if they are bounded.
    pub(super) fn dollars_left(&self) -> Option<f64> {
        let used = self.shared.total_usage().cost_usd.unwrap_or_default();
        self.budget.usd.map(|most| (most - used).max(0.0))
    }

    /// A step was ended, or not begun, for `reason`.
    pub(super) fn record_end(&self, reason: &str) {
        self.ended.borrow_mut().get_or_insert_with(|| reason.to_owned());
    }

    /// The bound that ended a step, or kept one from its beginning, in words.
    pub fn ended_by(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    fn price_use(&self, used: &LaunchUsage) -> UsageTotals {
        UsageMeter::new(self.prices.clone()).totals_with(used)
    }
}

/// Returns the usage of the agents of `steps`, those of sub-recipes included.
pub fn total_usage(steps: &[StepResult]) -> UsageTotals {
    let mut sum = UsageTotals::default();
    for step in steps {
        if let Some(agent) = &step.agent {
            sum.add_amounts(&agent.usage);
        }
        sum.add_amounts(&total_usage(&step.step_results));
    }
    sum
}
