//! The bridge to a recipe runner that is another program: `recipe-runner-rs`, the predecessor's.
//!
//! [`run`] finds it, asks for its version, calls it with what the recipe needs and nothing more of the environment, and reads
//! its answer. Context values that are large travel as files ([`spill`]).

mod environment;
mod error;
mod find;
mod gate;
mod response;
mod run;
pub mod spill;

pub use environment::allowed;
pub use error::{BridgeError, SpillError};
pub use find::{Found, find};
pub use gate::version_of;
pub use response::{Response, Step, StepStatus, judge};
pub use run::{CopilotShim, Notice, Request, run};
