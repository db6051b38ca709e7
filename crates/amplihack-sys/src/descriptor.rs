//! Open files by their numbers, as the program that started this one laid them out.
#![expect(unsafe_code, reason = "a number that somebody else opened has no owner that Rust knows")]

use std::io;

/// Makes stdout write where `number` does, a descriptor that this process was started with.
///
/// # Errors
/// It is not open.
pub fn stdout_onto(number: i32) -> io::Result<()> {
    // SAFETY: descriptors are the kernel's to check, and stdout is no value that could be invalidated.
    let result = unsafe { libc::dup2(number, libc::STDOUT_FILENO) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_not_open_is_an_error() {
        super::stdout_onto(-1).unwrap_err();
        super::stdout_onto(i32::MAX).unwrap_err();
    }
}
