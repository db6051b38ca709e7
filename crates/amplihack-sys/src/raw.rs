//! System calls that touch no memory but their arguments', for code that shares its memory with another process.
//!
//! The C library's wrappers leave an error's number in a variable of the calling thread, and a process that was made with
//! `CLONE_VM` has the thread's variables of the one that made it. Here is what rustix does not call for us; what it calls, it
//! calls without that variable too.
#![expect(
    unsafe_code,
    reason = "system calls that neither rustix nor the C library makes without that variable"
)]

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, IntoRawFd as _, OwnedFd, RawFd};

use libc::{c_int, c_long};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Set where processes may share their memory: there are calls below that keep out of thread variables.
pub(super) const SHARES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The kernel's set of signals.
pub(super) type SignalMask = u64;

/// The mask with just `signals` in it.
pub(super) fn signal_mask(signals: &[c_int]) -> SignalMask {
    signals.iter().fold(0, |mask, signal| mask | 1_u64.wrapping_shl(signal.unsigned_abs().wrapping_sub(1)))
}

/// Makes a call. An error is its number, negative.
///
/// # Safety
///
/// The arguments must be what the call takes.
#[cfg(target_arch = "x86_64")]
unsafe fn system_call(number: c_long, arguments: [usize; 5]) -> i64 {
    let [first, second, third, fourth, fifth] = arguments;
    let result: i64;
    // SAFETY: the kernel changes the result's register, `rcx`, `r11`, and memory that the arguments name.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn system_call(number: c_long, arguments: [usize; 5]) -> i64 {
    let [first, second, third, fourth, fifth] = arguments;
    let raw: usize;
    // SAFETY: the kernel changes the result's register, and memory that the arguments name.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first => raw,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            options(nostack),
        );
    }
    i64::try_from(raw.cast_signed()).unwrap_or_default()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn system_call(number: c_long, arguments: [usize; 5]) -> i64 {
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: as this function's caller promises. No memory is shared here.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth) };
    if result < 0 { last_error() } else { result.into() }
}

/// Answer of a call that the C library made and that failed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn last_error() -> i64 {
    -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// The error for a negative answer.
pub(super) fn check_answer(result: i64) -> Result<usize, Errno> {
    usize::try_from(result)
        .map_err(|_| Errno::from_raw_os_error(c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO)))
}

fn as_argument(number: c_int) -> usize {
    // With its sign, as the kernel takes numbers.
    isize::try_from(number).unwrap_or_default().cast_unsigned()
}

fn call_checked(number: c_long, arguments: [usize; 5]) -> Result<(), Errno> {
    // SAFETY: the callers below give plain numbers or pointers to what lives through the call.
    check_answer(unsafe { system_call(number, arguments) }).map(drop)
}

/// The descriptor `number` of this process.
pub(super) fn open_descriptor(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: whoever gives a process its orders leaves the descriptors in them open in it.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Writes all of `bytes`, unless that fails; how much was written.
pub(super) fn write_all(to: BorrowedFd<'_>, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match rustix::io::write(to, rest) {
            Ok(count) if count > 0 => written += count,
            Err(Errno::INTR) => {}
            _ => break,
        }
    }
    written
}

/// Writes this process's line of the process table to the end of `list`: one write, so that lines never mix.
pub(super) fn record_self(list: RawFd) -> Result<(), Errno> {
    let mut line = [0_u8; 2048];
    let stat = openat(CWD, c"/proc/self/stat", OFlags::CLOEXEC, Mode::empty())?;
    let length = rustix::io::read(&stat, &mut line);
    close_file(stat);
    let line = line.get(..length?).unwrap_or_default();
    let written = rustix::io::write(open_descriptor(list), line)?;
    if line.ends_with(b"\n") && written == line.len() { Ok(()) } else { Err(Errno::IO) }
}

/// Closes `file`. Dropping it would have the C library do that.
pub(super) fn close_file(file: OwnedFd) {
    // SAFETY: it is this function's own.
    unsafe { rustix::io::close(file.into_raw_fd()) };
}

/// Closes the descriptors from `first` to `last`.
pub(super) fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    if call_checked(libc::SYS_close_range, [as_argument(first), as_argument(last), 0, 0, 0]).is_err() {
        for raw in first..=last.min(first.saturating_add(65_536)) {
            // It is closed even where an error is reported.
            let _ = call_checked(libc::SYS_close, [as_argument(raw), 0, 0, 0, 0]);
        }
    }
}

/// Makes `to` what `from` is, open in the program that is exec'd.
pub(super) fn duplicate_file(from: RawFd, to: RawFd) -> Result<(), Errno> {
    call_checked(libc::SYS_dup3, [as_argument(from), as_argument(to), 0, 0, 0])
}

/// A descriptor from which the signals of `mask` are read.
pub(super) fn signal_descriptor(mask: SignalMask) -> Result<RawFd, Errno> {
    let flags = as_argument(libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
    let arguments = [as_argument(-1), &raw const mask as usize, size_of::<SignalMask>(), flags, 0];
    // SAFETY: the mask is as long as said.
    let opened = check_answer(unsafe { system_call(libc::SYS_signalfd4, arguments) })?;
    RawFd::try_from(opened).map_err(|_| Errno::MFILE)
}

/// Blocks the signals of `mask` and no other; what was blocked before.
pub(super) fn block_signals(mask: SignalMask) -> SignalMask {
    let mut before: SignalMask = 0;
    let how = as_argument(libc::SIG_SETMASK);
    // No mask is refused.
    let _ = call_checked(
        libc::SYS_rt_sigprocmask,
        [how, &raw const mask as usize, &raw mut before as usize, size_of::<SignalMask>(), 0],
    );
    before
}

/// Gives every signal its default action.
pub(super) fn default_actions() {
    // Of the kernel's form: handler, flags, restorer, mask.
    let action = [0_u64; 4];
    for signal in 1..=64 {
        // SIGKILL and SIGSTOP are refused, which changes nothing.
        let _ = call_checked(
            libc::SYS_rt_sigaction,
            [signal, action.as_ptr() as usize, 0, size_of::<SignalMask>(), 0],
        );
    }
}

/// Has this process get `signal` when `parent` ends, which is to be its parent still.
pub(super) fn end_with_parent(signal: Signal, parent: Pid) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(signal))?;
    // It may have gone away before the signal was armed, and nobody is left to want this child.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// Becomes the program at `path`; its error's number if it cannot.
///
/// # Safety
///
/// Arguments and environment must be lists of pointers to strings, each with a null pointer at its end.
pub(super) unsafe fn execute_program(
    path: &CStr,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
) -> Errno {
    let list = [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0];
    call_checked(libc::SYS_execve, list).err().unwrap_or(Errno::IO)
}

/// Ends this process, and leaves the memory alone.
pub(super) fn exit_process(code: c_int) -> ! {
    loop {
        // It does not return.
        let _ = call_checked(libc::SYS_exit_group, [as_argument(code), 0, 0, 0, 0]);
    }
}
