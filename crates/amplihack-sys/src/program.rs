//! Start of a program without a copy of this process: the child shares its memory until it is the program.
//!
//! `fork` copies the page tables, and afterwards every page that this process writes to; for a launch that is more time than
//! it takes for all that it reads and writes.
#![expect(unsafe_code, reason = "a process that begins in this one's memory")]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use super::child::{ChildOptions, wait_for_child};
use super::image::ProgramImage;
use super::raw;
use super::stack::CloneStack;

/// Text that [`Command`] has in place of a program, an argument or a directory with a zero byte in it.
const TEXT_WITH_ZERO: &str = "<string-with-nul>";

/// Number of bytes that the code between clone and exec needs.
const STACK: usize = 64 << 10;

/// Surroundings of a program that is started.
#[derive(Debug, Default)]
pub struct ProgramSurroundings {
    /// Standard input, output and error, none of them with the number of a standard stream; `None`: this process's own.
    pub streams: [Option<OwnedFd>; 3],
    /// Group, session and death signal. Signal handling is always the default one.
    pub options: ChildOptions,
    /// Gets the child's line of the process table before it is the program. Opened for appending.
    pub record: Option<File>,
}

/// A program that was started. It is reaped by [`Self::wait`] only.
#[derive(Debug)]
#[must_use]
pub struct StartedProgram {
    pid: u32,
}

/// Orders of the process between clone and exec, and how it failed.
struct ProgramOrders<'a> {
    image: &'a ProgramImage,
    streams: [Option<RawFd>; 3],
    options: ChildOptions,
    record: Option<RawFd>,
    parent: Pid,
    /// Number of the place, and the error.
    failed: Option<(usize, Errno)>,
}

/// Reports whether [`start_program`] starts `command` as the standard library would.
///
/// It cannot on every architecture, and it cannot tell an argument with a zero byte, which the standard library refuses, from
/// the text that stands for it.
pub fn can_start_program(command: &Command) -> bool {
    let directory = command.get_current_dir().map(AsRef::<OsStr>::as_ref);
    let mut texts = command.get_args().chain([command.get_program()]).chain(directory);
    raw::SHARES && !texts.any(|text| text == TEXT_WITH_ZERO)
}

/// Starts the program of `command` with its arguments, its directory, and no other environment than its variables.
///
/// The child gets its death signal when the calling *thread* ends. Whoever waits for any child of this process must not
/// do so during this call.
///
/// # Errors
///
/// The system's error if there can be no process, or if it could not become the program.
pub fn start_program(command: &Command, surroundings: &ProgramSurroundings) -> io::Result<StartedProgram> {
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let directory = command.get_current_dir().map(AsRef::<OsStr>::as_ref);
    let image = ProgramImage::new(command.get_program(), command.get_args(), variables, directory)?;
    match start_image(&image, surroundings) {
        Err((place, Errno::NOEXEC)) => start_image(&image.into_script(place), surroundings),
        other => other,
    }
    .map_err(|(_, error)| error.into())
}

fn start_image(
    image: &ProgramImage,
    surroundings: &ProgramSurroundings,
) -> Result<StartedProgram, (usize, Errno)> {
    let stack = CloneStack::new(STACK).map_err(|error| (0, error))?;
    let ProgramSurroundings { streams, options, record } = surroundings;
    let mut orders = ProgramOrders {
        image,
        streams: streams.each_ref().map(|stream| stream.as_ref().map(AsRawFd::as_raw_fd)),
        options: *options,
        record: record.as_ref().map(AsRawFd::as_raw_fd),
        parent: getpid(),
        failed: None,
    };
    // A handler of this process that ran in the child would work with this process's variables.
    let before = raw::block_signals(raw::SignalMask::MAX);
    let memory = libc::CLONE_VM | libc::CLONE_VFORK;
    // SAFETY: this thread stands still until the child uses neither the stack nor `orders` any more.
    let pid = unsafe { stack.start_process(memory, become_program, &raw mut orders) };
    raw::block_signals(before);
    let started = StartedProgram { pid: pid.map_err(|error| (0, error))?.unsigned_abs() };
    let Some(failed) = orders.failed else { return Ok(started) };
    // It has ended, or is about to. Where somebody else reaps it, the reason is still the child's.
    let _ = started.wait();
    Err(failed)
}

/// The process between clone and exec. All signals are blocked.
extern "C" fn become_program(orders: *mut ProgramOrders<'_>) -> ! {
    // SAFETY: the parent gives what is its own, and waits.
    let orders = unsafe { &mut *orders };
    orders.failed = Some(match orders.set_up() {
        Ok(()) => {
            raw::block_signals(0);
            orders.image.execute()
        }
        Err(error) => (0, error),
    });
    raw::exit_process(127)
}

impl ProgramOrders<'_> {
    fn set_up(&self) -> Result<(), Errno> {
        self.options.set_up(self.parent)?;
        for (from, to) in self.streams.into_iter().zip(0..) {
            if let Some(from) = from {
                raw::duplicate_file(from, to)?;
            }
        }
        self.image.enter_directory()?;
        self.record.map_or(Ok(()), raw::record_self)
    }
}

impl StartedProgram {
    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Waits for its end, and reaps it.
    ///
    /// # Errors
    ///
    /// `ECHILD` if somebody else reaped it.
    pub fn wait(self) -> io::Result<()> {
        wait_for_child(self.pid)
    }
}

#[cfg(test)]
mod tests;
