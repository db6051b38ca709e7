//! The scripted model server, the scripted agent, and what is proved with them about real agent CLIs.

mod agents;
pub mod bench;
pub mod coverage;
pub mod demo;
pub mod drive;
pub mod guard_proof;
pub mod loopback;
pub mod model;
pub mod own_hooks;
mod proof_legs;
pub mod prove;
pub mod scripted;
mod tool_calls;
mod whole_session;
