//! Routing at its public API: which agent is in charge, and how a prompt is delivered.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly, too")]

mod context_file;
mod names;
mod prompt_delivery;
mod prompt_request;
mod routing;
