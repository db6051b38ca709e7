//! Work of a keeper. It shares its memory with the runner and with the runner's other keepers, whose threads go on meanwhile.
//!
//! So nothing here allocates, takes a lock, or uses a variable of the thread: the keeper has those of the thread that made it.
//! Every call of the system is one of [`raw`] or of rustix. What the keeper works with is its own from its start to its reaping, and its
//! descriptors, signal actions and directory are its own as those of any process. Who ends the runner, were it SIGKILL, does not end
//! the keeper; only a kernel that is out of memory ends all who share it, and the step with its keeper.
#![expect(unsafe_code, reason = "memory that another process owns, and a step's process that begins in it")]

use std::ffi::CString;
use std::io::Write as _;
use std::os::fd::{AsFd as _, RawFd};
use std::time::{Duration, Instant};

use libc::c_int;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, openat, renameat};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, set_child_subreaper,
    setpgid, wait,
};

use super::NOT_STARTED;
use crate::image::ProgramImage;
use crate::raw::{self, open_descriptor};
use crate::stack::CloneStack;

/// Orders that the keeper works with. Descriptors are raw: this process has its own table of them.
#[derive(Debug)]
pub(super) struct KeeperOrders {
    pub(super) image: ProgramImage,
    /// The step's.
    pub(super) streams: [RawFd; 3],
    /// Pipes with the step's outputs.
    pub(super) pipes: [RawFd; 2],
    pub(super) files: [RawFd; 2],
    pub(super) directory: RawFd,
    pub(super) processes: RawFd,
    pub(super) tell: RawFd,
    pub(super) record: CString,
    pub(super) unfinished: CString,
    pub(super) grace: Duration,
    pub(super) runner: Pid,
    /// The keeper's stack, and that of the step's process until it is the program.
    pub(super) stacks: [CloneStack; 2],
}

/// State of the keeper.
#[derive(Default)]
struct KeeperState {
    /// Until it is reaped. Then there is its status.
    step: Option<Pid>,
    status: Option<WaitStatus>,
    told: bool,
    /// Time at which it was told to end the tree.
    ending: Option<Instant>,
    ended_by_us: bool,
    childless: bool,
    closed: [bool; 2],
    bytes: [u64; 2],
    lost: bool,
}

/// Number of bytes taken of a pipe that somebody in the background may fill for ever, after the step has ended.
const DRAIN: u64 = 4 << 20;
/// Interval at which children are signaled again while the tree is being ended.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Signals that a keeper watches.
const WATCHED: [c_int; 5] = [libc::SIGTERM, libc::SIGCHLD, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// The keeper's process. All signals are blocked.
pub(super) extern "C" fn main(orders: *mut KeeperOrders) -> ! {
    // SAFETY: the runner gives what lives, and what nobody changes, until this process was reaped.
    let orders = unsafe { &*orders };
    if let Err(error) = orders.run_keeper() {
        let mut text = [0_u8; 64];
        let text = format_into(&mut text, format_args!("{NOT_STARTED}{}\n", error.raw_os_error()));
        raw::write_all(open_descriptor(orders.tell), text);
    }
    raw::exit_process(0)
}

/// The text in `buffer`, cut where that ends.
fn format_into<'a>(buffer: &'a mut [u8], text: std::fmt::Arguments<'_>) -> &'a [u8] {
    let all = buffer.len();
    let mut rest = &mut *buffer;
    // Formatting into an array allocates nothing.
    let _ = rest.write_fmt(text);
    let length = all - rest.len();
    buffer.get(..length).unwrap_or_default()
}

/// Orders of the step's process, and its error if it does not become the program.
struct StepStart<'a> {
    orders: &'a KeeperOrders,
    keeper: Pid,
    error: Option<Errno>,
}

/// The step's process. The keeper waits until it is the program, or has ended.
extern "C" fn become_program(start: *mut StepStart<'_>) -> ! {
    // SAFETY: the keeper gives what is its own, and waits.
    let start = unsafe { &mut *start };
    start.error = Some(start.orders.execute_program(start.keeper));
    raw::exit_process(127)
}

