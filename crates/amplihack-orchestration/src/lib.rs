//! Unattended runs of coding agents that end only when the work is shown to be done.
//!
//! A run is a series of turns of one agent. What it does next is decided by [`Turns`], which knows no process, no file and no clock;
//! [`drive`] carries it out, and the [`journal`] has everything before anybody sees it, so that a killed run goes on as the same
//! run. Agents are started through the launcher, everything else by the session crate.

pub mod append;
pub mod changes;
pub mod claim;
pub mod drive;
mod error;
mod extension;
pub mod journal;
mod names;
pub mod parallel;
pub mod parallel_journal;
mod process;
pub mod progress;
pub mod prompts;
pub mod race;
pub mod results;
pub mod snapshots;
mod spec;
pub mod stall;
mod tree_diff;
pub mod turn;
pub mod turns;
pub mod verify;
pub mod worktree;

pub use amplihack_launcher::budget;
pub(crate) use amplihack_launcher::live;
pub use drive::{AutoRunContext, AutoRunSummary, begin_run, completed_summary, resume_run};
pub use error::AutoError;
pub use extension::RunExtension;
pub use process::RunProcesses;
pub use progress::{AutoProgress, end_headline};
pub use spec::AutoRunSpec;
pub use turns::{TurnInput, TurnOutput, Turns};
