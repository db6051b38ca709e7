//! Arguments and output of each coding-agent CLI: one folder an agent, one matrix with evidence, one builder of command
//! lines, one model of events.
//!
//! Everything that amplihack knows about an agent's flags stands here, as data. Nothing in this crate starts a process,
//! reads the environment of this process or touches the disk, but for [`lookup`], which asks where a program is.

pub mod amp;
mod amplifier;
mod claude;
mod codex;
pub mod command;
pub mod copilot;
pub mod decode;
mod error;
pub mod event;
pub mod framer;
mod gemini;
pub mod grammar;
pub mod installed;
pub mod jsonc;
pub mod ledger;
pub mod live;
pub mod lookup;
pub mod matrix;
mod own_commands;
mod own_line;
pub mod profile;
pub mod reader;
pub mod subcommand;
pub mod transcript;
pub mod version;

pub use amplihack_config::agent_binary::AgentBinary;
pub use command::{AgentCommand, AgentRunOptions, DeliveredCommand, PermissionLevel};
pub use decode::Decode;
pub use error::{DeliveryError, Unsupported};
pub use event::{AgentEvent, EndEvent, Envelope, RunOutcome};
pub use installed::{Installed, RowTrust};
pub use matrix::{AgentCapability, CapabilityRow, RowEvidence, RunMode};
pub use own_commands::OwnCommands;
pub use own_line::{
    LineFinding, line_finding, own_directory, session_finding, skips_permissions, take_own_settings,
};
pub use profile::{AgentProfile, agent_profile};
pub use subcommand::{AgentSubcommand, GuardState};
