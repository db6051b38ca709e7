//! Memory for the stack of a process that shares this one's memory until it is another program.
#![expect(
    unsafe_code,
    reason = "a stack has a page that nothing may touch, which the allocator does not give"
)]

use std::io;
use std::ptr::NonNull;

use libc::c_void;

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
    pub(super) fn new(size: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        let length = GUARD.saturating_add(size);
        // SAFETY: new memory, at no given place.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self { memory: NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?, length };
        let usable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: inside of the memory above, at the border of a page.
        match unsafe { libc::mprotect(memory.byte_add(GUARD), size, usable) } {
            0 => Ok(stack),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the address at which the stack begins, from which it grows downwards.
    pub(super) fn top(&self) -> *mut c_void {
        // SAFETY: just behind the memory.
        unsafe { self.memory.as_ptr().byte_add(self.length) }
    }
}

impl Drop for CloneStack {
    fn drop(&mut self) {
        // SAFETY: the memory is this one's own.
        unsafe { libc::munmap(self.memory.as_ptr(), self.length) };
    }
}
