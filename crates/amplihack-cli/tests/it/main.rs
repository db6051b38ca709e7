//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod evidence;
mod overhead;
mod real_agents;
mod world;
