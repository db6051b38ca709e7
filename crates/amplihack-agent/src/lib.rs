//! What each coding-agent CLI accepts and says: one folder an agent, one matrix with evidence, one builder of command
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
pub mod profile;
pub mod reader;
pub mod version;

pub use amplihack_utils::agent_binary::AgentBinary;
pub use command::{AgentCommand, DeliveredCommand, Options, Permissions};
pub use decode::Decode;
pub use error::{DeliveryError, Unsupported};
pub use event::{AgentEvent, EndEvent, Envelope, RunOutcome};
pub use installed::{Installed, Trust};
pub use matrix::{Capability, Evidence, Row, RunMode};
pub use profile::{Profile, profile};