impl KeeperOrders {
    fn run_keeper(&self) -> Result<(), Errno> {
        raw::default_actions();
        setpgid(None, None)?;
        raw::end_with_parent(Signal::TERM, self.runner)?;
        raw::record_self(self.processes)?;
        set_child_subreaper(Some(getpid()))?;
        let watched = raw::signal_mask(&WATCHED);
        // A file that grows beyond what this user may write is an error of the write, not the keeper's end.
        raw::block_signals(watched | raw::signal_mask(&[libc::SIGXFSZ]));
        let signals = raw::signal_descriptor(watched)?;
        let mut state = KeeperState { step: Some(self.start_step()?), ..KeeperState::default() };
        self.close_others(signals);
        for pipe in self.pipes {
            // Only a descriptor that is not open would be refused.
            let _ = fcntl_setfl(open_descriptor(pipe), OFlags::NONBLOCK);
        }
        while !(state.told && state.childless) {
            self.wait_for_input(&state, signals);
            let ended = self.take_signals(&mut state, signals);
            for side in 0..2 {
                self.pump_pipe(&mut state, side, if ended { DRAIN } else { 256 << 10 });
            }
            if let (Some(status), false) = (state.status, state.told) {
                self.report_end(&mut state, status);
            }
        }
        Ok(())
    }

    /// Starts the step.
    fn start_step(&self) -> Result<Pid, Errno> {
        let mut start = StepStart { orders: self, keeper: getpid(), error: None };
        let [_, stack] = &self.stacks;
        let memory = libc::CLONE_VM | libc::CLONE_VFORK;
        // SAFETY: this process stands still until the child uses neither the stack nor `start` any more.
        let child = unsafe { stack.start_process(memory, become_program, &raw mut start) }?;
        start.error.map_or_else(|| Pid::from_raw(child).ok_or(Errno::CHILD), Err)
    }

    /// Becomes the program; an error if it cannot.
    fn execute_program(&self, keeper: Pid) -> Errno {
        let prepared = || {
            setpgid(None, None)?;
            raw::end_with_parent(Signal::KILL, keeper)?;
            for (from, to) in self.streams.into_iter().zip(0..) {
                raw::duplicate_file(from, to)?;
            }
            self.image.enter_directory()?;
            raw::record_self(self.processes)
        };
        if let Err(error) = prepared() {
            return error;
        }
        raw::block_signals(0);
        self.image.execute().1
    }

    /// Closes what this process inherited and does not need: the step's ends of the pipes, and whatever else was open.
    fn close_others(&self, signals: RawFd) {
        let mut needed =
            [self.pipes[0], self.pipes[1], self.files[0], self.files[1], self.directory, self.tell, signals];
        needed.sort_unstable();
        let mut from = 0;
        for descriptor in needed {
            raw::close_range(from, descriptor.wrapping_sub(1));
            from = descriptor.wrapping_add(1);
        }
        raw::close_range(from, RawFd::MAX);
    }

    fn wait_for_input(&self, state: &KeeperState, signals: RawFd) {
        let mut descriptors = [signals; 3];
        for ((descriptor, pipe), closed) in descriptors.iter_mut().skip(1).zip(self.pipes).zip(state.closed) {
            if !closed {
                *descriptor = pipe;
            }
        }
        let mut polled = descriptors.map(|raw| PollFd::from_borrowed_fd(open_descriptor(raw), PollFlags::IN));
        // After an interrupt, too, all of them are looked at.
        let _ = poll(&mut polled, state.ending.map(|_| &ROUND));
    }

    /// Takes signals and ends of children in. True when the step has just ended.
    fn take_signals(&self, state: &mut KeeperState, signals: RawFd) -> bool {
        let mut child = state.ending.is_some();
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while matches!(rustix::io::read(open_descriptor(signals), &mut info), Ok(1..)) {
            let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            child = true;
            if number == libc::SIGTERM.unsigned_abs() && state.ending.is_none() {
                // The step may have ended just before: that is its own end.
                let ended = reap_children(state);
                state.ended_by_us = state.step.is_some();
                state.ending = Some(Instant::now());
                signal_step(state, Signal::TERM);
                if ended {
                    return true;
                }
            }
        }
        let ended = child && reap_children(state);
        if let Some(since) = state.ending {
            let late = since.elapsed() >= self.grace;
            if late {
                signal_step(state, Signal::KILL);
            }
            signal_children(if late { Signal::KILL } else { Signal::TERM });
        }
        ended
    }

