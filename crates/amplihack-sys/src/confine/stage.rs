//! The process that enters a confinement: it makes the namespaces, passes signals on and takes the program's end.
#![expect(unsafe_code, reason = "`fork`, signal masks and `signalfd` have no safe counterparts")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpgrp, getpid, kill_process};

use super::init::{self, ConfinedProgram, InitChannels};
use super::{ConfineError, Confinement, namespaces};
use crate::ProcessExit;

/// Signals that the stage passes on. SIGKILL ends it, and with it everything behind it.
const PASSED_ON: [libc::c_int; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// Signals of the terminal that stop the program, which may do something else on them: the stage stops when the program has.
const STOPPING: [libc::c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Runs `program` with `arguments` in `confinement`, and returns its end. The program gets this process's environment and streams.
///
/// This process must have one thread, and must be there for nothing else: afterwards it is in other namespaces. What the program leaves
/// behind is ended. Without namespaces, this process becomes the program.
///
/// # Errors
/// A layer that was asked for could not be had, or the program could not be started: nothing ran.
pub fn run_confined(
    confinement: &Confinement,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<ProcessExit, ConfineError> {
    let program = ConfinedProgram { name: program, arguments };
    close_inherited().map_err(ConfineError::at_step("close what it was given"))?;
    let watched = WatchedSignals::block().map_err(ConfineError::at_step("watch its signals"))?;
    if !confinement.layers.namespaces {
        let directory = confinement.directory.as_path();
        std::env::set_current_dir(directory).map_err(ConfineError::at_path("enter", directory))?;
        return Err(init::become_program(confinement, program, &watched));
    }
    namespaces::enter_namespaces(confinement.network)?;
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(ConfineError::at_step("make a pipe"));
    let (reports, reporter) = pipe()?;
    let (signals, mut sender) = pipe().map(|(read, write)| (read, File::from(write)))?;
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        0 => {
            drop((reports, sender));
            let channels = InitChannels { reports: File::from(reporter), signals: File::from(signals) };
            init::run_init(confinement, program, &watched, channels)
        }
        -1 => Err(ConfineError::at_step("make a process")(io::Error::last_os_error())),
        _ => {
            drop((reporter, signals));
            // It waits for this before it builds anything.
            sender.write_all(&[0]).map_err(ConfineError::at_step("reach its first process"))?;
            await_end(&watched, File::from(reports), &sender)
        }
    }
}

/// Closes what this process was given beside its streams: a descriptor leads round every mount. A stream that is a directory leads there, too.
fn close_inherited() -> io::Result<()> {
    // SAFETY: nothing of this process is open so far that it uses again.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let is_directory = |stream: BorrowedFd<'_>| {
        rustix::fs::fstat(stream)
            .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir())
    };
    if streams.into_iter().any(is_directory) {
        return Err(io::Error::other("one of its streams is a directory"));
    }
    Ok(())
}

/// Ends this process by the signal that `exit` names, without a memory dump, as the program ended. Returns the exit code for all other ends.
pub fn end_by_signal(exit: ProcessExit) -> u8 {
    if let ProcessExit::Signal(signal) = exit {
        // SAFETY: the limit and the set are valid for reads, and the default action needs no function.
        unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            let mut unblocked = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigemptyset(unblocked.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, unblocked.as_ptr(), std::ptr::null_mut());
            libc::raise(signal);
        }
    }
    u8::try_from(exit.code()).unwrap_or(u8::MAX)
}

/// Passes signals on until the program has ended.
fn await_end(
    watched: &WatchedSignals,
    mut reports: File,
    mut sender: &File,
) -> Result<ProcessExit, ConfineError> {
    // Who leads a group is signalled by it: the program got the signal too.
    let passes_on = getpgrp() != getpid();
    let mut received = Vec::new();
    loop {
        let [signalled, told] = await_either(watched.descriptor(), reports.as_fd())?;
        if signalled
            && let Some(signal) = watched.take()
            && passes_on
            && signal.is_from_a_process
        {
            // A program that has ended meanwhile needs no signal.
            let _ = sender.write_all(&[signal.number]);
        }
        if told {
            let mut bytes = [0; 4096];
            let count = reports.read(&mut bytes).map_err(ConfineError::at_step("hear from the program"))?;
            received.extend_from_slice(bytes.get(..count).unwrap_or_default());
            let messages = StageMessage::decode_all(&mut received);
            for message in messages {
                match message {
                    StageMessage::Stopped => stop_as_well(),
                    StageMessage::Ended(exit) => return Ok(exit),
                    StageMessage::Failed(error) => return Err(error),
                }
            }
            if count == 0 {
                // Its first process was killed, and the program with it.
                return Ok(ProcessExit::Signal(libc::SIGKILL));
            }
        }
    }
}

