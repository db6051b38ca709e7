//! The far side: the program that runs sessions on a machine, and this side's way to ask it.

mod answer;
mod client;
mod encode;
mod install;

pub use answer::is_digest;
pub use client::Far;

/// The far side as a POSIX shell script. It is brought to machines that do not have it.
pub const SCRIPT: &str = include_str!("far/runner.sh");
