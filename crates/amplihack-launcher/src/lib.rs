//! The one door to a running agent: find it, decide how its prompt travels, say who is in charge, start it.
//!
//! [`plan`] decides everything and starts nothing but a version probe; [`start`] carries a plan out,
//! [`start_events`] as a stream of typed events.

mod broken_off;
pub mod budget;
pub mod copilot;
pub mod discover;
pub mod doctor;
mod environment;
mod error;
mod events;
pub mod flag_matrix;
mod guard;
pub mod install;
pub mod live;
mod notice;
mod plan;
pub mod prompt_delivery;
pub mod proofs;
mod start;
mod versions;

pub use broken_off::broken_off;
pub use environment::Change;
pub use error::LaunchError;
pub use events::{LaunchedEvents, Wanted, start_events};
pub use guard::own_program;
pub use notice::Notice;
pub use plan::{LaunchRequest, Plan, Task, enterable, plan};
pub use start::{Hosting, LaunchReport, Launched, Streams, start};
