//! The sandbox of an agent's work: which paths are there, which of them may change, and where the network leads.
//!
//! [`compile_sandbox`] makes the data of one confinement out of the workspace, the home and the system; nothing here enters it. Each entry
//! has a [`SandboxRule`], so that a refusal can be explained. Programs, keys and protected names are tables with a reason a line.

mod compile;
mod error;
mod explain;
mod home;
mod mode;
mod protected;
mod sockets;
mod stage;
mod system;
mod workspace;

pub use compile::{CompiledSandbox, SandboxEntry, SandboxRequest, SandboxRule, compile_sandbox};
pub use error::SandboxError;
pub use explain::{PathExplanation, explain_path};
pub use mode::SandboxMode;
pub use protected::{SetAside, WatchedName, changed_names, set_aside_new};
pub use stage::{NOT_STARTED, StageFile, serve_stage};
