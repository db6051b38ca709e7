//! What the tests stand on: sandboxes built from nothing, fake agents that are real programs, and looks at the system.
//!
//! Everything here fails a test loudly, by panic, when the machine does not do what a test needs; nothing here ships.
#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "every claim of a test kit fails the test that makes it, by panic"
)]

pub mod amplifier;
pub mod azlin;
pub mod browser;
pub mod bytes;
pub mod compare;
pub mod grid;
pub mod guard_table;
pub mod hooked;
pub mod hostile;
pub mod hosts;
pub mod json;
mod logged;
pub mod netns;
pub mod output;
pub mod page;
pub mod printed;
pub mod procs;
pub mod programs;
pub mod real;
pub mod record;
pub mod repository;
pub mod run;
pub mod sandbox;
pub mod script;
pub mod secrets;
pub mod skip;
pub mod slurm;
pub mod sshd;
pub mod tmux;

pub use azlin::Azlin;
pub use browser::{Browser, Look};
pub use bytes::Bytes;
pub use hosts::{Host, Network};
pub use logged::logged;
pub use netns::NetNs;
pub use output::Output;
pub use record::{Record, StdinKind};
pub use repository::create_repository;
pub use run::{Run, Running};
pub use sandbox::Sandbox;
pub use script::{Child, Kind, Script};
pub use skip::{require_programs, require_root, skip_test};
pub use slurm::Slurm;
pub use sshd::Sshd;
pub use tmux::Tmux;

use std::io::Write;

/// Whether the long forms of kill, soak and many-run loops were asked for (`cargo xtask test --long`).
pub fn long() -> bool {
    amplihack_config::env::Env::from_process().text("AMPLIHACK_TEST_LONG").is_some()
}

/// Writes one line to the real stderr, past the test harness's capture. A test that is left out is told by [`skip_test`].
pub fn loud(line: &str) {
    // Nothing is left to tell if stderr itself is gone.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The workspace's root directory.
pub fn workspace() -> std::path::PathBuf {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the testkit lies two directories below the workspace").to_path_buf()
}
