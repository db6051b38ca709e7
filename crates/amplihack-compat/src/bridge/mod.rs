//! The bridge to a recipe runner that is another program: `recipe-runner-rs`, the predecessor's.
//!
//! [`run_external_runner`] finds it, asks for its version, calls it with what the recipe needs and nothing more of the environment, and reads
//! its answer. Context values that are large travel as files ([`amplihack_recipe::spill`]).

mod environment;
mod error;
mod find;
mod response;
mod run;
mod version_gate;

pub use environment::runner_environment;
pub use error::BridgeError;
pub use find::{FoundRunner, find_runner};
pub use response::{RunnerResponse, RunnerStep, RunnerStepStatus, interpret_response};
pub use run::{RunnerBridgeRequest, RunnerNotice, run_external_runner};
pub use version_gate::version_of;
