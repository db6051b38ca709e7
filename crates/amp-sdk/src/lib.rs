//! The Amp SDK for Rust.
//!
//! It runs the Amp CLI and speaks its stream of JSON; it makes no request of its own. What a version of the CLI does not have is a
//! typed error before anything is started, see [`capability`]. The pages of [`guide`] begin with [getting started](guide::getting_started).
//!
//! Features: `governed`, `permissions` and `ssh` are on by default; `testing` has a fake CLI for users' tests.

pub mod blocking;
pub mod capability;
pub mod cli;
pub mod error;
#[cfg(feature = "governed")]
pub mod governed;
pub mod guide;
mod launch;
mod manage;
pub mod mcp;
pub mod mcp_config;
pub mod model;
pub mod options;
mod overlay;
pub mod permissions;
pub mod plan;
pub mod prompt;
pub mod review;
pub mod rule;
mod run;
pub mod runtime;
mod setters;
mod settings;
pub mod skills;
pub mod stream;
pub mod surface;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod threads;
pub mod tools;
pub mod usage;
pub mod version;

/// The messages of the stream.
pub use amplihack_agent::amp::wire;

/// The type of [`Options::base_env`]: an environment as data.
pub use amplihack_config::env::Env;
/// The type of [`Options::cli_version`].
pub use semver::Version;

/// The end of a run, which [`CliEnd`] wraps.
pub use amplihack_session::{EndEvidence, GuardDenials, RunEnd, RunOutcome};

pub use error::{CliEnd, Error, ErrorKind, Result, StderrTail, StreamWait};
#[cfg(feature = "governed")]
pub use governed::GovernedAuthority;
pub use manage::{AmpContext, DEFAULT_TIMEOUT};
pub use mcp::McpServer;
pub use mcp_config::{McpConfig, McpHttpServer, McpStdioServer};
pub use options::{ContinueThread, Options, log_level, mode, visibility};
pub use plan::{RunPlan, plan_run};
pub use prompt::{AmpPrompt, InputContent, UserInputMessage, create_user_message};
pub use rule::{Permission, PermissionAction, PermissionOptions, create_permission};
pub use run::{RunAnswer, run, run_to_answer};
pub use stream::{MessageStream, StreamInterrupter, execute, execute_messages};
pub use surface::ExecutionSurface;
#[cfg(feature = "ssh")]
pub use surface::SshSurface;
pub use threads::ThreadSummary;
pub use wire::{
    AmpJson, AmpRunSummary, AmpUsage, AssistantMessage, AssistantPayload, ContentBlock, ErrorResultMessage,
    LineDiagnostic, McpServerStatus, McpStatus, PermissionDenial, ResultMessage, StreamMessage,
    SystemMessage, TextContent, ThinkingContent, ToolOutput, ToolResultContent, ToolUseContent,
    UnknownContent, UnknownMessage, UserMessage, UserPayload, WireError,
};
