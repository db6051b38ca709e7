//! The options of `amplihack policy`.

use std::ffi::OsString;
use std::path::PathBuf;

use amplihack_agent::AgentBinary;
use clap::{Args, Subcommand};

use crate::ui::CommandFailure;

/// Commands about the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a command against the policy; exits with 0 for none and allow, 4 for ask and deny
    Check(CheckArgs),
    /// Show how the policy parses a command, which rules match, and where
    Explain(ExplainArgs),
    /// Test the policy against a file of commands with expected verdicts
    Test(PolicyTestArgs),
    /// List the active rules, with the harm that each one stops
    List(PolicyListArgs),
    /// Print the policy as an agent's own permission rules, as a second line of defence
    Export(PolicyExportArgs),
    /// List the stopped calls of running sessions that can be allowed; only outside of agent sessions
    Pending,
    /// Allow a stopped call once, within ten minutes; only outside of agent sessions
    AllowOnce {
        /// The id of the call; without it, the calls that can be allowed are listed
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
}

// Where a command would run.
#[derive(Debug, Args)]
pub(crate) struct ShellContextArgs {
    /// The directory in which the command would run; default: the current one
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Assume that this branch is checked out
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
}

// Options of `policy check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The command, as one argument
    #[arg(value_name = "CMD", required_unless_present = "batch")]
    pub words: Vec<OsString>,
    #[command(flatten)]
    pub place: ShellContextArgs,
    /// Check the JSON lines {"command","cwd","branch"} of a file, one answer per line; - is stdin
    #[arg(long, value_name = "FILE|-", conflicts_with = "words")]
    pub batch: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `policy explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The command, as one argument
    #[arg(value_name = "CMD", required = true)]
    pub words: Vec<OsString>,
    #[command(flatten)]
    pub place: ShellContextArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `policy test`.
#[derive(Debug, Args)]
pub(crate) struct PolicyTestArgs {
    /// JSON lines {"command","expected"}, with "cwd" and "branch" if they matter; - is stdin
    #[arg(value_name = "FILE|-")]
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `policy list`.
#[derive(Debug, Args)]
pub(crate) struct PolicyListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `policy export`.
#[derive(Debug, Args)]
pub(crate) struct PolicyExportArgs {
    /// The agent: claude, codex, copilot or amp
    #[arg(long, visible_alias = "for", value_name = "AGENT", value_parser = parse_policy_agent)]
    pub agent: AgentBinary,
    /// Print JSON with the rules, where they belong and what they do not stop
    #[arg(long)]
    pub json: bool,
}

fn parse_policy_agent(name: &str) -> Result<AgentBinary, String> {
    name.parse().map_err(|_| "unknown agent; use one of claude, codex, copilot, amp".to_owned())
}

impl PolicyCommand {
    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Check(args) => args.json,
            Self::Explain(args) => args.json,
            Self::Test(args) => args.json,
            Self::List(args) => args.json,
            Self::Export(args) => args.json,
            Self::Pending | Self::AllowOnce { .. } => false,
        }
    }
}

/// The one word that is the command.
pub(super) fn single_word<'w>(words: &'w [OsString], verb: &str) -> Result<&'w [u8], CommandFailure> {
    match words {
        [script] => Ok(script.as_encoded_bytes()),
        words => Err(CommandFailure::bad_usage(
            format!("the command must be one argument, but {} were given", words.len()),
            format!("quote it: amplihack policy {verb} 'git push --force'"),
        )),
    }
}
