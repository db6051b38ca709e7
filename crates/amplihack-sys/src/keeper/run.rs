//! Work of a keeper. It shares its memory with the runner and with the runner's other keepers, whose threads go on meanwhile.
//!
//! So nothing here allocates, takes a lock, or uses a variable of the thread: the keeper has those of the thread that made it.
//! Every call of the system is one of [`raw`]. What the keeper works with is its own from its start to its reaping, and its
//! descriptors, signal actions and directory are its own as those of any process. Who ends the runner, were it SIGKILL, does not end
//! the keeper; only a kernel that is out of memory ends all who share it, and the step with its keeper.
#![expect(unsafe_code, reason = "memory that another process owns, and a step's process that begins in it")]

use std::ffi::{CStr, CString};
use std::io::Write as _;
use std::os::fd::RawFd;

use libc::{c_int, c_void};

use super::NOT_STARTED;
use crate::image::ProgramImage;
use crate::raw;

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
    pub(super) grace: i64,
    /// The runner's process id.
    pub(super) runner: usize,
    /// Stack of the step's process until it is the program.
    pub(super) stack: *mut c_void,
}

// SAFETY: the pointers are to memory that is its own.
unsafe impl Send for KeeperOrders {}

/// State of the keeper.
#[derive(Default)]
struct KeeperState {
    step: c_int,
    /// The step's wait status.
    status: Option<c_int>,
    told: bool,
    /// Time at which it was told to end the tree, in milliseconds.
    ending: Option<i64>,
    ended_by_us: bool,
    childless: bool,
    closed: [bool; 2],
    bytes: [u64; 2],
    lost: bool,
}

