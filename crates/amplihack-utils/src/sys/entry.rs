//! The way into a process that lives for a moment: `main` as the C library calls it.
//!
//! Rust's own way in reads `/proc/self/maps` and makes a stack for a handler of its own, which together cost more than judging a
//! command does. What it does for safety's sake is done here: the standard streams are open, and a closed pipe is an error instead of
//! a signal.
#![expect(unsafe_code, reason = "ignoring a signal has no safe counterpart")]

use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_getfd};

/// Makes `$main`, a `fn() -> u8`, the `main` of a program that begins with `#![no_main]`.
///
/// A panic before `$main` has armed its last words aborts the process.
#[macro_export]
macro_rules! bare_main {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::sys::entry::run($main)
        }
    };
}

/// Runs `main` with what it may rely on. 2 if the process cannot be prepared: a hook's way to say no.
pub fn run(main: fn() -> u8) -> i32 {
    match prepare() {
        Ok(()) => main().into(),
        Err(_) => 2,
    }
}

fn prepare() -> io::Result<()> {
    for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        if fcntl_getfd(stream) == Err(Errno::BADF) {
            // The lowest free descriptor is this one, since those below it are open. It stays open as long as the process.
            std::mem::forget(open("/dev/null", OFlags::RDWR, Mode::empty())?);
        }
    }
    // SAFETY: no handler is installed, and nothing runs yet that could rely on the signal.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
