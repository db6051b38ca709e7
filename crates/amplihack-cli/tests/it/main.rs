//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod bad_input;
mod bad_places;
mod delivery;
mod dry_run;
mod exit_codes;
mod fakes;
mod input;
mod launch;
mod read_only;
mod real_agents;
mod world;
