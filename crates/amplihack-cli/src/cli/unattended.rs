//! Options of unattended runs: of `auto`, of `parallel`, and of `--auto` on the verbs of agents.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use clap::{Args, Subcommand};

use super::{PermissionLevelArg, parse_agent_name, parse_timeout};

// Options of unattended runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Unattended runs")]
pub(crate) struct UnattendedArgs {
    /// A shell command that exits with 0 when the task is done; may be repeated
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, value_parser = parse_shell_command)]
    pub verify: Vec<String>,
    /// End a --verify command after this time, such as 90s; default: 10min
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub verify_timeout: Option<Duration>,
    /// Begin without running the --verify commands first
    #[arg(long)]
    pub no_baseline: bool,
    /// If the agent changed a check itself, run the original's copy of it too; needs a check that fails at first
    #[arg(long, conflicts_with = "no_baseline")]
    pub strict_verify: bool,
    /// Count a run that changed no file as not done, whatever the agent reports
    #[arg(long)]
    pub expect_changes: bool,
    /// Maximum number of turns; default: 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_turns: Option<u32>,
    /// End the run when it has cost this many dollars; with parallel, all its runs together
    #[arg(long, value_name = "X", value_parser = parse_dollars)]
    pub budget_usd: Option<f64>,
    /// End the run when it has used this many tokens (input, cache write, cache read and output); with parallel, all its runs together
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// End the run after this time, such as 90s or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub deadline: Option<Duration>,
    /// Work in a git worktree, on its own branch; kept if it has changes
    #[arg(long)]
    pub worktree: bool,
    /// Make worktrees in this directory; default: ~/.local/share/amplihack/worktrees
    #[arg(long, value_name = "DIR")]
    pub worktree_dir: Option<PathBuf>,
    /// A shell command to run once in a new worktree before the run begins; if it fails, nothing is started
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub setup: Option<String>,
    /// Initialize submodules in a new worktree
    #[arg(long)]
    pub submodules: bool,
    /// Commit the work on its branch at the end, with the task as the message; with --worktree
    #[arg(long)]
    pub commit: bool,
    /// Continue with this agent if the first one reports that its account is used up or not accepted
    #[arg(long, value_name = "AGENT", value_parser = parse_agent_name)]
    pub fallback: Option<AgentBinary>,
    /// A shell command to run once at the end, with the outcome in its environment
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub notify: Option<String>,
    /// Cut a turn off after this many tool calls, those of nested agents included; default: 500
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,
}

impl UnattendedArgs {
    /// The first option that is given and means something in a worktree only.
    pub(crate) fn worktree_only_option(&self) -> Option<&'static str> {
        let given = [
            (self.worktree_dir.is_some(), "--worktree-dir"),
            (self.setup.is_some(), "--setup"),
            (self.submodules, "--submodules"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }

    /// Reports whether any option of unattended runs is given.
    pub(crate) fn is_set(&self) -> bool {
        !self.verify.is_empty()
            || self.verify_timeout.is_some()
            || self.no_baseline
            || self.strict_verify
            || self.expect_changes
            || self.worktree
            || self.worktree_only_option().is_some()
            || self.commit
            || self.max_turns.is_some()
            || self.budget_usd.is_some()
            || self.budget_tokens.is_some()
            || self.deadline.is_some()
            || self.fallback.is_some()
            || self.notify.is_some()
            || self.max_calls.is_some()
    }
}

// What unattended runs share with launches.
#[derive(Debug, Args)]
pub(crate) struct AgentRunArgs {
    /// Actions that the agent may take without asking; default: the agent's own default, usually to write nothing
    #[arg(long, value_name = "LEVEL")]
    pub permissions: Option<PermissionLevelArg>,
    /// The model
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// End the run with exit code 4 if the policy or the agent denies a call
    #[arg(long)]
    pub fail_on_denial: bool,
    /// Launch without the guard: the policy checks no tool calls
    #[arg(long)]
    pub no_hooks: bool,
    /// End a run without output for this long while no tool runs; default: 10min
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub idle_timeout: Option<Duration>,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

// Options of `auto`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct AutoArgs {
    #[command(subcommand)]
    pub command: Option<AutoCommand>,
    /// The agent; default: the one in charge here (see `which`)
    #[arg(long, value_name = "AGENT", value_parser = parse_agent_name)]
    pub agent: Option<AgentBinary>,
    /// The task
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub task: Option<OsString>,
    /// Read the task from a file; - is stdin
    #[arg(long, value_name = "F|-", conflicts_with = "task")]
    pub task_file: Option<PathBuf>,
    /// Continue a run after any end, in the agent's session; limits given here count from now on
    #[arg(long, value_name = "ID", conflicts_with_all = ["task", "task_file", "agent"])]
    pub resume: Option<String>,
    #[command(flatten)]
    pub running: AgentRunArgs,
    #[command(flatten)]
    pub unattended: UnattendedArgs,
}

/// Commands about unattended runs.
#[derive(Debug, Subcommand)]
pub(crate) enum AutoCommand {
    /// Add a message to the next turn of an active run
    Append {
        /// The run, or the beginning of its id
        id: String,
        /// The message
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
}

// Options of `parallel`.
#[derive(Debug, Args)]
pub(crate) struct ParallelArgs {
    /// The tasks: one per line, or separated by lines of ---; with --race, the whole file is one task; - is stdin
    #[arg(long, value_name = "F|-", required_unless_present = "resume")]
    pub task_file: Option<PathBuf>,
    /// Take each line as a task, even where the file looks like Markdown
    #[arg(long, conflicts_with = "race")]
    pub one_per_line: bool,
    /// The agents, which get the tasks in turn; default: the one in charge here
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = parse_agent_name)]
    pub agents: Vec<AgentBinary>,
    /// Maximum number of runs at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub max: u32,
    /// Give one task to every agent and keep the first verified result
    #[arg(long)]
    pub race: bool,
    /// Continue the tasks that a signal or a kill ended, and begin the rest; limits given here count from now on
    #[arg(long, value_name = "ID", conflicts_with_all = ["task_file", "one_per_line", "agents", "max", "race"])]
    pub resume: Option<String>,
    #[command(flatten)]
    pub running: AgentRunArgs,
    #[command(flatten)]
    pub unattended: UnattendedArgs,
}

/// An amount of dollars above zero.
pub(crate) fn parse_dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "no amount; write it as 2.50".to_owned())?;
    if amount.is_finite() && amount > 0.0 { Ok(amount) } else { Err("an amount is above zero".to_owned()) }
}

/// A shell command that does anything: an empty one, as of an unset variable, would pass whatever the agent did.
fn parse_shell_command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the command is empty".to_owned()) } else { Ok(text.to_owned()) }
}
