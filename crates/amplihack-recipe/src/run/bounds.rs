//! What all agents of a run may use together, and how long the run may take.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::Totals;
use amplihack_launcher::budget::{Budget, Meter, Prices, SharedBudget, Used};

use crate::result::StepResult;

/// The bounds of one run, for all its steps, sub-recipes and groups.
#[derive(Debug)]
pub struct RecipeBounds {
    budget: Budget,
    shared: SharedBudget,
    prices: BTreeMap<AgentBinary, Prices>,
    deadline: Option<Instant>,
    /// The bound that ended a step, or kept one from its beginning.
    ended: RefCell<Option<String>>,
}

impl RecipeBounds {
    /// Bounds of a run that begins now, or goes on after it has used `earlier`.
    pub fn new(
        budget: Budget,
        prices: BTreeMap<AgentBinary, Prices>,
        deadline: Option<Duration>,
        earlier: &Totals,
    ) -> Self {
        let shared = SharedBudget::new(budget, 1);
        shared.ended("earlier", earlier);
        let deadline = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        Self { budget, shared, prices, deadline, ended: RefCell::default() }
    }

    /// Whether what agents use is to be watched.
    pub(super) const fn is_budget_set(&self) -> bool {
        self.budget.is_set()
    }

    /// How long a step may take that has a limit of its own, or none.
    pub(super) fn timeout(&self, own: Option<Duration>) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        [own, left].into_iter().flatten().min()
    }

    /// Why no further step may begin, in words; one that asks an agent if `is_agent`.
    pub(super) fn forbids(&self, is_agent: bool) -> Option<String> {
        let late = self.is_late().then(|| "the deadline of the run has passed".to_owned());
        let reason = late.or_else(|| if is_agent { self.shared.spent() } else { None })?;
        self.end(&reason);
        Some(reason)
    }

    /// Whether the deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// The bound that the run has reached, if the agent of `session` has used `used` by now.
    pub(super) fn reached(&self, session: &str, used: &Used) -> Option<String> {
        self.shared.reached(session, &self.priced(used))
    }

    /// The agent of `session` has ended and used `used`, with its price.
    pub(super) fn used(&self, session: &str, used: &Used) -> Totals {
        let mut meter = Meter::new(self.prices.clone());
        meter.add(used);
        if let Some(reason) = self.budget.unknown_cost(&meter) {
            self.shared.close(reason);
        }
        let totals = meter.totals();
        self.shared.ended(session, &totals);
        totals
    }

    /// The dollars that are left, if they are bounded.
    pub(super) fn dollars_left(&self) -> Option<f64> {
        let used = self.shared.used().cost_usd.unwrap_or_default();
        self.budget.usd.map(|most| (most - used).max(0.0))
    }

    /// A step was ended, or not begun, for `reason`.
    pub(super) fn end(&self, reason: &str) {
        self.ended.borrow_mut().get_or_insert_with(|| reason.to_owned());
    }

    /// The bound that ended a step, or kept one from its beginning, in words.
    pub fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    fn priced(&self, used: &Used) -> Totals {
        Meter::new(self.prices.clone()).with(used)
    }
}

/// What the agents of `steps` used, those of sub-recipes included.
pub fn usage(steps: &[StepResult]) -> Totals {
    let mut sum = Totals::default();
    for step in steps {
        if let Some(agent) = &step.agent {
            sum.add(&agent.usage);
        }
        sum.add(&usage(&step.step_results));
    }
    sum
}
