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
mod gemini;
mod log;
mod responses;
mod route;
mod script;
mod server;
pub(crate) mod sse;

pub use delivery::ObservedDelivery;
pub use dialect::{ModelDialect, RequestText};
pub use log::{RecordedBody, RecordedRequest};
pub(crate) use script::MODEL;
pub use script::{
    DONE, HELLO, ModelScenario, ModelScript, ReplyUsage, RunUsageTotals, ScriptedMessage, ScriptedPart,
    ScriptedReply, ScriptedStop, StepCounting, UnknownScenario,
};
pub use server::ModelServer;
