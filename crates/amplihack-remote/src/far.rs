//! The far side: the program that runs sessions on a machine, and this side's way to ask it.

mod answer;
mod client;
mod encode;
mod install;

pub use client::FarSide;

/// The far side as a POSIX shell script, in parts by what they do. It is brought to machines that do not have it.
pub const SCRIPT: &str = concat!(
    include_str!("far/script/words.sh"),
    include_str!("far/script/processes.sh"),
    include_str!("far/script/claim.sh"),
    include_str!("far/script/run.sh"),
    include_str!("far/script/observe.sh"),
    include_str!("far/script/end.sh"),
    include_str!("far/script/collect.sh"),
    include_str!("far/script/machine.sh"),
    include_str!("far/script/scheduler.sh"),
    include_str!("far/script/verbs.sh"),
);
