//! Sandboxes that cannot be.

use std::io;
use std::path::PathBuf;

use amplihack_sys::error::ErrorExplanation;

/// Reason for which there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The workspace cannot be found.
    #[error("the directory {} cannot be used: {source}", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The workspace holds the home, and with it what the sandbox is to protect.
    #[error("the workspace {} holds the home directory {}", .workspace.display(), .home.display())]
    WorkspaceHoldsHome {
        /// The workspace.
        workspace: PathBuf,
        /// The home.
        home: PathBuf,
    },
    /// The way into the sandbox cannot be prepared.
    #[error("the sandbox cannot be prepared: {0}")]
    Stage(io::Error),
    /// The workspace is a directory of the system, or of everybody.
    #[error("{} is no workspace: it is the system's, or everybody's", .path.display())]
    SharedDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The home, which the sandbox is to protect, is not known.
    #[error("HOME is not set to a directory that is there")]
    NoHome,
    /// A path that was to be opened is not there.
    #[error("{} is not there, so the sandbox cannot open it", .path.display())]
    NoSuchPath {
        /// The path.
        path: PathBuf,
    },
}

impl ErrorExplanation for SandboxError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "directory",
            Self::WorkspaceHoldsHome { .. } | Self::SharedDirectory { .. } => "workspace",
            Self::NoHome => "no_home",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::Stage(_) => "system",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Directory { .. } => "start in a directory that this user may enter",
            Self::WorkspaceHoldsHome { .. } | Self::SharedDirectory { .. } => {
                "start in the directory of a project"
            }
            Self::NoHome => "set HOME",
            Self::NoSuchPath { .. } => "make it first, or leave the option out",
            Self::Stage(_) => return None,
        };
        Some(hint.to_owned())
    }
}
