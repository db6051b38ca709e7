//! The command line, as the predecessor's callers write it.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Judges text, commands, addresses and messages by amplihack's policy; one JSON object on stdout.
///
/// Exit codes: 0 valid, 1 blocked, 2 nothing can be told.
#[derive(Debug, Parser)]
#[command(name = "xpia-defend", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct XpiaDefendCli {
    #[command(subcommand)]
    pub(crate) command: XpiaDefendCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum XpiaDefendCommand {
    /// Look for injected instructions in a text
    ValidateContent(ContentArgs),
    /// Judge a shell command, in the current directory
    ValidateBash(BashArgs),
    /// Judge an address and what is to be done with its page
    ValidateWebfetch(WebfetchArgs),
    /// Judge a message from one agent to another
    ValidateAgent(AgentArgs),
    /// Say whether the policy can be loaded
    Health,
    /// List what is looked for
    Patterns,
    /// Show what is configured
    Config,
}

// What every judging sub-command takes.
#[derive(Debug, Args)]
pub(crate) struct XpiaCommonArgs {
    /// Certainty that a finding needs to be reported
    #[arg(long, value_name = "LEVEL", default_value = "medium", ignore_case = true)]
    pub(crate) security_level: XpiaSecurityLevel,
    /// Name of the caller; comes back in the answer
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    pub(crate) source: String,
}

// Options of `validate-content`.
#[derive(Debug, Args)]
pub(crate) struct ContentArgs {
    /// The text; default: stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) content: Option<OsString>,
    /// Kind of the text
    #[arg(long, value_name = "TYPE", default_value = "user-input", ignore_case = true)]
    pub(crate) content_type: ContentType,
    #[command(flatten)]
    pub(crate) common: XpiaCommonArgs,
}

// Options of `validate-bash`.
#[derive(Debug, Args)]
pub(crate) struct BashArgs {
    /// The command; - is stdin
    #[arg(long, value_name = "CMD|-", allow_hyphen_values = true)]
    pub(crate) command: OsString,
    #[command(flatten)]
    pub(crate) common: XpiaCommonArgs,
}

// Options of `validate-webfetch`.
#[derive(Debug, Args)]
pub(crate) struct WebfetchArgs {
    /// The address
    #[arg(long, value_name = "URL", allow_hyphen_values = true)]
    pub(crate) url: String,
    /// Intended use of the page
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, default_value = "")]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) common: XpiaCommonArgs,
}

// Options of `validate-agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The agent that writes
    #[arg(long, value_name = "NAME")]
    pub(crate) source_agent: String,
    /// The agent that reads
    #[arg(long, value_name = "NAME")]
    pub(crate) target_agent: String,
    /// The message; default: stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<OsString>,
    #[command(flatten)]
    pub(crate) common: XpiaCommonArgs,
}

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContentType {
    /// Prose
    Text,
    /// Source code
    Code,
    /// A shell command: it is judged as one, too
    Command,
    /// Data
    Data,
    /// Text that a user typed
    UserInput,
}

/// The certainty that a finding needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum XpiaSecurityLevel {
    /// Only what is hardly ever said for another reason
    Low,
    /// Findings that are worth a note
    Medium,
    /// Everything
    High,
    /// Everything
    Strict,
}
