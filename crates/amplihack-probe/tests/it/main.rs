//! The scripted model server, driven by plain requests, by the scripted agent, and by the real agent CLIs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy's allowance for tests leaves out the functions beside them"
)]

mod dead_hooks;
mod hook_answers;
mod interactive;
mod real;
mod scripted;
mod server;
mod unknown;
