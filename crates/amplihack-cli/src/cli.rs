//! The command line, declared once: help, completions and the reference page come from it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::{AgentBinary, PermissionLevel};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::amp::AmpCommand;
use crate::commands::audit::AuditCommand;
use crate::commands::copilot::CopilotCommand;
use crate::commands::policy::PolicyCommand;
use crate::commands::recipe::RecipeCommand;
use crate::commands::remote::RemoteCommand;
use crate::commands::sandbox::SandboxCommand;
use crate::commands::sessions::SessionsCommand;
use crate::commands::stream::StreamCommand;
use crate::diagnostics::LogArgs;
use crate::ui::ErrorFormat;

mod misuse;
#[cfg(test)]
mod tests;
mod unattended;

pub(crate) use misuse::{asks_for_json, usage_failure};
pub(crate) use unattended::{
    AgentRunArgs, AutoArgs, AutoCommand, ParallelArgs, UnattendedArgs, parse_dollars,
};

/// A control plane for coding-agent CLIs.
///
/// Launches Claude Code, GitHub Copilot CLI, Codex, Microsoft Amplifier, Amp and Gemini CLI with the prompt intact, checks their tool
/// calls against one policy, and lets every subprocess know which agent is in charge. Try `amplihack demo`; it needs no account.
#[derive(Debug, Parser)]
#[command(name = "amplihack", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct AmplihackCli {
    /// Command to carry out.
    #[command(subcommand)]
    pub command: AmplihackCommand,
    #[command(flatten)]
    pub log: LogArgs,
}

/// Command to carry out. The options of a command are built only if it is chosen: building them all takes longer than most commands.
///
/// They come last then, so a doc comment on a struct of options would take the command's place in the help: they have none.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum AmplihackCommand {
    /// Launch Claude Code
    Claude(LaunchArgs),
    /// Launch GitHub Copilot CLI, or translate arguments written for Claude Code
    Copilot(CopilotArgs),
    /// Launch OpenAI Codex CLI
    Codex(LaunchArgs),
    /// Launch Microsoft Amplifier
    Amplifier(LaunchArgs),
    /// Launch Amp, or query its permission rules
    Amp(AmpArgs),
    /// Launch Google Gemini CLI
    Gemini(LaunchArgs),
    /// Launch the agent that is in charge here (see `which`)
    Launch(LaunchArgs),
    /// Print the agent that is in charge here
    Which(WhichArgs),
    /// Check this machine: agents, versions, prompt channels, hooks, tools
    Doctor(LocalDoctorArgs),
    /// Show what amplihack does, without an account, against a model server on this machine
    Demo(DemoArgs),
    /// Install the guard into agents, for sessions started without amplihack
    Install(InstallArgs),
    /// Undo what `install` did
    Uninstall(UninstallArgs),
    /// Run recipes: workflows of shell, agent and nested steps
    #[command(subcommand)]
    Recipe(RecipeCommand),
    /// Work on a task unattended, turn by turn, until a check shows that it is done
    Auto(AutoArgs),
    /// Work on many tasks at once, unattended, each in its own worktree
    Parallel(ParallelArgs),
    /// Run sessions on other machines, watch them, fetch their results
    #[command(subcommand)]
    Remote(Box<RemoteCommand>),
    /// Show, search, resume, export or delete recorded runs
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Convert an agent's recorded output into events
    #[command(subcommand)]
    Stream(StreamCommand),
    /// Show or change the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Query, explain or test the policy, or allow a stopped call once
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show the policy's decisions, or verify that the record is complete
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Run a command where it can change the workspace and nothing else, kept by the kernel
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Explain a topic or show a command's help; without arguments, list the topics
    Help(HelpArgs),
    /// Print the manual page of a command, as roff
    #[command(hide = true)]
    Man(ManArgs),
}

// Options of `amp`: those of every launch, or a command about Amp. A prompt that is a command's name is given with --prompt.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct AmpArgs {
    #[command(subcommand)]
    pub command: Option<AmpCommand>,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

// Options of `copilot`, as those of `amp`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct CopilotArgs {
    #[command(subcommand)]
    pub command: Option<CopilotCommand>,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

