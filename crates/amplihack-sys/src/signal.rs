//! Signals to processes and groups, and the end of a process by its file descriptor: no id is reused under our feet.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use serde::{Deserialize, Serialize};

use super::proc::start_time;

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessExit {
    /// The process returned this code, 0 to 255.
    Code(i32),
    /// The process was ended by the signal of this number.
    Signal(i32),
}

impl ProcessExit {
    /// The code as a shell would give it: the process's own, or 128 + n after signal n.
    pub const fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    /// Reports whether the process returned 0.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Code(0))
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

fn process_id(pid: u32) -> io::Result<Pid> {
    let raw = i32::try_from(pid).map_err(|_| Errno::SRCH)?;
    // 0 and 1 have other meanings to `kill`, and never name a process of ours.
    Pid::from_raw(raw).filter(|_| raw > 1).ok_or_else(|| Errno::SRCH.into())
}

/// A descriptor of the process `pid` that started at `start_time`. It is readable once that process has ended.
///
/// `NotFound`-like errors (`ESRCH`) mean that it is gone, or that its id belongs to another process by now.
pub fn open_pidfd(pid: u32, start_time_ticks: u64) -> io::Result<OwnedFd> {
    let pidfd = pidfd_open(process_id(pid)?, PidfdFlags::empty())?;
    // Asked after the opening: if the process is still the one meant, the descriptor is its own.
    if start_time(pid) == Some(start_time_ticks) { Ok(pidfd) } else { Err(Errno::SRCH.into()) }
}

/// Sends `signal` to the process behind `pidfd`. A process that is gone is no error.
pub fn send_signal(pidfd: impl AsFd, signal: Signal) -> io::Result<()> {
    gone_is_fine(pidfd_send_signal(pidfd, signal))
}

/// Sends `signal` to the process `pid`, which must be a child that was not reaped yet: only then its id is its own.
pub fn send_to_process(pid: u32, signal: Signal) -> io::Result<()> {
    gone_is_fine(kill_process(process_id(pid)?, signal))
}

/// Sends `signal` to each process of the group `pgid`, whose leader must not be reaped yet. An empty group is no error.
pub fn send_to_group(pgid: u32, signal: Signal) -> io::Result<()> {
    gone_is_fine(kill_process_group(process_id(pgid)?, signal))
}

fn gone_is_fine(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Err(Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

/// Returns the end of the child behind `pidfd`, or `None` if it runs. It stays unreaped, so that its id and group stay taken.
pub fn child_exit(pidfd: impl AsFd) -> io::Result<Option<ProcessExit>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::PidFd(pidfd.as_fd()), options)?;
    Ok(status.and_then(|status| {
        status
            .exit_status()
            .map(ProcessExit::Code)
            .or_else(|| status.terminating_signal().map(ProcessExit::Signal))
    }))
}

/// Reports whether the child behind `pidfd` was stopped since the last call.
pub fn has_stopped(pidfd: impl AsFd) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::PidFd(pidfd.as_fd()), options), Ok(Some(_)))
}

/// Reaps the child `pid` if it has ended. Only for orphans that this process inherited: other children have an owner.
pub fn reap_orphan(pid: u32) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    process_id(pid).is_ok_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

/// Stops this process as Ctrl-Z would, until it is continued. Does nothing where no shell could continue it.
pub fn stop_self() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::TSTP)?)
}

/// Reports whether this process ignores `signal`, as it does after `nohup` (SIGHUP) or as a shell's background job (SIGINT).
#[expect(unsafe_code, reason = "`sigaction` has no safe counterpart")]
pub fn ignores_signal(signal: Signal) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing changes, and `found` is valid for a write.
    let answer = unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), found.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid `sigaction`, and so is what the call writes.
    answer == 0 && unsafe { found.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{
        ProcessExit, Signal, child_exit, ignores_signal, open_pidfd, process_id, send_signal, send_to_process,
    };
    use crate::start_time;

    fn wait(pidfd: &std::os::fd::OwnedFd) -> ProcessExit {
        loop {
            if let Some(end) = child_exit(pidfd).unwrap() {
                return end;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_child_is_signalled_and_its_end_read_before_it_is_reaped() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pidfd = open_pidfd(child.id(), start_time(child.id()).unwrap()).unwrap();
        assert_eq!(child_exit(&pidfd).unwrap(), None);
        send_signal(&pidfd, Signal::TERM).unwrap();
        assert_eq!(wait(&pidfd), ProcessExit::Signal(15));
        assert_eq!(wait(&pidfd), ProcessExit::Signal(15));
        child.wait().unwrap();
        send_signal(&pidfd, Signal::TERM).unwrap();
    }

    #[test]
    fn another_start_time_is_another_process() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let started = start_time(child.id()).unwrap();
        assert!(open_pidfd(child.id(), started + 1).is_err());
        send_to_process(child.id(), Signal::KILL).unwrap();
        assert_eq!(wait(&open_pidfd(child.id(), started).unwrap()), ProcessExit::Signal(9));
        child.wait().unwrap();
    }

    #[test]
    fn ids_with_another_meaning_are_refused() {
        for pid in [0, 1, u32::MAX, 1 << 31] {
            assert!(process_id(pid).is_err(), "{pid}");
        }
    }

    #[test]
    fn rust_programs_ignore_sigpipe_and_not_sigterm() {
        assert!(ignores_signal(Signal::PIPE));
        assert!(!ignores_signal(Signal::TERM));
    }
}
