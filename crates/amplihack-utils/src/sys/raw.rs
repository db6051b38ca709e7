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

/// Whether processes may share their memory here: there are calls below that keep out of thread variables.
pub(super) const SHARES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The kernel's set of signals.
pub(super) type Mask = u64;

/// The mask with just `signals` in it.
pub(super) fn mask(signals: &[c_int]) -> Mask {
    signals.iter().fold(0, |mask, signal| mask | 1_u64.wrapping_shl(signal.unsigned_abs().wrapping_sub(1)))
}

/// Makes a call. An error is its number, negative.
///
/// # Safety
///
/// The arguments must be what the call takes.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: c_long, arguments: [usize; 5]) -> i64 {
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
unsafe fn call(number: c_long, arguments: [usize; 5]) -> i64 {
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
unsafe fn call(number: c_long, arguments: [usize; 5]) -> i64 {
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
fn answer(result: i64) -> Result<usize, c_int> {
    usize::try_from(result).map_err(|_| c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO))
}

fn descriptor(raw: RawFd) -> usize {
    // With its sign, as the kernel takes numbers.
    isize::try_from(raw).unwrap_or_default().cast_unsigned()
}

fn nothing(number: c_long, arguments: [usize; 5]) -> Result<(), c_int> {
    // SAFETY: the callers below give plain numbers or pointers to what lives through the call.
    answer(unsafe { call(number, arguments) }).map(drop)
}

pub(super) fn read(from: RawFd, buffer: &mut [u8]) -> Result<usize, c_int> {
    // SAFETY: the buffer is as long as said.
    answer(unsafe {
        call(libc::SYS_read, [descriptor(from), buffer.as_mut_ptr() as usize, buffer.len(), 0, 0])
    })
}

/// Writes all of `bytes`, unless that fails; how much was written.
pub(super) fn write_all(to: RawFd, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        let arguments = [descriptor(to), rest.as_ptr() as usize, rest.len(), 0, 0];
        // SAFETY: the pointer and the length are those of a live slice.
        match answer(unsafe { call(libc::SYS_write, arguments) }) {
            Ok(count) if count > 0 => written += count,
            Err(libc::EINTR) => {}
            _ => break,
        }
    }
    written
}

pub(super) fn open(directory: RawFd, path: &CStr, flags: c_int) -> Result<RawFd, c_int> {
    let flags = descriptor(flags | libc::O_CLOEXEC);
    let arguments = [descriptor(directory), path.as_ptr() as usize, flags, 0o600, 0];
    // SAFETY: the path ends with a zero.
    let opened = answer(unsafe { call(libc::SYS_openat, arguments) })?;
    RawFd::try_from(opened).map_err(|_| libc::EMFILE)
}

pub(super) fn close(raw: RawFd) {
    let _ = nothing(libc::SYS_close, [descriptor(raw), 0, 0, 0, 0]);
}

/// Closes the descriptors from `first` to `last`.
pub(super) fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    if nothing(libc::SYS_close_range, [descriptor(first), descriptor(last), 0, 0, 0]).is_err() {
        for raw in first..=last.min(first.saturating_add(65_536)) {
            close(raw);
        }
    }
}

/// Makes `to` what `from` is, open in the program that is exec'd.
pub(super) fn duplicate(from: RawFd, to: RawFd) -> Result<(), c_int> {
    nothing(libc::SYS_dup3, [descriptor(from), descriptor(to), 0, 0, 0])
}

pub(super) fn do_not_block(raw: RawFd) {
    let _ = nothing(
        libc::SYS_fcntl,
        [descriptor(raw), descriptor(libc::F_SETFL), descriptor(libc::O_NONBLOCK), 0, 0],
    );
}

pub(super) fn rename(directory: RawFd, from: &CStr, to: &CStr) {
    let directory = descriptor(directory);
    let _ =
        nothing(libc::SYS_renameat2, [directory, from.as_ptr() as usize, directory, to.as_ptr() as usize, 0]);
}

pub(super) fn change_directory(path: &CStr) -> Result<(), c_int> {
    nothing(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0])
}

