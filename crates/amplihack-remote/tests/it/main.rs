//! What the crate promises, from outside: files, processes, machines.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod api_module;
mod blocks;
mod client;
mod collect;
mod ends;
mod far;
mod net;
mod package;
mod promises;
mod results;
mod scheduler;
mod seed_api;
mod sessions;
mod ssh;
mod state;
mod state_crowd;
mod support;
mod work_trees;
