//! Errors of a run that could not be started or watched.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_sys::log::LogError;
use rustix::io::Errno;

/// A run that did not come to an end of its own. Whatever it had started is ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program could not be started.
    #[error("start {}: {source}; {}", program.display(), spawn_advice(source))]
    Spawn {
        /// The program, as the command names it.
        program: OsString,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The run was polled where no tokio runtime is, or one without I/O or time.
    #[error("watch {}: there is no tokio runtime with I/O and time; poll it within one, or use the blocking form", program.display())]
    NoRuntime {
        /// The program that was to be watched.
        program: OsString,
    },
    /// A system call that the watching needs failed.
    #[error("watch {}: {what}: {source}; check the limits of open files and processes (ulimit -n, ulimit -u)", program.display())]
    Watch {
        /// The program that was to be watched.
        program: OsString,
        /// Step that was tried.
        what: &'static str,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The run's journal cannot be written, so nothing more of it is shown.
    #[error("keep the journal of the run: {0}{advice}", advice = .0.other_home_advice())]
    Journal(#[from] LogError),
    /// An earlier error ended the run, and how it went is not known.
    #[error("report the end of a run that had already failed; see the error above")]
    Lost,
    /// A probe did not end in time.
    #[error("run {}: it did not end within {} s; run it by hand to see what it waits for", program.display(), after.as_secs_f32())]
    TimedOut {
        /// The probed program.
        program: OsString,
        /// Time that the probe had.
        after: Duration,
    },
}

impl RunError {
    pub(crate) fn watch_error(program: &OsString, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Watch { program: program.clone(), what, source }
    }
}

/// Next step for a program that does not start.
fn spawn_advice(error: &io::Error) -> &'static str {
    if matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE)) {
        return "close files, or raise ulimit -n";
    }
    match error.kind() {
        io::ErrorKind::NotFound => "check that the program, its interpreter and the working directory exist",
        io::ErrorKind::PermissionDenied => {
            "check that the program is executable and the directory may be entered"
        }
        io::ErrorKind::ArgumentListTooLong => {
            "shorten arguments and environment, or deliver the prompt on stdin"
        }
        io::ErrorKind::ExecutableFileBusy => "wait until its installation has ended, then try again",
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => "end other processes, or raise ulimit -u",
        _ => "run the program by hand to see what is wrong with it",
    }
}

impl ErrorExplanation for RunError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Spawn { .. } => "spawn_failed",
            Self::NoRuntime { .. } => "no_runtime",
            Self::Watch { .. } => "watch_failed",
            Self::Journal(log) => log.kind(),
            Self::Lost => "run_lost",
            Self::TimedOut { .. } => "timed_out",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => ExitKind::NotFound,
            Self::Spawn { .. }
            | Self::NoRuntime { .. }
            | Self::Watch { .. }
            | Self::Journal(_)
            | Self::Lost => ExitKind::Failed,
            Self::TimedOut { .. } => ExitKind::Budget,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{ErrorExplanation, ExitKind, RunError};

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let error = RunError::Spawn { program: "claude".into(), source: io::ErrorKind::NotFound.into() };
        assert_eq!(
            error.to_string(),
            "start claude: entity not found; check that the program, its interpreter and the working directory exist"
        );
        assert_eq!((error.kind(), error.exit_kind()), ("spawn_failed", ExitKind::NotFound));
    }
}
