//! Specification of a run: the command, its pipes, its deadlines, and the owner of the terminal.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use crate::child_stream::ChildStream;
use crate::signals::InterruptSignals;
use crate::stopper::RunStopper;

/// Relation of the agent to the terminal of this process.
///
/// The agent crate's run mode says how an agent is *asked* to run; this says what the run may do to its processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalMode {
    /// Headless: the child leads a group of its own, signals are passed on to that group, and nothing of the run is
    /// left when it ends.
    #[default]
    Detached,
    /// Interactive: the child stays in this process's group, Ctrl-C and Ctrl-Z are its own, and what it leaves in
    /// the background is left alone. The terminal's settings are put back when it ends.
    Owned,
}

/// Source of the child's standard input.
#[derive(Default)]
pub enum ChildInput {
    /// `/dev/null`.
    #[default]
    Null,
    /// Standard input of this process.
    Inherit,
    /// Bytes that are written while the child's output is read; then the pipe is closed.
    Bytes(Vec<u8>),
    /// Bytes that are written first, and then those of [`AgentRun::write_input`](crate::AgentRun::write_input), until
    /// [`AgentRun::close_input`](crate::AgentRun::close_input).
    Open(Vec<u8>),
    /// File that is read from its current position: for input that is too large to be held in memory.
    File(File),
}

/// Destination of an output of the child.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChildOutput {
    /// To this process's own.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// The first bytes, at most so many, are kept; the rest is read and counted.
    Head(usize),
    /// The last bytes, at most so many, are kept; the rest is read and counted.
    Tail(usize),
    /// To this process's standard error as it comes; the last bytes, at most so many, are kept, too.
    Forward(usize),
    /// To whoever reads the run: what nobody takes is not read, and holds the child up. For standard output, and set by
    /// [`EventRun::start`](crate::EventRun::start).
    Stream,
}

/// Time limits of a run. `None`: no limit.
///
/// The first two need a captured output; without one there is nothing to see, and they are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// From the start to the first byte of output.
    pub startup: Option<Duration>,
    /// From the start, or from any output, to the next.
    pub idle: Option<Duration>,
    /// From the start to the end.
    pub total: Option<Duration>,
}

/// A run to be started. Public fields: set what differs from [`RunSpec::new`].
pub struct RunSpec {
    /// Program, arguments, environment and directory. Its standard streams are set from the fields below.
    pub command: Command,
    /// The command's environment was cleared: the variables that it names are all. Such a child is started without a copy of
    /// this process's memory map, in half of the time. Default: false.
    pub clean_environment: bool,
    /// Default: [`ChildInput::Null`].
    pub stdin: ChildInput,
    /// Default: [`ChildOutput::Inherit`].
    pub stdout: ChildOutput,
    /// File that standard output goes to instead, for output that is too large to be held in memory. Default: none.
    pub stdout_file: Option<File>,
    /// Default: [`ChildOutput::Inherit`].
    pub stderr: ChildOutput,
    /// Kept until the child is reaped: the handle of a prompt's temporary file, for example. Default: nothing.
    pub keep: Box<dyn Send>,
    /// Default: [`TerminalMode::Detached`].
    pub terminal: TerminalMode,
    /// Default: none.
    pub deadlines: Deadlines,
    /// True: deadlines hold also while nobody polls the run; a thread of this process keeps the time. Default: false.
    pub timekeeper: bool,
    /// Time that the tree may take after a passed-on signal, and again after SIGTERM. Default: 5 s.
    pub grace: Duration,
    /// Time that the child may take to end once it reported that it is done. Default: as long as the grace.
    pub linger: Option<Duration>,
    /// The session's id, given to the child as `AMPLIHACK_SESSION_ID`; descendants in sessions of their own are found
    /// by it, so it must be this run's alone. Empty (the default): not set, not looked for.
    pub tag: String,
    /// File in which the child identifies itself first, for [`end_leftovers`](crate::leftovers::end_leftovers). Default: none.
    pub record: Option<File>,
    /// True for a process that is one of our binaries: it becomes the reaper of its descendants' orphans, and orphans of nobody
    /// else are this run's. Default: false; a library never does that to its host.
    pub subreaper: bool,
    /// The signals to this process that are passed on to the run, and end it. Default: none; a library leaves its host's
    /// signals alone.
    pub interrupts: InterruptSignals,
    /// Ends the run from elsewhere. Default: nobody does.
    pub stopper: RunStopper,
}

