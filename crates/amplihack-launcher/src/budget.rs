//! Usage of a run, across turns and agents, and its budget.

mod shared;

use std::collections::BTreeMap;
use std::str::FromStr;

use amplihack_agent::event::UsageTotals;
use amplihack_agent::{AgentBinary, agent_profile};
use amplihack_config::LayeredConfig;
use serde::{Deserialize, Serialize};

pub use shared::SharedBudget;

/// Bounds of what a run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunBudget {
    /// Tokens: input, cache write, cache read and output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

/// Prices of a million tokens, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TokenPrices {
    /// Input that is not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input that is written to the cache.
    pub cache_write: f64,
    /// Input that is read from the cache.
    pub cache_read: f64,
}

/// A text is no [`TokenPrices`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no prices: {0:?}; write dollars per million tokens, as input=3 output=15 cache_write=3.75 cache_read=0.3"
)]
pub struct BadPrices(pub String);

impl FromStr for TokenPrices {
    type Err = BadPrices;

    fn from_str(text: &str) -> Result<Self, BadPrices> {
        let bad = || BadPrices(text.to_owned());
        let (mut input, mut output, mut cache_write, mut cache_read) = (None, None, None, None);
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').ok_or_else(bad)?;
            let value: f64 = value.parse().map_err(|_| bad())?;
            let slot = match name {
                "input" => &mut input,
                "output" => &mut output,
                "cache_write" => &mut cache_write,
                "cache_read" => &mut cache_read,
                _ => return Err(bad()),
            };
            if !value.is_finite() || value < 0.0 || slot.replace(value).is_some() {
                return Err(bad());
            }
        }
        let input = input.ok_or_else(bad)?;
        Ok(Self {
            input,
            output: output.ok_or_else(bad)?,
            // Who says nothing of the cache pays for it like for any input.
            cache_write: cache_write.unwrap_or(input),
            cache_read: cache_read.unwrap_or(input),
        })
    }
}

impl TokenPrices {
    /// Reads the prices of `agent` from the configuration; `None` if it has none.
    pub fn from_config(config: &LayeredConfig, agent: AgentBinary) -> Result<Option<Self>, BadPrices> {
        config.prices(agent).map(str::parse).transpose()
    }

    /// Returns what `used` costs, in US dollars.
    #[expect(
        clippy::cast_precision_loss,
        reason = "no run uses so many tokens that a float could not count them"
    )]
    pub fn cost_of(&self, used: &UsageTotals) -> f64 {
        let of = |count: u64, price: f64| count as f64 * price / 1e6;
        of(used.input_tokens, self.input)
            + of(used.output_tokens, self.output)
            + of(used.cache_write_tokens, self.cache_write)
            + of(used.cache_read_tokens, self.cache_read)
    }
}

/// All tokens that count against a budget.
pub const fn count_tokens(used: &UsageTotals) -> u64 {
    used.input_tokens
        .saturating_add(used.output_tokens)
        .saturating_add(used.cache_read_tokens)
        .saturating_add(used.cache_write_tokens)
}

/// Usage of one launch of an agent, as the agent states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchUsage {
    /// The agent.
    pub agent: AgentBinary,
    /// The agent's session: some agents state what all of it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Totals as stated, or as counted where that is more.
    pub totals: UsageTotals,
    /// Tokens in it that a stated cost does not cover.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unpriced: UsageTotals,
}

impl LaunchUsage {
    /// Returns the usage that `agent` states for `session`.
    pub fn from_totals(agent: AgentBinary, session: Option<String>, totals: UsageTotals) -> Self {
        Self { agent, session, totals, unpriced: UsageTotals::default() }
    }

    /// The tokens whose cost is not stated. Nobody gives tokens away: a cost of nothing is none.
    fn without_cost(&self) -> UsageTotals {
        if self.totals.cost_usd.is_some_and(|cost| cost > 0.0) { self.unpriced } else { self.totals }
    }
}