/// Waits until one of two descriptors can be read, or a signal comes; which can be read.
pub(super) fn await_either(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> Result<[bool; 2], ConfineError> {
    let mut ready = [PollFd::new(&one, PollFlags::IN), PollFd::new(&other, PollFlags::IN)];
    match poll(&mut ready, None) {
        Ok(_) | Err(Errno::INTR) => Ok(ready.map(|one| !one.revents().is_empty())),
        Err(error) => Err(ConfineError::at_step("wait for the program")(error)),
    }
}

/// Stops this process, so that whoever waits for it sees that the program has stopped.
fn stop_as_well() {
    // A process may always stop itself.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Message of the first process to its stage: a letter, and what belongs to it.
pub(super) enum StageMessage {
    /// The program was stopped.
    Stopped,
    /// The program has ended.
    Ended(ProcessExit),
    /// The program was not started.
    Failed(ConfineError),
}

impl StageMessage {
    pub(super) fn encode(&self) -> Vec<u8> {
        let line = match self {
            Self::Stopped => "stopped".to_owned(),
            Self::Ended(ProcessExit::Code(code)) => format!("code {code}"),
            Self::Ended(ProcessExit::Signal(signal)) => format!("signal {signal}"),
            Self::Failed(ConfineError { step, path, source }) => {
                let path = path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
                let number = source.raw_os_error().unwrap_or_default();
                // No step and no path has such a character, but for a path that nobody should have.
                format!("failed {number}\t{}\t{}\t{source}", one_line(step), one_line(&path))
            }
        };
        (line + "\n").into_bytes()
    }

    /// Takes the whole messages out of `received`.
    fn decode_all(received: &mut Vec<u8>) -> Vec<Self> {
        let end = received.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = received.drain(..end).collect();
        String::from_utf8_lossy(&whole).lines().filter_map(Self::decode).collect()
    }

    fn decode(line: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        match line.split_once(' ') {
            None => (line == "stopped").then_some(Self::Stopped),
            Some(("code", code)) => Some(Self::Ended(ProcessExit::Code(number(code)?))),
            Some(("signal", signal)) => Some(Self::Ended(ProcessExit::Signal(number(signal)?))),
            Some((_, failure)) => {
                let mut parts = failure.splitn(4, '\t');
                let code = number(parts.next()?)?;
                let step = parts.next()?.to_owned();
                let path = parts.next().filter(|path| !path.is_empty()).map(PathBuf::from);
                let source = match code {
                    0 => io::Error::other(parts.next().unwrap_or_default().to_owned()),
                    code => io::Error::from_raw_os_error(code),
                };
                Some(Self::Failed(ConfineError { step, path, source }))
            }
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\t', '\n'], " ")
}

/// Signals that are read from a descriptor and otherwise do nothing.
pub(super) struct WatchedSignals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

/// Signal that came.
pub(super) struct WatchedSignal {
    number: u8,
    /// A process sent it; not the terminal, which sends to every process of the group.
    is_from_a_process: bool,
}

impl WatchedSignals {
    /// Watches the signals that are passed on, and ends of children.
    fn block() -> io::Result<Self> {
        // SAFETY: the sets are valid for writes, and are written before they are read.
        unsafe {
            let mut watched = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigemptyset(watched.as_mut_ptr());
            for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(watched.as_mut_ptr(), signal);
            }
            let watched = watched.assume_init();
            let mut blocked = watched;
            for signal in STOPPING {
                libc::sigaddset(&raw mut blocked, signal);
            }
            let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &raw const watched, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor), before: before.assume_init() })
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The next signal, if one came.
    pub(super) fn take(&self) -> Option<WatchedSignal> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the place is valid for a write of its size, and all zeroes is a valid value.
        let info = unsafe {
            if libc::read(self.descriptor.as_raw_fd(), info.as_mut_ptr().cast(), size) <= 0 {
                return None;
            }
            info.assume_init()
        };
        let number = u8::try_from(info.ssi_signo).ok()?;
        let is_child = i32::from(number) == libc::SIGCHLD;
        (!is_child).then_some(WatchedSignal { number, is_from_a_process: info.ssi_code <= 0 })
    }

    /// Unblocks what was not blocked before.
    pub(super) fn restore_mask(&self) {
        // SAFETY: the set is valid for reads.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        let failed = ConfineError { step: "mount\tx".to_owned(), path: Some("/a b".into()), source };
        let other =
            ConfineError { step: "y".to_owned(), path: None, source: io::Error::other("no Landlock") };
        let messages = [
            StageMessage::Stopped,
            StageMessage::Ended(ProcessExit::Code(3)),
            StageMessage::Ended(ProcessExit::Signal(9)),
            StageMessage::Failed(failed),
            StageMessage::Failed(other),
        ];
        let mut bytes: Vec<u8> = messages.iter().flat_map(StageMessage::encode).collect();
        bytes.extend_from_slice(b"code");
        let shown = |message: StageMessage| match message {
            StageMessage::Stopped => "stopped".to_owned(),
            StageMessage::Ended(exit) => exit.to_string(),
            StageMessage::Failed(error) => error.to_string(),
        };
        let read: Vec<String> = StageMessage::decode_all(&mut bytes).into_iter().map(shown).collect();
        let expected = [
            "stopped",
            "exit code 3",
            "signal 9",
            "failed to mount x /a b: Operation not permitted (os error 1)",
            "failed to y: no Landlock",
        ];
        assert_eq!(read, expected);
        assert_eq!(bytes, b"code");
    }
}
