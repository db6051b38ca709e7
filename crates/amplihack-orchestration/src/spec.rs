//! Specification of a run: everything that a resumed run has to know again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::{AgentBinary, PermissionLevel, agent_profile};
use amplihack_config::LayeredConfig;
use serde::{Deserialize, Serialize};

use crate::budget::{RunBudget, TokenPrices};
use crate::error::AutoError;
use crate::stall::TurnLimits;
use crate::turns::TurnRules;
use crate::verify::TIMEOUT;
use crate::worktree::WorktreeOptions;

/// An unattended run, asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoRunSpec {
    /// The agent that begins.
    pub agent: AgentBinary,
    /// The agent that goes on when the first one's account is used up or not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<AgentBinary>,
    /// The task.
    pub task: String,
    /// Directory in which the user stood; a run in a worktree of its own works in that instead.
    pub cwd: PathBuf,
    /// Shell commands that show that it is done.
    pub verify: Vec<String>,
    /// The most that one of them may take.
    #[serde(default = "verify_timeout")]
    pub verify_timeout: Duration,
    /// The checks are not run before the first turn.
    #[serde(default)]
    pub no_baseline: bool,
    /// The original's copy of a check that the agent changed has to pass as well.
    #[serde(default)]
    pub strict_verify: bool,
    /// A change is asked for, whatever the agent reports.
    #[serde(default)]
    pub expect_changes: bool,
    /// The first turn is for the work itself, without a plan.
    #[serde(default)]
    pub direct: bool,
    /// The repository's own test command, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_command: Option<String>,
    /// The agent is asked at most so often.
    pub max_turns: u32,
    /// A denied call ends the run.
    pub end_on_denial: bool,
    /// Budget of the run.
    pub budget: RunBudget,
    /// Prices of agents that do not report their cost.
    pub prices: BTreeMap<AgentBinary, TokenPrices>,
    /// Longest time that the run may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Permissions of the agent: what it may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The run works in a worktree of its own.
    pub worktree: bool,
    /// Location of the worktree, and what it is given.
    #[serde(default)]
    pub worktree_options: WorktreeOptions,
    /// Changes that are not committed in its worktree are committed at the end.
    #[serde(default)]
    pub commit: bool,
    /// Run once at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    /// Longest time that an agent may be silent while no tool of it runs.
    pub silence: Duration,
    /// Calls of tools after which a turn is cut.
    pub max_calls: u32,
    /// The guard stands between the agent and the shell.
    pub guarded: bool,
}

impl AutoRunSpec {
    /// A run of `agent` in `cwd` with nothing but its task asked for.
    pub fn new(agent: AgentBinary, task: String, cwd: PathBuf) -> Self {
        // One line of work needs no plan.
        let direct = task.trim().lines().count() < 2;
        Self {
            direct,
            verify_timeout: TIMEOUT,
            no_baseline: false,
            strict_verify: false,
            expect_changes: false,
            agent,
            fallback: None,
            task,
            cwd,
            verify: Vec::new(),
            test_command: None,
            max_turns: 10,
            end_on_denial: false,
            budget: RunBudget::default(),
            prices: BTreeMap::new(),
            deadline: None,
            permissions: None,
            model: None,
            worktree: false,
            worktree_options: WorktreeOptions::default(),
            commit: false,
            notify: None,
            silence: Duration::from_mins(10),
            max_calls: 500,
            guarded: true,
        }
    }

    /// Takes from the configuration what it says of tests and prices, and refuses a budget in dollars that nobody can count.
    pub fn apply_config(&mut self, config: &LayeredConfig) -> Result<(), AutoError> {
        self.test_command = config.test_command().map(str::to_owned);
        self.worktree_options.apply_config(config);
        for agent in [Some(self.agent), self.fallback].into_iter().flatten() {
            match TokenPrices::from_config(config, agent) {
                Ok(Some(prices)) => drop(self.prices.insert(agent, prices)),
                Ok(None) if self.budget.usd.is_some() && !agent_profile(agent).counts.dollars => {
                    return Err(AutoError::NoPrice { agent });
                }
                Ok(None) => {}
                Err(source) => return Err(AutoError::Prices { agent, source }),
            }
        }
        Ok(())
    }

    /// Refuses a budget in dollars that nobody can count.
    pub fn require_prices(&self) -> Result<(), AutoError> {
        let agents = [Some(self.agent), self.fallback].into_iter().flatten();
        let unpriced =
            |agent: &AgentBinary| !agent_profile(*agent).counts.dollars && !self.prices.contains_key(agent);
        agents.into_iter().find(unpriced).map_or(Ok(()), |agent| Err(AutoError::NoPrice { agent }))
    }

    /// The bounds of its turns.
    pub fn turn_rules(&self) -> TurnRules {
        TurnRules {
            max_turns: self.max_turns,
            fallback: self.fallback.is_some(),
            end_on_denial: self.end_on_denial,
            has_checks: self.check_commands().next().is_some(),
            direct: self.direct,
        }
    }

    /// Every command that can show that the work is done.
    pub fn check_commands(&self) -> impl Iterator<Item = &str> {
        self.verify.iter().map(String::as_str).chain(self.test_command.as_deref())
    }

    /// The bounds of one turn.
    pub const fn turn_limits(&self) -> TurnLimits {
        TurnLimits { silence: self.silence, calls: self.max_calls }
    }
}

const fn verify_timeout() -> Duration {
    TIMEOUT
}
