//! Sessions on other machines: packaged, sent, started once, watched, ended, and brought home before anything is deleted.
//!
//! A session is run on its machine by one small program, the far side of [`protocol`]; what this side knows of it is in one state file.

pub mod api;
pub mod azlin;
mod backend;
mod client;
mod error;
pub mod far;
mod git;
mod hosts;
mod manager;
mod mode;
mod options;
pub mod package;
pub mod pool;
pub mod protocol;
pub mod results;
mod runner;
mod session;
mod session_command;
mod size;
pub mod state;
pub mod state_lock;
pub mod transport;

pub use api::{
    capture_output, exec, execute_remote_workflow, kill_session, list_sessions, start_sessions, status,
};
pub use backend::Backend;
pub use client::answers::{
    HostReport, ListRow, SessionListing, StartReport, StartRow, SweepReport, WaitReport,
};
pub use client::{Client, RemoteOutputSink, RemoteProgress};
pub use error::{ErrorContext, RemoteError};
pub use far::FarSide;
pub use hosts::{HostScheduler, RemoteHost, RemoteHosts, is_host_name};
pub use manager::SessionManager;
pub use mode::{CommandMode, UnknownCommandMode};
pub use options::{
    ExecOptions, IntegrationSummary, KillOptions, KillResult, ListOptions, OutputOptions, PoolStatus, PoolVm,
    RemoteStatus, SessionCounts, SessionOutput, StartOptions, StartResult, StatusOptions, VMOptions,
    WorkflowResult,
};
pub use runner::{CommandOutput, RemoteCommandRunner};
pub use session::{Session, SessionCondition, SessionStatus, is_session_id, new_session_id};
pub use size::{UnknownSize, VMSize};
pub use transport::{LocalRunner, SshDestination, SshRunner};

#[cfg(doctest)]
#[doc = include_str!("../guides/api.md")]
mod guide {}
