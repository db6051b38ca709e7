//! The way into a process that lives for a moment: `main` as the C library calls it.
//!
//! Rust's own way in reads `/proc/self/maps` and makes a stack for a handler of its own, which together cost more than judging a
//! command does. What it does for safety's sake is done here: the standard streams are open, and a closed pipe is an error instead of
//! a signal.
#![expect(unsafe_code, reason = "ignoring a signal has no safe counterpart")]

use std::ffi::{CStr, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_getfd};

use super::last_words::{self, LastWords};

/// Makes `$main`, a `fn(Vec<OsString>) -> u8` that gets the arguments behind the program's name, the `main` of a program that
/// begins with `#![no_main]`.
///
/// Its first instructions lay `$words`, a static [`LastWords`], ready for every end that the process does not choose, and for the
/// one that comes `$time` later.
#[macro_export]
macro_rules! bare_main {
    ($words:path, $time:path, $main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(count: i32, arguments: *const *const std::ffi::c_char) -> i32 {
            // SAFETY: the C library gives the arguments of `main`.
            unsafe { $crate::entry::run_main(&$words, $time, (count, arguments), $main) }
        }
    };
}

/// Runs `main` with what it may rely on. If the process cannot be prepared, it says its last words.
///
/// # Safety
///
/// `arguments` must be those that the C library gives to `main`: their count, and as many strings that live as long as the process.
pub unsafe fn run_main(
    words: &'static LastWords,
    time: Duration,
    arguments: (i32, *const *const c_char),
    main: fn(Vec<OsString>) -> u8,
) -> i32 {
    if last_words::arm_words(words, time).and_then(|()| prepare_process()).is_err() {
        last_words::say_last_words();
    }
    // SAFETY: this is the start of the process, so its main thread.
    unsafe { super::memory::this_is_the_main_thread() };
    // The standard library has them only where a C library gives them to its constructors: glibc does, musl does not.
    let (count, first) = arguments;
    let behind_the_name = 1..usize::try_from(count).unwrap_or_default();
    let arguments = behind_the_name.map(|index| {
        // SAFETY: the caller promises `count` strings.
        let argument = unsafe { CStr::from_ptr(*first.add(index)) };
        OsStr::from_bytes(argument.to_bytes()).to_owned()
    });
    main(arguments.collect()).into()
}

/// The file of this program, without links: by the name that it was started by, which the kernel leaves with a process.
///
/// The other way there, `/proc/self/exe`, costs a hook a twelfth of what a whole process costs. It is asked if the name is not absolute.
///
/// # Errors
///
/// Neither is to be had.
pub fn program_path() -> io::Result<PathBuf> {
    // SAFETY: the call reads what the kernel gave the process.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let name = ptr::with_exposed_provenance::<c_char>(usize::try_from(name).unwrap_or_default());
    if !name.is_null() {
        // SAFETY: the kernel's string lives as long as the process, above its stack.
        let name = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
        if name.is_absolute() {
            // What is gone by now is still known by its name.
            return Ok(name.canonicalize().unwrap_or_else(|_| name.to_owned()));
        }
    }
    std::env::current_exe()
}

fn prepare_process() -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_program_is_known_by_its_name() {
        assert_eq!(super::program_path().unwrap(), std::env::current_exe().unwrap().canonicalize().unwrap());
    }
}
