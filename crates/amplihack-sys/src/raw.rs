//! System calls that touch no memory but their arguments', for code that shares its memory with another process.
//!
//! The C library's wrappers leave an error's number in a variable of the calling thread, and a process that was made with
//! `CLONE_VM` has the thread's variables of the one that made it.
#![expect(
    unsafe_code,
    reason = "system calls that neither rustix nor the C library makes without that variable"
)]

use std::ffi::CStr;
use std::os::fd::RawFd;

use libc::{c_int, c_long};

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
    if result < 0 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    } else {
        result.into()
    }
}

/// An error's number for a negative answer.
fn check_answer(result: i64) -> Result<usize, c_int> {
    usize::try_from(result).map_err(|_| c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO))
}

fn as_argument(raw: RawFd) -> usize {
    // With its sign, as the kernel takes numbers.
    isize::try_from(raw).unwrap_or_default().cast_unsigned()
}

fn call_checked(number: c_long, arguments: [usize; 5]) -> Result<(), c_int> {
    // SAFETY: the callers below give plain numbers or pointers to what lives through the call.
    check_answer(unsafe { system_call(number, arguments) }).map(drop)
}

pub(super) fn read(from: RawFd, buffer: &mut [u8]) -> Result<usize, c_int> {
    // SAFETY: the buffer is as long as said.
    check_answer(unsafe {
        system_call(libc::SYS_read, [as_argument(from), buffer.as_mut_ptr() as usize, buffer.len(), 0, 0])
    })
}

/// Writes all of `bytes`, unless that fails; how much was written.
pub(super) fn write_all(to: RawFd, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        let arguments = [as_argument(to), rest.as_ptr() as usize, rest.len(), 0, 0];
        // SAFETY: the pointer and the length are those of a live slice.
        match check_answer(unsafe { system_call(libc::SYS_write, arguments) }) {
            Ok(count) if count > 0 => written += count,
            Err(libc::EINTR) => {}
            _ => break,
        }
    }
    written
}

/// Writes this process's line of the process table to the end of `list`: one write, so that lines never mix.
pub(super) fn record_self(list: RawFd) -> Result<(), c_int> {
    let stat = open_file(libc::AT_FDCWD, c"/proc/self/stat", libc::O_RDONLY)?;
    let mut line = [0_u8; 2048];
    let length = read(stat, &mut line);
    close_file(stat);
    let line = line.get(..length?).unwrap_or_default();
    let arguments = [as_argument(list), line.as_ptr() as usize, line.len(), 0, 0];
    // SAFETY: the pointer and the length are those of a live slice.
    let written = check_answer(unsafe { system_call(libc::SYS_write, arguments) })?;
    if line.ends_with(b"\n") && written == line.len() { Ok(()) } else { Err(libc::EIO) }
}

pub(super) fn open_file(directory: RawFd, path: &CStr, flags: c_int) -> Result<RawFd, c_int> {
    let flags = as_argument(flags | libc::O_CLOEXEC);
    let arguments = [as_argument(directory), path.as_ptr() as usize, flags, 0o600, 0];
    // SAFETY: the path ends with a zero.
    let opened = check_answer(unsafe { system_call(libc::SYS_openat, arguments) })?;
    RawFd::try_from(opened).map_err(|_| libc::EMFILE)
}

pub(super) fn close_file(raw: RawFd) {
    // It is closed even where an error is reported.
    let _ = call_checked(libc::SYS_close, [as_argument(raw), 0, 0, 0, 0]);
}

/// Closes the descriptors from `first` to `last`.
pub(super) fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    if call_checked(libc::SYS_close_range, [as_argument(first), as_argument(last), 0, 0, 0]).is_err() {
        for raw in first..=last.min(first.saturating_add(65_536)) {
            close_file(raw);
        }
    }
}

/// Makes `to` what `from` is, open in the program that is exec'd.
pub(super) fn duplicate_file(from: RawFd, to: RawFd) -> Result<(), c_int> {
    call_checked(libc::SYS_dup3, [as_argument(from), as_argument(to), 0, 0, 0])
}

pub(super) fn do_not_block(raw: RawFd) {
    // Only a descriptor that is not open would be refused.
    let _ = call_checked(
        libc::SYS_fcntl,
        [as_argument(raw), as_argument(libc::F_SETFL), as_argument(libc::O_NONBLOCK), 0, 0],
    );
}

