//! A keeper: the process between a runner and one step, which writes down how the step ended even when the runner is dead.
//!
//! It is forked and never execs, so that it costs a fraction of a millisecond. It pumps the step's outputs into files,
//! inherits the step's orphans, and when the step has ended writes the record by rename. SIGTERM, also that of the
//! runner's death, makes it end the step's whole tree: SIGTERM, after the grace SIGKILL. What the step left in the
//! background is kept, with its outputs, until then.
#![expect(
    unsafe_code,
    reason = "a forked process that never execs may only make async-signal-safe calls, which have no safe counterpart"
)]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use libc::{c_int, c_void};

use super::child::record_self;
use super::signal::Exit;

/// What a keeper is given.
#[derive(Debug)]
pub struct Keep {
    /// Takes the step's standard output. Not opened for appending.
    pub output: File,
    /// Takes the step's standard error.
    pub error: File,
    /// The directory of the record.
    pub directory: OwnedFd,
    /// The record's name, and the name that it has before it is whole.
    pub record: CString,
    /// See [`Self::record`].
    pub unfinished: CString,
    /// Gets the line of `/proc/PID/stat` of the keeper and of the step, before the step is exec'd. Opened for appending.
    pub processes: OwnedFd,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

/// How a step ended, as its keeper wrote it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRecord {
    /// How the step's own process ended.
    pub exit: Exit,
    /// It was still running when the keeper was told to end it.
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
            "code" => Exit::Code(number),
            "signal" => Exit::Signal(number),
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

/// Sets `command` up so that what is spawned is a keeper, and the program its child, which leads a group of its own.
///
/// Returns a descriptor from which the record is read as soon as it is written, to its end. Nothing before the end means that
/// the keeper was killed; its step is killed then. After [`super::prepare_child`], and the command must be dropped after
/// it was spawned, since it holds the other end.
pub fn keep(command: &mut Command, keep: Keep) -> io::Result<OwnedFd> {
    let (output, child_output) = pipe()?;
    let (error, child_error) = pipe()?;
    let (done, tell) = pipe()?;
    command.stdout(child_output).stderr(child_error);
    let grace = i64::try_from(keep.grace.as_millis()).unwrap_or(i64::MAX);
    // SAFETY: the closure runs between fork and exec; it and the keeper make async-signal-safe calls only and allocate
    // nothing.
    unsafe {
        command.pre_exec(move || {
            record_self(&keep.processes)?;
            let keeper = Keeper {
                pipes: [output.as_raw_fd(), error.as_raw_fd()],
                files: [keep.output.as_raw_fd(), keep.error.as_raw_fd()],
                directory: keep.directory.as_raw_fd(),
                tell: tell.as_raw_fd(),
                record: &keep.record,
                unfinished: &keep.unfinished,
                grace,
            };
            split(&keeper, keep.processes.as_fd())
        });
    }
    Ok(done)
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Forks: the parent becomes the keeper and never returns, the child goes on to its exec.
fn split(keeper: &Keeper<'_>, processes: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain system calls with valid arguments; the masks are initialised by `sigemptyset`.
    unsafe {
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?;
        let mut watched = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut watched);
        for signal in [libc::SIGTERM, libc::SIGCHLD, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&raw mut watched, signal);
        }
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, &raw mut before))?;
        let own = libc::getpid();
        // Not the C library's `fork`, which runs handlers that other code registered.
        let child = libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0);
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child > 0 {
            keeper.run(c_int::try_from(child).unwrap_or_default(), &watched);
        }
        check(libc::setpgid(0, 0))?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() != own {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()))?;
    }
    record_self(processes)
}

/// What the keeper works with. Descriptors are raw: this process has its own table of them, and ends by `_exit`.
struct Keeper<'a> {
    pipes: [RawFd; 2],
    files: [RawFd; 2],
    directory: RawFd,
    tell: RawFd,
    record: &'a CString,
    unfinished: &'a CString,
    grace: i64,
}

