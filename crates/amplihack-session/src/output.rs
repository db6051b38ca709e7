//! The output of a process: its exit, its streams, and the processes that it left.

use std::time::Duration;

use amplihack_sys::error::ExitKind;
use amplihack_sys::{ProcessEntry, ProcessExit, Signal};
use serde::{Deserialize, Serialize};

/// Kind of the deadline that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadlineKind {
    /// No first byte of output in time.
    Startup,
    /// No output for too long.
    Idle,
    /// The whole run took too long.
    Total,
}

/// The cause of a process's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// The child ended of its own accord, or was ended by somebody else.
    Ended,
    /// Interruption: this process received the signal and ended the run.
    Interrupted(Signal),
    /// A deadline passed, and the run was ended.
    Deadline(DeadlineKind),
    /// The child said that it was done, did not end, and was ended.
    Lingered,
    /// Whoever watches the run's guard ended it: see [`RunStopper`](crate::RunStopper).
    Unguarded,
}

/// A process as named to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedProcess {
    /// Process id, of the past when the process was ended.
    pub pid: u32,
    /// The kernel's short name of it.
    pub name: String,
}

impl From<&ProcessEntry> for NamedProcess {
    fn from(proc: &ProcessEntry) -> Self {
        Self { pid: proc.pid, name: proc.name.clone() }
    }
}

impl std::fmt::Display for NamedProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.pid)
    }
}

/// The kept part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The first or last bytes, as the spec's [`ChildOutput`](crate::ChildOutput) tells. Empty for an output not captured.
    pub bytes: Vec<u8>,
    /// Number of bytes that were read and not kept.
    pub dropped: u64,
}

/// The output of a process that ended, and of everything that came of it.
#[derive(Debug)]
pub struct ProcessOutput {
    /// Exit of the child. [`ProcessExit::Signal`] with SIGKILL also for a child that would not even end on that;
    /// it is then among the survivors.
    pub exit: ProcessExit,
    /// The cause of the end.
    pub cause: EndCause,
    /// The limit that passed, of a run that a deadline ended.
    pub limit: Option<Duration>,
    /// Processes that ran on in the background when the child of a headless run had ended, and were ended after it.
    pub background: Vec<NamedProcess>,
    /// Processes that still run although everything was done to end them. Empty, or a reason to warn.
    pub survivors: Vec<NamedProcess>,
    /// The child's standard output, if it was captured.
    pub stdout: CapturedOutput,
    /// The child's standard error, if it was captured.
    pub stderr: CapturedOutput,
    /// Bytes on stdin that nobody read. `None`: all were read, or there were none. No failure by itself, but for a prompt.
    pub unread: Option<u64>,
}

impl ProcessOutput {
    /// The exit code that this process should pass on.
    ///
    /// After a signal to this process 128 + that signal, *whatever the child said*: agents return 0 after Ctrl-C.
    /// After a deadline 5. Otherwise the child's own.
    pub fn code(&self) -> i32 {
        match self.cause {
            EndCause::Ended | EndCause::Lingered => self.exit.code(),
            EndCause::Interrupted(signal) => 128 + signal.as_raw(),
            EndCause::Deadline(_) => i32::from(ExitKind::Budget.code()),
            EndCause::Unguarded => i32::from(ExitKind::Denied.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CapturedOutput, DeadlineKind, EndCause, ProcessExit, ProcessOutput, Signal};

    #[test]
    fn codes_say_who_ended_the_run() {
        let table = [
            (ProcessExit::Code(0), EndCause::Ended, 0),
            (ProcessExit::Code(7), EndCause::Ended, 7),
            (ProcessExit::Signal(11), EndCause::Ended, 139),
            (ProcessExit::Code(0), EndCause::Interrupted(Signal::INT), 130),
            (ProcessExit::Signal(9), EndCause::Interrupted(Signal::TERM), 143),
            (ProcessExit::Code(0), EndCause::Deadline(DeadlineKind::Idle), 5),
        ];
        for (exit, cause, code) in table {
            let output = ProcessOutput {
                exit,
                cause,
                limit: None,
                background: Vec::new(),
                survivors: Vec::new(),
                stdout: CapturedOutput::default(),
                stderr: CapturedOutput::default(),
                unread: None,
            };
            assert_eq!(output.code(), code, "{exit:?} {cause:?}");
        }
    }
}