impl RunSpec {
    /// A headless run of `command` with nothing on stdin and both outputs passed through.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            clean_environment: false,
            stdin: ChildInput::default(),
            stdout: ChildOutput::default(),
            stdout_file: None,
            stderr: ChildOutput::default(),
            keep: Box::new(()),
            terminal: TerminalMode::default(),
            deadlines: Deadlines::default(),
            timekeeper: false,
            grace: Duration::from_secs(5),
            linger: None,
            tag: String::new(),
            record: None,
            subreaper: false,
            interrupts: InterruptSignals::without_signals(),
            stopper: RunStopper::default(),
        }
    }

    /// Sets the command's session id, and takes out where its streams lead.
    pub(crate) fn take_streams(&mut self) -> [ChildStream; 3] {
        if !self.tag.is_empty() {
            self.command.env(SESSION_ID, &self.tag);
        }
        let stdin = match std::mem::take(&mut self.stdin) {
            ChildInput::Null => ChildStream::Null,
            ChildInput::Inherit => ChildStream::Inherit,
            ChildInput::File(file) => ChildStream::File(file),
            bytes @ (ChildInput::Bytes(_) | ChildInput::Open(_)) => {
                self.stdin = bytes;
                ChildStream::Pipe
            }
        };
        let stdout = match self.stdout_file.take() {
            Some(file) => {
                self.stdout = ChildOutput::Null;
                ChildStream::File(file)
            }
            None => self.stdout.to_stream(),
        };
        [stdin, stdout, self.stderr.to_stream()]
    }

    /// Reports whether any output is read, so that silence can be seen.
    pub(crate) fn has_captured_output(&self) -> bool {
        self.stdout.is_captured() || self.stderr.is_captured()
    }
}

/// The variable by which a run's descendants are known.
pub const SESSION_ID: &str = amplihack_config::launcher_context::SESSION_VAR;

impl ChildOutput {
    fn to_stream(self) -> ChildStream {
        match self {
            Self::Inherit => ChildStream::Inherit,
            Self::Null => ChildStream::Null,
            Self::Head(_) | Self::Tail(_) | Self::Forward(_) | Self::Stream => ChildStream::Pipe,
        }
    }

    fn is_captured(self) -> bool {
        matches!(self, Self::Head(_) | Self::Tail(_) | Self::Forward(_) | Self::Stream)
    }
}

impl std::fmt::Debug for ChildInput {
    /// Never the bytes: they are a prompt.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Inherit => f.write_str("Inherit"),
            Self::File(_) => f.write_str("File"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Open(bytes) => write!(f, "Open({} bytes)", bytes.len()),
        }
    }
}

impl std::fmt::Debug for RunSpec {
    /// The program only: arguments and environment may hold prompts and secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSpec")
            .field("program", &self.command.get_program())
            .field("stdin", &self.stdin)
            .field("terminal", &self.terminal)
            .field("deadlines", &self.deadlines)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{ChildInput, RunSpec};

    #[test]
    fn debug_shows_no_prompt() {
        let mut command = Command::new("agent");
        command.arg("secret argument").env("KEY", "secret value");
        let spec = RunSpec { stdin: ChildInput::Bytes(b"secret prompt".to_vec()), ..RunSpec::new(command) };
        let shown = format!("{spec:?}");
        assert!(shown.contains("agent") && shown.contains("13 bytes"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
