//! Running a plan: what is to be done when is decided by [`RecipeMachine`], which knows no process and no clock; [`drive_run`] carries it out.

mod agent_step;
mod bounds;
mod drive;
mod environment;
mod execute;
mod machine;
mod outcome;
mod preflight;
mod process;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::event::FailKind;
use amplihack_session::RunEnd;
use amplihack_sys::ProcessExit;

pub use agent_step::{AgentDoor, StepLaunchConfig, StepLauncherProgram};
pub use bounds::{RecipeBounds, total_usage};
pub use drive::{RecipeRunError, RecipeRunResources, drive_run};
pub(crate) use environment::scripts_environment;
pub use environment::{DepthError, check_depth};
pub use execute::{ExecuteError, RecipeExecution, dry_run, execute_run, plan_sources, replay_run};
pub use machine::RecipeMachine;
pub(crate) use preflight::preflight_faults;

use crate::journal::RecipeRunEntry;
use crate::result::{RunResult, StepResult};
use crate::script::PreparedRecipeScript;
pub use process::parse_warnings;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct RecipeRunSettings {
    /// The run's id.
    pub run_id: String,
    /// The working directory of the run's steps.
    pub cwd: PathBuf,
    /// Nothing is started.
    pub dry_run: bool,
    /// True if agents' changes are staged, unless the step has its own setting.
    pub auto_stage: bool,
    /// Steps with tags run only if one of theirs is here; empty: all do.
    pub include_tags: Vec<String>,
    /// Steps with one of these tags do not run.
    pub exclude_tags: Vec<String>,
    /// The longest time that a step without its own limit may take.
    pub step_timeout: Option<Duration>,
    /// Recipes inside recipes, where the first recipe does not say.
    pub max_depth: u32,
    /// Steps in all, where the first recipe does not say.
    pub max_total_steps: u32,
    /// The retries after rate limits.
    pub retry: RateLimitRetry,
    /// The work that an earlier runner of this run has done.
    pub done: CompletedRecipeWork,
}

/// The retries of an agent that met a rate limit.
#[derive(Debug, Clone, Copy)]
pub struct RateLimitRetry {
    /// The most retries.
    pub times: u32,
    /// The first pause; each further one is twice as long.
    pub base: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// The last time with the model `auto`.
    pub fallback_auto: bool,
}

impl Default for RateLimitRetry {
    fn default() -> Self {
        Self {
            times: 5,
            base: Duration::from_mins(1),
            longest: Duration::from_mins(10),
            fallback_auto: false,
        }
    }
}

impl RateLimitRetry {
    /// The pause before attempt number `attempt`, of which the first is 1.
    fn pause_before(&self, attempt: u32) -> Duration {
        let doubled =
            self.base.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(2)).unwrap_or(u32::MAX));
        doubled.min(self.longest)
    }
}

/// The work that an earlier runner of a run has done, out of its journal.
#[derive(Debug, Clone, Default)]
pub struct CompletedRecipeWork {
    /// Ends that were recorded, by the step's path.
    pub ended: BTreeMap<String, StepResult>,
    /// Number of launches for a step, by its path.
    pub launches: BTreeMap<String, u32>,
    /// Finished work that the journal of the run does not have, by the step's path: the name of a program's files in the
    /// spool, or an agent's session.
    pub adopt: BTreeMap<String, String>,
    /// The usage of the run's agents, those of steps that are done again included.
    pub used: amplihack_agent::event::UsageTotals,
}

/// The name of one thing that was spawned.
pub type TaskId = usize;

/// Something to be done outside of the machine.
#[derive(Debug, Clone)]
pub struct RecipeTask {
    /// The task's id for [`StepInput::Ended`].
    pub id: TaskId,
    /// The step's path.
    pub path: String,
    /// The name of its files; no other task's.
    pub name: String,
    /// The pause before the task is begun.
    pub delay: Duration,
    /// The work of the task.
    pub work: RecipeTaskWork,
    /// The name under which the spool has the task's end, if an earlier runner did the task.
    pub adopt: Option<String>,
}

/// The work of a task.
#[derive(Debug, Clone)]
pub enum RecipeTaskWork {
    /// A script: the step's own, a hook, staging.
    Script {
        /// For bash.
        prepared: PreparedRecipeScript,
        /// The working directory of the script.
        cwd: PathBuf,
        /// The longest time that the script may take; `None` is no limit.
        timeout: Option<Duration>,
    },
    /// A question to an agent.
    Agent(StepAgentQuestion),
}

/// A question to an agent.
#[derive(Debug, Clone)]
pub struct StepAgentQuestion {
    /// The prompt.
    pub prompt: String,
    /// The text of the agent's definition.
    pub definition: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory of the agent.
    pub cwd: PathBuf,
    /// The longest time that the agent may take; `None` is no limit.
    pub timeout: Option<Duration>,
}

/// The result of a task.
#[derive(Debug, Clone)]
pub enum TaskResult {
    /// A script ran.
    Script(ScriptOutput),
    /// An agent ran.
    Agent(Box<AgentAnswer>),
    /// The task could not be started, or not be watched.
    NotStarted(String),
    /// The task was ended since this process received a signal.
    Interrupted,
}

/// The output of a script.
#[derive(Debug, Clone, Default)]
pub struct ScriptOutput {
    /// The exit, if it is known.
    pub exit: Option<ProcessExit>,
    /// True if the script was ended at its time limit.
    pub timed_out: bool,
    /// The output of the script without blanks around it.
    pub output: String,
    /// Bytes of the whole output, if `output` has not all of it.
    pub output_bytes: Option<u64>,
    /// The end of its standard error.
    pub error: String,
    /// The lines of its standard error that begin as this project's warnings do.
    pub warnings: Vec<String>,
    /// Some output is lost, since there was no room for it.
    pub lost: bool,
}

/// The answer of an agent, with the end of its run.
#[derive(Debug, Clone)]
pub struct AgentAnswer {
    /// The agent.
    pub agent: String,
    /// The text.
    pub text: String,
    /// Bytes of the whole text, if `text` has not all of it.
    pub text_bytes: Option<u64>,
    /// The reason for people, of a run that was no success.
    pub failure: Option<String>,
    /// The session whose events were kept.
    pub session: Option<String>,
    /// The end of the run, without its text.
    pub run: RunEnd,
    /// Warnings of the launch.
    pub warnings: Vec<String>,
}

impl AgentAnswer {
    /// Reports whether the run failed because of a rate limit.
    pub fn is_rate_limited(&self) -> bool {
        self.run.event.kind == Some(FailKind::RateLimit)
    }
}

/// An input of the machine.
#[derive(Debug)]
pub enum StepInput {
    /// The first input.
    Start,
    /// A task has ended.
    Ended(TaskId, TaskResult),
    /// A signal to this process: nothing new is begun, and all that runs is being ended.
    Interrupted(i32),
}

/// An output of the machine, to be carried out in order.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each output is taken at once; there is no list of many")]
pub enum StepOutput {
    /// To be written down before anything that follows.
    Record(RecipeRunEntry),
    /// To be begun.
    Spawn(RecipeTask),
    /// The run is over. Nothing follows.
    Done(Box<RunResult>),
}