/// What the keeper knows.
struct State {
    step: c_int,
    /// The step's wait status.
    status: Option<c_int>,
    told: bool,
    /// When it was told to end the tree, in milliseconds.
    ending: Option<i64>,
    ended_by_us: bool,
    childless: bool,
    open: [bool; 2],
    bytes: [u64; 2],
    lost: bool,
}

/// How much is taken of a pipe that somebody in the background may fill for ever, after the step has ended.
const DRAIN: u64 = 4 << 20;
/// How often children are signalled again while the tree is being ended, in milliseconds.
const ROUND: i64 = 50;

impl Keeper<'_> {
    fn run(&self, step: c_int, watched: &libc::sigset_t) -> ! {
        // SAFETY: a valid mask; the call makes a descriptor of this process's own.
        let signals = unsafe { libc::signalfd(-1, watched, libc::SFD_NONBLOCK) };
        self.close_others(signals);
        let mut state = State {
            step,
            status: None,
            told: false,
            ending: None,
            ended_by_us: false,
            childless: false,
            open: [true; 2],
            bytes: [0; 2],
            lost: false,
        };
        for pipe in self.pipes {
            // SAFETY: changes a flag of an open descriptor.
            unsafe { libc::fcntl(pipe, libc::F_SETFL, libc::O_NONBLOCK) };
        }
        loop {
            self.wait(&state, signals);
            let ended = self.signals(&mut state, signals);
            for side in 0..2 {
                self.pump(&mut state, side, if ended { DRAIN } else { 256 << 10 });
            }
            if state.status.is_some() && !state.told {
                self.tell(&mut state);
            }
            if state.told && state.childless {
                // SAFETY: ends this process, which has nothing to clean up.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Closes what this process inherited and does not need: the step's ends of the pipes, and whatever else was open.
    fn close_others(&self, signals: RawFd) {
        let mut needed =
            [self.pipes[0], self.pipes[1], self.files[0], self.files[1], self.directory, self.tell, signals];
        needed.sort_unstable();
        let mut from = 0;
        let close = |from: RawFd, to: RawFd| {
            if from > to {
                return;
            }
            // SAFETY: closes descriptors that nothing in this process uses.
            unsafe {
                let (first, last) = (libc::c_long::from(from), libc::c_long::from(to));
                if libc::syscall(libc::SYS_close_range, first, last, 0) != 0 {
                    for descriptor in from..=to.min(from.saturating_add(65_536)) {
                        libc::close(descriptor);
                    }
                }
            }
        };
        for descriptor in needed {
            if descriptor >= 0 {
                close(from, descriptor - 1);
                from = descriptor + 1;
            }
        }
        close(from, RawFd::MAX);
    }

    fn wait(&self, state: &State, signals: RawFd) {
        let input = |descriptor: RawFd, open: bool| libc::pollfd {
            fd: if open { descriptor } else { -1 },
            events: libc::POLLIN,
            revents: 0,
        };
        let mut polled =
            [input(signals, true), input(self.pipes[0], state.open[0]), input(self.pipes[1], state.open[1])];
        let timeout = if state.ending.is_some() { c_int::try_from(ROUND).unwrap_or(50) } else { -1 };
        // SAFETY: the array is valid and as long as said.
        unsafe { libc::poll(polled.as_mut_ptr(), 3, timeout) };
    }

    /// Takes signals and ends of children in. True when the step has just ended.
    fn signals(&self, state: &mut State, signals: RawFd) -> bool {
        let mut child = state.ending.is_some();
        loop {
            let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
            // SAFETY: the buffer is as long as said.
            let count = unsafe { libc::read(signals, info.as_mut_ptr().cast::<c_void>(), info.len()) };
            if count <= 0 {
                break;
            }
            let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            child = true;
            if number == libc::SIGTERM.unsigned_abs() && state.ending.is_none() {
                // The step may have ended just before: that is its own end.
                let ended = reap(state);
                state.ended_by_us = state.status.is_none();
                state.ending = Some(now());
                signal_step(state, libc::SIGTERM);
                if ended {
                    return true;
                }
            }
        }
        let ended = child && reap(state);
        if let Some(since) = state.ending {
            let late = now() - since >= self.grace;
            if late {
                signal_step(state, libc::SIGKILL);
            }
            signal_children(if late { libc::SIGKILL } else { libc::SIGTERM });
        }
        ended
    }

    /// Moves what there is, at most `limit` bytes, from a pipe to its file.
    fn pump(&self, state: &mut State, side: usize, limit: u64) {
        let (Some(pipe), Some(file)) = (self.pipes.get(side), self.files.get(side)) else { return };
        let mut buffer = [0_u8; 16 << 10];
        let mut moved = 0;
        while state.open[side] && moved < limit {
            // SAFETY: the buffer is as long as said.
            let count = unsafe { libc::read(*pipe, buffer.as_mut_ptr().cast(), buffer.len()) };
            let Ok(count) = usize::try_from(count) else { break };
            if count == 0 {
                state.open[side] = false;
                break;
            }
            moved += count as u64;
            let written = write_all(*file, buffer.get(..count).unwrap_or_default());
            state.lost |= written < count;
            if !state.told {
                state.bytes[side] += written as u64;
            }
        }
    }

    /// Writes the record by rename, then tells the runner.
    fn tell(&self, state: &mut State) {
        state.told = true;
        let status = state.status.unwrap_or_default();
        let (kind, number) = if libc::WIFSIGNALED(status) {
            ("signal", libc::WTERMSIG(status))
        } else {
            ("code", libc::WEXITSTATUS(status))
        };
        let mut text = [0_u8; 128];
        let mut rest: &mut [u8] = &mut text;
        let [output, error] = state.bytes;
        let [by_us, lost, left] = [state.ended_by_us, state.lost, !state.childless].map(u8::from);
        // Formatting numbers into an array allocates nothing.
        let _ = writeln!(rest, "{kind} {number} {by_us} {output} {error} {lost} {left}");
        let left = rest.len();
        let text = text.get(..128 - left).unwrap_or_default();
        // SAFETY: the names end with a zero; the descriptor is closed once.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            let file = libc::openat(self.directory, self.unfinished.as_ptr(), flags, 0o600);
            if file >= 0 {
                let whole = write_all(file, text) == text.len();
                libc::close(file);
                if whole {
                    let directory = self.directory;
                    libc::renameat(directory, self.unfinished.as_ptr(), directory, self.record.as_ptr());
                }
            }
            write_all(self.tell, text);
            libc::close(self.tell);
        }
    }
}

fn write_all(descriptor: RawFd, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the pointer and the length are those of a live slice.
        let count = unsafe { libc::write(descriptor, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => written += count,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    written
}

/// Reaps whatever has ended. True when the step is among it.
fn reap(state: &mut State) -> bool {
    let mut ended = false;
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for a write.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid <= 0 {
            state.childless = pid < 0;
            return ended;
        }
        if pid == state.step {
            state.status = Some(status);
            ended = true;
        }
    }
}

/// Signals the step's group, whose name is its own as long as the step is not reaped.
fn signal_step(state: &State, signal: c_int) {
    if state.status.is_none() {
        // SAFETY: plain system calls. Before the step made its group there is none, so it is signalled as well.
        unsafe {
            libc::kill(-state.step, signal);
            libc::kill(state.step, signal);
            libc::kill(-state.step, libc::SIGCONT);
        }
    }
}

/// Signals every child of this process, orphans that it inherited included.
fn signal_children(signal: c_int) {
    let mut list = [0_u8; 16 << 10];
    // SAFETY: the path ends with a zero; the buffer is as long as said; the descriptor is closed once.
    let count = unsafe {
        let file = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        let count = libc::read(file, list.as_mut_ptr().cast(), list.len());
        libc::close(file);
        count
    };
    let mut pid: c_int = 0;
    for byte in list.get(..usize::try_from(count).unwrap_or_default()).unwrap_or_default() {
        if byte.is_ascii_digit() {
            pid = pid.wrapping_mul(10).wrapping_add(c_int::from(byte - b'0'));
        } else if pid > 1 {
            // SAFETY: a child that is not reaped yet: its id is its own.
            unsafe {
                libc::kill(pid, signal);
                libc::kill(pid, libc::SIGCONT);
            }
            pid = 0;
        }
    }
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for a write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
