//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod real_agents;
mod real_amp;
mod real_nesting;
mod real_options;
mod real_permissions;
mod real_signals;
mod real_terminal;
mod world;