fn is_nothing(totals: &UsageTotals) -> bool {
    *totals == UsageTotals::default()
}

/// Adds up what a run uses: a session of an agent that states its sum counts once, however many turns it has.
#[derive(Debug, Clone, Default)]
pub struct UsageMeter {
    /// By agent and session, for those whose totals are those of the session.
    sessions: BTreeMap<(AgentBinary, String), UsageTotals>,
    launches: BTreeMap<AgentBinary, UsageTotals>,
    /// Tokens of `launches` whose cost is not stated.
    unpriced: BTreeMap<AgentBinary, UsageTotals>,
    prices: BTreeMap<AgentBinary, TokenPrices>,
}

impl UsageMeter {
    /// A meter of nothing, with prices for agents that do not say what they cost.
    pub const fn new(prices: BTreeMap<AgentBinary, TokenPrices>) -> Self {
        Self { sessions: BTreeMap::new(), launches: BTreeMap::new(), unpriced: BTreeMap::new(), prices }
    }

    /// Takes in what a launch used.
    pub fn add_usage(&mut self, used: &LaunchUsage) {
        self.sum_up(used, &used.without_cost());
    }

    /// Takes in what a launch used, of which `unpriced` is without a stated cost.
    fn sum_up(&mut self, used: &LaunchUsage, unpriced: &UsageTotals) {
        match &used.session {
            Some(session) if agent_profile(used.agent).counts.session_totals => {
                let sum = self.sessions.entry((used.agent, session.clone())).or_default();
                // A turn that failed states nothing, or less.
                if count_tokens(&used.totals) >= count_tokens(sum) {
                    *sum = UsageTotals { premium_requests: sum.premium_requests, ..used.totals };
                }
                add_requests(sum, &used.totals);
            }
            _ => {
                self.launches.entry(used.agent).or_default().add_amounts(&used.totals);
                self.unpriced.entry(used.agent).or_default().add_amounts(unpriced);
            }
        }
    }

    /// Usage of `agent`'s session `session` so far, if its totals are those of the session.
    pub fn session_totals(&self, agent: AgentBinary, session: Option<&str>) -> UsageTotals {
        let of = |session: &str| self.sessions.get(&(agent, session.to_owned())).copied();
        session.and_then(of).unwrap_or_default()
    }

    /// The sum, and what it costs where that is said or can be told.
    pub fn totals(&self) -> UsageTotals {
        let mut sum = UsageTotals::default();
        for ((agent, _), used) in &self.sessions {
            sum.add_amounts(&UsageTotals { cost_usd: self.cost_by_price(*agent, used), ..*used });
        }
        for (agent, used) in &self.launches {
            let unpriced = self.unpriced.get(agent).copied().unwrap_or_default();
            let stated = used.cost_usd.filter(|cost| *cost > 0.0);
            let by_price = unpriced
                .has_tokens()
                .then(|| {
                    self.cost_by_price(*agent, &unpriced).or_else(|| cost_by_rate(stated?, used, &unpriced))
                })
                .flatten();
            let cost_usd = match (stated, by_price) {
                (Some(stated), by_price) => Some(stated + by_price.unwrap_or_default()),
                (None, by_price) => by_price,
            };
            sum.add_amounts(&UsageTotals { cost_usd, ..*used });
        }
        sum
    }

    /// Totals as if the launch of `live` had ended.
    pub fn totals_with(&self, live: &LaunchUsage) -> UsageTotals {
        let mut meter = self.clone();
        if self.prices.contains_key(&live.agent) {
            meter.add_usage(live);
        } else {
            // What has no price yet may get one with the agent's last word; a guess ends no turn.
            let cost_usd = live.totals.cost_usd.filter(|cost| *cost > 0.0).or(Some(0.0));
            let totals = UsageTotals { cost_usd, ..live.totals };
            meter.sum_up(
                &LaunchUsage { totals, unpriced: UsageTotals::default(), ..live.clone() },
                &UsageTotals::default(),
            );
        }
        meter.totals()
    }

