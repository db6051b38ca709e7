//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod completions;
mod config;
mod context_files;
mod demo;
mod doctor;
mod nested;
mod prove;
mod real_agents;
mod routing;
mod scene;
mod world;
