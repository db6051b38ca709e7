//! The output of a process: its exit, its streams, and the processes that it left.

use amplihack_utils::error::ExitKind;
use amplihack_utils::sys::{Exit, Proc, Signal};
use serde::{Deserialize, Serialize};

/// Which deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deadline {
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
    /// This process received the signal and ended the run.
    Interrupted(Signal),
    /// A deadline passed, and the run was ended.
    Deadline(Deadline),
    /// The child said that it was done, did not end, and was ended.
    Lingered,
}

/// A process as named to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its process id, of the past when the process was ended.
    pub pid: u32,
    /// The kernel's short name of it.
    pub name: String,
}

impl From<&Proc> for Process {
    fn from(proc: &Proc) -> Self {
        Self { pid: proc.pid, name: proc.name.clone() }
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.pid)
    }
}

/// The kept part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first or last bytes, as the spec's [`Output`](crate::Output) says. Empty for an output not captured.
    pub bytes: Vec<u8>,
    /// How many bytes were read and not kept.
    pub dropped: u64,
}

/// The output of a process that ended, and of everything that came of it.
#[derive(Debug)]
pub struct ProcessOutput {
    /// How the child ended. [`Exit::Signal`] with SIGKILL also for a child that would not even end on that;
    /// it is then among the survivors.
    pub exit: Exit,
    /// The cause of the end.
    pub cause: EndCause,
    /// What ran on in the background when the child of a headless run had ended, and was ended after it.
    pub background: Vec<Process>,
    /// What still runs although everything was done to end it. Empty, or a reason to warn.
    pub survivors: Vec<Process>,
    /// The child's standard output, if it was captured.
    pub stdout: Captured,
    /// The child's standard error, if it was captured.
    pub stderr: Captured,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Captured, Deadline, EndCause, Exit, ProcessOutput, Signal};

    #[test]
    fn codes_say_who_ended_the_run() {
        let table = [
            (Exit::Code(0), EndCause::Ended, 0),
            (Exit::Code(7), EndCause::Ended, 7),
            (Exit::Signal(11), EndCause::Ended, 139),
            (Exit::Code(0), EndCause::Interrupted(Signal::INT), 130),
            (Exit::Signal(9), EndCause::Interrupted(Signal::TERM), 143),
            (Exit::Code(0), EndCause::Deadline(Deadline::Idle), 5),
        ];
        for (exit, cause, code) in table {
            let output = ProcessOutput {
                exit,
                cause,
                background: Vec::new(),
                survivors: Vec::new(),
                stdout: Captured::default(),
                stderr: Captured::default(),
                unread: None,
            };
            assert_eq!(output.code(), code, "{exit:?} {cause:?}");
        }
    }
}