/// Waits until one of `polled` is ready, at most for so many milliseconds; `None`: for ever.
pub(super) fn poll(polled: &mut [libc::pollfd], timeout: Option<u32>) {
    let time = timeout.map(|timeout| [i64::from(timeout / 1000), i64::from(timeout % 1000) * 1_000_000]);
    let time = time.as_ref().map_or(0, |time| time.as_ptr() as usize);
    let _ = nothing(libc::SYS_ppoll, [polled.as_mut_ptr() as usize, polled.len(), time, 0, 0]);
}

/// A descriptor from which the signals of `mask` are read.
pub(super) fn signals(mask: Mask) -> Result<RawFd, c_int> {
    let flags = descriptor(libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
    let arguments = [descriptor(-1), &raw const mask as usize, size_of::<Mask>(), flags, 0];
    // SAFETY: the mask is as long as said.
    let opened = answer(unsafe { call(libc::SYS_signalfd4, arguments) })?;
    RawFd::try_from(opened).map_err(|_| libc::EMFILE)
}

/// Blocks the signals of `mask` and no other; what was blocked before.
pub(super) fn block(mask: Mask) -> Mask {
    let mut before: Mask = 0;
    let how = descriptor(libc::SIG_SETMASK);
    let _ = nothing(
        libc::SYS_rt_sigprocmask,
        [how, &raw const mask as usize, &raw mut before as usize, size_of::<Mask>(), 0],
    );
    before
}

/// Gives every signal its default action.
pub(super) fn default_actions() {
    // Of the kernel's form: handler, flags, restorer, mask.
    let action = [0_u64; 4];
    for signal in 1..=64 {
        // SIGKILL and SIGSTOP are refused, which changes nothing.
        let _ = nothing(libc::SYS_rt_sigaction, [signal, action.as_ptr() as usize, 0, size_of::<Mask>(), 0]);
    }
}

pub(super) fn kill(pid: c_int, signal: c_int) {
    let _ = nothing(libc::SYS_kill, [descriptor(pid), descriptor(signal), 0, 0, 0]);
}

/// A child that has ended, with its status; `None`: none has; an error: there is none.
pub(super) fn wait() -> Result<Option<(c_int, c_int)>, c_int> {
    let mut status: c_int = 0;
    let arguments = [descriptor(-1), &raw mut status as usize, descriptor(libc::WNOHANG), 0, 0];
    // SAFETY: the status is valid for a write.
    let pid = answer(unsafe { call(libc::SYS_wait4, arguments) })?;
    Ok(c_int::try_from(pid).ok().filter(|pid| *pid > 0).map(|pid| (pid, status)))
}

pub(super) fn own_id() -> usize {
    // SAFETY: the call takes nothing.
    answer(unsafe { call(libc::SYS_getpid, [0; 5]) }).unwrap_or_default()
}

pub(super) fn parent() -> usize {
    // SAFETY: the call takes nothing.
    answer(unsafe { call(libc::SYS_getppid, [0; 5]) }).unwrap_or_default()
}

pub(super) fn lead_group() -> Result<(), c_int> {
    nothing(libc::SYS_setpgid, [0; 5])
}

pub(super) fn control(option: c_int, argument: c_int) -> Result<(), c_int> {
    nothing(libc::SYS_prctl, [descriptor(option), descriptor(argument), 0, 0, 0])
}

/// Becomes the program at `path`; its error's number if it cannot.
///
/// # Safety
///
/// Arguments and environment must be lists of pointers to strings, each with a null pointer at its end.
pub(super) unsafe fn execute(
    path: &CStr,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
) -> c_int {
    let list = [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0];
    nothing(libc::SYS_execve, list).err().unwrap_or(libc::EIO)
}

/// Ends this process, and leaves the memory alone.
pub(super) fn leave(code: c_int) -> ! {
    loop {
        let _ = nothing(libc::SYS_exit_group, [descriptor(code), 0, 0, 0, 0]);
    }
}

/// Milliseconds of a clock that only goes on.
pub(super) fn now() -> i64 {
    let mut time = [0_i64; 2];
    let _ = nothing(
        libc::SYS_clock_gettime,
        [descriptor(libc::CLOCK_MONOTONIC), time.as_mut_ptr() as usize, 0, 0, 0],
    );
    time[0].wrapping_mul(1000).wrapping_add(time[1] / 1_000_000)
}
