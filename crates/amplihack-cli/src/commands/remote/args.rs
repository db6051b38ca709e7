//! The options of `amplihack remote`.

use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::secret::Secret;
use amplihack_remote::{Backend, CommandMode, SessionStatus, VMSize};
use clap::{Args, Subcommand};

use crate::cli::{PermissionLevelArg, parse_agent_name, parse_duration};

/// Commands about sessions on other machines.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RemoteCommand {
    /// Run a prompt on a machine, wait, fetch the results, release the machine
    Exec(ExecArgs),
    /// Start a session for each prompt and return at once
    Start(StartArgs),
    /// List the sessions
    List(RemoteListArgs),
    /// Print a session's output
    Output(OutputArgs),
    /// End a session
    Kill(KillArgs),
    /// Summarize machines and sessions
    Status(StatusArgs),
    /// Wait for sessions to end
    Wait(WaitArgs),
    /// Fetch a session's work into this repository, under refs/remotes/remote-exec/
    Pull(PullArgs),
    /// Watch a session in tmux on its machine
    Attach(AttachArgs),
    /// List machines, take them out of use, release idle ones
    #[command(subcommand)]
    Pool(PoolCommand),
    /// Check that the machines have what sessions need
    Doctor(RemoteDoctorArgs),
}

/// Commands about machines.
#[derive(Debug, Subcommand)]
pub(crate) enum PoolCommand {
    /// List the machines
    List(StatusArgs),
    /// Place no more sessions on a machine
    Drain(DrainArgs),
    /// Release rented machines that are idle
    Gc(GcArgs),
}

// Where sessions run, and as what.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where and how")]
pub(crate) struct RemotePlacementArgs {
    /// local: this machine; ssh: machines in hosts.toml; azlin: rented machines; slurm: a cluster
    #[arg(long, value_name = "NAME", value_parser = parse_backend)]
    pub backend: Option<Backend>,
    /// Use only this machine in hosts.toml
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Use only machines in hosts.toml with this label; may be repeated
    #[arg(long, value_name = "LABEL")]
    pub label: Vec<String>,
    /// The agent; default: the one in charge here (see `which`)
    #[arg(long, value_name = "AGENT", value_parser = parse_agent_name)]
    pub agent: Option<AgentBinary>,
    /// Actions that the agent may take without asking; default: the agent's own default, usually to write nothing
    #[arg(long, value_name = "LEVEL")]
    pub permissions: Option<PermissionLevelArg>,
    /// A variable for the agent; without a value, taken from your environment; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = parse_variable)]
    pub env: Vec<(String, Option<Secret>)>,
    /// Also send uncommitted changes and untracked files that git does not ignore
    #[arg(long)]
    pub include_dirty: bool,
    /// Accept this finding of the secret scan, given by its fingerprint; may be repeated
    #[arg(long, value_name = "FINGERPRINT")]
    pub allow_secret: Vec<String>,
    /// Send this amplihack to machines without one; without a value, the running program
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub upload: Option<PathBuf>,
    /// Maximum number of rented machines
    #[arg(long, value_name = "N")]
    pub max_vms: Option<usize>,
    /// The state file; default: AMPLIHACK_REMOTE_STATE, else ~/.amplihack/remote-state.json
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
}

// Options of `remote exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Way of working: auto, ultrathink, analyze or fix
    #[arg(value_name = "COMMAND", value_parser = parse_mode)]
    pub command: CommandMode,
    /// The prompt
    #[arg(
        value_name = "PROMPT",
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file",
        allow_hyphen_values = false
    )]
    pub prompt: Option<String>,
    /// Read the prompt from a file; - is stdin
    #[arg(long, value_name = "F|-")]
    pub prompt_file: Option<PathBuf>,
    /// Maximum number of turns
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub max_turns: u32,
    /// The type of Azure machine to rent
    #[arg(long, value_name = "SKU", default_value = "Standard_D2s_v3")]
    pub vm_size: String,
    /// Use this existing machine, and keep it
    #[arg(long, value_name = "NAME")]
    pub vm_name: Option<String>,
    /// Keep the machine in any case
    #[arg(long)]
    pub keep_vm: bool,
    /// Create a new machine even if one is free
    #[arg(long)]
    pub no_reuse: bool,
    /// Maximum time, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 120, value_parser = clap::value_parser!(u64).range(5..=480))]
    pub timeout: u64,
    /// The region to rent in; default: AZURE_REGION, else eastus
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// A local port with a tunnel to the machine's ssh server
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Do not search for secrets before sending
    #[arg(long)]
    pub skip_secret_scan: bool,
    #[command(flatten)]
    pub place: RemotePlacementArgs,
    /// Print JSON at the end
    #[arg(long)]
    pub json: bool,
    /// More arguments for `azlin new`
    #[arg(last = true, value_name = "AZLIN ARGS")]
    pub azlin: Vec<String>,
}

