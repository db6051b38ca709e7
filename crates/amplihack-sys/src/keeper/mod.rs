//! A keeper: the process between a runner and one step, which writes down how the step ended even when the runner is dead.
//!
//! It is cloned and never execs, and it has the runner's memory as its own ([`run`] says what follows from that): neither it nor its
//! step copies a page table, so that a step costs the same however much the runner holds. It pumps the step's outputs into
//! files, inherits the step's orphans, and when the step has ended writes the record by rename. SIGTERM, also that of the
//! runner's death, makes it end the step's whole tree: SIGTERM, after the grace SIGKILL. What the step left in the
//! background is kept, with its outputs, until then.
#![expect(unsafe_code, reason = "a process that begins in this one's memory")]

mod run;

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::getpid;

use super::child::wait_for_child;
use super::image::ProgramImage;
use super::raw;
use super::signal::ProcessExit;
use super::stack::CloneStack;
use run::KeeperOrders;

/// A step's program.
#[derive(Clone)]
pub struct StepProgram {
    /// Path of the program, or its name, which is looked for in `PATH`.
    pub path: PathBuf,
    /// Arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Working directory of the step.
    pub directory: PathBuf,
}

impl fmt::Debug for StepProgram {
    /// Only the names of variables: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&OsString> = self.environment.keys().collect();
        f.debug_struct("StepProgram")
            .field("path", &self.path)
            .field("arguments", &self.arguments)
            .field("environment", &variables)
            .field("directory", &self.directory)
            .finish()
    }
}

/// Files and settings that a keeper is given.
#[derive(Debug)]
pub struct KeeperOptions {
    /// The step's standard input.
    pub input: Arc<File>,
    /// Takes the step's standard output. Not opened for appending.
    pub output: Arc<File>,
    /// Takes the step's standard error.
    pub error: Arc<File>,
    /// The directory of the record.
    pub directory: Arc<File>,
    /// The record's name, and the name that it has before it is whole.
    pub record: CString,
    /// See [`Self::record`].
    pub unfinished: CString,
    /// Gets the line of `/proc/PID/stat` of the keeper and of the step, before the step is exec'd. Opened for appending.
    pub processes: Arc<File>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

/// End of a step, as its keeper wrote it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRecord {
    /// Exit of the step's own process.
    pub exit: ProcessExit,
    /// Set if the step was still running when the keeper was told to end it.
    pub ended_by_us: bool,
    /// Bytes of standard output and standard error in the files.
    pub bytes: [u64; 2],
    /// Some output could not be written: no room.
    pub lost: bool,
    /// The step left processes in the background; its keeper stays with them.
    pub left: bool,
}

impl StepRecord {
    /// Reads a record: its file's contents, or what came by the pipe. `None`: none was written.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let kind = words.next()?;
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        let [number, ended_by_us, output, error, lost, left] = numbers[..] else { return None };
        let number = i32::try_from(number).ok()?;
        let exit = match kind {
            "code" => ProcessExit::Code(number),
            "signal" => ProcessExit::Signal(number),
            _ => return None,
        };
        Some(Self {
            exit,
            ended_by_us: ended_by_us != 0,
            bytes: [output, error],
            lost: lost != 0,
            left: left != 0,
        })
    }
}

/// Returns the error for which a step was not started, if that is what came by the pipe.
pub fn not_started(text: &str) -> Option<io::Error> {
    let number = text.trim_end().strip_prefix(NOT_STARTED)?.parse().ok()?;
    Some(io::Error::from_raw_os_error(number))
}

/// Number of bytes that the keeper's code needs, many times over.
const KEEPER_STACK: usize = 192 << 10;
/// Number of bytes that the code between clone and exec needs.
const STEP_STACK: usize = 64 << 10;

/// Text that is told when there is no step: this, and the error's number.
const NOT_STARTED: &str = "failed ";

/// A keeper that can be started.
pub struct PreparedKeeper {
    orders: Box<KeeperOrders>,
    done: OwnedFd,
    /// Open until the keeper has them.
    _files: KeeperOptions,
    _pipes: [OwnedFd; 5],
}

impl fmt::Debug for PreparedKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedKeeper").finish_non_exhaustive()
    }
}

impl PreparedKeeper {
    /// A keeper whose step is `program`, in a group of its own.
    pub fn new(program: &StepProgram, keep: KeeperOptions) -> io::Result<Self> {
        let image = ProgramImage::new(
            program.path.as_os_str(),
            program.arguments.iter().map(OsString::as_os_str),
            program.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())),
            Some(program.directory.as_os_str()),
        )?;
        let (output, child_output) = open_pipe()?;
        let (error, child_error) = open_pipe()?;
        let (done, tell) = open_pipe()?;
        let orders = KeeperOrders {
            image,
            streams: [keep.input.as_raw_fd(), child_output.as_raw_fd(), child_error.as_raw_fd()],
            pipes: [output.as_raw_fd(), error.as_raw_fd()],
            files: [keep.output.as_raw_fd(), keep.error.as_raw_fd()],
            directory: keep.directory.as_raw_fd(),
            processes: keep.processes.as_raw_fd(),
            tell: tell.as_raw_fd(),
            record: keep.record.clone(),
            unfinished: keep.unfinished.clone(),
            grace: keep.grace,
            runner: getpid(),
            stacks: [CloneStack::new(KEEPER_STACK)?, CloneStack::new(STEP_STACK)?],
        };
        let pipes = [output, child_output, error, child_error, tell];
        Ok(Self { orders: Box::new(orders), done, _files: keep, _pipes: pipes })
    }

    /// Starts the keeper, which gets SIGTERM when the calling *thread* ends, and then its step.
    ///
    /// Returns a descriptor from which the record, or [why there is no step](not_started), is read as soon as it is written, to
    /// its end. Nothing before the end means that the keeper was killed; its step is killed then.
    pub fn start_keeper(self) -> io::Result<(StepKeeper, OwnedFd)> {
        let Self { mut orders, done, .. } = self;
        let place = &raw mut *orders;
        let memory = if raw::SHARES { libc::CLONE_VM } else { 0 };
        // A handler of this process that ran in the keeper would work with this process's variables.
        let before = raw::block_signals(raw::SignalMask::MAX);
        // SAFETY: the stack and the orders live until the keeper was reaped.
        let pid = unsafe { (*place).stacks[0].start_process(memory, run::main, place) };
        raw::block_signals(before);
        Ok((StepKeeper { pid: pid?.unsigned_abs(), orders: ManuallyDrop::new(orders) }, done))
    }
}

/// A keeper that was started and is not reaped yet. Dropping it leaves the keeper as it is, and the memory that it works in.
#[derive(Debug)]
#[must_use]
pub struct StepKeeper {
    pid: u32,
    orders: ManuallyDrop<Box<KeeperOrders>>,
}

impl StepKeeper {
    /// Returns the keeper's process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Waits for its end, and reaps it.
    pub fn wait(self) -> io::Result<()> {
        wait_for_child(self.pid)?;
        // Nobody works with it any more.
        drop(ManuallyDrop::into_inner(self.orders));
        Ok(())
    }
}

/// A pipe whose ends are none of the standard streams.
fn open_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let above = |end: OwnedFd| match end.as_raw_fd() {
        0..=2 => rustix::io::fcntl_dupfd_cloexec(&end, 3),
        _ => Ok(end),
    };
    Ok((above(read)?, above(write)?))
}

#[cfg(test)]
mod tests;