    /// Moves what there is, at most `limit` bytes, from a pipe to its file.
    fn pump_pipe(&self, state: &mut KeeperState, side: usize, limit: u64) {
        let (Some(pipe), Some(file)) = (self.pipes.get(side), self.files.get(side)) else { return };
        let (Some(closed), Some(bytes)) = (state.closed.get_mut(side), state.bytes.get_mut(side)) else {
            return;
        };
        let mut buffer = [0_u8; 16 << 10];
        let mut moved = 0_u64;
        while !*closed && moved < limit {
            let Ok(count) = rustix::io::read(open_descriptor(*pipe), &mut buffer) else { break };
            if count == 0 {
                *closed = true;
                break;
            }
            moved = moved.saturating_add(count as u64);
            let written = raw::write_all(open_descriptor(*file), buffer.get(..count).unwrap_or_default());
            state.lost |= written < count;
            if !state.told {
                *bytes = bytes.saturating_add(written as u64);
            }
        }
    }

    /// Writes the record by rename, then tells the runner.
    fn report_end(&self, state: &mut KeeperState, status: WaitStatus) {
        state.told = true;
        let (kind, number) = match status.terminating_signal() {
            Some(signal) => ("signal", signal),
            None => ("code", status.exit_status().unwrap_or_default()),
        };
        let [output, error] = state.bytes;
        let [by_us, lost, left] = [state.ended_by_us, state.lost, !state.childless].map(u8::from);
        let mut text = [0_u8; 128];
        let text =
            format_into(&mut text, format_args!("{kind} {number} {by_us} {output} {error} {lost} {left}\n"));
        if self.write_record(text) {
            let directory = open_descriptor(self.directory);
            // Without the new name the record is unfinished, which its readers know.
            let _ = renameat(directory, self.unfinished.as_c_str(), directory, self.record.as_c_str());
        }
        raw::write_all(open_descriptor(self.tell), text);
        raw::close_range(self.tell, self.tell);
    }

    fn write_record(&self, text: &[u8]) -> bool {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let directory = open_descriptor(self.directory);
        let Ok(file) = openat(directory, self.unfinished.as_c_str(), flags, mode) else { return false };
        let whole = raw::write_all(file.as_fd(), text) == text.len();
        raw::close_file(file);
        whole
    }
}

/// Reaps whatever has ended. True when the step is among it.
fn reap_children(state: &mut KeeperState) -> bool {
    let mut ended = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid) == state.step => {
                (state.step, state.status) = (None, Some(status));
                ended = true;
            }
            Ok(Some(_)) => {}
            none => {
                state.childless = none.is_err();
                return ended;
            }
        }
    }
}

/// Signals the step's group, whose name is its own as long as the step is not reaped.
fn signal_step(state: &KeeperState, signal: Signal) {
    if let Some(step) = state.step {
        // Who has ended needs no signal.
        let _ = kill_process_group(step, signal);
        // Nor this one, which may have left its group.
        let _ = kill_process(step, signal);
        // A stopped process would not end.
        let _ = kill_process_group(step, Signal::CONT);
    }
}

/// Signals every child of this process, orphans that it inherited included.
fn signal_children(signal: Signal) {
    let mut list = [0_u8; 16 << 10];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = openat(CWD, c"/proc/thread-self/children", flags, Mode::empty()) else { return };
    let count = rustix::io::read(&file, &mut list).unwrap_or_default();
    raw::close_file(file);
    let mut number: c_int = 0;
    for byte in list.get(..count).unwrap_or_default() {
        if byte.is_ascii_digit() {
            number = number.wrapping_mul(10).wrapping_add(c_int::from(byte.wrapping_sub(b'0')));
        } else if let Some(pid) = Pid::from_raw(std::mem::take(&mut number)) {
            // A child that is not reaped yet: its id is its own. Who has ended needs no signal.
            let _ = kill_process(pid, signal);
            // A stopped process would not end.
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}