    /// The agent of a launch whose cost nobody knows: it used tokens, stated no cost for them, and has no price.
    pub fn without_price(&self) -> Option<AgentBinary> {
        let is_stated = |agent: &AgentBinary| {
            self.launches.get(agent).and_then(|used| used.cost_usd).is_some_and(|cost| cost > 0.0)
        };
        let unknown = |(agent, used): &(&AgentBinary, &UsageTotals)| {
            used.has_tokens() && !self.prices.contains_key(agent) && !is_stated(agent)
        };
        let of_sessions = self.sessions.iter().map(|((agent, _), used)| (agent, used));
        self.unpriced.iter().chain(of_sessions).find(unknown).map(|(agent, _)| *agent)
    }

    /// Cost of `used` by the price of `agent`, if that is known.
    fn cost_by_price(&self, agent: AgentBinary, used: &UsageTotals) -> Option<f64> {
        self.prices.get(&agent).map(|prices| prices.cost_of(used))
    }
}

/// Cost of `unpriced` tokens at the rate of the others in `used`, which cost `stated`: for a turn that was cut before the agent told.
///
/// Kinds of tokens are weighed as providers' lists weigh them: output five times, cache write 1.25 times, cache read a tenth of input.
fn cost_by_rate(stated: f64, used: &UsageTotals, unpriced: &UsageTotals) -> Option<f64> {
    const WEIGHTS: TokenPrices = TokenPrices { input: 1.0, output: 5.0, cache_write: 1.25, cache_read: 0.1 };
    let (all, part) = (WEIGHTS.cost_of(used), WEIGHTS.cost_of(unpriced));
    (all > part).then(|| stated * part / (all - part))
}

/// Premium requests are stated by launch even where tokens are stated by session.
fn add_requests(sum: &mut UsageTotals, used: &UsageTotals) {
    if let Some(more) = used.premium_requests {
        sum.premium_requests = Some(sum.premium_requests.unwrap_or_default() + more);
    }
}

impl RunBudget {
    /// Names the bound that `used` has reached, in words.
    pub fn reached_bound(&self, used: &UsageTotals) -> Option<String> {
        if let Some(most) = self.tokens
            && count_tokens(used) >= most
        {
            return Some(format!("{} of {most} tokens are used", count_tokens(used)));
        }
        let (most, cost) = (self.usd?, used.cost_usd?);
        (cost >= most).then(|| format!("${cost:.4} of ${most:.4} are used"))
    }

    /// Reason why a budget in dollars cannot be kept, in words: `meter` has tokens whose cost nobody knows.
    pub fn unknown_cost(&self, meter: &UsageMeter) -> Option<String> {
        let agent = self.usd.and_then(|_| meter.without_price())?;
        Some(format!(
            "--budget-usd cannot be kept: {agent} does not report the cost of its tokens, and prices.{agent} is not configured"
        ))
    }

