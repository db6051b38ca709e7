//! Setup of a child process between fork and exec, and the heir of orphans.
#![expect(
    unsafe_code,
    reason = "`pre_exec` and `waitid` with the id of whoever ended have no safe counterpart"
)]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, set_child_subreaper, setpgid, waitid};

use super::{ProcessEntry, raw};

/// Setup of a child process, besides default signal handling, which every child gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChildOptions {
    /// The child leads a process group of its own, so that it and its children can be signalled together.
    pub group: bool,
    /// The child gets SIGTERM when the *thread* that spawned it ends; spawn from a thread that never does.
    ///
    /// SIGTERM, not SIGKILL: agents end their tools on the former and leave them running on the latter.
    pub death_signal: bool,
}

/// Sets `command` up so that its child starts with default signal handling and `options`.
///
/// Every signal that this process ignores is back to its default in the child: a shell starts background jobs with
/// SIGINT ignored, `nohup` with SIGHUP, and Rust programs ignore SIGPIPE. The standard library empties the signal mask.
/// The command must be spawned by the process that called this function.
pub fn prepare_child(command: &mut Command, options: ChildOptions) {
    let parent = getpid();
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are allowed. It makes system calls,
    // allocates nothing and takes no lock; an `io::Error` made of an error number does not allocate either.
    unsafe {
        command.pre_exec(move || Ok(options.set_up(parent)?));
    }
}

impl ChildOptions {
    /// Sets this process up, which is the child of `parent` and not the program yet. Makes nothing but system calls.
    pub(super) fn set_up(self, parent: Pid) -> Result<(), Errno> {
        raw::default_actions();
        if self.group {
            setpgid(None, None)?;
        }
        if self.death_signal {
            raw::end_with_parent(Signal::TERM, parent)?;
        }
        Ok(())
    }
}

/// Has the child of `command` write who it is to the end of `file`, before it becomes the program: its line of the process
/// table, see [`recorded_processes`]. A child that cannot is not started.
///
/// Call it after [`prepare_child`], so that the line names the child's own group.
pub fn record_child(command: &mut Command, file: File) {
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are allowed: it makes three system calls.
    // `file` lives as long as the closure.
    unsafe {
        command.pre_exec(move || Ok(raw::record_self(file.as_raw_fd())?));
    }
}

/// The processes that [`record_child`] wrote down, as they were then. What is no whole line is passed over.
pub fn recorded_processes(text: &[u8]) -> Vec<ProcessEntry> {
    text.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .filter_map(super::proc::parse_stat)
        .collect()
}

/// Makes this process inherit its descendants' orphans, instead of init. Only for a process that owns all of its children.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The id of a child that has ended and is not reaped yet, if there is one. It stays so.
pub fn ended_child() -> Option<u32> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is valid for a write, and nothing else is written to.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
    if answer != 0 {
        return None;
    }
    // SAFETY: all zeroes is a valid `siginfo_t`, and what `waitid` writes has a process id, 0 if no child has ended.
    let pid = unsafe { info.assume_init().si_pid() };
    u32::try_from(pid).ok().filter(|pid| *pid != 0)
}

/// Waits for the end of the child `pid`, and reaps it.
pub(super) fn wait_for_child(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::CHILD)?;
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED) {
            Err(Errno::INTR) => {}
            other => return Ok(other.map(drop)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{ChildOptions, prepare_child};

    fn status_field(options: ChildOptions, field: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("grep ^{field}: /proc/self/status")]);
        prepare_child(&mut command, options);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_child_ignores_and_blocks_no_signal() {
        // The test process itself ignores SIGPIPE, as each Rust program does.
        assert!(crate::ignores_signal(crate::Signal::PIPE));
        for field in ["SigIgn", "SigBlk"] {
            let line = status_field(ChildOptions::default(), field);
            let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
            // 32 and 33 stay as this process inherited them: the C library keeps them to itself.
            assert_eq!(mask & !(0b11 << 31), 0, "{line}");
        }
    }

    #[test]
    fn a_child_writes_down_who_it_is_before_it_is_the_program() {
        let file = tempfile::tempfile().unwrap();
        for _ in 0..2 {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$"]);
            prepare_child(&mut command, ChildOptions { group: true, death_signal: true });
            super::record_child(&mut command, file.try_clone().unwrap());
            let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let mut text = Vec::new();
            std::io::Seek::rewind(&mut &file).unwrap();
            std::io::Read::read_to_end(&mut &file, &mut text).unwrap();
            let last = super::recorded_processes(&text).pop().unwrap();
            assert_eq!((last.pid.to_string(), last.pgid), (said.trim().to_owned(), last.pid));
            assert!(last.start_time > 0);
        }
        assert_eq!(super::recorded_processes(b"17 (torn) S 1 1").len(), 0);
    }

    #[test]
    fn the_group_is_the_childs_own_only_when_asked_for() {
        for (group, own) in [(true, true), (false, false)] {
            let mut command = Command::new("sh");
            command.args(["-c", "read _ _ _ _ pgid sid _ < /proc/$$/stat; test $pgid = $$ -a $sid != $$"]);
            prepare_child(&mut command, ChildOptions { group, death_signal: true });
            assert_eq!(command.status().unwrap().success(), own, "group: {group}");
        }
    }
}
