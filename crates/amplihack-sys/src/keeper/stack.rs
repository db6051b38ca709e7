//! The memory in which a keeper and its step's process, before its exec, have their stacks.
#![expect(
    unsafe_code,
    reason = "a stack has a page that nothing may touch, which the allocator does not give"
)]

use std::io;
use std::ptr::NonNull;

use libc::c_void;

/// Number of bytes that the keeper's code needs, many times over.
const KEEPER: usize = 192 << 10;
/// Number of bytes that the code between clone and exec needs.
const STEP: usize = 64 << 10;
/// At least a page, below each stack: whoever outgrows his stack is ended, and changes nobody's memory.
const GUARD: usize = 64 << 10;

/// Two stacks. Pages that are not used cost nothing.
#[derive(Debug)]
pub(super) struct KeeperStacks(NonNull<c_void>);

// SAFETY: plain memory that this owns.
unsafe impl Send for KeeperStacks {}

const ALL: usize = GUARD + KEEPER + GUARD + STEP;

impl KeeperStacks {
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: new memory, at no given place.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), ALL, libc::PROT_NONE, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self(NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?);
        for (at, size) in [(GUARD, KEEPER), (GUARD + KEEPER + GUARD, STEP)] {
            // SAFETY: inside of the memory above, at the border of a page.
            let changed =
                unsafe { libc::mprotect(memory.byte_add(at), size, libc::PROT_READ | libc::PROT_WRITE) };
            if changed != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stack)
    }

    /// Returns the addresses at which the stacks begin, from which they grow downwards: the keeper's and the step's.
    pub(super) fn stack_tops(&self) -> [*mut c_void; 2] {
        // SAFETY: inside of the memory, or just behind it.
        [GUARD + KEEPER, ALL].map(|at| unsafe { self.0.as_ptr().byte_add(at) })
    }
}

impl Drop for KeeperStacks {
    fn drop(&mut self) {
        // SAFETY: the memory is this one's own.
        unsafe { libc::munmap(self.0.as_ptr(), ALL) };
    }
}