pub(super) fn rename_file(directory: RawFd, from: &CStr, to: &CStr) {
    let directory = as_argument(directory);
    // Without the new name the record is unfinished, which its readers know.
    let _ = call_checked(
        libc::SYS_renameat2,
        [directory, from.as_ptr() as usize, directory, to.as_ptr() as usize, 0],
    );
}

pub(super) fn change_directory(path: &CStr) -> Result<(), c_int> {
    call_checked(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0])
}

/// Waits until one of `polled` is ready, at most for so many milliseconds; `None`: for ever.
pub(super) fn poll_files(polled: &mut [libc::pollfd], timeout: Option<u32>) {
    let time = timeout.map(|timeout| [i64::from(timeout / 1000), i64::from(timeout % 1000) * 1_000_000]);
    let time = time.as_ref().map_or(0, |time| time.as_ptr() as usize);
    // Callers look at all of `polled` after an interrupt too.
    let _ = call_checked(libc::SYS_ppoll, [polled.as_mut_ptr() as usize, polled.len(), time, 0, 0]);
}

/// A descriptor from which the signals of `mask` are read.
pub(super) fn signal_descriptor(mask: SignalMask) -> Result<RawFd, c_int> {
    let flags = as_argument(libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
    let arguments = [as_argument(-1), &raw const mask as usize, size_of::<SignalMask>(), flags, 0];
    // SAFETY: the mask is as long as said.
    let opened = check_answer(unsafe { system_call(libc::SYS_signalfd4, arguments) })?;
    RawFd::try_from(opened).map_err(|_| libc::EMFILE)
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

pub(super) fn send_signal(pid: c_int, signal: c_int) {
    // Who has ended needs no signal.
    let _ = call_checked(libc::SYS_kill, [as_argument(pid), as_argument(signal), 0, 0, 0]);
}

/// A child that has ended, with its status; `None`: none has; an error: there is none.
pub(super) fn reap_child() -> Result<Option<(c_int, c_int)>, c_int> {
    let mut status: c_int = 0;
    let arguments = [as_argument(-1), &raw mut status as usize, as_argument(libc::WNOHANG), 0, 0];
    // SAFETY: the status is valid for a write.
    let pid = check_answer(unsafe { system_call(libc::SYS_wait4, arguments) })?;
    Ok(c_int::try_from(pid).ok().filter(|pid| *pid > 0).map(|pid| (pid, status)))
}

pub(super) fn own_id() -> usize {
    // SAFETY: the call takes nothing.
    check_answer(unsafe { system_call(libc::SYS_getpid, [0; 5]) }).unwrap_or_default()
}

pub(super) fn parent_id() -> usize {
    // SAFETY: the call takes nothing.
    check_answer(unsafe { system_call(libc::SYS_getppid, [0; 5]) }).unwrap_or_default()
}

pub(super) fn lead_group() -> Result<(), c_int> {
    call_checked(libc::SYS_setpgid, [0; 5])
}

pub(super) fn control_process(option: c_int, argument: c_int) -> Result<(), c_int> {
    call_checked(libc::SYS_prctl, [as_argument(option), as_argument(argument), 0, 0, 0])
}

/// Has this process get `signal` when `parent` ends, which is to be its parent still.
pub(super) fn end_with_parent(signal: c_int, parent: usize) -> Result<(), c_int> {
    control_process(libc::PR_SET_PDEATHSIG, signal)?;
    // It may have gone away before the signal was armed, and nobody is left to want this child.
    if parent_id() == parent { Ok(()) } else { Err(libc::ESRCH) }
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
) -> c_int {
    let list = [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0];
    call_checked(libc::SYS_execve, list).err().unwrap_or(libc::EIO)
}

/// Ends this process, and leaves the memory alone.
pub(super) fn exit_process(code: c_int) -> ! {
    loop {
        // It does not return.
        let _ = call_checked(libc::SYS_exit_group, [as_argument(code), 0, 0, 0, 0]);
    }
}

/// Milliseconds of a clock that only goes on.
pub(super) fn clock_millis() -> i64 {
    let mut time = [0_i64; 2];
    // Every Linux has this clock.
    let _ = call_checked(
        libc::SYS_clock_gettime,
        [as_argument(libc::CLOCK_MONOTONIC), time.as_mut_ptr() as usize, 0, 0, 0],
    );
    time[0].wrapping_mul(1000).wrapping_add(time[1] / 1_000_000)
}