// Options of every launch.
#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// The task prompt, as one word
    #[arg(value_name = "PROMPT")]
    pub word: Option<OsString>,
    /// The task prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["word", "prompt_file"])]
    pub prompt: Option<OsString>,
    /// Read the task prompt from a file; - is stdin
    #[arg(long, value_name = "PATH|-", conflicts_with = "word")]
    pub prompt_file: Option<PathBuf>,
    /// Run headless: work on the prompt, then exit
    #[arg(short = 'p', long)]
    pub print: bool,
    /// Append piped stdin to the prompt, after a blank line
    #[arg(long)]
    pub stdin: bool,
    /// The model
    #[arg(long, value_name = "M")]
    pub model: Option<OsString>,
    /// Resume the agent's session with this id
    #[arg(long, value_name = "ID", conflicts_with = "continue_latest")]
    pub resume: Option<OsString>,
    /// Continue the agent's latest session
    #[arg(long = "continue")]
    pub continue_latest: bool,
    /// Another directory that the agent may work in; may be repeated
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// A file with MCP servers; may be repeated
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Vec<PathBuf>,
    /// Text to append to the agent's system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub append_system_prompt: Option<OsString>,
    /// Actions that the agent may take without asking; default: the agent's own default
    #[arg(long, value_name = "LEVEL")]
    pub permissions: Option<PermissionLevelArg>,
    /// Launch without the guard: the policy checks no tool calls
    #[arg(long)]
    pub no_hooks: bool,
    /// Exit with 4 if the policy denied a call, even if the agent exits with 0
    #[arg(long, conflicts_with = "no_hooks")]
    pub fail_on_denial: bool,
    /// Form of the output of a headless run
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// With --output stream-json or json: include the agent's own line in each event
    #[arg(long)]
    pub include_raw: bool,
    /// End a run without output for this long, such as 90s or 5min; needs --output json or stream-json
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub idle_timeout: Option<Duration>,
    /// End a run that takes longer than this, such as 90s or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub timeout: Option<Duration>,
    /// Trust what this repository starts by itself, as it is now: hooks, variables, MCP servers, skills with commands
    #[arg(long)]
    pub trust_repo: bool,
    /// Print the command, its environment changes, prompt channel and evidence; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Pass ARGS to the agent unchanged, without looking for a prompt
    #[arg(long, conflicts_with_all = [
        "word", "prompt", "prompt_file", "print", "stdin", "model", "resume", "continue_latest", "add_dir",
        "mcp_config", "append_system_prompt", "permissions", "output", "include_raw", "idle_timeout", "timeout",
    ])]
    pub raw: bool,
    /// Work on the prompt unattended, until a check shows that it is done (see `amplihack auto`)
    #[arg(long)]
    pub auto: bool,
    /// Arguments for the agent; a single word is the prompt
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
    // Last: their heading would hold for what follows.
    #[command(flatten)]
    pub unattended: UnattendedArgs,
}

/// Form of the output of a headless run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The agent's own output
    Text,
    /// A single object at the end of the run: end, text, usage, events
    Json,
    /// An object per event, as they arrive
    StreamJson,
}

/// A permission level.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PermissionLevelArg {
    /// Read; ask before changing anything
    Ask,
    /// Edit files; ask for anything else
    Edit,
    /// Everything
    Full,
}

impl From<PermissionLevelArg> for PermissionLevel {
    fn from(level: PermissionLevelArg) -> Self {
        match level {
            PermissionLevelArg::Ask => Self::Ask,
            PermissionLevelArg::Edit => Self::Edit,
            PermissionLevelArg::Full => Self::Full,
        }
    }
}

// Options of `which`.
#[derive(Debug, Args)]
pub(crate) struct WhichArgs {
    /// Print JSON, including where the answer comes from
    #[arg(long)]
    pub json: bool,
}

// Options of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct LocalDoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Test installed agents against a model server on this machine, and record the results; default: all agents
    #[arg(long, value_name = "AGENT", num_args = 0.., value_parser = parse_agent_name)]
    pub prove: Option<Vec<AgentBinary>>,
}

// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Show only this scene
    #[arg(value_name = "SCENE", value_parser = crate::commands::demo::NAMES)]
    pub scene: Option<String>,
    /// List the scenes
    #[arg(long, conflicts_with = "scene")]
    pub list: bool,
    /// Use the built-in scripted agent even if real agents are installed
    #[arg(long)]
    pub scripted: bool,
}

