//! How a run ended, and what it left.

use std::io;

use amplihack_utils::error::ExitKind;
use amplihack_utils::sys::{Exit, Proc, Signal};

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

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Everything that is known of a run that ended.
#[derive(Debug)]
pub struct Outcome {
    /// How the child ended. [`Exit::Signal`] with SIGKILL also for a child that would not even end on that;
    /// it is then among the survivors.
    pub exit: Exit,
    /// Why the run ended.
    pub why: Why,
    /// What ran on in the background when the child of a headless run had ended, and was ended after it.
    pub background: Vec<Process>,
    /// What still runs although everything was done to end it. Empty, or a reason to warn.
    pub survivors: Vec<Process>,
    /// The child's standard output, if it was captured.
    pub stdout: Captured,
    /// The child's standard error, if it was captured.
    pub stderr: Captured,
    /// Why not all of stdin was written. `BrokenPipe`: the child closed it early, which is no failure by itself.
    pub stdin_error: Option<io::Error>,
}

impl Outcome {
    /// The exit code that this process should pass on.
    ///
    /// After a signal to this process 128 + that signal, *whatever the child said*: agents return 0 after Ctrl-C.
    /// After a deadline 5. Otherwise the child's own.
    pub fn code(&self) -> i32 {
        match self.why {
            Why::Ended | Why::Lingered => self.exit.code(),
            Why::Interrupted(signal) => 128 + signal.as_raw(),
            Why::Deadline(_) => i32::from(ExitKind::Budget.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Captured, Deadline, Exit, Outcome, Signal, Why};

    #[test]
    fn codes_say_who_ended_the_run() {
        let table = [
            (Exit::Code(0), Why::Ended, 0),
            (Exit::Code(7), Why::Ended, 7),
            (Exit::Signal(11), Why::Ended, 139),
            (Exit::Code(0), Why::Interrupted(Signal::INT), 130),
            (Exit::Signal(9), Why::Interrupted(Signal::TERM), 143),
            (Exit::Code(0), Why::Deadline(Deadline::Idle), 5),
        ];
        for (exit, why, code) in table {
            let outcome = Outcome {
                exit,
                why,
                background: Vec::new(),
                survivors: Vec::new(),
                stdout: Captured::default(),
                stderr: Captured::default(),
                stdin_error: None,
            };
            assert_eq!(outcome.code(), code, "{exit:?} {why:?}");
        }
    }
}