    /// Reports whether anything is bounded.
    pub const fn is_set(&self) -> bool {
        self.tokens.is_some() || self.usd.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(input: u64, output: u64) -> UsageTotals {
        UsageTotals { input_tokens: input, output_tokens: output, ..UsageTotals::default() }
    }

    fn used(agent: AgentBinary, session: &str, totals: UsageTotals) -> LaunchUsage {
        LaunchUsage::from_totals(agent, Some(session.to_owned()), totals)
    }

    #[test]
    fn sessions_that_state_their_sum_count_once_and_launches_add_up() {
        let mut meter = UsageMeter::default();
        for (agent, session, amounts) in [
            (AgentBinary::Codex, "a", totals(10, 5)),
            (AgentBinary::Codex, "a", totals(30, 9)),
            // It failed, and stated nothing.
            (AgentBinary::Codex, "a", totals(0, 0)),
            (AgentBinary::Codex, "b", totals(1, 1)),
            (AgentBinary::Claude, "c", totals(100, 10)),
            (AgentBinary::Claude, "c", totals(100, 10)),
        ] {
            meter.add_usage(&used(agent, session, amounts));
        }
        assert_eq!(meter.totals(), totals(231, 30));
        assert_eq!(count_tokens(&meter.totals_with(&used(AgentBinary::Codex, "b", totals(4, 2)))), 265);
    }

    #[test]
    fn money_is_what_the_agent_says_else_what_the_price_says() {
        let prices: TokenPrices = "input=2 output=10 cache_read=0.5".parse().unwrap();
        assert_eq!(prices.cache_write.to_bits(), 2.0_f64.to_bits());
        let mut meter = UsageMeter::new([(AgentBinary::Codex, prices), (AgentBinary::Claude, prices)].into());
        meter.add_usage(&used(
            AgentBinary::Codex,
            "a",
            UsageTotals { cache_read_tokens: 2_000_000, ..totals(500_000, 100_000) },
        ));
        meter.add_usage(&used(
            AgentBinary::Claude,
            "b",
            UsageTotals { cost_usd: Some(0.25), ..totals(1_000_000, 0) },
        ));
        let cost = meter.totals().cost_usd.unwrap();
        assert!((cost - 3.25).abs() < 1e-9, "{cost}");
        for bad in
            ["", "input=1", "input=1 output=x", "input=1 output=-1", "input=1 output=1 input=1", "cheap"]
        {
            assert!(bad.parse::<TokenPrices>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tokens_beyond_a_stated_cost_are_priced_and_never_free() {
        let prices: TokenPrices = "input=2 output=10".parse().unwrap();
        let said = used(AgentBinary::Claude, "a", UsageTotals { cost_usd: Some(0.25), ..totals(1_000, 0) });
        let cost = |meter: &UsageMeter| meter.totals().cost_usd;
        let mut meter = UsageMeter::new([(AgentBinary::Claude, prices)].into());
        meter.add_usage(&said);
        assert_eq!((cost(&meter), meter.without_price()), (Some(0.25), None));
        // A later turn has told no cost yet.
        let live = used(AgentBinary::Claude, "a", totals(500_000, 0));
        assert!((meter.totals_with(&live).cost_usd.unwrap() - 1.25).abs() < 1e-9);
        // Nested agents used more than the stated cost is for.
        let nested = LaunchUsage { unpriced: totals(500_000, 0), ..said.clone() };
        assert!((meter.totals_with(&nested).cost_usd.unwrap() - 1.5).abs() < 1e-9);
        let mut unknown = UsageMeter::default();
        unknown.add_usage(&said);
        assert_eq!(unknown.without_price(), None);
        for cost in [None, Some(0.0)] {
            let mut free = UsageMeter::default();
            free.add_usage(&used(AgentBinary::Claude, "a", UsageTotals { cost_usd: cost, ..totals(7, 0) }));
            assert_eq!((free.totals().cost_usd, free.without_price()), (None, Some(AgentBinary::Claude)));
        }
        // A turn that was cut costs what the others cost; until then its tokens end nothing.
        assert_eq!(unknown.totals_with(&live).cost_usd, Some(0.25));
        unknown.add_usage(&live);
        assert!((cost(&unknown).unwrap() - 125.25).abs() < 1e-9);
    }

    #[test]
    fn a_budget_is_reached_when_it_is_used_up() {
        let budget = RunBudget { tokens: Some(10), usd: Some(1.0) };
        assert_eq!(budget.reached_bound(&totals(5, 4)), None);
        assert!(budget.reached_bound(&totals(5, 5)).unwrap().contains("10 of 10 tokens"));
        let dear = UsageTotals { cost_usd: Some(1.5), ..totals(1, 1) };
        assert!(budget.reached_bound(&dear).unwrap().contains('$'));
        assert_eq!(RunBudget::default().reached_bound(&dear), None);
    }
}
