//! A program whose files, processes, network and system calls end at a border that the kernel keeps.
//!
//! A [`Confinement`] is data. [`run_confined`] enters it from a process of one thread that is there for nothing else:
//!
//! ```text
//! stage: user, mount, IPC, PID and network namespaces ─▶ init: root of its own, /proc, /dev ─▶ program: no capability, Landlock, seccomp
//!   passes signals on, takes the program's end            reaps, is the end of all that is left
//! ```
//!
//! The root holds the paths of the confinement and nothing else: what is not named is not there. A path that is named below another one
//! is a mount of its own, which nobody can rename, remove or reach behind.

mod data;
mod init;
mod landlock;
mod namespaces;
mod root;
mod seccomp;
mod stage;

pub use data::{ConfinedNetwork, ConfinedPath, Confinement, ConfinementLayers, PathAccess};
pub use stage::{end_by_signal, run_confined};

use std::io;
use std::path::{Path, PathBuf};

/// A step into a confinement that failed. The program was not started.
#[derive(Debug, thiserror::Error)]
#[error("failed to {step}{}: {source}", .path.as_deref().map(|path| format!(" {}", path.display())).unwrap_or_default())]
pub struct ConfineError {
    /// The step, as in “failed to …”.
    pub step: String,
    /// The path that it was about.
    pub path: Option<PathBuf>,
    /// The system's answer.
    pub source: io::Error,
}

impl ConfineError {
    /// A closure that makes an error of the system's answer to `step`.
    fn at_step<E: Into<io::Error>>(step: &str) -> impl FnOnce(E) -> Self + '_ {
        move |source| Self { step: step.to_owned(), path: None, source: source.into() }
    }

    /// A closure that makes an error of the system's answer to `step` at `path`.
    fn at_path<'a, E: Into<io::Error>>(step: &'a str, path: &'a Path) -> impl FnOnce(E) -> Self + 'a {
        move |source| Self { step: step.to_owned(), path: Some(path.to_owned()), source: source.into() }
    }
}