// Options of `install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The agent; may be repeated; default: every agent found
    #[arg(long, value_name = "AGENT", value_parser = parse_agent_name)]
    pub agent: Vec<AgentBinary>,
    /// Sessions to guard
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t = ScopeArg::User)]
    pub scope: ScopeArg,
    /// Run every registered command as its agent would, and report the answers
    #[arg(long)]
    pub verify: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `uninstall`.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The agent; may be repeated; default: all agents
    #[arg(long, value_name = "AGENT", value_parser = parse_agent_name)]
    pub agent: Vec<AgentBinary>,
    /// Installation to undo
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t = ScopeArg::User)]
    pub scope: ScopeArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// For whom something is installed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Every session of this user
    User,
    /// Sessions in this repository
    Repo,
}

/// Commands about the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every value
    Show {
        /// Also print where each value comes from
        #[arg(long)]
        origin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust a repository's configuration to name programs to run, and what agents start of it by themselves
    Trust {
        /// The repository
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
}

// Options of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

// Options of `help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A topic, or a command and its subcommands
    #[arg(value_name = "TOPIC|COMMAND")]
    pub words: Vec<String>,
}

// Options of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command and its subcommands; default: amplihack itself
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
}

pub(crate) fn parse_agent_name(name: &str) -> Result<AgentBinary, String> {
    name.parse().map_err(|_| format!("unknown agent; use one of {}", AgentBinary::all_names()))
}

/// A span of time in which something can happen: [`parse_duration`], and more than nothing.
pub(crate) fn parse_timeout(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time.is_zero() {
        return Err("no time at all; give a longer one, or leave the option out".to_owned());
    }
    Ok(time)
}

/// A span of time such as `90s`, `5min`, `1h 30m` or `30d`; a day has 24 hours.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: Option<jiff::SignedDuration> = text
        .parse::<jiff::Span>()
        .and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()))
        .ok();
    let span = span.ok_or_else(|| "not a duration; examples: 90s, 5min, 1h 30m, 30d".to_owned())?;
    Duration::try_from(span).map_err(|_| "a duration cannot be negative".to_owned())
}

impl AmplihackCli {
    /// Returns the form in which this command shows its errors.
    pub(crate) fn error_format(&self) -> ErrorFormat {
        let json = match &self.command {
            AmplihackCommand::Which(args) => args.json,
            AmplihackCommand::Doctor(args) => args.json,
            AmplihackCommand::Install(args) => args.json,
            AmplihackCommand::Uninstall(args) => args.json,
            AmplihackCommand::Config(ConfigCommand::Show { json, .. }) => *json,
            AmplihackCommand::Policy(command) => command.wants_json(),
            AmplihackCommand::Audit(command) => command.wants_json(),
            AmplihackCommand::Recipe(command) => command.wants_json(),
            AmplihackCommand::Remote(command) => command.wants_json(),
            AmplihackCommand::Sessions(command) => command.wants_json(),
            AmplihackCommand::Auto(args) => args.running.json,
            AmplihackCommand::Parallel(args) => args.running.json,
            AmplihackCommand::Amp(AmpArgs { command: Some(command), .. }) => command.wants_json(),
            AmplihackCommand::Copilot(CopilotArgs { command: Some(command), .. }) => command.wants_json(),
            AmplihackCommand::Claude(launch)
            | AmplihackCommand::Codex(launch)
            | AmplihackCommand::Amplifier(launch)
            | AmplihackCommand::Gemini(launch)
            | AmplihackCommand::Launch(launch)
            | AmplihackCommand::Amp(AmpArgs { launch, command: None })
            | AmplihackCommand::Copilot(CopilotArgs { launch, command: None }) => {
                launch.output != OutputFormat::Text
            }
            _ => false,
        };
        if json { ErrorFormat::Json } else { ErrorFormat::Text }
    }

    /// Reports whether the command only prints what there is: then a reader who stops reading is no failure.
    pub(crate) fn only_prints(&self) -> bool {
        match &self.command {
            AmplihackCommand::Which(_)
            | AmplihackCommand::Completions(_)
            | AmplihackCommand::Help(_)
            | AmplihackCommand::Man(_)
            | AmplihackCommand::Stream(_) => true,
            AmplihackCommand::Config(command) => matches!(command, ConfigCommand::Show { .. }),
            AmplihackCommand::Audit(command) => command.only_prints(),
            AmplihackCommand::Sandbox(command) => command.only_prints(),
            AmplihackCommand::Recipe(command) => command.only_prints(),
            AmplihackCommand::Remote(command) => command.only_prints(),
            AmplihackCommand::Sessions(command) => command.only_prints(),
            _ => false,
        }
    }
}
