//! The one door to a running agent: find it, decide how its prompt travels, say who is in charge, start it.
//!
//! [`plan_launch`] decides everything and starts nothing but a version probe; [`start`] carries a plan out,
//! [`start_events`] as a stream of typed events.

mod broken_off;
pub mod budget;
mod content;
pub mod copilot;
pub mod discover;
mod environment;
mod error;
mod events;
pub mod flag_matrix;
mod guard;
mod hold;
pub mod installed;
pub mod live;
mod liveness;
mod notice;
mod once;
mod pinned;
mod plan;
pub mod prompt_delivery;
pub mod proofs;
pub mod repository;
mod start;
mod versions;

pub use broken_off::broken_off;
pub use environment::{EnvironmentChange, nested_changes};
pub use error::LaunchError;
pub use events::{EventOptions, LaunchedEvents, start_events};
pub use guard::own_program;
pub use hold::working_directories;
pub use liveness::GuardFinding;
pub use notice::LaunchNotice;
pub use plan::{LaunchPlan, LaunchRequest, LaunchTask, check_directory, plan_launch};
pub use start::{LaunchHosting, LaunchReport, LaunchStreams, LaunchedAgent, start};
