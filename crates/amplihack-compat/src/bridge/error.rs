//! Errors that keep the external runner from running a recipe.

use std::io;
use std::path::PathBuf;

use amplihack_recipe::spill::SpillError;
use amplihack_session::RunError;
use amplihack_sys::error::{ErrorExplanation, ExitKind};

/// A run that did not come to an answer of the runner's. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The runner is nowhere.
    #[error("recipe-runner-rs was not found; looked at {}", looked.join(", "))]
    RunnerNotFound {
        /// The places that were searched, in order.
        looked: Vec<String>,
    },
    /// Anybody might have changed the runner.
    #[error("{} may be written by everybody (mode {mode:o}), so it is not run", path.display())]
    UnsafeRunner {
        /// The runner.
        path: PathBuf,
        /// The permission bits of the runner's file.
        mode: u32,
    },
    /// The runner does not tell its version.
    #[error("{} does not tell its version: {why}", path.display())]
    VersionUnknown {
        /// The runner.
        path: PathBuf,
        /// The runner's behavior instead of printing a version.
        why: String,
    },
    /// The text that the runner prints as its version is none.
    #[error("{} tells the version {version:?}, which cannot be read", path.display())]
    VersionUnreadable {
        /// The runner.
        path: PathBuf,
        /// The text that the runner printed.
        version: String,
    },
    /// The runner is too old.
    #[error("{} has the version {version}, which is older than {minimum}", path.display())]
    VersionTooOld {
        /// The runner.
        path: PathBuf,
        /// The version of the runner.
        version: String,
        /// The oldest that will do.
        minimum: &'static str,
    },
    /// The variable holds no number of seconds.
    #[error("RECIPE_RUNNER_INSTALL_TIMEOUT is {value:?}, not a whole number of seconds above 0")]
    BadInstallTimeout {
        /// The value of the variable.
        value: String,
    },
    /// The recipe has no name that the runner would take for one.
    #[error("the recipe {name:?} {why}")]
    BadRecipe {
        /// The name.
        name: String,
        /// The fault of the name.
        why: &'static str,
    },
    /// A directory of the request cannot be used.
    #[error("the directory {} cannot be used: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The context cannot be handed over.
    #[error(transparent)]
    Context(#[from] SpillError),
    /// The runner could not be started or watched.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A signal ended the runner, whatever it printed before.
    #[error("the runner was ended by signal {signal}{}", name.map(|name| format!(" ({name})")).unwrap_or_default())]
    Signalled {
        /// The signal.
        signal: i32,
        /// The signal's name, if it has a known one.
        name: Option<&'static str>,
    },
    /// A signal to this process ended the run.
    #[error("the run was ended by signal {signal}")]
    Interrupted {
        /// The signal.
        signal: i32,
    },
    /// The run took longer than it may.
    #[error("the run took longer than it may, and was ended")]
    TimedOut,
    /// The runner failed and printed no answer.
    #[error("the runner failed with exit code {code}: {said}")]
    Failed {
        /// The exit code of the runner.
        code: i32,
        /// The last meaningful lines of the runner's stderr.
        said: String,
    },
    /// The runner answered success and failed.
    #[error("the runner answered that the recipe succeeded, and ended with exit code {code}")]
    Contradiction {
        /// The exit code of the runner.
        code: i32,
    },
    /// The runner ended well and printed nothing.
    #[error("the runner ended with exit code 0 and printed no answer")]
    Empty,
    /// The runner's output is no JSON document.
    #[error("the answer of the runner cannot be read: {why}; it begins with {start:?}")]
    Malformed {
        /// The reason that the JSON reader gives.
        why: String,
        /// The first 500 characters of the output.
        start: String,
    },
    /// The runner printed more than is read.
    #[error("the answer of the runner is longer than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read of an answer.
        limit: usize,
    },
    /// The runner's JSON is no answer.
    #[error("the answer of the runner is not what it should be: {what}")]
    BadResponse {
        /// The fault of the answer.
        what: String,
    },
}

impl ErrorExplanation for BridgeError {
    fn kind(&self) -> &'static str {
        match self {
            Self::RunnerNotFound { .. } => "runner_not_found",
            Self::UnsafeRunner { .. } => "runner_unsafe",
            Self::VersionUnknown { .. } => "runner_version_unknown",
            Self::VersionUnreadable { .. } => "runner_version_unreadable",
            Self::VersionTooOld { .. } => "runner_version_too_old",
            Self::BadInstallTimeout { .. } => "bad_install_timeout",
            Self::BadRecipe { .. } => "bad_recipe",
            Self::Directory { .. } => "directory",
            Self::Context(error) => error.kind(),
            Self::Run(error) => error.kind(),
            Self::Signalled { .. } => "runner_signalled",
            Self::Interrupted { .. } => "interrupted",
            Self::TimedOut => "timed_out",
            Self::Failed { .. } => "runner_failed",
            Self::Contradiction { .. } => "runner_contradicts_itself",
            Self::Empty => "runner_output_empty",
            Self::Malformed { .. } => "runner_output_malformed",
            Self::TooLarge { .. } => "runner_output_too_large",
            Self::BadResponse { .. } => "runner_response_invalid",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::RunnerNotFound { .. } => ExitKind::NotFound,
            Self::BadInstallTimeout { .. } | Self::BadRecipe { .. } => ExitKind::Usage,
            Self::Context(error) => error.exit_kind(),
            Self::TimedOut => ExitKind::Budget,
            Self::Run(error) => error.exit_kind(),
            _ => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::RunnerNotFound { .. } => {
                "install it, name it in RECIPE_RUNNER_RS_PATH, or leave --runner out: amplihack runs recipes itself".into()
            }
            Self::UnsafeRunner { path, .. } => format!("chmod o-w {}", path.display()),
            Self::VersionUnknown { .. } | Self::VersionUnreadable { .. } | Self::VersionTooOld { .. } => {
                "update it, or leave --runner out: amplihack runs recipes itself".into()
            }
            Self::BadInstallTimeout { .. } => "correct it, or unset it: nothing is installed".into(),
            Self::Context(error) => return error.hint(),
            Self::Failed { .. } | Self::Signalled { .. } => "run the same recipe again once its cause is gone".into(),
            Self::Run(error) => return error.hint(),
            _ => return None,
        })
    }
}
