//! The Amp SDK for Rust.
//!
//! It runs the Amp CLI and speaks its stream of JSON; it makes no request of its own. What a version of the CLI does not have is a
//! typed error before anything is started, see [`capability`].

pub mod capability;
pub mod cli;
pub mod error;
pub mod governed;
mod launch;
mod manage;
pub mod mcp;
pub mod mcp_config;
pub mod model;
pub mod options;
pub mod permissions;
pub mod review;
pub mod rule;
pub mod skills;
pub mod surface;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod threads;
pub mod tools;
pub mod usage;
pub mod version;

pub use error::{CliEnd, Error, ErrorKind, Result, StderrTail, Wait};
pub use governed::Authority;
pub use manage::{Amp, DEFAULT_TIMEOUT};
pub use mcp::McpServer;
pub use mcp_config::{McpConfig, McpHttpServer, McpStdioServer};
pub use options::{ContinueThread, Options, log_level, mode, visibility};
pub use rule::{Action, Permission, PermissionOptions, create_permission};
pub use surface::{Ssh, Surface};
pub use threads::ThreadSummary;
