//! Start of a process on a stack of its own, in this one's memory.
//!
//! The C library's `clone` reports a failure in the thread's error variable, and a process that was made with `CLONE_VM` has the
//! thread's variables of the one that made it, which works with them meanwhile.
#![expect(unsafe_code, reason = "neither a stack with a guard nor `clone` has a safe counterpart")]

use std::ptr::NonNull;

use libc::{c_int, c_void};
use rustix::io::Errno;

use super::raw;

/// At least a page, below each stack: whoever outgrows it is ended, and changes nobody's memory.
const GUARD: usize = 64 << 10;

/// Stack of a cloned process. Pages that are not used cost nothing.
#[derive(Debug)]
pub(super) struct CloneStack {
    memory: NonNull<c_void>,
    length: usize,
}

// SAFETY: plain memory that this owns.
unsafe impl Send for CloneStack {}

impl CloneStack {
    /// A stack of `size` bytes, which must be a multiple of 64 KiB.
    pub(super) fn new(size: usize) -> Result<Self, Errno> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        let length = GUARD.saturating_add(size);
        // SAFETY: new memory, at no given place.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::NOMEM);
        }
        let stack = Self { memory: NonNull::new(memory).ok_or(Errno::NOMEM)?, length };
        let usable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: inside of the memory above, at the border of a page.
        match unsafe { libc::mprotect(memory.byte_add(GUARD), size, usable) } {
            0 => Ok(stack),
            _ => Err(Errno::NOMEM),
        }
    }

    /// Starts a process that runs `main` on this stack; its id.
    ///
    /// # Safety
    ///
    /// `argument` must be what `main` takes. With `CLONE_VM` in `flags`, that and the stack must live, and be left to the process, until it is
    /// another program or was reaped, and it must touch no variable of a thread. `flags` must neither ask for a thread nor for variables of one.
    pub(super) unsafe fn start_process<T>(
        &self,
        flags: c_int,
        main: extern "C" fn(*mut T) -> !,
        argument: *mut T,
    ) -> Result<c_int, Errno> {
        // SAFETY: just behind the memory.
        let top = unsafe { self.memory.as_ptr().byte_add(self.length) };
        // SAFETY: the stack is this one's, and of the rest the caller makes sure.
        unsafe { clone_process(flags | libc::SIGCHLD, top, main, argument) }
    }
}

/// Calls `main` in a new process, on the stack that ends at `top`.
unsafe fn clone_process<T>(
    flags: c_int,
    top: *mut c_void,
    main: extern "C" fn(*mut T) -> !,
    argument: *mut T,
) -> Result<c_int, Errno> {
    let result: i64;
    // SAFETY: this process goes on behind the block, with the registers and the stack that it had. The new one never leaves it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "2:",
            inlateout("rax") libc::SYS_clone => result,
            in("rdi") i64::from(flags),
            in("rsi") top,
            in("rdx") 0_i64,
            in("r10") 0_i64,
            in("r8") 0_i64,
            in("r12") argument,
            in("r13") main,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") i64::from(flags) => result,
            in("x1") top,
            in("x2") 0_i64,
            in("x3") 0_i64,
            in("x4") 0_i64,
            in("x20") argument,
            in("x21") main,
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: `main` takes a pointer, and what it would return is never seen.
        let main: extern "C" fn(*mut c_void) -> c_int = unsafe { std::mem::transmute(main) };
        // SAFETY: as the caller promises. No memory is shared here that both processes use at once.
        let pid = unsafe { libc::clone(main, top, flags, argument.cast()) };
        result = if pid < 0 { raw::last_error() } else { pid.into() };
    }
    raw::check_answer(result).map(|pid| c_int::try_from(pid).unwrap_or_default())
}

impl Drop for CloneStack {
    fn drop(&mut self) {
        // SAFETY: the memory is this one's own.
        unsafe { libc::munmap(self.memory.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, OFlags, openat, renameat};
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, chdir, kill_process};

    use super::CloneStack;
    use crate::raw::{check_answer, close_range, duplicate_file, exit_process};

    extern "C" fn end(_: *mut ()) -> ! {
        exit_process(0)
    }

    /// In a process that shares its memory, the variable is that of a thread which works with it.
    #[test]
    fn no_failure_of_a_keepers_calls_is_in_the_threads_error_variable() {
        let stack = CloneStack::new(64 << 10).unwrap();
        let [missing, there] = [c"/nonexistent/file", c"/"];
        let nobody = Pid::from_raw(i32::MAX).unwrap();
        let directory = openat(CWD, there, OFlags::RDONLY, Mode::empty()).unwrap();
        // SAFETY: this thread's own variable.
        unsafe { *libc::__errno_location() = libc::EXFULL };
        let failures = [
            // SAFETY: the kernel refuses handlers that are shared without the memory.
            unsafe { stack.start_process(libc::CLONE_SIGHAND, end, std::ptr::null_mut()) }.map(drop),
            openat(CWD, missing, OFlags::RDONLY, Mode::empty()).map(drop),
            renameat(CWD, missing, CWD, there),
            rustix::io::read(&directory, &mut [0_u8; 8]).map(drop),
            rustix::io::write(&directory, b"text").map(drop),
            kill_process(nobody, Signal::TERM),
            chdir(missing),
            duplicate_file(-1, 5),
        ];
        close_range(i32::MAX - 1, i32::MAX);
        let error = std::io::Error::last_os_error();
        let expected = [
            Errno::INVAL,
            Errno::NOENT,
            Errno::NOENT,
            Errno::ISDIR,
            Errno::BADF,
            Errno::SRCH,
            Errno::NOENT,
            Errno::BADF,
        ];
        assert_eq!(failures.map(Result::unwrap_err), expected);
        assert_eq!(error.raw_os_error(), Some(libc::EXFULL));
        assert_eq!(check_answer(-i64::from(libc::EIO)), Err(Errno::IO));
    }
}
