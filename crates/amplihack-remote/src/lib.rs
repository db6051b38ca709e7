//! Sessions on other machines: packaged, sent, started once, watched, ended, and brought home before anything is deleted.
//!
//! A session is run on its machine by one small program, the far side of [`protocol`]; what this side knows of it is in one state file.

pub mod azlin;
mod backend;
mod client;
mod error;
mod git;
mod hosts;
mod manager;
pub mod far;
mod mode;
mod options;
pub mod package;
pub mod pool;
pub mod protocol;
pub mod results;
mod runner;
mod session;
mod size;
pub mod state;
pub mod state_lock;
mod work;
pub mod transport;

pub use backend::Backend;
pub use client::{Client, Progress};
pub use error::{ErrorContext, RemoteError};
pub use hosts::{Host, Hosts, Scheduler, is_host_name};
pub use manager::SessionManager;
pub use far::Far;
pub use mode::{CommandMode, UnknownMode};
pub use options::{
    ExecOptions, IntegrationSummary, KillOptions, KillResult, ListOptions, OutputOptions, PoolStatus, PoolVm,
    RemoteStatus, SessionCounts, SessionOutput, StartOptions, StartResult, StatusOptions, VMOptions,
    WorkflowResult,
};
pub use runner::{CommandOutput, RemoteCommandRunner};
pub use session::{Condition, Session, SessionStatus, is_session_id, new_session_id};
pub use size::{UnknownSize, VMSize};
pub use transport::{Destination, LocalRunner, SshRunner};
