//! Running a plan: what is to be done when is decided by [`Machine`], which knows no process and no clock; [`drive`] carries it out.

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
use amplihack_utils::sys::Exit;

pub use agent_step::{AgentDoor, Launcher, Own};
pub use bounds::{RecipeBounds, usage};
pub use drive::{RunError, World, drive};
pub use environment::depth;
pub(crate) use environment::of_scripts as scripts_environment;
pub use execute::{ExecuteError, Execution, dry_run, execute, replay, sources};
pub use machine::Machine;
pub(crate) use preflight::preflight;

use crate::journal::Entry;
use crate::result::{RunResult, StepResult};
use crate::script::Prepared;
pub(crate) use process::warnings;

/// How a run is to go.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run's id.
    pub run_id: String,
    /// Where steps run.
    pub cwd: PathBuf,
    /// Nothing is started.
    pub dry_run: bool,
    /// What agents changed is staged, unless the step says otherwise.
    pub auto_stage: bool,
    /// Steps with tags run only if one of theirs is here; empty: all do.
    pub include_tags: Vec<String>,
    /// Steps with one of these tags do not run.
    pub exclude_tags: Vec<String>,
    /// How long a step may take that does not say so itself.
    pub step_timeout: Option<Duration>,
    /// Recipes inside recipes, where the first recipe does not say.
    pub max_depth: u32,
    /// Steps in all, where the first recipe does not say.
    pub max_total_steps: u32,
    /// What to do about rate limits.
    pub retry: Retry,
    /// What an earlier runner of this run has done.
    pub done: Done,
}

/// When an agent is asked again that met a rate limit.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// How often, at most.
    pub times: u32,
    /// The first pause; each further one is twice as long.
    pub base: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// The last time with the model `auto`.
    pub fallback_auto: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 5,
            base: Duration::from_mins(1),
            longest: Duration::from_mins(10),
            fallback_auto: false,
        }
    }
}

impl Retry {
    /// The pause before attempt number `attempt`, of which the first is 1.
    fn pause(&self, attempt: u32) -> Duration {
        let doubled =
            self.base.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(2)).unwrap_or(u32::MAX));
        doubled.min(self.longest)
    }
}

/// What an earlier runner of a run has done, out of its journal.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Ends that were recorded, by the step's path.
    pub ended: BTreeMap<String, StepResult>,
    /// How often something was launched for a step, by its path.
    pub launches: BTreeMap<String, u32>,
    /// What has ended although the journal of the run does not say so, by the step's path: the name of a program's files in the
    /// spool, or an agent's session.
    pub adopt: BTreeMap<String, String>,
    /// What its agents used, those of steps that are done again included.
    pub used: amplihack_agent::event::Totals,
}

/// The name of one thing that was spawned.
pub type TaskId = usize;

/// Something to be done outside of the machine.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name for [`StepInput::Ended`].
    pub id: TaskId,
    /// The step's path.
    pub path: String,
    /// The name of its files; no other task's.
    pub name: String,
    /// How long to wait before.
    pub delay: Duration,
    /// What to do.
    pub work: Work,
    /// It was done by an earlier runner: its end is in the spool under this name.
    pub adopt: Option<String>,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Work {
    /// A script: the step's own, a hook, staging.
    Script {
        /// For bash.
        prepared: Prepared,
        /// Where.
        cwd: PathBuf,
        /// How long it may take.
        timeout: Option<Duration>,
    },
    /// A question to an agent.
    Agent(Ask),
}

/// A question to an agent.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The prompt.
    pub prompt: String,
    /// The text of the agent's definition.
    pub definition: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where.
    pub cwd: PathBuf,
    /// How long it may take.
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
    pub exit: Option<Exit>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Its output without blanks around it.
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
    /// Whether the run failed because of a rate limit.
    pub fn is_rate_limited(&self) -> bool {
        self.run.event.kind == Some(FailKind::RateLimit)
    }
}

/// What the machine is told.
#[derive(Debug)]
pub enum StepInput {
    /// The first input.
    Start,
    /// A task has ended.
    Ended(TaskId, TaskResult),
    /// This process received the signal: nothing new is begun, and what runs is being ended.
    Interrupted(i32),
}

/// What the machine wants done, in this order.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each output is taken at once; there is no list of many")]
pub enum StepOutput {
    /// To be written down before anything that follows.
    Record(Entry),
    /// To be begun.
    Spawn(Task),
    /// The run is over. Nothing follows.
    Done(Box<RunResult>),
}