/// Number of bytes taken of a pipe that somebody in the background may fill for ever, after the step has ended.
const DRAIN: u64 = 4 << 20;
/// Interval at which children are signaled again while the tree is being ended, in milliseconds.
const ROUND: u32 = 50;
/// Signals that a keeper watches.
const WATCHED: [c_int; 5] = [libc::SIGTERM, libc::SIGCHLD, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// The keeper's process. All signals are blocked.
pub(super) extern "C" fn main(orders: *mut c_void) -> c_int {
    // SAFETY: the runner gives what lives, and what nobody changes, until this process was reaped.
    let orders = unsafe { &*orders.cast::<KeeperOrders>() };
    if let Err(error) = orders.run_keeper() {
        let mut text = [0_u8; 64];
        raw::write_all(orders.tell, format_into(&mut text, format_args!("{NOT_STARTED}{error}\n")));
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
    keeper: usize,
    error: c_int,
}

/// The step's process. The keeper waits until it is the program, or has ended.
extern "C" fn become_program(start: *mut c_void) -> c_int {
    // SAFETY: the keeper gives what is its own, and waits.
    let start = unsafe { &mut *start.cast::<StepStart<'_>>() };
    start.error = start.orders.execute_program(start.keeper);
    raw::exit_process(127)
}

impl KeeperOrders {
    fn run_keeper(&self) -> Result<(), c_int> {
        raw::default_actions();
        raw::lead_group()?;
        raw::end_with_parent(libc::SIGTERM, self.runner)?;
        raw::record_self(self.processes)?;
        raw::control_process(libc::PR_SET_CHILD_SUBREAPER, 1)?;
        let watched = raw::signal_mask(&WATCHED);
        // A file that grows beyond what this user may write is an error of the write, not the keeper's end.
        raw::block_signals(watched | raw::signal_mask(&[libc::SIGXFSZ]));
        let signals = raw::signal_descriptor(watched)?;
        let mut state = KeeperState { step: self.start_step()?, ..KeeperState::default() };
        self.close_others(signals);
        for pipe in self.pipes {
            raw::do_not_block(pipe);
        }
        while !(state.told && state.childless) {
            self.wait_for_input(&state, signals);
            let ended = self.take_signals(&mut state, signals);
            for side in 0..2 {
                self.pump_pipe(&mut state, side, if ended { DRAIN } else { 256 << 10 });
            }
            if state.status.is_some() && !state.told {
                self.report_end(&mut state);
            }
        }
        Ok(())
    }

    /// Starts the step.
    fn start_step(&self) -> Result<c_int, c_int> {
        let mut start = StepStart { orders: self, keeper: raw::own_id(), error: 0 };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is there for it; this process stands still until the child uses neither it nor `start` any more.
        let child = unsafe { libc::clone(become_program, self.stack, flags, (&raw mut start).cast()) };
        if child < 0 {
            return Err(libc::EAGAIN);
        }
        // SAFETY: `start` is valid; it was changed by somebody whom the compiler does not see.
        let error = unsafe { (&raw const start.error).read_volatile() };
        if error == 0 { Ok(child) } else { Err(error) }
    }

    /// Becomes the program; an error's number if it cannot.
    fn execute_program(&self, keeper: usize) -> c_int {
        let prepared = || {
            raw::lead_group()?;
            raw::end_with_parent(libc::SIGKILL, keeper)?;
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
        let input = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = [input(signals), input(self.pipes[0]), input(self.pipes[1])];
        for (polled, closed) in polled.iter_mut().skip(1).zip(state.closed) {
            if closed {
                polled.fd = -1;
            }
        }
        raw::poll_files(&mut polled, state.ending.map(|_| ROUND));
    }

    /// Takes signals and ends of children in. True when the step has just ended.
    fn take_signals(&self, state: &mut KeeperState, signals: RawFd) -> bool {
        let mut child = state.ending.is_some();
        loop {
            let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
            if !matches!(raw::read(signals, &mut info), Ok(1..)) {
                break;
            }
            let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            child = true;
            if number == libc::SIGTERM.unsigned_abs() && state.ending.is_none() {
                // The step may have ended just before: that is its own end.
                let ended = reap_children(state);
                state.ended_by_us = state.status.is_none();
                state.ending = Some(raw::clock_millis());
                signal_step(state, libc::SIGTERM);
                if ended {
                    return true;
                }
            }
        }
        let ended = child && reap_children(state);
        if let Some(since) = state.ending {
            let late = raw::clock_millis().wrapping_sub(since) >= self.grace;
            if late {
                signal_step(state, libc::SIGKILL);
            }
            signal_children(if late { libc::SIGKILL } else { libc::SIGTERM });
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
            let Ok(count) = raw::read(*pipe, &mut buffer) else { break };
            if count == 0 {
                *closed = true;
                break;
            }
            moved = moved.saturating_add(count as u64);
            let written = raw::write_all(*file, buffer.get(..count).unwrap_or_default());
            state.lost |= written < count;
            if !state.told {
                *bytes = bytes.saturating_add(written as u64);
            }
        }
    }

    /// Writes the record by rename, then tells the runner.
    fn report_end(&self, state: &mut KeeperState) {
        state.told = true;
        let status = state.status.unwrap_or_default();
        let (kind, number) = if libc::WIFSIGNALED(status) {
            ("signal", libc::WTERMSIG(status))
        } else {
            ("code", libc::WEXITSTATUS(status))
        };
        let [output, error] = state.bytes;
        let [by_us, lost, left] = [state.ended_by_us, state.lost, !state.childless].map(u8::from);
        let mut text = [0_u8; 128];
        let text =
            format_into(&mut text, format_args!("{kind} {number} {by_us} {output} {error} {lost} {left}\n"));
        if self.write_record(text) {
            raw::rename_file(self.directory, &self.unfinished, &self.record);
        }
        raw::write_all(self.tell, text);
        raw::close_file(self.tell);
    }

    fn write_record(&self, text: &[u8]) -> bool {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        let unfinished: &CStr = &self.unfinished;
        let Ok(file) = raw::open_file(self.directory, unfinished, flags) else { return false };
        let whole = raw::write_all(file, text) == text.len();
        raw::close_file(file);
        whole
    }
}

/// Reaps whatever has ended. True when the step is among it.
fn reap_children(state: &mut KeeperState) -> bool {
    let mut ended = false;
    loop {
        let (pid, status) = match raw::reap_child() {
            Ok(Some(found)) => found,
            none => {
                state.childless = none.is_err();
                return ended;
            }
        };
        if pid == state.step {
            state.status = Some(status);
            ended = true;
        }
    }
}

/// Signals the step's group, whose name is its own as long as the step is not reaped.
fn signal_step(state: &KeeperState, signal: c_int) {
    if state.status.is_none() {
        raw::send_signal(state.step.wrapping_neg(), signal);
        raw::send_signal(state.step, signal);
        raw::send_signal(state.step.wrapping_neg(), libc::SIGCONT);
    }
}

/// Signals every child of this process, orphans that it inherited included.
fn signal_children(signal: c_int) {
    let mut list = [0_u8; 16 << 10];
    let Ok(file) = raw::open_file(libc::AT_FDCWD, c"/proc/thread-self/children", libc::O_RDONLY) else {
        return;
    };
    let count = raw::read(file, &mut list).unwrap_or_default();
    raw::close_file(file);
    let mut pid: c_int = 0;
    for byte in list.get(..count).unwrap_or_default() {
        if byte.is_ascii_digit() {
            pid = pid.wrapping_mul(10).wrapping_add(c_int::from(byte.wrapping_sub(b'0')));
        } else if pid > 1 {
            // A child that is not reaped yet: its id is its own.
            raw::send_signal(pid, signal);
            raw::send_signal(pid, libc::SIGCONT);
            pid = 0;
        }
    }
}
