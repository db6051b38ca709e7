//! A scripted model behind a loopback HTTP server: it answers in the dialect of whichever agent CLI asks.
//!
//! Scenario and run ride in the request path, so that runs in parallel share nothing. What the model says follows
//! from the request and the scenario alone: there is no state for a connection or a session.

mod answer;
mod anthropic;
mod body;
mod chat;
mod delivery;
mod dialect;
mod log;
mod responses;
mod route;
mod script;
mod server;
pub(crate) mod sse;

pub use delivery::Delivery;
pub use dialect::{Dialect, Said};
pub use log::{Body, Recorded};
pub(crate) use script::MODEL;
pub use script::{Counting, DONE, HELLO, Reply, Scenario, Script, Totals, UnknownScenario, Usage};
pub use server::ModelServer;