// Options of `remote start`.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The prompts, one session each
    #[arg(value_name = "PROMPT", required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    pub prompts: Vec<String>,
    /// Read the prompts from a file: one per line, or separated by lines of ---; - is stdin
    #[arg(long, value_name = "F|-")]
    pub prompt_file: Option<PathBuf>,
    /// Way of working: auto, ultrathink, analyze or fix
    #[arg(long, value_name = "COMMAND", default_value = "auto", value_parser = parse_mode)]
    pub command: CommandMode,
    /// Maximum number of turns
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub max_turns: u32,
    /// The tier of machines: s, m, l or xl, for 1, 2, 4 or 8 sessions
    #[arg(long, value_name = "TIER", default_value = "l", value_parser = parse_size)]
    pub size: VMSize,
    /// The region to rent in; default: AZURE_REGION, else eastus
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// A local port with a tunnel to the machine's ssh server
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// A key for this start; a repeated start with the same key returns the same sessions
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Stop at the first session that cannot be started
    #[arg(long)]
    pub fail_fast: bool,
    #[command(flatten)]
    pub place: RemotePlacementArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `remote list`.
#[derive(Debug, Args)]
pub(crate) struct RemoteListArgs {
    /// Only sessions that are pending, running, completed, failed or killed
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub status: Option<SessionStatus>,
    /// Only sessions on this machine
    #[arg(long, value_name = "NAME")]
    pub vm: Option<String>,
    /// Ask each machine first
    #[arg(long)]
    pub refresh: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote status` and `remote pool list`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Ask each machine first
    #[arg(long)]
    pub refresh: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of most commands.
#[derive(Debug, Args)]
pub(crate) struct RemoteCommonArgs {
    /// The state file; default: AMPLIHACK_REMOTE_STATE, else ~/.amplihack/remote-state.json
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `remote output`.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The session
    pub session: String,
    /// Only the last N lines
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub lines: u32,
    /// Follow the output until the session ends, and exit with its code
    #[arg(long)]
    pub follow: bool,
    /// With --follow: start at this offset in bytes
    #[arg(long, value_name = "OFFSET", requires = "follow", default_value_t = 0)]
    pub from: u64,
    /// Print the bytes unchanged; by default, recognizable keys are masked
    #[arg(long)]
    pub raw: bool,
    /// Print the output of creating the work tree instead
    #[arg(long, conflicts_with = "follow")]
    pub setup: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote kill`.
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// The session
    pub session: String,
    /// Free its slot even if its machine does not answer
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote wait`.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The sessions; default: all that have not ended
    pub sessions: Vec<String>,
    /// Return when one of them has ended
    #[arg(long)]
    pub any: bool,
    /// Give up after this time, such as 90s or 2h, with exit code 5
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote pull`.
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// The session
    pub session: String,
    /// Remove it from its machine after its work has been fetched and verified
    #[arg(long)]
    pub remove: bool,
    /// Remove it even if not all of its work could be fetched
    #[arg(long, requires = "remove")]
    pub discard_results: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The session
    pub session: String,
    /// The state file; default: AMPLIHACK_REMOTE_STATE, else ~/.amplihack/remote-state.json
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
}

// Options of `remote pool drain`.
#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    /// The machine
    pub vm: String,
    /// Place sessions on it again
    #[arg(long)]
    pub undo: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote pool gc`.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Minimum time that a machine must have been idle, such as 30min
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30min")]
    pub idle: Duration,
    /// Print what would be released; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Release machines even if they have work that was not fetched
    #[arg(long)]
    pub discard_results: bool,
    #[command(flatten)]
    pub common: RemoteCommonArgs,
}

// Options of `remote doctor`.
#[derive(Debug, Args)]
pub(crate) struct RemoteDoctorArgs {
    #[command(flatten)]
    pub place: RemotePlacementArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl RemoteCommand {
    /// Reports whether the command only prints what there is.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::List(_) | Self::Output(_) | Self::Status(_) | Self::Pool(PoolCommand::List(_)))
    }

    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Exec(args) => args.json,
            Self::Start(args) => args.json,
            Self::List(args) => args.common.json,
            Self::Output(args) => args.common.json,
            Self::Kill(args) => args.common.json,
            Self::Status(args) | Self::Pool(PoolCommand::List(args)) => args.common.json,
            Self::Wait(args) => args.common.json,
            Self::Pull(args) => args.common.json,
            Self::Attach(_) => false,
            Self::Pool(PoolCommand::Drain(args)) => args.common.json,
            Self::Pool(PoolCommand::Gc(args)) => args.common.json,
            Self::Doctor(args) => args.json,
        }
    }
}

fn parse_backend(word: &str) -> Result<Backend, String> {
    word.parse()
}

fn parse_mode(word: &str) -> Result<CommandMode, amplihack_remote::UnknownCommandMode> {
    word.parse()
}

fn parse_size(word: &str) -> Result<VMSize, amplihack_remote::UnknownSize> {
    word.parse()
}

fn parse_status(word: &str) -> Result<SessionStatus, String> {
    word.parse()
}

fn parse_variable(word: &str) -> Result<(String, Option<Secret>), String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(Secret::new(value))),
        None => (word, None),
    };
    if name.is_empty() {
        return Err("there is no name".to_owned());
    }
    Ok((name.to_owned(), value))
}
